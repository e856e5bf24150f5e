"""Events of one log, found by seq, time, type and surface at the cost of what is returned.

Three ways narrow a log, each a walk along an index. *Spans* turn a time range into stretches of
seqs. Within a stretch, *lanes* (one for each type and surface that is asked for) give the ids of
matching rows already in order, and several lanes are merged; without them the rows themselves are
walked. Lanes give ids first and their rows are fetched by the page, so that nothing is read that is
not returned. A row that is a run of deltas answers as its members.
"""

from __future__ import annotations

import heapq
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Final, Generic, TypeVar

from typing_extensions import override

from providers.sqlite.appending import SPAN_SEQS
from providers.sqlite.codec import (
    ROW_COLUMNS,
    EventRow,
    payload_size,
    placed_event,
    run_of,
)
from providers.sqlite.numbering import LANE_SHIFT, LOW_32, SEQ_SHIFT, TYPE_SHIFT
from providers.sqlite.types import TypeNames
from sessiongraph.event import (
    LOG_ONLY,
    MESSAGE_TYPES,
    EventEnvelope,
    EventSurface,
    PlacedEvent,
    Seq,
    SessionEvent,
)
from sessiongraph.filters import EventSelection, Range
from sessiongraph.ports import StoredSession, WindowRequest

T = TypeVar("T")

_SURFACE_CODES: Final = {
    EventSurface.LOG_ONLY: 0,
    EventSurface.CURRENT: 1,
    EventSurface.SHADOWED: 2,
}
_SURFACE_BITS: Final = 3
"""Of a lane."""

_SURFACES: Final = {code: surface for surface, code in _SURFACE_CODES.items()}
_FETCH: Final = 128
"""Ids walked and rows fetched at a time."""


def list_events(
    connection: sqlite3.Connection,
    types: TypeNames,
    session: StoredSession,
    selection: EventSelection,
    window: WindowRequest,
) -> list[PlacedEvent]:
    """Up to ``window.limit`` events that pass all but the text filters, ascending by seq."""
    return _page(_EventWalk, connection, types, session, selection, window)


def list_envelopes(
    connection: sqlite3.Connection,
    types: TypeNames,
    session: StoredSession,
    selection: EventSelection,
    window: WindowRequest,
) -> list[EventEnvelope]:
    """The envelopes of what :func:`list_events` answers, at half its cost."""
    return _page(_EnvelopeWalk, connection, types, session, selection, window)


def _page(
    kind: type[_Walk[T]],
    connection: sqlite3.Connection,
    types: TypeNames,
    session: StoredSession,
    selection: EventSelection,
    window: WindowRequest,
) -> list[T]:
    """What one kind of walk finds in a window, ascending by seq."""
    after = -1 if window.after is None else window.after
    before = session.last_seq + 1 if window.before is None else window.before
    seqs = selection.seqs.intersect(Range(max(0, after + 1), min(before - 1, session.last_seq)))
    if seqs.is_empty or selection.impossible:
        return []
    found = kind(connection, types, session, selection, newest=window.newest).found(seqs, window)
    return found[::-1] if window.newest else found


def weighed(
    rows: Iterable[EventRow], place: Callable[[EventRow], PlacedEvent], window: WindowRequest
) -> list[PlacedEvent]:
    """The events of rows, each weighed as soon as it is read."""
    take = window.take
    if take is None:
        return [place(row) for row in rows]
    found = []
    for row in rows:
        take(payload_size(row))
        found.append(place(row))
    return found


