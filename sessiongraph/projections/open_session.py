"""One session that is open: its cells, its subscribers and its checkpoints, moved on together.

What moves it on is done one at a time, under its lock: opening, folding what was committed, taking
in units that were registered late. Between two events it is always whole, so a snapshot of it needs
no waiting. All it folds is read from the store, or is what the store would give; that a commit was
heard of only says that it may be worth a look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from time import perf_counter
from typing import Final

from sessiongraph.errors import CorruptSession, SessionGraphError, SessionNotFound
from sessiongraph.event import Entry, PlacedEvent, Seq, SessionEvent
from sessiongraph.filters import ALL_EVENTS
from sessiongraph.ports import Commit, LogReader, Position, StoredSession, WindowRequest
from sessiongraph.projections.cells import SessionCells
from sessiongraph.projections.checkpointing import TURN_END, Checkpointing, CheckpointLimits
from sessiongraph.projections.ladder import Ladder, ReadRows
from sessiongraph.projections.ports import LogIdentity
from sessiongraph.projections.pushing import Channel
from sessiongraph.projections.registry import Registry
from sessiongraph.projections.routes import Routes
from sessiongraph.projections.views import Snapshot, View
from sessiongraph.recent_events import RecentEvents

SMALL_GAP: Final = 100
"""Up to so many new events are read at once, and where they are asked for."""

SLICE_S: Final = 0.004
"""How long folding keeps the loop to itself."""


class OpenSession:
    """See the module.

    touched: counts uses, to tell whether it was used since.
    """

    def __init__(
        self, session_id: str, ladder: Ladder, registry: Registry, limits: CheckpointLimits
    ) -> None:
        self.session_id = session_id
        self.channel = Channel(session_id, registry.shows)
        self.touched = 0
        self._ladder = ladder
        self._registry = registry
        self._limits = limits
        self._lock = asyncio.Lock()
        self._stored: StoredSession | None = None
        self._cells: SessionCells | None = None
        self._checkpointing: Checkpointing | None = None
        self._position: Position = -1
        self._doubted = False
        self._ended = False

    @property
    def epoch(self) -> int | None:
        """Of the log that is open; None before it is."""
        return None if self._stored is None else self._stored.epoch

    @property
    def seq(self) -> Seq:
        """The last event that the states reflect, -1 before it is open."""
        return -1 if self._cells is None else self._cells.seq

    @property
    def is_open(self) -> bool:
        """Whether there are states to ask for."""
        return self._cells is not None

    @property
    def is_moving(self) -> bool:
        """Whether somebody is moving it on."""
        return self._lock.locked()

    @property
    def is_busy(self) -> bool:
        """Whether somebody needs it: it is being moved on, or watched."""
        return self._lock.locked() or self.channel.is_watched

    def has_seen(self, commit: Commit) -> bool:
        """Whether the observation in which it was opened showed what the commit did."""
        return self.is_open and commit.position <= self._position

    def doubt(self) -> None:
        """Look at the log again once it is open: it may be another one, or longer."""
        self._doubted = True

    def is_current(self, stored: StoredSession) -> bool:
        """Whether a snapshot of now reflects the whole of this log."""
        cells = self._cells
        return (
            cells is not None
            and not self._doubted
            and self.epoch == stored.epoch
            and cells.seq >= stored.last_seq
            and cells.routes is self._registry.routes
        )

    @property
    def cells(self) -> SessionCells:
        """The cells of the units that are registered now.

        Raises:
            LookupError: the session is not open.
        """
        if self._cells is None:
            raise LookupError(f"{self.session_id!r} is not open")
        if self._cells.routes is not self._registry.routes:
            self._cells.keep_only(self._registry.routes)
        return self._cells

    def snapshot(self, keys: Collection[str] | None = None) -> Snapshot:
        """All views or the named ones, at once, as of the last event that was folded."""
        return self.cells.snapshot(keys)

    async def bring_up(self, until: Seq, read: ReadRows | None = None) -> None:
        """Open it if need be, and fold what is committed, at least up to an event.

        read: its checkpoint rows, when they are at hand already.

        Raises:
            SessionNotFound: the log is gone or another one now.
            CorruptSession: the log is not as long as the store says.
            PersistenceFailed: the store cannot be read.
        """
        async with self._lock:
            if self._cells is None:
                await self._open(read)
            await self._take_in_units()
            while self._doubted or self.seq < until:
                self._doubted = False
                async with self._ladder.store.observe() as reader:
                    found = (await reader.find([self.session_id])).get(self.session_id)
                    stored = self._required(found)
                    until = stored.last_seq
                    await self._advance(reader, stored)

    async def advance(self, reader: LogReader, stored: StoredSession) -> None:
        """Fold what an observation shows beyond the states; its log is open already.

        Raises:
            CorruptSession, PersistenceFailed: as :meth:`bring_up`.
        """
        async with self._lock:
            await self._take_in_units()
            await self._advance(reader, self._required(stored))

    def handed_over(self, recent: RecentEvents, last: Seq) -> list[SessionEvent] | None:
        """What its log has gained up to an event, from memory; None when that is to be read."""
        cells = self._cells
        if (
            self._stored is None
            or cells is None
            or cells.routes is not self._registry.routes
            or self._doubted
            or self.is_moving
            or last <= cells.seq
        ):
            return None
        return recent.between(self.session_id, self._stored.epoch, cells.seq + 1, last)

    async def fold(self, events: Sequence[SessionEvent]) -> None:
        """Fold what was :meth:`handed_over`.

        Raises:
            CorruptSession: there is a gap before the events.
        """
        async with self._lock:
            await self._fold(events)

    async def save(self) -> bool:
        """Write a checkpoint and wait for it; answers whether it could be written."""
        return self._checkpointing is None or await self._checkpointing.settle()

    def end(self, error: SessionGraphError | None) -> None:
        """End its subscribers and remember nothing more of it."""
        self._ended = True
        self.channel.end(error)

    async def stop_saving(self) -> None:
        """Write no checkpoint any more; one that is on its way ends first."""
        self._ended = True
        if self._checkpointing is not None:
            await self._checkpointing.stop()

    def abandon_saving(self) -> asyncio.Task[None] | None:
        """Break off a checkpoint that is on its way; answers what is ending then."""
        return None if self._checkpointing is None else self._checkpointing.abandon()

    def remember_failures(self) -> None:
        """Let the next opening know which units have failed."""
        if self._cells is not None and self._stored is not None:
            self._ladder.failures.remember(self._stored, self._cells)

    def _required(self, stored: StoredSession | None) -> StoredSession:
        if stored is None or stored.epoch != self.epoch:
            raise SessionNotFound(f"the log of {self.session_id!r} is gone")
        return stored

    async def _open(self, read: ReadRows | None) -> None:
        opened = await self._ladder.open(self.session_id, self._registry.routes, read)
        self._stored, self._cells = opened.stored, opened.cells
        self._position = opened.position
        self._checkpointing = Checkpointing(
            self._ladder.checkpoints,
            opened.cells,
            LogIdentity.of(opened.stored),
            self._limits,
            is_saved=not opened.is_behind,
        )
        if self._ended:
            await self._checkpointing.stop()
        self._checkpointing.write_soon()

    async def _take_in_units(self) -> None:
        """Let go of units that were unregistered, open those that were registered since."""
        while (routes := self._registry.routes) is not self.cells.routes:
            assert self._stored is not None
            missing = self.cells.lacks(routes)
            late = SessionCells(self.session_id, Routes(()), self.seq)
            if missing:
                late = await self._ladder.open_more(self._stored, missing, self.seq)
            if routes is self._registry.routes:
                self.cells.adopt(routes, late)
                if self.channel.is_watched:
                    self.channel.publish(late.snapshot().views)

    async def _advance(self, reader: LogReader, stored: StoredSession) -> None:
        cells = self.cells
        if stored.last_seq <= cells.seq:
            return
        if stored.last_seq - cells.seq <= SMALL_GAP:
            await self._fold(await self._few_events(reader, stored))
        else:
            async for page in reader.entries(stored, cells.seq + 1):
                await self._fold(page)
        if cells.seq < stored.last_seq:
            raise CorruptSession(f"{self.session_id!r} ends before event {stored.last_seq}")

    async def _few_events(self, reader: LogReader, stored: StoredSession) -> list[Entry]:
        """New events with the payloads that any unit will look at, in one or two short reads."""
        cells = self.cells
        window = WindowRequest(SMALL_GAP, after=cells.seq)
        placed = await reader.events(stored, ALL_EVENTS, window)
        elided = [each.seq for each in placed if each.elided and cells.routes.of(each.type)]
        payloads = await reader.payloads(stored, elided) if elided else {}
        return [_whole(each, payloads.get(each.seq)) for each in placed]

    async def _fold(self, entries: Sequence[Entry]) -> None:
        """Fold and publish in slices, so that others have their turn in between."""
        cells, checkpointing = self.cells, self._checkpointing
        assert checkpointing is not None
        changed: list[View] | None = None
        turn_ended = False
        started = perf_counter()
        for entry in entries:
            if changed is None and self.channel.is_watched:
                changed = []
            cells.fold(entry, changed)
            turn_ended = turn_ended or entry.type == TURN_END
            if perf_counter() - started > SLICE_S:
                self.channel.publish(changed or ())
                changed = None
                await asyncio.sleep(0)
                started = perf_counter()
        self.channel.publish(changed or ())
        checkpointing.folded(turn_ended=turn_ended)


def _whole(placed: PlacedEvent, payload: bytes | None) -> SessionEvent:
    event = placed.event
    if payload is None:
        return event
    return SessionEvent(
        event.seq,
        event.type,
        event.time,
        payload,
        event.surface_op,
        event.source_event_seqs,
        event.ignorable,
    )
