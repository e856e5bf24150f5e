"""A file of records that another recorder wrote, in the middle of being told as a session.

What Claude Code and Codex have in common: one JSON object a line, appended one by one, in a
vocabulary of their own. A *teller* knows the vocabulary; this module knows the file. For every
reading holds:

* every line is told as one event or more, in file order. Nothing is passed over: what the teller
  cannot place is an opaque event with the very text of the line, and so is a line that is not JSON;
* a last line without its newline is not finished: it belongs to the next read;
* a resumed reading goes on with what the last one left in memory, and gives exactly the events that
  one reading of the whole file would have given from there on.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec.structs import replace

from providers.recordings.fingerprint import fingerprint, mark_of
from providers.recordings.growing_file import opened_to_go_on
from providers.recordings.lines import BEGINNING, Lines, Mark
from providers.recordings.zstd_frames import DamagedFrame
from sessiongraph.event import SessionEvent
from sessiongraph.header import SessionHeader, SessionSource, SourceKind
from sessiongraph.recordings import (
    UNFINISHED_LINE,
    RecordedEntry,
    RecordedLog,
    RecordedMedia,
    RecordedPart,
    RecordingRefused,
    RecordingRewritten,
    RecordingState,
)
from sessiongraph.redaction import Redaction


class Teller(Protocol):
    """Tells the records of one session, line by line."""

    @property
    def header(self) -> SessionHeader:
        """The session's header without its source; final once the last line was told."""
        ...

    def tell(self, line: bytes | None) -> list[SessionEvent]:
        """The events that one more line stands for, at least one; None: a line beyond the limit.

        Raises:
            RecordingRewritten: a resumed reading met something that changes the header.
        """
        ...

    def media(self) -> tuple[RecordedMedia, ...]:
        """What was taken out of the events of the last line."""
        ...

    def notes(self) -> list[str]:
        """What is worth saying of the lines that were told."""
        ...

    def memory(self) -> bytes:
        """What a later reading needs to go on from here."""
        ...

    @property
    def next_seq(self) -> int: ...


class Sorter(Protocol):
    """Tells the lines of the first session of a file from those of the sessions between them."""

    def part_of(self, line: bytes) -> str | None:
        """The further session that one more line belongs to, None for the first one."""
        ...

    def memory(self) -> bytes:
        """What a later reading needs to go on from here."""
        ...


class _Memory(msgspec.Struct):
    """What a reading leaves behind: of its teller, and of its sorter."""

    teller: bytes
    sorter: bytes = b""


def remembered(resume: RecordingState | None) -> tuple[bytes | None, bytes | None]:
    """What the teller and the sorter left behind; None where there was no earlier reading.

    Raises:
        RecordingRewritten: it was left by another version of the readers.
    """
    if resume is None:
        return None, None
    try:
        memory = msgspec.msgpack.decode(resume.memory, type=_Memory)
    except msgspec.DecodeError as error:
        raise RecordingRewritten("it was read by another version of this reader") from error
    return memory.teller, memory.sorter


