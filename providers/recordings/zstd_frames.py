"""Zstandard files that grow: frames one after another, the last one perhaps torn.

A recorder that compresses writes one frame for each batch and appends it. Where a frame ends can
only be known by walking its blocks (the magic number may occur inside of data), so this module does
that: it reads the frame and block headers itself and gives the decoder one small group of blocks at
a time. Three things follow from it:

* every decoded piece is known to come from the frame that begins at a certain byte of the file, and
  reading can begin again at any such byte;
* a block decodes to at most 128 KiB, so memory is bounded however well the data compresses;
* a frame that ends too early (*torn*: the recorder crashed, or is still writing) is told from a
  *damaged* one. What decodes of a torn frame is used, damage is an error.

A frame whose block headers lead past the end of the file looks torn, also when it is really damaged
in the middle of the file. It is taken for torn only when no whole frame can be found behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

import zstandard

_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_SKIPPABLE: Final = range(0x184D2A50, 0x184D2A60)
_MAX_BLOCK_BYTES: Final = 128 * 1024
_BLOCKS_AT_ONCE: Final = 8
_SEARCH_BYTES: Final = 1024 * 1024
_DICTIONARY_ID_BYTES: Final = (0, 1, 2, 4)
_CONTENT_SIZE_BYTES: Final = (0, 2, 4, 8)
_RAW, _RUN, _COMPRESSED, _RESERVED = range(4)


class DamagedFrame(Exception):
    """A frame that does not decode and is not merely torn; ``offset`` is where it begins."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"the zstd frame at byte {offset} is damaged")
        self.offset = offset


class _Torn(Exception):
    """The file ends inside of a frame; ``part`` is what there is of the bytes asked for."""

    def __init__(self, part: bytes) -> None:
        super().__init__()
        self.part = part


def is_zstd(beginning: bytes) -> bool:
    """Whether a file that begins so is a Zstandard file; needs its first 4 bytes."""
    return beginning[:4] == _MAGIC or int.from_bytes(beginning[:4], "little") in _SKIPPABLE


class Frames:
    """The decoded content of a file of frames.

    torn: whether the file ended inside of a frame; final once :meth:`pieces` is exhausted.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decompressor = zstandard.ZstdDecompressor()
        self.torn = False

    def pieces(self, offset: int) -> Iterator[tuple[int, bytes]]:
        """Decoded pieces from the frame that begins at ``offset`` on, each with its frame's offset.

        The last piece is empty and comes with the place where reading will go on: the begin of a
        torn last frame, or the end of the file.

        Raises:
            DamagedFrame: what comes next does not decode.
        """
        self.torn = False
        while True:
            self._file.seek(offset)
            try:
                for piece in self._frame():
                    if piece:
                        yield offset, piece
            except (_Torn, zstandard.ZstdError) as error:
                if not isinstance(error, _Torn) and self._is_whole(offset):
                    raise DamagedFrame(offset) from None
                if self._whole_frame_after(offset):
                    raise DamagedFrame(offset) from None
                self.torn = True
                yield offset, b""
                return
            end = self._file.tell()
            if end == offset:
                yield offset, b""
                return
            offset = end

    def _frame(self) -> Iterator[bytes]:
        """The decoded content of one frame; nothing at the end of the file.

        Raises:
            _Torn: the file ends first. zstandard.ZstdError: the frame is damaged.
        """
        decoder = self._decompressor.decompressobj()
        blocks: list[bytes] = []
        try:
            for block in self._blocks():
                blocks.append(block)
                if len(blocks) == _BLOCKS_AT_ONCE:
                    yield decoder.decompress(b"".join(blocks))
                    blocks.clear()
        except _Torn as end:
            blocks.append(end.part)
            yield decoder.decompress(b"".join(blocks))
            raise
        if blocks:
            yield decoder.decompress(b"".join(blocks))
            if not decoder.eof:
                raise zstandard.ZstdError("the frame does not end where its blocks do")

    def _blocks(self) -> Iterator[bytes]:
        """The bytes of one frame as they lie in the file: its header, its blocks, its checksum."""
        magic = self._file.read(4)
        if not magic:
            return
        if len(magic) < 4:
            raise _Torn(b"")
        if int.from_bytes(magic, "little") in _SKIPPABLE:
            self._pass_over(int.from_bytes(self._exactly(4), "little"))
            return
        if magic != _MAGIC:
            raise zstandard.ZstdError("no frame begins here")
        descriptor = self._exactly(1)
        yield magic + descriptor + self._exactly(_header_rest(descriptor[0]))
        last = 0
        while not last:
            head = self._exactly(3)
            value = int.from_bytes(head, "little")
            last, kind, size = value & 1, value >> 1 & 3, value >> 3
            if kind == _RESERVED or size > _MAX_BLOCK_BYTES:
                raise zstandard.ZstdError("a block header is damaged")
            yield head + self._exactly(1 if kind == _RUN else size, head)
        if descriptor[0] & 0b100:
            yield self._exactly(4)

    def _exactly(self, count: int, head: bytes = b"") -> bytes:
        part = self._file.read(count)
        if len(part) < count:
            raise _Torn(head + part)
        return part

    def _pass_over(self, count: int) -> None:
        while count > 0:
            count -= len(self._exactly(min(count, _SEARCH_BYTES)))

    def _is_whole(self, offset: int) -> bool:
        """Whether block headers lead from ``offset`` to an end of frame inside of the file."""
        self._file.seek(offset)
        try:
            for _ in self._blocks():
                pass
        except (_Torn, zstandard.ZstdError):
            return False
        return True

    def _whole_frame_after(self, offset: int) -> bool:
        """Whether some frame that begins behind ``offset`` decodes from its begin to its end."""
        start = offset + 1
        while True:
            self._file.seek(start)
            window = self._file.read(_SEARCH_BYTES)
            at = window.find(_MAGIC)
            while at >= 0:
                if self._decodes(start + at):
                    return True
                at = window.find(_MAGIC, at + 1)
            if len(window) < _SEARCH_BYTES:
                return False
            start += len(window) - len(_MAGIC) + 1

    def _decodes(self, offset: int) -> bool:
        self._file.seek(offset)
        try:
            for _ in self._frame():
                pass
        except (_Torn, zstandard.ZstdError):
            return False
        return True


def _header_rest(descriptor: int) -> int:
    """How many bytes of a frame header follow its descriptor."""
    single_segment = descriptor >> 5 & 1
    content_size = _CONTENT_SIZE_BYTES[descriptor >> 6]
    if single_segment and not content_size:
        content_size = 1
    return (1 - single_segment) + _DICTIONARY_ID_BYTES[descriptor & 3] + content_size