class _Walk(ABC, Generic[T]):
    """One walk over a log, from either end, that gathers something of each event."""

    columns: str
    """Of the rows that it reads."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        types: TypeNames,
        session: StoredSession,
        selection: EventSelection,
        *,
        newest: bool,
    ) -> None:
        self._connection = connection
        self._types = types
        self._session = session
        self._session_id = session.header.session_id
        self._selection = selection
        self._newest = newest
        self._base = session.log << SEQ_SHIFT
        self._lanes = self._wanted_lanes()

    def found(self, seqs: Range, window: WindowRequest) -> list[T]:
        """Of the first admitted events in the range, which is closed on both sides."""
        assert seqs.low is not None
        assert seqs.high is not None
        found: list[T] = []
        start = run_start(self._connection, self._base, seqs.low)
        if self._lanes is None and self._selection.times.is_open:
            with closing(self._rows(self._base | start, self._base | seqs.high)) as rows:
                self._gather(rows, seqs, window, found)
            return found
        for first, last in self._stretches(start, seqs.high):
            # A statement that is left in its middle would keep its moment for whoever reads next.
            with closing(self._cursors(self._base | first, self._base | last)) as cursors:
                for rows in cursors:
                    with closing(rows):
                        self._gather(rows, seqs, window, found)
                    if len(found) >= window.limit:
                        return found
        return found

    def _cursors(self, low: int, high: int) -> Generator[sqlite3.Cursor, None, None]:
        """Rows in the order of the walk."""
        if self._lanes is None:
            yield self._rows(low, high)
            return
        direction = "DESC" if self._newest else "ASC"
        ids = heapq.merge(
            *(self._lane_ids(lane, low, high) for lane in self._lanes), reverse=self._newest
        )
        while batch := list(islice(ids, _FETCH)):
            marks = ",".join("?" * len(batch))
            sql = f"SELECT {self.columns} FROM events WHERE id IN ({marks}) ORDER BY id "
            yield self._connection.execute(sql + direction, batch)

    def _rows(self, low: int, high: int) -> sqlite3.Cursor:
        """All rows of a stretch, in the order of the walk."""
        direction = "DESC" if self._newest else "ASC"
        sql = f"SELECT {self.columns} FROM events WHERE id BETWEEN ? AND ? ORDER BY id "
        return self._connection.execute(sql + direction, (low, high))

    @abstractmethod
    def _gather(
        self, rows: sqlite3.Cursor, seqs: Range, window: WindowRequest, found: list[T]
    ) -> None:
        """Add what is admitted, as far as the window goes."""

    def _members(self, row: EventRow, seqs: Range) -> Iterable[SessionEvent]:
        times = self._selection.times
        members = [
            member
            for member in run_of(row).members(seqs.low, seqs.high)
            if times.holds(member.time)
        ]
        return reversed(members) if self._newest else members

    def _lane_ids(self, lane: int, low: int, high: int) -> Iterator[int]:
        direction = "DESC" if self._newest else "ASC"
        return self._column(
            "SELECT id FROM events INDEXED BY events_by_lane "
            f"WHERE lane = ? AND id BETWEEN ? AND ? ORDER BY id {direction}",
            (lane, low, high),
        )

    def _column(self, sql: str, values: Sequence[int]) -> Iterator[int]:
        for (value,) in self._connection.execute(sql, values):
            yield value

    def _wanted_lanes(self) -> list[int] | None:
        """The lanes that the filters admit; None when they admit every row."""
        types, surfaces = self._selection.types, self._selection.surfaces
        if types is None and surfaces is None:
            return None
        admitted = set(EventSurface) if surfaces is None else set(surfaces)
        lanes: set[int] = set()
        for name in types if types is not None else MESSAGE_TYPES:
            number = self._types.number(self._connection, name)
            if number is None:
                continue
            for surface in admitted:
                if (name in MESSAGE_TYPES) != (surface is EventSurface.LOG_ONLY):
                    lanes.add(self._lane(number, surface))
        if types is None and EventSurface.LOG_ONLY in admitted:
            lanes.update(self._log_only_lanes())
        return sorted(lanes)

    def _lane(self, number: int, surface: EventSurface) -> int:
        return self._session.log << LANE_SHIFT | number << TYPE_SHIFT | _SURFACE_CODES[surface]

    def _log_only_lanes(self) -> Iterator[int]:
        """The lanes of log-only events that exist, hopping from lane to lane."""
        lane = (self._session.log << LANE_SHIFT) - 1
        end = (self._session.log + 1) << LANE_SHIFT
        while True:
            (found,) = self._connection.execute(
                "SELECT min(lane) FROM events WHERE lane > ? AND lane < ?", (lane, end)
            ).fetchone()
            if found is None:
                return
            if found & _SURFACE_BITS == _SURFACE_CODES[EventSurface.LOG_ONLY]:
                yield found
            lane = found

    def _stretches(self, low: Seq, high: Seq) -> Iterator[tuple[Seq, Seq]]:
        """Where rows begin that can hold the wanted times; adjacent stretches joined."""
        if self._selection.times.is_open:
            yield low, high
            return
        pending: tuple[Seq, Seq] | None = None
        for first, last in self._spans(len(SPAN_SEQS) - 1, low, high):
            if pending is not None and first <= pending[1] + 1 and last >= pending[0] - 1:
                pending = (min(first, pending[0]), max(last, pending[1]))
                continue
            if pending is not None:
                yield pending
            pending = (first, last)
        if pending is not None:
            yield pending

    def _spans(self, level: int, low: Seq, high: Seq) -> Iterator[tuple[Seq, Seq]]:
        """Spans of a level, and inside them of finer ones, that overlap the wanted times."""
        size = SPAN_SEQS[level]
        times = self._selection.times
        direction = "DESC" if self._newest else "ASC"
        sql = (
            "SELECT block FROM spans WHERE log = ? AND level = ? AND block BETWEEN ? AND ? "
            f"AND high >= ? AND low <= ? ORDER BY block {direction}"
        )
        values = (
            self._session.log,
            level,
            low // size,
            high // size,
            -(2**63) if times.low is None else times.low,
            2**63 - 1 if times.high is None else times.high,
        )
        for block in self._column(sql, values):
            first, last = max(low, block * size), min(high, (block + 1) * size - 1)
            if level == 0:
                yield first, last
            else:
                yield from self._spans(level - 1, first, last)


class _EventWalk(_Walk[PlacedEvent]):
    """Gathers whole events."""

    columns = ROW_COLUMNS

    @override
    def _gather(
        self,
        rows: sqlite3.Cursor,
        seqs: Range,
        window: WindowRequest,
        found: list[PlacedEvent],
    ) -> None:
        """Add what is admitted, as far as the window goes, each weighed as soon as it is read."""
        take, limit, session_id = window.take, window.limit, self._session_id
        times = None if self._selection.times.is_open else self._selection.times
        name_in = partial(self._types.name_in, self._connection)
        for row in rows:
            if row[4] is None:
                if times is not None and not times.holds(row[2]):
                    continue
                if take is not None:
                    take(payload_size(row))
                found.append(placed_event(row, name_in(row[1]), session_id))
            else:
                for member in self._members(row, seqs):
                    if take is not None:
                        take(len(member.payload))
                    found.append(PlacedEvent(self._session_id, member, LOG_ONLY))
                    if len(found) >= limit:
                        return
            if len(found) >= limit:
                return


class _EnvelopeWalk(_Walk[EventEnvelope]):
    """Gathers envelopes; of a row's payload it reads only what tells the members of a run."""

    columns = "id, lane, time, members"

    @override
    def _gather(
        self,
        rows: sqlite3.Cursor,
        seqs: Range,
        window: WindowRequest,
        found: list[EventEnvelope],
    ) -> None:
        limit, session_id = window.limit, self._session_id
        times = None if self._selection.times.is_open else self._selection.times
        shown: dict[int, tuple[str, EventSurface]] = {}
        for row_id, lane, time, members in rows:
            if members is not None:
                (run,) = self._connection.execute(
                    f"SELECT {ROW_COLUMNS} FROM events WHERE id = ?", (row_id,)
                )
                log_only = EventSurface.LOG_ONLY
                found += [
                    EventEnvelope(session_id, each.seq, each.type, each.time, log_only)
                    for each in islice(self._members(run, seqs), limit - len(found))
                ]
            elif times is None or times.holds(time):
                if lane not in shown:
                    shown[lane] = (
                        self._types.name_in(self._connection, lane),
                        _SURFACES[lane & _SURFACE_BITS],
                    )
                name, surface = shown[lane]
                found.append(EventEnvelope(session_id, row_id & LOW_32, name, time, surface))
            if len(found) >= limit:
                return


def run_start(connection: sqlite3.Connection, base: int, seq: Seq) -> Seq:
    """The first seq of the run that holds ``seq``, or ``seq`` itself."""
    if seq == 0:
        return 0
    row = connection.execute(
        "SELECT id, members FROM events WHERE id <= ? AND id >= ? ORDER BY id DESC LIMIT 1",
        (base | seq, base),
    ).fetchone()
    if row is not None and row[1] is not None and (row[0] & LOW_32) + row[1] > seq:
        return int(row[0] & LOW_32)
    return seq
