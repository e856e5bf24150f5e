"""A recorded log in batches: read and folded in a worker thread, ready for a store.

The fold needs an earlier payload only where a tool result replaces another. It is found in the
batches at hand, or else asked of the store, so that memory does not grow with the log.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sessiongraph import lossless
from sessiongraph.event import APPEND, DeltaRun, Entry, Seq, SessionEvent, events_of
from sessiongraph.payloads import tool_result_without_content
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.recordings import MediaStore, RecordedEntry, RecordingRefused
from sessiongraph.surface import Surface, SurfaceNode, SurfaceRuleBroken

BATCH_ENTRIES: Final = 1000
BATCH_BYTES: Final = 2 << 20
"""Where a batch ends: whichever is reached first. A run counts 16 bytes a member."""

FIRST_BATCH_ENTRIES: Final = 125
"""Where the first one ends; each further one may be twice as long as the one before. So there is
something to write at once, and a file of some megabytes is not read first and written then."""

_BRACKETS: Final = frozenset({"turn/start", "turn/end", "step/start", "step/end"})

_AT_HAND: Final = 3
"""Batches whose events are kept for the fold: the one being read, and those on their way."""


class RecordedBatches:
    """Folds the entries of one file and hands them out in batches.

    payload_of: asks the store for the payload of an event that is no longer at hand.
    keep_results: remember every tool result without its content instead, where nothing is stored.
    media: keeps what the entries had in them, before they are handed out; None: nothing does.
    """

    def __init__(
        self,
        path: Path,
        entries: Iterable[RecordedEntry],
        nodes: Iterable[SurfaceNode],
        next_seq: Seq,
        payload_of: Callable[[Seq], Awaitable[bytes]] | None,
        *,
        keep_results: bool,
        media: MediaStore | None = None,
    ) -> None:
        self._path = path
        self._entries = iter(entries)
        self._surface = Surface(self._data_of, nodes, next_seq)
        self._payload_of = payload_of
        self._keep_results = keep_results
        self._media = media
        self._kept: dict[Seq, Mapping[str, Any]] = {}
        self._most_entries = FIRST_BATCH_ENTRIES
        self._at_hand: deque[dict[Seq, SessionEvent]] = deque(maxlen=_AT_HAND)
        self._loop = asyncio.get_running_loop()

    @property
    def next_seq(self) -> Seq:
        return self._surface.next_seq

    async def read(self) -> list[PlacedEntry]:
        """The next batch, empty at the end of the file.

        Raises:
            RecordingRefused: an entry breaks a rule of the log, or cannot be read faithfully.
            RecordingRewritten: see :meth:`sessiongraph.recordings.RecordedLog.entries`.
        """
        return await asyncio.to_thread(self._read)

    def _read(self) -> list[PlacedEntry]:
        batch: list[PlacedEntry] = []
        results: dict[Seq, SessionEvent] = {}
        self._at_hand.append(results)
        size = 0
        advance, media_store = self._surface.advance, self._media
        for recorded in self._entries:
            entry = recorded.entry
            try:
                transition = advance(entry)
            except SurfaceRuleBroken as broken:
                raise RecordingRefused(self._path, recorded.line, str(broken)) from broken
            if media_store is not None and recorded.media:
                for media in recorded.media:
                    media_store.keep(media)
            batch.append(PlacedEntry(entry, transition, recorded.prepared))
            if isinstance(entry, DeltaRun):
                size += 16 * len(entry.texts)
            else:
                size += len(entry.payload)
                if entry.type == "tool/result":
                    self._note_result(entry, results)
            if len(batch) >= self._most_entries or size >= BATCH_BYTES:
                break
        self._most_entries = min(2 * self._most_entries, BATCH_ENTRIES)
        return batch

    def _note_result(self, event: SessionEvent, results: dict[Seq, SessionEvent]) -> None:
        if self._keep_results:
            self._kept[event.seq] = tool_result_without_content(event.data)
        else:
            results[event.seq] = event

    def _data_of(self, seq: Seq) -> Mapping[str, Any]:
        if seq in self._kept:
            return self._kept[seq]
        for results in self._at_hand:
            if seq in results:
                return results[seq].data
        assert self._payload_of is not None, "an event before the beginning of the file"
        asked = asyncio.run_coroutine_threadsafe(self._fetch(seq), self._loop)
        data: Mapping[str, Any] = lossless.decode(asked.result())
        return data

    async def _fetch(self, seq: Seq) -> bytes:
        assert self._payload_of is not None
        return await self._payload_of(seq)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A recorded log beside a stored one.

    difference: where they part, None while one begins like the other.
    surplus: what the file read past the end of the stored log, empty when it ended first or there.
    """

    difference: str | None
    surplus: tuple[RecordedEntry, ...] = ()


