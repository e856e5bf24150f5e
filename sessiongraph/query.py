"""Session query: list, read, filter and trace over the live-preferred corpus.

One :class:`Observation` answers all questions of one operation from the same moment. Reading costs
what is returned; only text filters scan, in bounded pages, with the matching done off the event
loop. Every limit is in :class:`QueryLimits`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import cache, partial
from types import TracebackType
from typing import Any, Final, TypeVar

from sessiongraph.allowance import Allowance, EventBytes
from sessiongraph.citations import SessionCitation, cited_key, citing_key
from sessiongraph.confined_view import ConfinedView
from sessiongraph.corpus import Corpus, CorpusView, LogicalSession
from sessiongraph.cover_query import CoverQuery
from sessiongraph.cursor import CursorCodec
from sessiongraph.errors import (
    EventNotFound,
    InvalidCursor,
    InvalidWindow,
    SessionGraphError,
    SessionNotFound,
)
from sessiongraph.event import EventEnvelope, PlacedEvent, Seq
from sessiongraph.families import Lineage, LineageNode, lineages, page_of_descendants
from sessiongraph.filters import ALL_EVENTS, EventSelection, SessionSelection
from sessiongraph.paging import Page, PageRequest, page_by_key
from sessiongraph.ports import CorpusCounts, SessionKey, SessionOrder, WindowRequest
from sessiongraph.text_scan import scan_documents
from sessiongraph.trace import EventDocument, EventTrace, EventWindow
from sessiongraph.visibility import EVERYWHERE, Visibility

T = TypeVar("T")

_PAYLOADS_AT_ONCE: Final = 32
"""Whole payloads read before they are weighed."""

_EVENTS: Final = EventBytes()
"""Of those who read as much as they like."""


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

    def observe(
        self, seen: Visibility = EVERYWHERE, allowance: Allowance | None = None
    ) -> AbstractAsyncContextManager[Observation]:
        """Everything asked inside is answered from one observation of the corpus.

        seen: the sessions that exist for whoever asks. allowance: what of events may be read; None:
        as much as is asked for.
        """
        show = partial(ConfinedView, seen) if seen.is_confined else CorpusView
        cursors = self._cursors.within(seen.scope())
        limits, allowed = self._limits, allowance or _EVENTS.allowance()
        return _Observing(
            self._corpus.observe(show), lambda view: Observation(view, cursors, limits, allowed)
        )


class _Observing:
    """The questions about one observation of the corpus, which lasts as long as its block."""

    __slots__ = ("_observing", "_questions")

    def __init__(
        self,
        observing: AbstractAsyncContextManager[CorpusView],
        questions: Callable[[CorpusView], Observation],
    ) -> None:
        self._observing = observing
        self._questions = questions

    async def __aenter__(self) -> Observation:
        return self._questions(await self._observing.__aenter__())

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._observing.__aexit__(kind, error, trace)


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
            key = None if after is None else (int(after[0]), int(after[1]), int(after[2]))
            return await self._view.cited_by(target_id, limit=limit, after=key)

        return await self._page_of_citations("citing", target_id, request, find, cited_key)

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

        async def find(window: WindowRequest) -> list[PlacedEvent]:
            if selection.texts:
                documents = await scan_documents(session, selection, window, self._allowance)
                return [document.placed for document in documents]
            if selection.impossible:
                return []
            return await session.log.events(selection, replace(window, take=self._allowance.take))

        return await self._page_by_key(
            "events", session, selection.digest, request, find, lambda placed: placed.seq
        )

    async def list_envelopes(
        self, session: LogicalSession, selection: EventSelection, request: PageRequest
    ) -> Page[EventEnvelope]:
        """The page that :meth:`list_events` answers, for whoever asks for no payloads.

        Raises:
            InvalidLimit, InvalidCursor, StaleCursor: see there.
        """

        async def find(window: WindowRequest) -> list[EventEnvelope]:
            if selection.texts:
                documents = await scan_documents(session, selection, window, self._allowance)
                return [EventEnvelope.of(document.placed) for document in documents]
            if selection.impossible:
                return []
            return await session.log.envelopes(selection, window)

        return await self._page_by_key(
            "events", session, selection.digest, request, find, lambda envelope: envelope.seq
        )

    async def list_documents(
        self, session: LogicalSession, selection: EventSelection, request: PageRequest
    ) -> Page[EventDocument]:
        """A page of one session's semantic documents, ascending by seq.

        Raises:
            InvalidLimit, InvalidCursor, StaleCursor: see there.
        """

        async def find(window: WindowRequest) -> list[EventDocument]:
            return await scan_documents(session, selection, window, self._allowance)

        return await self._page_by_key(
            "documents", session, selection.digest, request, find, lambda found: found.placed.seq
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
        return await lineages(self._view, sessions)

    async def list_descendants(
        self, session: LogicalSession, request: PageRequest
    ) -> Page[LineageNode]:
        """A page of the forest below a session, in pre-order.

        Raises:
            InvalidLimit, InvalidCursor, StaleCursor: see there.
        """
        most = self.limits.lineage_page_max
        return await page_of_descendants(self._view, self._cursors, session, request, most)

    async def _target(self, session: LogicalSession, seq: Seq) -> PlacedEvent:
        found = await session.log.at([seq])
        if seq not in found:
            raise EventNotFound(f"{session.session_id!r} has no event {seq}")
        self._allowance.take(len(found[seq].event.payload))
        return found[seq]

    async def _page_by_key(
        self,
        brand: str,
        session: LogicalSession,
        digest: Callable[[], str],
        request: PageRequest,
        find: Callable[[WindowRequest], Awaitable[list[T]]],
        key_of: Callable[[T], int],
    ) -> Page[T]:
        """digest: of what else its cursors are bound to, besides the session."""
        bound = cache(lambda: f"{session.session_id}#{session.epoch}:{digest()}")
        most = self.limits.page_max
        return await page_by_key(self._cursors, brand, bound, request, most, find, key_of)


def _session_key(parts: Sequence[Any]) -> SessionKey:
    if len(parts) != 3:
        raise InvalidCursor("this is not a cursor of a list of sessions")
    created_at, session_id, prompted_at = parts
    return SessionKey(created_at, session_id, prompted_at)
