"""One observation of the store: a reading connection inside one transaction."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import closing
from functools import partial
from typing import Final, TypeVar

from providers.sqlite import (
    carried,
    citations,
    covers,
    directories,
    lineage_walks,
    links,
    session_lists,
)
from providers.sqlite.codec import (
    ROW_COLUMNS,
    STREAM_APART,
    EventRow,
    event_of,
    from_octets,
    placed_event,
    run_of,
    to_octets,
)
from providers.sqlite.event_lists import list_envelopes, list_events, run_start, weighed
from providers.sqlite.known_sessions import LISTED, KnownSessions
from providers.sqlite.numbering import LOW_32, SEQ_SHIFT
from providers.sqlite.reading import VALUES_AT_MOST, Reading, batches, marks
from providers.sqlite.types import TypeNames
from sessiongraph.citations import CitedKey, CitingKey, SessionCitation
from sessiongraph.cover_query import CoverQuery
from sessiongraph.event import (
    LOG_ONLY,
    DeltaRun,
    Entry,
    EventEnvelope,
    PlacedEvent,
    Seq,
    SessionEvent,
)
from sessiongraph.filters import EventSelection, SessionSelection
from sessiongraph.ports import (
    ChildLink,
    ConversationTotals,
    CorpusCounts,
    Position,
    SessionKey,
    SessionOrder,
    StoredSession,
    WindowRequest,
    Within,
)
from sessiongraph.recordings import RecordingState
from sessiongraph.surface import SurfaceNode

T = TypeVar("T")

_LONG_PAGE: Final = 128
"""Events from which a page is read in a worker thread."""

_MUCH_OCTETS: Final = 256 << 10
"""Payloads that are read, about, before others get their turn on the event loop."""

_ENTRY_PAGE_ROWS: Final = 256
_ENTRY_PAGE_BYTES: Final = 4 << 20

_COUNTS_WITHIN: Final = f"""
    SELECT count(*), coalesce(sum(last_seq + 1), 0) FROM {directories.WITHIN} WHERE {{inside}}
    """


class SqliteLogReader(Reading):
    """Answers of one moment; see :class:`sessiongraph.ports.LogReader`."""

    def __init__(
        self, connection: sqlite3.Connection, types: TypeNames, known: KnownSessions
    ) -> None:
        super().__init__(connection)
        self._types = types
        self._known = known
        (position,) = connection.execute(
            "SELECT coalesce(max(position), 0) FROM commits"
        ).fetchone()
        self._position: Position = position

    @property
    def position(self) -> Position:
        """The last commit that this observation sees."""
        return self._position

    async def counts(self, within: Within = None) -> CorpusCounts:
        """How many sessions and events are visible."""

        def read() -> CorpusCounts:
            sql, values = "SELECT sessions, events FROM totals", []
            if within is not None:
                sql = _COUNTS_WITHIN.format(inside=directories.one_of(within))
                values = directories.values_of(within)
            return CorpusCounts(*self._connection.execute(sql, values).fetchone())

        return await (self._here(read) if within is None else self._aside(read))

    async def find(self, ids: Collection[str]) -> dict[str, StoredSession]:
        """The stored sessions among ``ids``."""

        def read() -> dict[str, StoredSession]:
            found = {}
            for batch in batches([to_octets(session_id) for session_id in ids]):
                sql = f"SELECT {LISTED} FROM logs WHERE state = 1 AND id IN ({marks(batch)})"
                rows = self._connection.execute(sql, batch).fetchall()
                for session in self._known.of(self._connection, rows):
                    found[session.header.session_id] = session
            return found

        if len(ids) > VALUES_AT_MOST:
            return await self._aside(read)
        return await self._here(read)

    async def sessions(
        self,
        selection: SessionSelection,
        order: SessionOrder,
        *,
        limit: int,
        after: SessionKey | None = None,
        before: SessionKey | None = None,
    ) -> list[StoredSession]:
        """A page of the list; see the port."""

        def read() -> list[StoredSession]:
            return session_lists.list_sessions(
                self._connection,
                self._known,
                selection,
                order,
                limit=limit,
                after=after,
                before=before,
            )

        scans = bool(selection.titles) or (order is SessionOrder.ACTIVE and _filters(selection))
        return await (self._aside(read) if scans else self._here(read))

    async def covered(self, query: CoverQuery) -> list[StoredSession]:
        """The first sessions with a cover that is asked for; see the port."""
        read = partial(covers.find, self._connection, query)
        return await (self._aside(read) if query.part else self._here(read))

    async def citations(
        self, session: StoredSession, *, limit: int, after: CitingKey | None = None
    ) -> list[SessionCitation]:
        """Sessions that a log cites, in its order."""
        read = partial(citations.citations_in, self._connection, session, limit, after)
        return await self._here(read)

    async def cited_by(
        self,
        target_id: str,
        *,
        limit: int,
        after: CitedKey | None = None,
        within: Within = None,
    ) -> list[SessionCitation]:
        """Citations of a session by the logs that are stored."""
        read = partial(citations.citations_of, self._connection, target_id, limit, after, within)
        return await self._here(read)

    async def ancestors(self, ids: Collection[str]) -> dict[str, list[StoredSession]]:
        """Known ancestors of each id, nearest first, up to the first that repeats."""
        return await self._aside(partial(lineage_walks.ancestors, self._connection, ids))

    async def descendants(self, session_id: str, within: Within = None) -> list[ChildLink]:
        """Every edge below a session."""
        read = partial(lineage_walks.descendants, self._connection, session_id, within)
        return await self._aside(read)

    async def events(
        self, session: StoredSession, selection: EventSelection, window: WindowRequest
    ) -> list[PlacedEvent]:
        """Events that pass all but the text filters."""

        def read() -> list[PlacedEvent]:
            return list_events(self._connection, self._types, session, selection, window)

        return await (self._aside(read) if window.limit > _LONG_PAGE else self._here(read))

    async def envelopes(
        self, session: StoredSession, selection: EventSelection, window: WindowRequest
    ) -> list[EventEnvelope]:
        """The envelopes of what :meth:`events` answers."""

        def read() -> list[EventEnvelope]:
            return list_envelopes(self._connection, self._types, session, selection, window)

        return await (self._aside(read) if window.limit > _LONG_PAGE else self._here(read))

    async def surface(self, session: StoredSession, window: WindowRequest) -> list[PlacedEvent]:
        """Current nodes in model order; the window is over positions."""

        def read() -> list[PlacedEvent]:
            base = session.log << SEQ_SHIFT
            low = base if window.after is None else base + window.after + 1
            high = base + LOW_32 if window.before is None else base + window.before - 1
            direction = "DESC" if window.newest else "ASC"
            rows = self._connection.execute(
                f"SELECT {ROW_COLUMNS} FROM events WHERE place BETWEEN ? AND ? "
                "AND place IS NOT NULL AND replaced_by IS NULL AND id <= ? "
                f"ORDER BY place {direction} LIMIT ?",
                (low, high, base + session.last_seq, window.limit),
            )
            with closing(rows):
                found = weighed(rows, partial(self._placed, session), window)
            return found[::-1] if window.newest else found

        return await (self._aside(read) if window.limit > _LONG_PAGE else self._here(read))

    async def at(self, session: StoredSession, seqs: Collection[Seq]) -> dict[Seq, PlacedEvent]:
        """The events with these seqs."""

        def read() -> dict[Seq, PlacedEvent]:
            found: dict[Seq, PlacedEvent] = {}
            for seq, row in self._rows_at(session, seqs):
                if row[4] is None:
                    found[seq] = self._placed(session, row)
                else:
                    (member,) = run_of(row).members(seq, seq)
                    found[seq] = PlacedEvent(session.header.session_id, member, LOG_ONLY)
            return found

        return await self._here(read)

    async def each_at(
        self, wanted: Sequence[tuple[StoredSession, Seq]]
    ) -> list[PlacedEvent | None]:
        """The event with some seq in each of some logs."""
        rows = await self._rows_with(
            [
                session.log << SEQ_SHIFT | seq
                for session, seq in wanted
                if 0 <= seq <= session.last_seq
            ]
        )
        answers: list[PlacedEvent | None] = []
        for session, seq in wanted:
            row = rows.get(session.log << SEQ_SHIFT | seq)
            if row is None or row[4] is not None:  # it can be inside a run
                answers.append((await self.at(session, [seq])).get(seq))
            else:
                answers.append(self._placed(session, row))
        return answers

    async def _rows_with(self, ids: Collection[int]) -> dict[int, EventRow]:
        """Rows of any logs, by their ids; where they are large, others get their turn between."""
        rows: dict[int, EventRow] = {}

        def read(batch: Sequence[int]) -> bool:
            """Whether that were all; no more are begun with when it is much already."""
            octets = 0
            sql = f"SELECT {ROW_COLUMNS} FROM events WHERE id IN ({marks(batch)})"
            with closing(self._connection.execute(sql, batch)) as found:
                for row in found:
                    rows[row[0]] = row
                    octets += len(row[10])
                    if octets > _MUCH_OCTETS:
                        return False
            return True

        for batch in batches(list(ids)):
            while not await self._here(partial(read, batch)):
                batch = [each for each in batch if each not in rows]
                await asyncio.sleep(0)
        return rows

    async def payloads(self, session: StoredSession, seqs: Collection[Seq]) -> dict[Seq, bytes]:
        """Whole payloads, streams included."""

        def read() -> dict[Seq, bytes]:
            found: dict[Seq, bytes] = {}
            for seq, row in self._rows_at(session, seqs):
                if row[4] is None:
                    found[seq] = self._whole(row).payload
                else:
                    (member,) = run_of(row).members(seq, seq)
                    found[seq] = member.payload
            return found

        return await self._here(read)

    async def replaced_by(self, session: StoredSession, seq: Seq) -> list[Seq]:
        """The nodes that the event removed itself, in model order."""
        return await self._here(partial(links.replaced_by, self._connection, session, seq))

    async def each_replacer(self, wanted: Sequence[tuple[StoredSession, Seq]]) -> list[Seq | None]:
        """What removed the event with some seq in each of some logs; see the port."""
        read = partial(links.each_replacer, self._connection, wanted)
        return await (self._aside(read) if len(wanted) > VALUES_AT_MOST else self._here(read))

    async def rewritten(self, limit: int) -> list[str]:
        """Sessions that have shadowed events, at most so many of them, in no order."""
        return await self._aside(partial(links.rewritten, self._connection, limit))

    async def replacement_chain(self, session: StoredSession, seq: Seq) -> list[Seq]:
        """From the direct replacer to the one that stands now."""
        return await self._here(partial(links.replacement_chain, self._connection, session, seq))

    async def citers(self, session: StoredSession, seq: Seq) -> list[Seq]:
        """Later events whose sources include this one, in log order."""
        return await self._here(partial(links.citers, self._connection, session, seq))

    async def conversation_totals(self, session: StoredSession) -> ConversationTotals:
        """What can be carried from the current surface."""
        return await self._here(
            lambda: carried.totals(self._connection, session.log, session.last_seq)
        )

    async def surface_nodes(self, session: StoredSession) -> list[SurfaceNode]:
        """The whole current surface without its events."""

        def read() -> list[SurfaceNode]:
            base = session.log << SEQ_SHIFT
            rows = self._connection.execute(
                "SELECT place, id, lane FROM events WHERE place BETWEEN ? AND ? "
                "AND place IS NOT NULL AND replaced_by IS NULL AND id <= ? ORDER BY place",
                (base, base + LOW_32, base + session.last_seq),
            )
            return [
                SurfaceNode(
                    place & LOW_32,
                    event_id & LOW_32,
                    self._types.name_in(self._connection, lane),
                )
                for place, event_id, lane in rows
            ]

        return await self._aside(read)

    async def entries(
        self, session: StoredSession, first: Seq = 0, last: Seq | None = None
    ) -> AsyncIterator[list[Entry]]:
        """The log in order, page after page, payloads whole; runs that reach in come whole."""
        base = session.log << SEQ_SHIFT
        end = session.last_seq if last is None else min(last, session.last_seq)
        start = run_start(self._connection, base, first)
        while start <= end:
            page = await self._aside(partial(self._entry_page, base | start, base | end))
            if not page:
                return
            yield page
            start = page[-1].last_seq + 1

    async def recording(self, path: str) -> RecordingState | None:
        """What the last import of a file left behind."""

        def read() -> RecordingState | None:
            row = self._connection.execute(
                "SELECT id, size, modified_ns, offset, line, next_seq, fingerprint, memory "
                "FROM recordings WHERE path = ?",
                (to_octets(path),),
            ).fetchone()
            return None if row is None else RecordingState(path, from_octets(row[0]), *row[1:])

        return await self._here(read)

    async def tombstones(self, ids: Collection[str]) -> set[str]:
        """Those of ``ids`` that were deleted."""

        def read() -> set[str]:
            found: set[str] = set()
            for batch in batches([to_octets(session_id) for session_id in ids]):
                sql = f"SELECT id FROM tombstones WHERE id IN ({marks(batch)})"
                found.update(from_octets(row[0]) for row in self._connection.execute(sql, batch))
            return found

        return await self._here(read)

    def _placed(self, session: StoredSession, row: EventRow) -> PlacedEvent:
        type_name = self._types.name_in(self._connection, row[1])
        return placed_event(row, type_name, session.header.session_id)

    def _whole(self, row: EventRow) -> SessionEvent:
        stream = None
        if row[3] & STREAM_APART:
            (stream,) = self._connection.execute(
                "SELECT stream FROM events WHERE id = ?", (row[0],)
            ).fetchone()
        return event_of(row, self._types.name_in(self._connection, row[1]), stream)

    def _rows_at(self, session: StoredSession, seqs: Collection[Seq]) -> list[tuple[Seq, EventRow]]:
        """The row of each seq that exists, a run's row for each of its members."""
        base = session.log << SEQ_SHIFT
        wanted = sorted({seq for seq in seqs if 0 <= seq <= session.last_seq})
        starts = {seq: run_start(self._connection, base, seq) for seq in wanted}
        rows: dict[int, EventRow] = {}
        for batch in batches(sorted({base | start for start in starts.values()})):
            sql = f"SELECT {ROW_COLUMNS} FROM events WHERE id IN ({marks(batch)})"
            rows.update((row[0], row) for row in self._connection.execute(sql, batch))
        return [(seq, rows[base | start]) for seq, start in starts.items() if base | start in rows]

    def _entry_page(self, low: int, high: int) -> list[Entry]:
        page: list[Entry] = []
        size = 0
        rows = self._connection.execute(
            f"SELECT {ROW_COLUMNS} FROM events WHERE id BETWEEN ? AND ? ORDER BY id", (low, high)
        )
        for row in rows:
            entry: Entry = run_of(row) if row[4] is not None else self._whole(row)
            page.append(entry)
            size += len(row[10]) if isinstance(entry, DeltaRun) else len(entry.payload)
            if len(page) >= _ENTRY_PAGE_ROWS or size >= _ENTRY_PAGE_BYTES:
                break
        rows.close()
        return page


def _filters(selection: SessionSelection) -> bool:
    return selection != SessionSelection()
