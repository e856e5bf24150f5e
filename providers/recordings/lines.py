"""Lines of a growing file, plain or zstd, and the places between them where reading can go on.

A file of one JSON object a line is read in pieces and given out line by line. Only lines that end
in a newline are lines: whatever stands behind the last newline is not finished and belongs to the
next read. A line longer than the limit is read past without being held and given out as None, so
that memory is bounded by the limit, not by the file.

A :class:`Mark` names a place between two lines so that reading can begin there again. In a plain
file it is a byte offset. A compressed file can only be entered where a frame begins, and frames do
not have to end where lines do, so there a mark is the begin of a frame and how many decoded bytes
of it were read before. That also covers a torn last frame: the rows that it already gave are passed
over when it is read again, whole, later.
"""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from providers.recordings.zstd_frames import Frames, is_zstd

MAX_LINE_BYTES: Final = 256 * 1024 * 1024
"""The longest line that is read."""

_PIECE_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Mark:
    """A place between two lines.

    offset: bytes of the file on disk. skip: decoded bytes behind it, 0 in a plain file.
    """

    offset: int = 0
    skip: int = 0


BEGINNING: Final = Mark()


class Lines:
    """The lines of one open file; a single pass from a mark to the end.

    change: what becomes of each line before it is given out.
    compressed: whether the file consists of zstd frames, by its first bytes.
    bytes_read: decoded bytes given out or held so far.
    unfinished: whether something stood behind the last line: a line without its newline, or a torn
        frame. Final once :meth:`after` is exhausted.
    """

    def __init__(
        self,
        file: BinaryIO,
        limit: int = MAX_LINE_BYTES,
        change: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self._file = file
        self._limit = limit
        self._change = change
        file.seek(0)
        self.compressed = is_zstd(file.read(4))
        self.bytes_read = 0
        self.unfinished = False
        self._set_out(BEGINNING)

    def _set_out(self, mark: Mark) -> None:
        # Positions count decoded bytes from the mark on; a frame that was read in part before
        # begins at a negative one.
        self._frames = deque([(-mark.skip, mark.offset)])
        self._line_begin = 0
        self._line_end = 0

    def after(self, mark: Mark) -> Iterator[bytes | None]:
        """Every whole line behind ``mark`` without its newline; None for one beyond the limit.

        Raises:
            DamagedFrame: what comes next cannot be decompressed.
            OSError: the file cannot be read.
        """
        self._set_out(mark)
        frames = Frames(self._file) if self.compressed else None
        pieces = self._plain(mark.offset) if frames is None else frames.pieces(mark.offset)
        position = -mark.skip
        held: list[bytes] = []
        held_bytes = 0
        for offset, piece in pieces:
            if offset != self._frames[-1][1]:
                self._enter_frame(position, offset)
            position += len(piece)
            if position <= 0:
                continue
            new = piece if position >= len(piece) else piece[-position:]
            self.bytes_read += len(new)
            *ends, rest = new.split(b"\n")
            for line in ends:
                size = held_bytes + len(line)
                self._line_begin = self._line_end
                self._line_end += size + 1
                if held_bytes:
                    held.append(line)
                    whole = b"".join(held)
                    held.clear()  # before the line is given out: it can be large
                    held_bytes = 0
                    yield self._given(whole) if size <= self._limit else None
                    del whole
                else:
                    yield self._given(line) if size <= self._limit else None
            if rest:
                held_bytes += len(rest)
                if held_bytes <= self._limit:
                    held.append(rest)
                else:
                    held.clear()
        self.unfinished = held_bytes > 0 or (frames is not None and frames.torn)

    def _given(self, line: bytes) -> bytes:
        return line if self._change is None else self._change(line)

    def _plain(self, offset: int) -> Iterator[tuple[int, bytes]]:
        self._file.seek(offset)
        while piece := self._file.read(_PIECE_BYTES):
            yield offset, piece

    def _enter_frame(self, position: int, offset: int) -> None:
        frames = self._frames
        frames.append((position, offset))
        while len(frames) > 1 and frames[1][0] <= self._line_end:
            frames.popleft()

    @property
    def begin(self) -> Mark:
        """The place before the line that was given out last; to be asked before the next one."""
        return self._mark(self._line_begin)

    @property
    def end(self) -> Mark:
        """The place behind the line that was given out last."""
        return self._mark(self._line_end)

    def _mark(self, position: int) -> Mark:
        frame_position, offset = self._frames[0]
        if not self.compressed:
            return Mark(offset + position)
        # The last frame that begins at or before the position; later ones hold unfinished lines.
        for next_position, next_offset in self._frames:
            if next_position > position:
                break
            frame_position, offset = next_position, next_offset
        return Mark(offset, position - frame_position)


def is_utf8(text: bytes) -> bool:
    """Whether a text is valid UTF-8; needs no second copy of a long text."""
    if text.isascii():
        return True
    view = memoryview(text)
    start = 0
    try:
        while start < len(view):
            end = start + _PIECE_BYTES
            _, used = codecs.utf_8_decode(view[start:end], "strict", end >= len(view))
            start += used
    except UnicodeDecodeError:
        return False
    return True
