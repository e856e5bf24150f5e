"""The checksums of an index: whether its files are, octet for octet, as they were written.

Tantivy finds out about a file that is missing or cut off when it opens it. A file whose octets were
changed in place opens like any other and answers wrongly, or panics, when they are needed. Every
file of a segment ends with its own checksum, which nothing compares in a search:

    contents · footer as JSON {"version": …, "crc": CRC-32 of the contents} · length of the footer
    and a magic number, four octets each, little-endian
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

META_NAME: Final = "meta.json"

_END: Final = struct.Struct("<II")
_MAGIC: Final = 1337
_LONGEST_FOOTER: Final = 4096
_READ_AT_ONCE: Final = 1 << 20


class _Deletes(msgspec.Struct):
    opstamp: int


class _Segment(msgspec.Struct):
    segment_id: str
    deletes: _Deletes | None = None


class _Meta(msgspec.Struct):
    segments: list[_Segment]


class _Footer(msgspec.Struct):
    crc: int


def octets_of(folder: Path) -> int:
    """How much the files of the last commit hold.

    Raises:
        OSError, msgspec.MsgspecError: it cannot be told.
    """
    return sum(path.stat().st_size for path in _files(folder))


def damaged_files(folder: Path) -> Iterator[str]:
    """What is wrong with each file of the last commit that is not as it was written.

    Files that whoever writes the index merged away meanwhile are left out. Memory is constant.

    Raises:
        OSError, msgspec.MsgspecError: the list of the files cannot be read.
    """
    for path in _files(folder):
        try:
            damage = _damage(path)
        except FileNotFoundError:
            if path not in _files(folder):
                continue
            damage = "is missing"
        if damage is not None:
            yield f"{path.name} {damage}"


def _files(folder: Path) -> list[Path]:
    meta = msgspec.json.decode((folder / META_NAME).read_bytes(), type=_Meta)
    return [path for segment in meta.segments for path in _files_of(folder, segment)]


def _files_of(folder: Path, segment: _Segment) -> Iterator[Path]:
    name = segment.segment_id.replace("-", "")
    deleted = None if segment.deletes is None else f"{name}.{segment.deletes.opstamp}.del"
    for path in sorted(folder.glob(f"{name}.*")):
        # Older and newer lists of deleted documents may lie beside the one that counts.
        if path.suffix != ".del" or path.name == deleted:
            yield path


def _damage(path: Path) -> str | None:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if size < _END.size:
            return "is cut off"
        file.seek(size - _END.size)
        length, magic = _END.unpack(file.read(_END.size))
        left = size - _END.size - length
        if magic != _MAGIC or length > _LONGEST_FOOTER or left < 0:
            return "does not end as it was written"
        file.seek(left)
        try:
            footer = msgspec.json.decode(file.read(length), type=_Footer)
        except msgspec.MsgspecError:
            return "does not end as it was written"
        file.seek(0)
        checksum = 0
        while left and (part := file.read(min(left, _READ_AT_ONCE))):
            checksum = zlib.crc32(part, checksum)
            left -= len(part)
    return None if checksum == footer.crc and not left else "is not as it was written"