class TranscriptLog(RecordedLog):
    """One session of a file, being told.

    sorter: None where all lines of the file belong to one session.
    """

    def __init__(
        self,
        path: Path,
        status: os.stat_result,
        kind: SourceKind,
        teller: Teller,
        resume: RecordingState | None,
        part: RecordedPart | None,
        sorter: Sorter | None,
        max_line_bytes: int,
        redaction: Redaction | None = None,
    ) -> None:
        self._path = path
        self._kind = kind
        self._teller = teller
        self._resume = resume
        self._part = part
        self._sorter = sorter
        self._max_line_bytes = max_line_bytes
        self._change = None if redaction is None else redaction.replace
        self._unfinished = False
        self._line = resume.line if resume else 0
        self._lines: Lines | None = None
        self._parts: dict[str, RecordedPart] = {}
        self._numbers: dict[str, array[int]] = {}
        self._reading: Generator[RecordedEntry, None, None] | None = None
        # The size and the time of before the reading: growth during it is seen the next time.
        self._state = RecordingState(
            path=state_path(path, part),
            session_id=teller.header.session_id,
            size=status.st_size,
            modified_ns=status.st_mtime_ns,
            offset=resume.offset if resume else 0,
            line=self._line,
            next_seq=resume.next_seq if resume else 0,
            fingerprint=resume.fingerprint if resume else "",
            memory=resume.memory if resume else b"",
        )

    @property
    def header(self) -> SessionHeader:
        notes = self._teller.notes()
        if self._unfinished:
            notes.append(UNFINISHED_LINE)
        header = self._teller.header
        kind = self._kind if header.source.kind is SourceKind.API else header.source.kind
        source = SessionSource(kind, str(self._path), notes=tuple(notes))
        return replace(header, source=source)

    @property
    def state(self) -> RecordingState:
        """Until :meth:`entries` is exhausted this says what was read before: nothing more."""
        return self._state

    @property
    def bytes_read(self) -> int:
        return self._lines.bytes_read if self._lines is not None and self._part is None else 0

    @property
    def parts(self) -> Sequence[RecordedPart]:
        return tuple(self._parts.values())

    def entries(self) -> Iterator[RecordedEntry]:
        """What the file holds of the session, or gained; to be called once.

        Raises:
            RecordingRefused: the file cannot be read.
            RecordingRewritten: a resumed reading met something that changes the header.
        """
        if self._reading is not None:
            raise RuntimeError("a recorded log is read once")
        self._reading = self._read()
        return self._reading

    def _read(self) -> Generator[RecordedEntry, None, None]:
        with opened_to_go_on(self._path, self._resume) as (file, _, _):
            lines = self._lines = Lines(file, self._max_line_bytes, self._change)
            try:
                if self._part is None:
                    yield from self._all_lines(lines)
                else:
                    yield from self._lines_of(lines, self._part)
            except DamagedFrame as damage:
                raise RecordingRefused(self._path, self._line + 1, str(damage)) from damage
            self._state = replace(
                self._state,
                offset=lines.end.offset,
                line=self._line,
                next_seq=self._teller.next_seq,
                fingerprint=fingerprint(file, lines.end),
                memory=self._memory(),
            )

    def _memory(self) -> bytes:
        sorting = b"" if self._sorter is None else self._sorter.memory()
        return msgspec.msgpack.encode(_Memory(self._teller.memory(), sorting))

    def _all_lines(self, lines: Lines) -> Iterator[RecordedEntry]:
        begin = BEGINNING if self._resume is None else mark_of(self._resume)
        for line in lines.after(begin):
            self._line += 1
            if line is not None and (not line or line.isspace()):
                continue
            key = None
            if self._sorter is not None and line is not None:
                key = self._sorter.part_of(line)
            if key is None:
                yield from self._told(line)
            else:
                self._note_part(key, lines.begin)
        self._unfinished = lines.unfinished

    def _note_part(self, key: str, begin: Mark) -> None:
        part = self._parts.get(key)
        if part is None:
            numbers: array[int] = array("q")
            part = RecordedPart(key, numbers, (begin.offset, begin.skip))
            self._parts[key] = part
            self._numbers[key] = numbers
        self._numbers[key].append(self._line)

    def _lines_of(self, lines: Lines, part: RecordedPart) -> Iterator[RecordedEntry]:
        wanted = iter(part.lines)
        number = next(wanted, None)
        if number is None:
            return
        self._line = number - 1
        for line in lines.after(Mark(*part.place)):
            self._line += 1
            if self._line != number:
                continue
            yield from self._told(line)
            number = next(wanted, None)
            if number is None:
                break

    def _told(self, line: bytes | None) -> list[RecordedEntry]:
        number = self._line
        events = self._teller.tell(line)
        if len(events) == 1:
            told = [RecordedEntry(events[0], number)]
        else:
            told = [RecordedEntry(event, number) for event in events]
        media = self._teller.media()
        if media:
            told[0] = RecordedEntry(told[0].entry, number, media)
        return told


def state_path(path: Path, part: RecordedPart | None) -> str:
    """The name under which the reading of a file, or of a session inside of it, is remembered."""
    return str(path) if part is None else f"{path}#{part.key}"
