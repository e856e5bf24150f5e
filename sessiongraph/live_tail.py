"""A stored log and what a live session has accepted beyond it, read as one log.

The tail is short: events that were acknowledged and are not on disk yet, at most what the write
delay lets pile up. Every question is answered by the store as far as it reaches and corrected by
the tail: a node that the tail replaced is shadowed though the store still has it current, and what
the tail appended stands behind, or in the place of, what it replaced. Costs what the store's answer
costs plus the length of the tail. Where the tail alone can answer, the store is not asked, so that
a sick disk does not hide what is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sessiongraph.citations import CitingKey, SessionCitation
from sessiongraph.errors import PersistenceFailed, SessionGraphError
from sessiongraph.event import (
    EventEnvelope,
    EventSurface,
    PlacedEvent,
    Placement,
    Seq,
    SessionEvent,
)
from sessiongraph.filters import EventSelection
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.ports import ConversationTotals, LogReader, StoredSession, WindowRequest


@dataclass(frozen=True, slots=True, eq=False)
class LiveTail:
    """The events of a live session behind one observation of its stored log."""

    events: Mapping[Seq, PlacedEvent]
    replacers: Mapping[Seq, Seq]
    removed: Mapping[Seq, tuple[Seq, ...]]

    @classmethod
    def of(cls, session_id: str, entries: Iterable[PlacedEntry]) -> LiveTail:
        """The tail made of some entries in order."""
        events: dict[Seq, PlacedEvent] = {}
        replacers: dict[Seq, Seq] = {}
        removed: dict[Seq, tuple[Seq, ...]] = {}
        entries = list(entries)
        for each in entries:
            if each.transition.removed:
                removed[each.transition.seq] = each.transition.removed
                replacers.update(dict.fromkeys(each.transition.removed, each.transition.seq))
        for each in entries:
            event = each.entry
            assert isinstance(event, SessionEvent), "a live session appends single events"
            placement = Placement(each.transition.position, replacers.get(event.seq))
            events[event.seq] = PlacedEvent(session_id, event, placement)
        return cls(events, replacers, removed)

    def corrected(self, placed: PlacedEvent) -> PlacedEvent:
        """A stored event as it stands now."""
        replacer = self.replacers.get(placed.seq)
        if replacer is None:
            return placed
        placement = Placement(placed.placement.position, replacer)
        return PlacedEvent(placed.session_id, placed.event, placement, placed.elided)


NO_TAIL: Final = LiveTail({}, {}, {})
"""The tail of every session that has accepted nothing beyond its stored log."""


class TailedLog:
    """One log that lies partly in the store, partly in memory; either part may be empty.

    reader: None when the store cannot be asked; ``failure`` then says why, to those who need it.
    """

    __slots__ = ("_failure", "_store", "_stored", "_tail")

    def __init__(
        self,
        reader: LogReader | None,
        stored: StoredSession | None,
        tail: LiveTail,
        failure: SessionGraphError | None = None,
    ) -> None:
        self._store = reader
        self._stored = stored
        self._tail = tail
        self._failure = failure

    @property
    def stored(self) -> StoredSession | None:
        """The part that is in the store, None when nothing is."""
        return self._stored

    @property
    def tail_length(self) -> int:
        """Events that are in memory alone."""
        return len(self._tail.events)

    @property
    def _reader(self) -> LogReader:
        if self._store is None:
            raise self._failure or PersistenceFailed("the store cannot be read")
        return self._store

    async def events(self, selection: EventSelection, window: WindowRequest) -> list[PlacedEvent]:
        """Events that pass all but the text filters, ascending by seq; the window is over seqs."""
        stored: list[PlacedEvent] = []
        if self._stored is not None and self._reaches_store(selection, window):
            stored = await self._stored_events(self._stored, selection, window)
        if not self._tail.events:
            return stored
        found = [
            placed
            for placed in self._tail.events.values()
            if _in_window(placed.seq, window) and _admits(selection, placed)
        ]
        return _cut(stored + found, window, lambda placed: placed.seq)

    async def envelopes(
        self, selection: EventSelection, window: WindowRequest
    ) -> list[EventEnvelope]:
        """The envelopes of what :meth:`events` answers."""
        if self._stored is None or self._tail.events:
            return [EventEnvelope.of(placed) for placed in await self.events(selection, window)]
        return await self._reader.envelopes(self._stored, selection, window)

    def _reaches_store(self, selection: EventSelection, window: WindowRequest) -> bool:
        """Whether the answer can have events that are not in the tail."""
        first = next(iter(self._tail.events), None)
        if first is None:
            return True
        low = max(-1 if window.after is None else window.after, (selection.seqs.low or 0) - 1)
        if low >= first - 1:
            return False
        if window.newest:
            in_tail = sum(
                _in_window(placed.seq, window) and _admits(selection, placed)
                for placed in self._tail.events.values()
            )
            return in_tail < window.limit
        return True

    async def _stored_events(
        self, stored: StoredSession, selection: EventSelection, window: WindowRequest
    ) -> list[PlacedEvent]:
        moved = self._tail.replacers
        if selection.surfaces is None or not moved:
            events = await self._reader.events(stored, selection, window)
            return [self._tail.corrected(placed) for placed in events] if moved else events
        # What the tail shadowed may be admitted now, or no longer: it is looked at by itself.
        wider = replace(window, limit=window.limit + len(moved))
        events = await self._reader.events(stored, selection, wider)
        kept = [placed for placed in events if placed.seq not in moved]
        shadowed = await self._reader.at(stored, moved)
        kept.extend(
            now
            for now in map(self._tail.corrected, shadowed.values())
            if _in_window(now.seq, window) and _admits(selection, now)
        )
        return _cut(kept, window, lambda placed: placed.seq)

    async def surface(self, window: WindowRequest) -> list[PlacedEvent]:
        """Current nodes in model order; the window is over positions."""
        stored: list[PlacedEvent] = []
        if self._stored is not None and self._surface_reaches_store(window):
            wider = replace(window, limit=window.limit + len(self._tail.replacers))
            nodes = await self._reader.surface(self._stored, wider)
            stored = [placed for placed in nodes if placed.seq not in self._tail.replacers]
        found = [
            placed
            for placed in self._tail.events.values()
            if placed.surface is EventSurface.CURRENT and _in_window(_position(placed), window)
        ]
        return _cut(stored + found, window, _position)

    def _surface_reaches_store(self, window: WindowRequest) -> bool:
        """Whether a window of the surface can have nodes that are not in the tail."""
        first = next(iter(self._tail.events), None)
        if first is None:
            return True
        if window.after is not None and window.after >= first - 1:
            return False
        in_tail = sum(
            placed.surface is EventSurface.CURRENT
            and _position(placed) >= first
            and _in_window(_position(placed), window)
            for placed in self._tail.events.values()
        )
        return not (window.newest and in_tail >= window.limit)

    async def at(self, seqs: Collection[Seq]) -> dict[Seq, PlacedEvent]:
        """The events with these seqs, those that exist."""
        found = {seq: self._tail.events[seq] for seq in seqs if seq in self._tail.events}
        rest = [seq for seq in seqs if seq not in found]
        if rest and self._stored is not None:
            stored = await self._reader.at(self._stored, rest)
            found.update((seq, self._tail.corrected(placed)) for seq, placed in stored.items())
        return found

    @staticmethod
    async def each_at(wanted: Sequence[tuple[TailedLog, Seq]]) -> list[PlacedEvent | None]:
        """The event with some seq in each of some logs of one observation, read together."""
        answers = [log._tail.events.get(seq) for log, seq in wanted]
        places, stored = _in_the_store(wanted)
        if stored:
            reader = wanted[places[0]][0]._reader
            for place, placed in zip(places, await reader.each_at(stored), strict=True):
                tail = wanted[place][0]._tail
                answers[place] = placed if placed is None else tail.corrected(placed)
        return answers

    async def payloads(self, seqs: Collection[Seq]) -> dict[Seq, bytes]:
        """Whole payloads, streams included."""
        events = self._tail.events
        found = {seq: events[seq].event.payload for seq in seqs if seq in events}
        rest = [seq for seq in seqs if seq not in found]
        if rest and self._stored is not None:
            found.update(await self._reader.payloads(self._stored, rest))
        return found

    async def conversation_totals(self) -> ConversationTotals | None:
        """What can be carried from the surface; None when only a walk along it can tell."""
        if self._tail.events or self._stored is None:
            return None
        return await self._reader.conversation_totals(self._stored)

    async def citations(
        self, *, limit: int, after: CitingKey | None = None
    ) -> list[SessionCitation]:
        """Sessions that the stored part cites, in order: a crash could take back the others."""
        if self._stored is None:
            return []
        return await self._reader.citations(self._stored, limit=limit, after=after)

    async def replaced_by(self, seq: Seq) -> list[Seq]:
        """The nodes that the event removed itself, in model order."""
        if seq in self._tail.events:
            return list(self._tail.removed.get(seq, ()))
        if self._stored is None:
            return []
        return await self._reader.replaced_by(self._stored, seq)

    async def replacement_chain(self, seq: Seq) -> list[Seq]:
        """From the direct replacer to the one that stands now."""
        chain: list[Seq] = []
        if self._stored is not None and seq not in self._tail.events:
            chain = await self._reader.replacement_chain(self._stored, seq)
        last = chain[-1] if chain else seq
        while last in self._tail.replacers:
            last = self._tail.replacers[last]
            chain.append(last)
        return chain

    @staticmethod
    async def each_replacer(wanted: Sequence[tuple[TailedLog, Seq]]) -> list[Seq | None]:
        """What removed the event with some seq in each of some logs of one observation, read
        together; None while it stands."""
        answers = [log._tail.replacers.get(seq) for log, seq in wanted]
        places, stored = _in_the_store(wanted)
        if stored:
            reader = wanted[places[0]][0]._reader
            for place, by in zip(places, await reader.each_replacer(stored), strict=True):
                if answers[place] is None:
                    answers[place] = by
        return answers

    async def citers(self, seq: Seq) -> list[Seq]:
        """Later events whose sources include this one, in log order."""
        found: list[Seq] = []
        if self._stored is not None and seq not in self._tail.events:
            found = await self._reader.citers(self._stored, seq)
        return found + [
            placed.seq
            for placed in self._tail.events.values()
            if seq in (placed.source_event_seqs or ())
        ]


def _admits(selection: EventSelection, placed: PlacedEvent) -> bool:
    """Whether an event passes all but the text filters."""
    return (
        selection.seqs.holds(placed.seq)
        and selection.times.holds(placed.time)
        and (selection.types is None or placed.type in selection.types)
        and (selection.surfaces is None or placed.surface in selection.surfaces)
    )


def _in_the_store(
    wanted: Sequence[tuple[TailedLog, Seq]],
) -> tuple[list[int], list[tuple[StoredSession, Seq]]]:
    """Which of some events are not in a tail, by their places, and how the store is asked for
    them."""
    places: list[int] = []
    stored: list[tuple[StoredSession, Seq]] = []
    for place, (log, seq) in enumerate(wanted):
        if log.stored is not None and seq not in log._tail.events:
            places.append(place)
            stored.append((log.stored, seq))
    return places, stored


def _in_window(key: int, window: WindowRequest) -> bool:
    return (window.after is None or key > window.after) and (
        window.before is None or key < window.before
    )


def _position(placed: PlacedEvent) -> int:
    assert placed.placement.position is not None
    return placed.placement.position


def _cut(
    events: Sequence[PlacedEvent], window: WindowRequest, key: Callable[[PlacedEvent], int]
) -> list[PlacedEvent]:
    ordered = sorted(events, key=key)
    return ordered[-window.limit :] if window.newest else ordered[: window.limit]
