"""What a process that reads recordings and the one that asked for it say to each other.

A message is a kind, its length and its content, through a pipe. Entries, which are nearly all of
it, travel as plain rows of plain values: that costs a tenth of reading them. Both ends are the same
program run by the same interpreter, so nothing here outlives either of them.
"""

from __future__ import annotations

import marshal
import pickle
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import IO, Any, Final

from sessiongraph.event import APPEND, DeltaKind, DeltaRun, SessionEvent, SurfaceOp
from sessiongraph.header import SessionHeader
from sessiongraph.ports import (
    Prepare,
    RecordedEntry,
    RecordedMedia,
    RecordedPart,
    RecordingReader,
    RecordingState,
)

_ENTRIES: Final = b"e"
_OTHER: Final = b"o"
_FRAME: Final = Struct(">cQ")

_NO_REFERENCES: Final = 2
"""The version of marshal that does not look for equal objects: rows have few."""

_MEMBERS_OF_EVENT: Final = 10


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Read a session of a file; the members are those of ``RecordingReader.open``.

    header: of the session as the asking process saw it.
    prepare: what to make of each entry for the store; None for nothing.
    """

    reader: RecordingReader
    path: Path
    resume: RecordingState | None
    part: RecordedPart | None
    redact: bool
    header: SessionHeader
    prepare: Prepare | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """The process is there; said once, before anything is asked."""


@dataclass(frozen=True, slots=True)
class EntriesRead:
    """Some entries, in order; octets: ``RecordedLog.bytes_read`` behind them."""

    octets: int
    entries: list[RecordedEntry]


@dataclass(frozen=True, slots=True)
class WholeRead:
    """The session was read to its end; the members are those of ``RecordedLog``.

    redacted: secrets that were replaced among its entries, by their kinds.
    """

    header: SessionHeader
    state: RecordingState
    octets: int
    parts: tuple[RecordedPart, ...]
    redacted: dict[str, int]


@dataclass(frozen=True, slots=True)
class ReadingRefused:
    """What comes next cannot be read faithfully; see ``RecordingRefused``."""

    line: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class ReadingRewritten:
    """See ``RecordingRewritten``."""

    reason: str


Answer = Ready | EntriesRead | WholeRead | ReadingRefused | ReadingRewritten


def send(pipe: IO[bytes], message: ReadRequest | Answer) -> None:
    """Write one message.

    Raises:
        OSError: nobody reads the other end any more.
    """
    if isinstance(message, EntriesRead):
        rows = [_row_of(recorded) for recorded in message.entries]
        kind, content = _ENTRIES, marshal.dumps((message.octets, rows), _NO_REFERENCES)
    else:
        kind, content = _OTHER, pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    pipe.write(_FRAME.pack(kind, len(content)))
    pipe.write(content)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """The next message; None where the other end has closed the pipe, in the middle of one too."""
    frame = pipe.read(_FRAME.size)
    if len(frame) < _FRAME.size:
        return None
    kind, length = _FRAME.unpack(frame)
    content = pipe.read(length)
    if len(content) < length:
        return None
    if kind == _ENTRIES:
        octets, rows = marshal.loads(content)
        return EntriesRead(octets, _entries_of(rows))
    return pickle.loads(content)


def _row_of(recorded: RecordedEntry) -> tuple[Any, ...]:
    entry, media = recorded.entry, None
    if recorded.media:
        media = [(each.name, each.content) for each in recorded.media]
    if isinstance(entry, SessionEvent):
        op = entry.surface_op
        return (
            recorded.line,
            media,
            recorded.prepared,
            entry.seq,
            entry.type,
            entry.time,
            entry.payload,
            None if op is None else (op.start, op.end),
            entry.source_event_seqs,
            entry.ignorable,
        )
    return (
        recorded.line,
        media,
        recorded.prepared,
        entry.kind.value,
        entry.seq,
        entry.time,
        entry.turn,
        entry.step,
        entry.index,
        list(entry.gaps),
        list(entry.texts),
        entry.call_id,
        entry.name,
    )


def _entries_of(rows: list[tuple[Any, ...]]) -> list[RecordedEntry]:
    entries: list[RecordedEntry] = []
    entry: SessionEvent | DeltaRun
    for row in rows:
        if len(row) == _MEMBERS_OF_EVENT:
            line, media, prepared, seq, type_name, time, payload, op, sources, ignorable = row
            if op is not None:
                op = APPEND if op[0] is None else SurfaceOp(*op)
            entry = SessionEvent(seq, type_name, time, payload, op, sources, ignorable)
        else:
            line, media, prepared, kind, *members = row
            entry = DeltaRun(DeltaKind(kind), *members)
        found = () if media is None else tuple(RecordedMedia(*each) for each in media)
        entries.append(RecordedEntry(entry, line, found, prepared))
    return entries
