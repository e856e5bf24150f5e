"""Finds recorders' files below the given paths, and for each the reader that knows it.

A file is known by its content: its first lines are shown to every reader in turn. In folders only
files named ``*.jsonl`` or ``*.jsonl.zstd`` are looked at; a file that was named explicitly always
is, whatever it is called. The order is that of the given paths, below a folder that of the names,
and no file comes twice, through whatever links it is reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from providers.recordings.lines import BEGINNING, Lines
from providers.recordings.zstd_frames import DamagedFrame
from sessiongraph.recordings import RecordingReader

ENDINGS: Final = (".jsonl", ".jsonl.zstd")
"""How names of files end that may be recordings."""

_PEEK_BYTES: Final = 64 * 1024
_LONGEST_PEEKED_LINE: Final = 4 * 1024 * 1024


def find_recordings(
    paths: Iterable[Path], readers: Sequence[RecordingReader]
) -> Iterator[tuple[Path, RecordingReader | None]]:
    """Every recording with its reader, None where no reader recognises it.

    A path that does not exist or cannot be read comes with None as well: nothing that was named,
    and no folder, is passed over in silence.
    """
    visited: set[Path] = set()
    for named in paths:
        pending = [named]
        while pending:
            path = pending.pop()
            try:
                real = path.resolve(strict=True)
                if real in visited:
                    continue
                visited.add(real)
                if path.is_dir():
                    inside = sorted(path.iterdir(), reverse=True)
                    pending.extend(item for item in inside if _may_be_recording(item))
                elif path.is_file():
                    yield path, reader_of(path, readers)
                else:
                    yield path, None
            except (OSError, RuntimeError):  # RuntimeError: a loop of links, up to Python 3.12
                yield path, None


def _may_be_recording(path: Path) -> bool:
    return path.name.endswith(ENDINGS) or path.is_dir()


def reader_of(path: Path, readers: Sequence[RecordingReader]) -> RecordingReader | None:
    """The first reader that recognises a file by its beginning.

    Raises:
        OSError: the file cannot be read.
    """
    beginning = first_lines(path)
    return next((reader for reader in readers if reader.recognises(path, beginning)), None)


def first_lines(path: Path) -> list[bytes]:
    """The first whole lines of a plain or compressed file, decompressed.

    About 64 KiB of them, but always the first one unless it is longer than 4 MiB.

    Raises:
        OSError: the file cannot be read.
    """
    beginning: list[bytes] = []
    with path.open("rb") as file, suppress(DamagedFrame):
        size = 0
        for line in Lines(file, _LONGEST_PEEKED_LINE).after(BEGINNING):
            if line is None:
                break
            beginning.append(line)
            size += len(line)
            if size >= _PEEK_BYTES:
                break
    return beginning
