"""Reads dsh's session files: the recorder whose vocabulary is our own.

A file is a header line and then one storage row a line, plain or as zstd frames. It is read once,
front to back, a row at a time; what the rows say is not changed. These hold for every reading:

* events come out in file order with seqs 0, 1, 2, …; a resumed reading goes on where the last one
  stopped and gives exactly what the file gained;
* the first row that is broken, or not the next one, ends the log. If the recorder ended a turn
  after it, committed data is damaged and the session is refused; else the tail is what a crash
  left behind, is cut there, and is noted;
* a last line without its newline is not finished: it belongs to the next read;
* nothing stays open: the file is opened for the header, closed, and opened again by
  :meth:`DshLog.entries`, which closes it whichever way it ends.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from providers.recordings.dsh_files import generation_of, superseded
from providers.recordings.dsh_header import NotAHeader, looks_like_header, read_header
from providers.recordings.dsh_notes import DshNotes
from providers.recordings.dsh_rows import BrokenRow, DshRows, UnnumberedRow
from providers.recordings.dsh_vocabulary import LAST_PACKED_VERSION
from providers.recordings.fingerprint import fingerprint, mark_of
from providers.recordings.growing_file import opened_to_go_on
from providers.recordings.lines import BEGINNING, MAX_LINE_BYTES, Lines
from providers.recordings.zstd_frames import DamagedFrame
from sessiongraph import lossless
from sessiongraph.event import Entry
from sessiongraph.header import SessionHeader, SessionSource, SourceKind
from sessiongraph.recordings import (
    BROKEN_TAIL,
    UNFINISHED_LINE,
    RecordedEntry,
    RecordedLog,
    RecordedPart,
    RecordingReader,
    RecordingRefused,
    RecordingRewritten,
    RecordingState,
)
from sessiongraph.redaction import Redaction


class DshReader(RecordingReader):
    """The reader of dsh's files, versions 0 to 4, and those of its forks by their content.

    max_line_bytes: a longer line is a broken row.
    """

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_line_bytes = max_line_bytes

    @property
    def kind(self) -> SourceKind:
        return SourceKind.DSH

    def recognises(self, path: Path, beginning: Sequence[bytes]) -> bool:  # noqa: ARG002
        """A dsh header, and behind it, if there is anything, a row that has a type."""
        if not beginning or not looks_like_header(_parsed(beginning[0])):
            return False
        rows = [_parsed(line) for line in beginning[1:]]
        return not rows or any(
            isinstance(row, dict) and isinstance(row.get("type"), str) for row in rows
        )

    def superseded(self, paths: Sequence[Path]) -> Mapping[Path, Path]:
        return superseded(paths)

    def open(
        self,
        path: Path,
        resume: RecordingState | None,
        part: RecordedPart | None = None,  # noqa: ARG002
        redaction: Redaction | None = None,
    ) -> DshLog:
        """Read the header; the file is open only during this call.

        Raises:
            RecordingRefused: the file cannot be read, or does not begin with a header of dsh.
            RecordingRewritten: the part that was read before has changed.
        """
        with opened_to_go_on(path, resume) as (file, status, resume):
            line = _first_line(path, Lines(file, self._max_line_bytes))
            log = DshLog(path, status, line, resume, self._max_line_bytes, redaction)
        if resume is not None and log.header.session_id != resume.session_id:
            raise RecordingRewritten(f"{path}: the header has another id now")
        return log


class DshLog(RecordedLog):
    """One session file, in the middle of being read."""

    def __init__(
        self,
        path: Path,
        status: os.stat_result,
        header_line: bytes | None,
        resume: RecordingState | None,
        max_line_bytes: int,
        redaction: Redaction | None = None,
    ) -> None:
        self._path = path
        self._notes = _notes_after(resume)
        self._header_line = header_line
        self._header = self._read_header(header_line)
        self._rows = DshRows(self._header.version, self._notes)
        self._resume = resume
        self._max_line_bytes = max_line_bytes
        self._redaction = redaction
        self._line = resume.line if resume else 0
        self._next_seq = resume.next_seq if resume else 0
        self._lines: Lines | None = None
        self._reading: Generator[RecordedEntry, None, None] | None = None
        # The size and the time of before the reading: growth during it is seen the next time.
        self._state = RecordingState(
            path=str(path),
            session_id=self._header.session_id,
            size=status.st_size,
            modified_ns=status.st_mtime_ns,
            offset=resume.offset if resume else 0,
            line=self._line,
            next_seq=self._next_seq,
            fingerprint=resume.fingerprint if resume else "",
            memory=resume.memory if resume else b"",
        )

    def _read_header(self, line: bytes | None) -> SessionHeader:
        if line is None:
            raise RecordingRefused(self._path, 1, "the first line is missing or not finished")
        try:
            header = read_header(line, self._notes)
        except NotAHeader as error:
            raise RecordingRefused(self._path, 1, str(error)) from error
        named = generation_of(self._path)
        if named is not None and named != header.version:
            self._notes.say(
                f"The file is named for version {named} but its header says {header.version}."
            )
        return replace(header, source=SessionSource(SourceKind.DSH, str(self._path)))

    @property
    def header(self) -> SessionHeader:
        seed_length = self._header.seed_length
        if self._header.version > LAST_PACKED_VERSION:
            seed_length = self._rows.inherited
        source = replace(self._header.source, notes=self._notes.sentences())
        return replace(self._header, seed_length=seed_length, source=source)

    @property
    def state(self) -> RecordingState:
        """Until :meth:`entries` is exhausted this says what was read before: nothing more."""
        return self._state

    @property
    def bytes_read(self) -> int:
        return self._lines.bytes_read if self._lines is not None else 0

    @property
    def parts(self) -> Sequence[RecordedPart]:
        """None: a file of dsh is one session."""
        return ()

    def entries(self) -> Iterator[RecordedEntry]:
        """What the file holds, or gained; to be called once.

        Raises:
            RecordingRefused: what comes next cannot be read faithfully.
            RecordingRewritten: a fork's growth moved the end of what it inherited.
        """
        if self._reading is not None:
            raise RuntimeError("a recorded log is read once")
        self._reading = self._read()
        return self._reading

    def close(self) -> None:
        """Stop reading and close the file; for a reading that is abandoned."""
        if self._reading is not None:
            self._reading.close()

    def _read(self) -> Generator[RecordedEntry, None, None]:
        with opened_to_go_on(self._path, self._resume) as (file, _, resume):
            lines = self._lines = Lines(file, self._max_line_bytes)
            try:
                if resume is not None:
                    rows = lines.after(mark_of(resume))
                else:
                    rows = lines.after(BEGINNING)
                    self._pass_header(rows)
                for line in rows:
                    if line is not None and (not line or line.isspace()):
                        self._line += 1
                        continue
                    try:
                        entry = self._entry(line)
                    except BrokenRow as broken:
                        end = lines.begin
                        self._require_open_tail(line, rows, broken)
                        break
                    self._line += 1
                    self._next_seq = entry.last_seq + 1
                    yield RecordedEntry(entry, self._line)
                else:
                    end = lines.end
                    if lines.unfinished:
                        self._notes.say(UNFINISHED_LINE)
            except DamagedFrame as damage:
                raise RecordingRefused(self._path, self._line + 1, str(damage)) from damage
            self._state = replace(
                self._state,
                offset=end.offset,
                line=self._line,
                next_seq=self._next_seq,
                fingerprint=fingerprint(file, end),
                memory=self._notes.memory(),
            )

    def _pass_header(self, lines: Iterator[bytes | None]) -> None:
        if next(lines, None) != self._header_line:
            raise RecordingRefused(self._path, 1, "the file was replaced while it was being read")
        self._line = 1

    def _entry(self, line: bytes | None) -> Entry:
        if line is None:
            raise BrokenRow(f"the line is longer than {self._max_line_bytes} bytes")
        if self._redaction is not None:
            line = self._redaction.replace(line)
        entry = self._rows.read(line, self._next_seq)
        if self._resume is not None and self._rows.inherited is not None:
            raise RecordingRewritten(f"{self._path}: what the session inherited ends later now")
        return entry

    def _require_open_tail(
        self, line: bytes | None, later: Iterator[bytes | None], broken: BrokenRow
    ) -> None:
        """Let the log end before the row that is broken, unless a turn ended after it.

        A row that ends a turn and comes too early itself follows the gap.
        """
        number = self._line + 1
        ends_turn = self._rows.is_turn_end
        if isinstance(broken, UnnumberedRow):
            raise RecordingRefused(self._path, number, str(broken)) from broken
        if any(text is not None and ends_turn(text) for text in chain((line,), later)):
            reason = f"{broken}, and a turn ends after it"
            raise RecordingRefused(self._path, number, reason) from broken
        self._notes.say(f"Line {number} {BROKEN_TAIL}: {broken}.")


def _notes_after(resume: RecordingState | None) -> DshNotes:
    """The notes that a reading begins with.

    Raises:
        RecordingRewritten: those of the reading before are not known.
    """
    if resume is None:
        return DshNotes()
    try:
        return DshNotes(resume.memory)
    except ValueError as error:
        raise RecordingRewritten("it was read by another version of this reader") from error


def _first_line(path: Path, lines: Lines) -> bytes | None:
    try:
        return next(lines.after(BEGINNING), None)
    except DamagedFrame as damage:
        raise RecordingRefused(path, 1, str(damage)) from damage


def _parsed(line: bytes) -> Any:
    try:
        return lossless.decode(line)
    except ValueError:
        return None
