"""What a process that reads recordings and the one that asked for it say to each other.

Messages go through a pipe (:mod:`providers.processes`). Entries, which are nearly all of
it, travel as columns of plain values, of which whole rows are made without a step of the
interpreter for each: that costs a tenth of reading them. Both ends are the same program run by the
same interpreter, so nothing here outlives either of them.
"""

from __future__ import annotations

import marshal
import pickle
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, Final, Literal

from providers.processes import (
    NotAMessage,
    ReadablePipe,
    WritablePipe,
    receive_message,
    send_message,
)
from sessiongraph.event import APPEND, DeltaKind, DeltaRun, Entry, SessionEvent, SurfaceOp
from sessiongraph.header import SessionHeader
from sessiongraph.placed_entry import Prepare, Prepared
from sessiongraph.recordings import (
    RecordedEntry,
    RecordedMedia,
    RecordedPart,
    RecordingReader,
    RecordingState,
)

_ENTRIES: Final = b"e"
_OTHER: Final = b"o"

_NO_REFERENCES: Final = 2
"""The version of marshal that does not look for equal objects: columns have few."""


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


def send(pipe: WritablePipe, message: ReadRequest | Answer) -> None:
    """Write one message.

    Raises:
        OSError: nobody reads the other end any more.
    """
    if isinstance(message, EntriesRead):
        columns = _columns_of(message.entries)
        kind, content = _ENTRIES, marshal.dumps((message.octets, *columns), _NO_REFERENCES)
    else:
        kind, content = _OTHER, pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    send_message(pipe, kind, content)


def receive(pipe: ReadablePipe) -> Any:
    """The next message; None where the other end has closed the pipe, in the middle of one too.

    Raises:
        NotAMessage: what comes is none of these.
    """
    message = receive_message(pipe)
    if message is None:
        return None
    kind, content = message
    if kind == _ENTRIES:
        octets, *columns = marshal.loads(content)
        return EntriesRead(octets, _entries_of(*columns))
    if kind != _OTHER:
        raise NotAMessage(f"it is of the unknown kind {kind!r}")
    return pickle.loads(content)


def _columns_of(recorded: list[RecordedEntry]) -> tuple[Any, ...]:
    """Entries member by member; runs and media with their places among them."""
    entries = [each.entry for each in recorded]
    events = [entry for entry in entries if isinstance(entry, SessionEvent)]
    types = [event.type for event in events]
    names = {name: code for code, name in enumerate(dict.fromkeys(types))}
    runs = [
        (
            index, entry.kind.value, entry.seq, entry.time, entry.turn, entry.step,
            entry.index, list(entry.gaps), list(entry.texts), entry.call_id, entry.name,
        )
        for index, entry in enumerate(entries if len(events) < len(entries) else ())
        if isinstance(entry, DeltaRun)
    ]  # fmt: skip
    media = [
        (index, [(found.name, found.content) for found in each.media])
        for index, each in enumerate(recorded)
        if each.media
    ]
    return (
        [each.line for each in recorded],
        [each.prepared for each in recorded],
        [event.seq for event in events],
        list(names),
        [names[name] for name in types],
        [event.time for event in events],
        [event.payload for event in events],
        [None if (op := event.surface_op) is None else _sent(op) for event in events],
        [event.source_event_seqs for event in events],
        [event.ignorable for event in events],
        runs,
        media,
    )


def _sent(op: SurfaceOp) -> Literal[True] | tuple[int | None, int | None]:
    return op.start is None or (op.start, op.end)


def _entries_of(
    lines: list[int],
    prepared: list[Prepared],
    seqs: list[int],
    names: list[str],
    codes: list[int],
    times: list[int],
    payloads: list[bytes],
    ops: list[Any],
    sources: list[Any],
    ignorable: list[bool],
    runs: list[tuple[Any, ...]],
    media: list[tuple[int, list[tuple[str, bytes]]]],
) -> list[RecordedEntry]:
    types = map(names.__getitem__, codes)
    entries: list[Entry] = list(
        map(SessionEvent, seqs, types, times, payloads, map(_op_of, ops), sources, ignorable)
    )
    for index, kind, *members in runs:
        entries.insert(index, DeltaRun(DeltaKind(kind), *members))
    recorded = list(map(RecordedEntry, entries, lines, repeat(()), prepared))
    for index, found in media:
        recorded[index].media = tuple(RecordedMedia(*each) for each in found)
    return recorded


def _op_of(sent: Any) -> SurfaceOp | None:
    if sent is None:
        return None
    return APPEND if sent is True else SurfaceOp(*sent)
