"""Reading the projections of a session that nobody has open, as cheaply as the question allows.

Four rungs (projections.md, "Reading a cold session"):

1. the *stored view*: what the checkpoint rows say, without a look at the log;
2. the *tail*: the log from the restore floor, one below the lowest usable row, so that the tail
   proves how far the log really goes;
3. the *restore*: each unit goes on from its row and folds what is past it;
4. writing back, which is up to whoever opened the session.

A row is a shortcut and never trusted further than it can be checked: of another version, damaged or
of another log it counts as missing; beyond the end of the log all rows are refused and the log is
read from its beginning. So a log that was cut costs a full replay, and never a wrong value.

A long log is read in spans, each in an observation of its own, and folded in a worker thread: no
observation is held for long and the loop is not held up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from sessiongraph.errors import CorruptSession, PersistenceFailed, SessionNotFound
from sessiongraph.event import DeltaRun, Entry, Seq
from sessiongraph.ports import LogStore, Position, StoredSession
from sessiongraph.projections.cells import Seed, SessionCells, restored_seeds, seed_of
from sessiongraph.projections.failures import KnownFailures
from sessiongraph.projections.ports import CheckpointRow, CheckpointStore, LogIdentity
from sessiongraph.projections.routes import Routes
from sessiongraph.projections.schemas import require_json_kind
from sessiongraph.projections.unit import Projection
from sessiongraph.projections.views import Snapshot, View

_log: Final = structlog.get_logger(__name__)

SPAN_SEQS: Final = 20_000
"""Events read in one observation."""

_INLINE_MEMBERS: Final = 64
"""Up to so many events a page is folded where it was read: a thread would cost more."""

_VIEWS_AT_ONCE: Final = 500
"""Rows looked at before others have their turn."""


@dataclass(frozen=True, slots=True)
class ReadRows:
    """The checkpoint rows of one log, under the identity that they were asked for."""

    log: LogIdentity
    rows: Sequence[CheckpointRow]


@dataclass(slots=True)
class OpenedLog:
    """A session that was opened.

    stored: as the last observation saw it, which was at this position.
    is_behind: its checkpoint rows do not say what the cells say.
    """

    stored: StoredSession
    position: Position
    cells: SessionCells
    is_behind: bool


def restore_floor(units: Iterable[Projection[Any]], seeds: Mapping[str, Seed]) -> Seq:
    """Where reading has to begin: one below the lowest row, 0 when any unit has none."""
    floors = [seeds[unit.key].seq - 1 if unit.key in seeds else 0 for unit in units]
    return max(0, min(floors, default=0))


@dataclass(slots=True)
class Ladder:
    """Reads what is cold.

    span_seqs: events read in one observation.
    failures: of the sessions that were opened before.
    """

    store: LogStore
    checkpoints: CheckpointStore
    span_seqs: int = SPAN_SEQS
    failures: KnownFailures = field(default_factory=KnownFailures)
    _complained: set[tuple[str, int]] = field(default_factory=set, repr=False)

    async def stored(
        self,
        sessions: Collection[StoredSession],
        units: Sequence[Projection[Any]],
        keys: Collection[str] | None = None,
    ) -> dict[str, Snapshot]:
        """The stored view of many sessions, by id, in one statement; no log is read.

        ``as_of_seq`` is the lowest among the rows that were served, -1 when there are none.

        Raises:
            PersistenceFailed: the rows cannot be read.
        """
        shown = [
            unit for unit in units if unit.view is not None and (keys is None or unit.key in keys)
        ]
        wanted = [unit.key for unit in shown]
        logs = [LogIdentity.of(session) for session in sessions]
        found = await self.checkpoints.rows(logs, wanted) if logs and wanted else {}
        ends = await self._ends(sessions, found)
        snapshots: dict[str, Snapshot] = {}
        looked_at = 0
        for session_id, end in ends.items():
            rows = found.get(session_id, ())
            snapshots[session_id] = self._stored_view(session_id, end, shown, rows)
            looked_at += len(rows)
            if looked_at >= _VIEWS_AT_ONCE:
                looked_at = 0
                await asyncio.sleep(0)
        return snapshots

    async def _ends(
        self, sessions: Collection[StoredSession], found: Mapping[str, list[CheckpointRow]]
    ) -> dict[str, Seq]:
        """Where each log ends; one that has grown since it was observed is looked at again."""
        ends = {session.header.session_id: session.last_seq for session in sessions}
        grown = [
            session_id
            for session_id, rows in found.items()
            if max(row.seq for row in rows) > ends[session_id]
        ]
        if grown:
            epochs = {session.header.session_id: session.epoch for session in sessions}
            async with self.store.observe() as reader:
                for session_id, stored in (await reader.find(grown)).items():
                    if stored.epoch == epochs[session_id]:
                        ends[session_id] = stored.last_seq
        return ends

    def _stored_view(
        self,
        session_id: str,
        end: Seq,
        units: Sequence[Projection[Any]],
        rows: Iterable[CheckpointRow],
    ) -> Snapshot:
        if end < 0:
            # Of an empty log everything is known without a row.
            return SessionCells(session_id, Routes(tuple(units))).snapshot()
        by_key = {row.key: row for row in rows}
        lowest: Seq | None = None
        views: list[View] = []
        for unit in units:
            row = by_key.get(unit.key)
            view = None if row is None or row.seq > end else self._view_of(unit, row)
            if row is not None and view is not None:
                views.append(view)
                lowest = row.seq if lowest is None else min(lowest, row.seq)
        return Snapshot(session_id, -1 if lowest is None else lowest, tuple(views))

    def _view_of(self, unit: Projection[Any], row: CheckpointRow) -> View | None:
        seed = seed_of(unit, row)
        if seed is None or unit.view is None:
            return None
        try:
            value = unit.view(seed.state)
            is_fit = _fits(unit, value, seed.state)
        except Exception as error:  # noqa: BLE001 - it is somebody else's code
            self._complain(unit, error)
            return None
        return View(unit.key, seed.changed_seq, value) if is_fit else None

    def _complain(self, unit: Projection[Any], error: Exception) -> None:
        if (unit.key, unit.state_version) not in self._complained:
            self._complained.add((unit.key, unit.state_version))
            _log.error(
                "a projection cannot show what is stored of it",
                key=unit.key,
                error=f"{type(error).__name__}: {error}",
            )

    async def rows_of(
        self, sessions: Collection[StoredSession], routes: Routes
    ) -> dict[str, ReadRows]:
        """The rows of many sessions, by id; none when they cannot be read, at the cost of time."""
        logs = [LogIdentity.of(session) for session in sessions]
        keys = [unit.key for unit in routes.units]
        found: dict[str, list[CheckpointRow]] = {}
        if logs and keys:
            try:
                found = await self.checkpoints.rows(logs, keys)
            except PersistenceFailed as error:
                _log.warning("checkpoints cannot be read: logs are replayed", error=error.message)
        return {log.session_id: ReadRows(log, found.get(log.session_id, ())) for log in logs}

    async def open(
        self,
        session_id: str,
        routes: Routes,
        read: ReadRows | None = None,
    ) -> OpenedLog:
        """Open a session up to the end of its log.

        read: its checkpoint rows, when they are at hand already.

        Raises:
            SessionNotFound: there is no such log.
            CorruptSession: the log is not as long as the store says.
            PersistenceFailed: the store cannot be read.
        """
        stored = await self._find(session_id)
        if read is None or read.log != LogIdentity.of(stored):
            read = (await self.rows_of([stored], routes))[session_id]
        reading = self._begin(stored, routes, read.rows)
        while True:
            async with self.store.observe() as reader:
                position = reader.position
                seen = (await reader.find([session_id])).get(session_id)
                if seen is None:
                    raise SessionNotFound(f"no stored session has the id {session_id!r}")
                if seen.epoch != reading.stored.epoch or not reading.fits(seen):
                    reading = self._begin(seen, routes, ())
                reading.stored = seen
                end = min(seen.last_seq, reading.cells.seq + self.span_seqs)
                async for page in reader.entries(seen, reading.cells.seq + 1, end):
                    await fold_page(reading.cells, page)
            if reading.cells.seq < end:
                if not reading.seeds:
                    raise CorruptSession(f"{session_id!r} ends before event {end}")
                reading = self._begin(seen, routes, ())
            elif reading.cells.seq >= seen.last_seq:
                self.failures.remember(seen, reading.cells)
                return OpenedLog(seen, position, reading.cells, reading.is_behind)

    def _begin(
        self, stored: StoredSession, routes: Routes, rows: Iterable[CheckpointRow]
    ) -> _Reading:
        return _Reading(stored, routes, rows, self.failures.of(stored, routes))

    async def open_more(
        self, stored: StoredSession, units: Sequence[Projection[Any]], end: Seq
    ) -> SessionCells:
        """Cells for more units of a session that is open, folded up to an event.

        Raises:
            SessionNotFound: the log is gone or another one now.
            CorruptSession, PersistenceFailed: as :meth:`open`.
        """
        routes = Routes(tuple(units))
        session_id = stored.header.session_id
        rows = (await self.rows_of([stored], routes))[session_id].rows
        reading = self._begin(stored, routes, [row for row in rows if row.seq <= end])
        while reading.cells.seq < end:
            async with self.store.observe() as reader:
                seen = (await reader.find([session_id])).get(session_id)
                if seen is None or seen.epoch != stored.epoch:
                    raise SessionNotFound(f"the log of {session_id!r} is gone")
                first = reading.cells.seq + 1
                last = min(end, reading.cells.seq + self.span_seqs)
                async for page in reader.entries(seen, first, last):
                    await fold_page(reading.cells, part_through(page, last))
            if reading.cells.seq < last:
                raise CorruptSession(f"{session_id!r} ends before event {last}")
        return reading.cells

    async def _find(self, session_id: str) -> StoredSession:
        async with self.store.observe() as reader:
            stored = (await reader.find([session_id])).get(session_id)
        if stored is None:
            raise SessionNotFound(f"no stored session has the id {session_id!r}")
        return stored


class _Reading:
    """A session on its way up: seeded from its rows, then folded to the end of its log."""

    def __init__(
        self,
        stored: StoredSession,
        routes: Routes,
        rows: Iterable[CheckpointRow],
        failures: Mapping[str, Seq],
    ) -> None:
        units = [unit for unit in routes.units if unit.key not in failures]
        self.stored = stored
        self.seeds = restored_seeds(units, rows)
        self.floor = restore_floor(units, self.seeds)
        session_id = stored.header.session_id
        self.cells = SessionCells(session_id, routes, self.floor - 1, self.seeds, failures)
        self._units = units

    def fits(self, seen: StoredSession) -> bool:
        """Whether the log reaches every row; a row beyond its end is of something else."""
        return self.cells.proven_from <= seen.last_seq

    @property
    def is_behind(self) -> bool:
        """Whether a row is missing or not of the end of the log."""
        last = self.cells.seq
        return any(
            unit.key not in self.seeds or self.seeds[unit.key].seq != last for unit in self._units
        )


def _fits(unit: Projection[Any], value: Any, state: Any) -> bool:
    """Whether a view of a state that was parsed from JSON passes its schema."""
    if value is state:
        return unit.view_schema is unit.state_schema or unit.view_check.accepts(value)
    if type(state) is dict and any(value is member for member in state.values()):
        return unit.view_check.accepts(value)
    require_json_kind(value)
    return unit.view_check.accepts_made(value)


async def fold_page(cells: SessionCells, page: Sequence[Entry]) -> None:
    """Fold a page, in a thread when it is long."""
    events = sum(len(entry.texts) if isinstance(entry, DeltaRun) else 1 for entry in page)
    if events <= _INLINE_MEMBERS:
        cells.fold_all(page)
    else:
        await asyncio.to_thread(cells.fold_all, page)


def part_through(page: Sequence[Entry], last: Seq) -> list[Entry]:
    """A page without what lies beyond an event; the run that reaches beyond it is taken apart."""
    kept: list[Entry] = [entry for entry in page if entry.last_seq <= last]
    for entry in page:
        if isinstance(entry, DeltaRun) and entry.seq <= last < entry.last_seq:
            kept += entry.members(None, last)
    return kept
