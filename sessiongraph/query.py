"""Session query: list, read, filter and trace over the live-preferred corpus.

One :class:`Observation` answers all questions of one operation from the same moment. Reading costs
what is returned; only text filters scan, in bounded pages, with the matching done off the event
loop. Every limit is in :class:`QueryLimits`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final, TypeVar

from sessiongraph.allowance import Allowance, EventBytes
from sessiongraph.citations import SessionCitation, cited_key, citing_key
from sessiongraph.confined_view import ConfinedView
from sessiongraph.corpus import Corpus, CorpusView, LogicalSession
from sessiongraph.cover_query import CoverQuery
from sessiongraph.cursor import CursorCodec
from sessiongraph.errors import (
    CorruptSession,
    CostLimitExceeded,
    EventNotFound,
    InvalidCursor,
    InvalidWindow,
    SessionGraphError,
    SessionNotFound,
    StaleCursor,
)
from sessiongraph.event import PlacedEvent, Seq
from sessiongraph.filters import ALL_EVENTS, EventSelection, SessionSelection
from sessiongraph.lineage import AncestorPath, Descendant, ancestor_path, descendants_in_order
from sessiongraph.paging import Page, PageRequest
from sessiongraph.ports import CorpusCounts, SessionKey, SessionOrder, WindowRequest
from sessiongraph.text import SEMANTIC_TYPES, semantic_text
from sessiongraph.trace import EventDocument, EventTrace, EventWindow
from sessiongraph.visibility import EVERYWHERE, Visibility

T = TypeVar("T")

_SCAN_PAGES: Final = (64, 256, 512)
"""Events read at a time by a text scan: little at first, since a match may be near."""


_PAYLOADS_AT_ONCE: Final = 32
"""Whole payloads read before they are weighed."""

_EVENTS: Final = EventBytes()
"""Of those who read as much as they like."""

_FOUND_AT_ONCE: Final = 200
"""Sessions looked up before others get their turn on the event loop."""


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """The limits of reading, named as in the configuration.

    page_max: items of one page. read_window_max: neighbours on either side of an event window.
    lineage_page_max: nodes of one page of descendants.
    """

    page_max: int = 200
    read_window_max: int = 50
    lineage_page_max: int = 2000


@dataclass(frozen=True, slots=True)
class Lineage:
    """One session's place among its ancestors."""

    target: LogicalSession
    ancestors: tuple[LogicalSession, ...]
    path: AncestorPath

    @property
    def complete(self) -> bool:
        return self.path.complete

    @property
    def root(self) -> LogicalSession:
        """The oldest ancestor, or the session itself; meaningful when complete."""
        return self.ancestors[-1] if self.ancestors else self.target


@dataclass(frozen=True, slots=True)
class LineageNode:
    """One descendant; depth is 1 for direct children."""

    session: LogicalSession
    parent_id: str
    depth: int


@dataclass(frozen=True, slots=True)
class FailedObservation:
    """Why one of several observed sessions could not be read."""

    session_id: str
    error: SessionGraphError


class SessionQuery:
    """The reading service of one server."""

    def __init__(
        self, corpus: Corpus, cursors: CursorCodec, limits: QueryLimits | None = None
    ) -> None:
        self._corpus = corpus
        self._cursors = cursors
        self._limits = limits or QueryLimits()

    @asynccontextmanager
    async def observe(
        self, seen: Visibility = EVERYWHERE, allowance: Allowance | None = None
    ) -> AsyncIterator[Observation]:
        """Everything asked inside is answered from one observation of the corpus.

        seen: the sessions that exist for whoever asks. allowance: what of events may be read; None:
        as much as is asked for.
        """
        show = partial(ConfinedView, seen) if seen.is_confined else CorpusView
        async with self._corpus.observe(show) as view:
            cursors = self._cursors.within(seen.scope())
            yield Observation(view, cursors, self._limits, allowance or _EVENTS.allowance())