async def compare(
    entries: Iterator[RecordedEntry], stored: AsyncIterator[list[Entry]]
) -> Comparison:
    """Read a file beside the stored log of the same id until one of them ends or they differ.

    Raises:
        RecordingRefused: the file cannot be read faithfully.
    """
    ahead: deque[tuple[SessionEvent, int]] = deque()
    async for page in stored:
        events = [event for entry in page for event in events_of(entry)]
        parted = await asyncio.to_thread(_compare_page, entries, ahead, events)
        if parted is not None:
            return parted
    surplus = tuple(RecordedEntry(event, line) for event, line in ahead)
    if not surplus:
        surplus = await asyncio.to_thread(lambda: tuple(_take(entries)))
    return Comparison(None, surplus)


async def holds_all(entries: Iterator[RecordedEntry], stored: AsyncIterator[list[Entry]]) -> bool:
    """Whether a file tells everything that is stored, in the same order, with more in between.

    Raises:
        RecordingRefused: the file cannot be read faithfully.
    """
    told = (event for recorded in entries for event in events_of(recorded.entry))
    missing = 0
    async for page in stored:
        events = [event for entry in page for event in events_of(entry)]
        passed_over = await asyncio.to_thread(_pass_over, events, told)
        if passed_over is None:
            return False
        missing += passed_over
    return missing > 0


async def is_held(entries: Iterator[RecordedEntry], stored: AsyncIterator[list[Entry]]) -> bool:
    """Whether everything that a file tells is stored, in the same order, with more in between.

    Raises:
        RecordingRefused: the file cannot be read faithfully.
    """
    told = (event for recorded in entries for event in events_of(recorded.entry))
    wanted = await asyncio.to_thread(next, told, None)
    async for page in stored:
        events = [event for entry in page for event in events_of(entry)]
        wanted = await asyncio.to_thread(_met_in, events, wanted, told)
    return wanted is None


def _met_in(
    events: list[SessionEvent], wanted: SessionEvent | None, told: Iterator[SessionEvent]
) -> SessionEvent | None:
    """The first of what is told, from ``wanted`` on, that ``events`` do not hold in order."""
    for event in events:
        if wanted is None:
            break
        if _say_the_same(event, wanted):
            wanted = next(told, None)
    return wanted


def _pass_over(events: list[SessionEvent], told: Iterator[SessionEvent]) -> int | None:
    """How many events had to be passed over to meet all of ``events``; None: some never came."""
    passed_over = 0
    for event in events:
        for other in told:
            if _say_the_same(event, other):
                break
            passed_over += 1
        else:
            return None
    return passed_over


def _say_the_same(event: SessionEvent, other: SessionEvent) -> bool:
    """Whether two events differ at most in their numbers and those that they refer to.

    Brackets may differ in their times: those are of whatever record stood before them.
    """
    mine, theirs = event.source_event_seqs, other.source_event_seqs
    return (
        (event.type, event.ignorable, event.payload) == (other.type, other.ignorable, other.payload)
        and (event.time == other.time or event.type in _BRACKETS)
        and (event.surface_op == APPEND) is (other.surface_op == APPEND)
        and (mine is None) is (theirs is None)
    )


def _compare_page(
    entries: Iterator[RecordedEntry],
    ahead: deque[tuple[SessionEvent, int]],
    events: list[SessionEvent],
) -> Comparison | None:
    for event in events:
        if not ahead:
            for recorded in _take(entries):
                ahead.extend((member, recorded.line) for member in events_of(recorded.entry))
            if not ahead:
                return Comparison(None)
        other, line = ahead.popleft()
        if not other.same_as(event):
            return Comparison(f"they differ from seq {event.seq} on (line {line})")
    return None


def _take(entries: Iterator[RecordedEntry]) -> Iterator[RecordedEntry]:
    """The next entry, if there is one."""
    for recorded in entries:
        yield recorded
        return