class Observation:
    """The questions that one operation can ask; its events are taken from an allowance.

    Every question about events can raise CostLimitExceeded and TooManyRequests, when they are more
    than the operation may take.
    """

    def __init__(
        self, view: CorpusView, cursors: CursorCodec, limits: QueryLimits, allowance: Allowance
    ) -> None:
        self._allowance = allowance
        self._view = view
        self._cursors = cursors
        self.limits = limits

    @property
    def view(self) -> CorpusView:
        """The corpus as it is seen here."""
        return self._view

    async def counts(self) -> CorpusCounts:
        """How many sessions and events there are."""
        return await self._view.counts()

    async def find(self, ids: Collection[str]) -> dict[str, LogicalSession]:
        """The sessions among ``ids``, by id; the rest is missing."""
        return await self._view.find(ids)

    async def observe_each(self, ids: Sequence[str]) -> list[LogicalSession | FailedObservation]:
        """One result per distinct id, in order of first occurrence."""
        distinct = list(dict.fromkeys(ids))
        found = await self._view.find(distinct)
        results: list[LogicalSession | FailedObservation] = []
        for session_id in distinct:
            session = found.get(session_id)
            if session is None:
                missing = SessionNotFound(f"no session has the id {session_id!r}")
                results.append(FailedObservation(session_id, missing))
            elif session.conflict is not None:
                results.append(FailedObservation(session_id, session.conflict))
            else:
                results.append(session)
        return results

    async def list_sessions(
        self, selection: SessionSelection, order: SessionOrder, request: PageRequest
    ) -> Page[LogicalSession]:
        """A page of the corpus, newest first.

        Raises:
            InvalidLimit, InvalidCursor, StaleCursor: see there.
        """
        limit = request.limit(default=50, maximum=self.limits.page_max)
        bound = cache(lambda: f"{order.value}:{selection.digest()}")
        after = None
        if request.after is not None:
            after = _session_key(self._cursors.read("sessions", bound(), request.after))
        rows = await self._view.sessions(selection, order, limit=limit + 1, after=after)
        has_previous = False
        if after is not None:
            before = rows[0].key() if rows else after
            has_previous = bool(await self._view.sessions(selection, order, limit=1, before=before))
            if not rows and not has_previous:
                has_previous = bool(await self._view.find([after.session_id]))

        def cursor_of(session: LogicalSession) -> str:
            key = session.key()
            parts = [key.created_at, key.session_id, key.prompted_at]
            return self._cursors.issue("sessions", bound(), parts)

        return Page(
            rows[:limit],
            cursor_of,
            has_next_page=len(rows) > limit,
            has_previous_page=has_previous,
        )

    async def covered(self, query: CoverQuery) -> list[LogicalSession]:
        """The first sessions with a cover that is asked for, in the order of the query."""
        return await self._view.covered(query)

    async def list_citations(
        self, session: LogicalSession, request: PageRequest
    ) -> Page[SessionCitation]:
        """A page of the sessions that a session cites, in the order of its log.

        Raises:
            InvalidLimit, InvalidCursor, StaleCursor: see there.
        """

        async def find(limit: int, after: list[Any] | None) -> list[SessionCitation]:
            key = None if after is None else (int(after[0]), int(after[1]))
            return await session.log.citations(limit=limit, after=key)

        bound = f"{session.epoch}:{session.session_id}"
        return await self._page_of_citations("citations", bound, request, find, citing_key)

    async def list_citing(
        self, session: LogicalSession, request: PageRequest
    ) -> Page[SessionCitation]:
        """A page of the citations of a session by others.

        Raises:
            InvalidLimit, InvalidCursor, StaleCursor: see there.
        """
        target_id = session.session_id

        async def find(limit: int, after: list[Any] | None) -> list[SessionCitation]:
            key = None
            if after is not None:
                key = (int(after[0]), str(after[1]), int(after[2]), int(after[3]))
            return await self._view.cited_by(target_id, limit=limit, after=key)

        return await self._page_of_citations("cited by", target_id, request, find, cited_key)

    async def _page_of_citations(
        self,
        kind: str,
        bound: str,
        request: PageRequest,
        find: Callable[[int, list[Any] | None], Awaitable[list[SessionCitation]]],
        key_of: Callable[[SessionCitation], tuple[Any, ...]],
    ) -> Page[SessionCitation]:
        limit = request.limit(default=100, maximum=self.limits.page_max)
        after = None
        if request.after is not None:
            after = self._cursors.read(kind, bound, request.after)
        rows = await find(limit + 1, after)
        return Page(
            rows[:limit],
            lambda citation: self._cursors.issue(kind, bound, list(key_of(citation))),
            has_next_page=len(rows) > limit,
            has_previous_page=after is not None,
        )

    async def list_events(
        self, session: LogicalSession, selection: EventSelection, request: PageRequest
    ) -> Page[PlacedEvent]:
        """A page of one session's events, ascending by seq.

        Raises:
            InvalidLimit, InvalidCursor, StaleCursor: see there.
        """
        find = self._scan_events if selection.texts else self._read_events
        return await self._page_of_events(
            "events", session, selection, request, find, lambda placed: placed
        )

    async def list_documents(
        self, session: LogicalSession, selection: EventSelection, request: PageRequest
    ) -> Page[EventDocument]:
        """A page of one session's semantic documents, ascending by seq.

        Raises:
            InvalidLimit, InvalidCursor, StaleCursor: see there.
        """
        return await self._page_of_events(
            "documents",
            session,
            selection,
            request,
            self._scan_documents,
            lambda document: document.placed,
        )

    async def event_window(
        self, session: LogicalSession, seq: Seq, before: int, after: int
    ) -> EventWindow:
        """An event and its raw neighbours.

        Raises:
            InvalidWindow: the neighbours are outside 0 to ``read_window_max``.
            EventNotFound: there is no such seq.
        """
        most = self.limits.read_window_max
        if not (0 <= before <= most and 0 <= after <= most):
            raise InvalidWindow(f"a window reaches 0 to {most} events to either side")
        target = await self._target(session, seq)
        window = WindowRequest(
            limit=before + after + 1,
            after=seq - before - 1,
            before=seq + after + 1,
            take=self._allowance.take,
        )
        events = await session.log.events(ALL_EVENTS, window)
        return EventWindow(target, tuple(events))

    async def list_surface(
        self, session: LogicalSession, request: PageRequest
    ) -> Page[PlacedEvent]:
        """A page of what the model sees, in model order.

        Raises:
            InvalidLimit, InvalidCursor, StaleCursor: see there.
        """

        def key_of(placed: PlacedEvent) -> int:
            assert placed.placement.position is not None
            return placed.placement.position

        async def find(window: WindowRequest) -> list[PlacedEvent]:
            return await session.log.surface(replace(window, take=self._allowance.take))

        return await self._page_by_key("surface", session, str, request, find, key_of)

    async def trace(self, session: LogicalSession, seq: Seq) -> EventTrace:
        """Where one event comes from and what became of it.

        Raises:
            EventNotFound: there is no such seq.
        """
        target = await self._target(session, seq)
        chain: list[Seq] = []
        if target.replaced_by is not None:
            chain = await session.log.replacement_chain(seq)
        replaced: list[Seq] = []
        if target.surface_op is not None and target.surface_op.replaces:
            replaced = await session.log.replaced_by(seq)
        return EventTrace(
            target,
            tuple(chain),
            tuple(replaced),
            target.source_event_seqs or (),
            tuple(await session.log.citers(seq)),
        )

    async def payloads(self, session_id: str, seqs: Collection[Seq]) -> dict[Seq, bytes]:
        """Whole payloads as JSON text, of events that were read without their streams."""
        found = await self._view.find([session_id])
        session = found.get(session_id)
        if session is None:
            return {}
        wanted, payloads = list(seqs), dict[Seq, bytes]()
        for begin in range(0, len(wanted), _PAYLOADS_AT_ONCE):
            read = await session.log.payloads(wanted[begin : begin + _PAYLOADS_AT_ONCE])
            self._allowance.take(sum(map(len, read.values())))
            payloads.update(read)
        return payloads

    async def lineages(
        self, sessions: Sequence[LogicalSession]
    ) -> dict[str, Lineage | SessionGraphError]:
        """The ancestry of each session; a circle fails for its own session only."""
        found = await self._view.ancestors([session.session_id for session in sessions])
        answers: dict[str, Lineage | SessionGraphError] = {}
        for session in sessions:
            ancestors = found.get(session.session_id, [])
            try:
                path = ancestor_path(
                    session.session_id,
                    session.header.parent_session,
                    [(each.session_id, each.header.parent_session) for each in ancestors],
                )
            except SessionGraphError as error:
                answers[session.session_id] = error
            else:
                known = tuple(ancestors[: len(path.ancestor_ids)])
                answers[session.session_id] = Lineage(session, known, path)
        return answers

    async def list_descendants(
        self, session: LogicalSession, request: PageRequest
    ) -> Page[LineageNode]:
        """A page of the forest below a session, in pre-order.

        Raises:
            InvalidLimit, InvalidCursor, StaleCursor: see there.
        """
        most = self.limits.lineage_page_max
        limit = request.limit(default=most, maximum=most)
        root_id = session.session_id
        links = await self._view.descendants(root_id)
        ordered = await asyncio.to_thread(descendants_in_order, root_id, links)
        start = 0
        if request.after is not None:
            (last_id,) = self._cursors.read("descendants", root_id, request.after)
            start = _place_after(ordered, last_id)
        cut = ordered[start : start + limit]
        found: dict[str, LogicalSession] = {}
        for begin in range(0, len(cut), _FOUND_AT_ONCE):
            part = cut[begin : begin + _FOUND_AT_ONCE]
            found.update(await self._view.find([node.session_id for node in part]))
            await asyncio.sleep(0)
        nodes = [
            LineageNode(found[node.session_id], node.parent_id, node.depth)
            for node in cut
            if node.session_id in found
        ]
        return Page(
            nodes,
            lambda node: self._cursors.issue("descendants", root_id, [node.session.session_id]),
            has_next_page=start + limit < len(ordered),
            has_previous_page=start > 0,
            total_count=len(ordered),
        )

    async def _target(self, session: LogicalSession, seq: Seq) -> PlacedEvent:
        found = await session.log.at([seq])
        if seq not in found:
            raise EventNotFound(f"{session.session_id!r} has no event {seq}")
        self._allowance.take(len(found[seq].event.payload))
        return found[seq]

    async def _read_events(
        self, session: LogicalSession, selection: EventSelection, window: WindowRequest
    ) -> list[PlacedEvent]:
        if selection.impossible:
            return []
        return await session.log.events(selection, replace(window, take=self._allowance.take))

    async def _scan_events(
        self, session: LogicalSession, selection: EventSelection, window: WindowRequest
    ) -> list[PlacedEvent]:
        documents = await self._scan_documents(session, selection, window)
        return [document.placed for document in documents]

    async def _scan_documents(
        self, session: LogicalSession, selection: EventSelection, window: WindowRequest
    ) -> list[EventDocument]:
        """Semantic documents that pass every filter, by reading page after page of candidates."""
        candidates = selection.narrowed(types=SEMANTIC_TYPES)
        if candidates.impossible:
            return []
        found: list[EventDocument] = []
        after, before, turn, most = window.after, window.before, 0, _SCAN_PAGES[-1]
        while len(found) < window.limit:
            size = min(most, _SCAN_PAGES[min(turn, len(_SCAN_PAGES) - 1)])
            reading = WindowRequest(size, after=after, before=before, newest=window.newest)
            lent = _Lent(self._allowance)
            try:
                page = await session.log.events(candidates, replace(reading, take=lent.take))
                matching = await asyncio.to_thread(_documents, page, candidates)
            except CostLimitExceeded:
                lent.give_back()
                if size == 1:
                    raise
                most = max(1, size // 8)
                continue
            turn += 1
            lent.give_back()
            for document in matching:
                self._allowance.take(len(document.placed.event.payload))
            found = matching + found if window.newest else found + matching
            if len(page) < size:
                break
            if window.newest:
                before = page[0].seq
            else:
                after = page[-1].seq
        return found[-window.limit :] if window.newest else found[: window.limit]

    async def _page_of_events(
        self,
        brand: str,
        session: LogicalSession,
        selection: EventSelection,
        request: PageRequest,
        find: Callable[[LogicalSession, EventSelection, WindowRequest], Any],
        placed_of: Callable[[T], PlacedEvent],
    ) -> Page[T]:
        async def find_window(window: WindowRequest) -> list[T]:
            rows: list[T] = await find(session, selection, window)
            return rows

        return await self._page_by_key(
            brand,
            session,
            selection.digest,
            request,
            find_window,
            lambda item: placed_of(item).seq,
        )

    async def _page_by_key(
        self,
        brand: str,
        session: LogicalSession,
        digest: Callable[[], str],
        request: PageRequest,
        find: Callable[[WindowRequest], Any],
        key_of: Callable[[T], int],
    ) -> Page[T]:
        """A page of a list whose items are keyed by one ascending integer.

        digest: of what else its cursors are bound to; asked for where there are cursors.
        """
        limit = request.limit(default=100, maximum=self.limits.page_max)
        bound = cache(lambda: f"{session.session_id}#{session.epoch}:{digest()}")

        def key_in(token: str | None) -> int | None:
            if token is None:
                return None
            (key,) = self._cursors.read(brand, bound(), token)
            return int(key)

        after, before = key_in(request.after), key_in(request.before)
        newest = request.from_end
        rows: list[T] = await find(WindowRequest(limit + 1, after, before, newest))
        more = len(rows) > limit
        items = rows[-limit:] if newest else rows[:limit]
        beyond_after = after is not None and bool(
            await find(WindowRequest(1, before=after + 1, newest=True))
        )
        beyond_before = before is not None and bool(await find(WindowRequest(1, after=before - 1)))
        return Page(
            items,
            lambda item: self._cursors.issue(brand, bound(), [key_of(item)]),
            has_next_page=beyond_before if newest else more or beyond_before,
            has_previous_page=more or beyond_after if newest else beyond_after,
        )


class _Lent:
    """What was taken for a page that is looked through, and not all kept."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._taken = 0

    def take(self, count: int) -> None:
        self._taken += count
        self._allowance.take(count)

    def give_back(self) -> None:
        self._allowance.let_go(self._taken)


def _documents(page: Sequence[PlacedEvent], selection: EventSelection) -> list[EventDocument]:
    found = []
    for placed in page:
        try:
            text = semantic_text(placed.event)
        except ValueError as error:
            raise CorruptSession(
                f"event {placed.seq} of {placed.session_id!r} has a payload that cannot be read"
            ) from error
        if text and selection.admits_text(text):
            found.append(EventDocument(placed, text))
    return found


def _session_key(parts: Sequence[Any]) -> SessionKey:
    if len(parts) != 3:
        raise InvalidCursor("this is not a cursor of a list of sessions")
    created_at, session_id, prompted_at = parts
    return SessionKey(created_at, session_id, prompted_at)


def _place_after(ordered: Sequence[Descendant], session_id: str) -> int:
    for index, node in enumerate(ordered):
        if node.session_id == session_id:
            return index + 1
    raise StaleCursor(f"{session_id!r} is no longer among the descendants")
