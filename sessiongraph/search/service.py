"""Searching: a question, the index's answers, and what the corpus makes of them.

The index ranks; the corpus decides. Whatever can change while a document stays as it is (whether a
session is still there, its title, where an event stands now) is looked up for the hits of a page
and never indexed, in rank order, until the page is full. So a filter on it is exact however few
hits survive, a compaction re-indexes nothing, and what is deleted is gone at once.

Before anything is looked for, whatever was acknowledged is on disk and in the index.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from sessiongraph.corpus import CorpusView, LogicalSession
from sessiongraph.cursor import CursorCodec
from sessiongraph.errors import CorruptSession, IndexFailed, SessionNotFound
from sessiongraph.event import EventSurface, PlacedEvent, Seq
from sessiongraph.filters import (
    ALL_SESSIONS,
    EventSelection,
    SessionSelection,
)
from sessiongraph.header import EpochMillis
from sessiongraph.paging import Page, PageRequest
from sessiongraph.ports import Position, SessionOrder
from sessiongraph.search.admission import Admission
from sessiongraph.search.indexing import Indexing
from sessiongraph.search.ports import Hit
from sessiongraph.search.question import IndexFilter, MatchMode, Question, SearchText
from sessiongraph.search.snippets import Snippet, SnippetMaker
from sessiongraph.search.walks import Asked, Walk, Walks
from sessiongraph.text import semantic_text

T = TypeVar("T")

_NAMED_SESSIONS: Final = 500
"""Sessions up to which a filter that the index does not know is turned into their ids."""

_REWRITTEN_SESSIONS: Final = 5_000
"""Sessions that have shadowed events, up to which they are looked for by their ids. Of what is said
often, little may be shadowed, and would be found behind all that stands."""

_SHORT_PAYLOADS: Final = 32 << 10
"""Octets whose snippets are made where they are asked for: that takes about as long as the way to
another thread."""

_SHORT_QUERY: Final = 1000
"""Characters of a query that is taken apart where it is asked."""

_KEPT_QUERIES: Final = 256
"""Short queries that are not taken apart again: every page of a walk asks the same."""


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """The limits of searching, named as in the configuration.

    page_max: hits of one page. snippet_chars: code points of a snippet.
    search_query_max: characters of a query.
    """

    page_max: int = 200
    snippet_chars: int = 240
    search_query_max: int = 16_384


class EventHit(msgspec.Struct, eq=False):
    """One event that matches.

    event: as it is in the observation of the operation.
    """

    event: PlacedEvent
    snippet: Snippet

    @property
    def key(self) -> tuple[str, Seq]:
        """Which event of the corpus it is."""
        return self.event.session_id, self.event.seq

    @property
    def session_id(self) -> str:
        return self.event.session_id

    @property
    def seq(self) -> Seq:
        return self.event.seq

    @property
    def type(self) -> str:
        return self.event.type

    @property
    def time(self) -> EpochMillis:
        return self.event.time

    @property
    def surface(self) -> EventSurface:
        return self.event.surface


class SessionHit(msgspec.Struct, eq=False):
    """A session and its strongest event."""

    session: LogicalSession
    best_match: EventHit

    @property
    def key(self) -> tuple[str, Seq]:
        return self.best_match.key


H = TypeVar("H", EventHit, SessionHit)


class SearchPage(Page[T]):
    """A page of hits; the last one has no cursor to go on with."""

    __slots__ = ()

    @property
    def end_cursor(self) -> str | None:
        return super().end_cursor if self.has_next_page else None


@dataclass(frozen=True, slots=True)
class SessionEvents:
    """What a search inside one session found, and the session that it looked into."""

    session: LogicalSession
    page: SearchPage[EventHit]


class Search:
    """The searching service of one server.

    settle: has everything that was acknowledged written to the log.
    through: the position that must be searched; None: everything that was acknowledged.
    """

    def __init__(
        self,
        indexing: Indexing,
        walks: Walks,
        cursors: CursorCodec,
        limits: SearchLimits,
        settle: Callable[[], Awaitable[None]],
        through: Position | None = None,
    ) -> None:
        self.indexing = indexing
        self.walks = walks
        self._cursors = cursors
        self._limits = limits
        self._settle = settle
        self._through = through

    async def lag(self) -> int:
        """Commits that the index has not reached yet.

        Raises:
            PersistenceFailed: the store cannot be asked.
        """
        return (await self.indexing.progress()).behind

    async def sessions(
        self,
        view: CorpusView,
        query: str,
        mode: MatchMode,
        sessions: SessionSelection,
        events: EventSelection,
        request: PageRequest,
        *,
        include_inherited: bool = True,
    ) -> SearchPage[SessionHit]:
        """Sessions ranked by their strongest event.

        include_inherited: False leaves out what a fork copied while its parent has it.

        Raises:
            InvalidQuery, InvalidLimit, InvalidCursor, StaleCursor, IndexFailed: see there.
        """
        text, limit = await self._checked(query, mode, request)
        sessions = view.narrowed(sessions)
        asked = Asked("searchSessions", text, sessions, events, include_inherited, limit, view.seen)
        admission = Admission(view, sessions, events, include_inherited)

        async def begin() -> Walk | None:
            question = await _question(view, text, sessions, events)
            return await self._walk(question, admission, view, asked, grouped=True)

        walk, start = await self._place(view, asked, request, begin)
        hits, more = await self._page(walk, start, limit, admission)
        shown = await self._shown(admission, hits, text)
        items = [SessionHit(admission.session(hit.session_id), hit) for hit in shown]
        return self._as_page(items, hits, walk, start, asked, has_more=more)

    async def events(
        self,
        view: CorpusView,
        session_id: str,
        query: str,
        mode: MatchMode,
        events: EventSelection,
        request: PageRequest,
    ) -> SessionEvents:
        """The events of one session that match, and the session, also when nothing does.

        Raises:
            SessionNotFound: there is no such session.
            InvalidQuery, InvalidLimit, InvalidCursor, StaleCursor, IndexFailed: see there.
        """
        text, limit = await self._checked(query, mode, request)
        session = (await view.find([session_id])).get(session_id)
        if session is None:
            raise SessionNotFound(f"no session has the id {session_id!r}")
        if session.conflict is not None:
            raise session.conflict
        only = ALL_SESSIONS.narrowed(ids=[session_id])
        asked = Asked("searchEvents", text, only, events, True, limit, view.seen)
        admission = Admission(view, only, events, True)

        async def begin() -> Walk | None:
            question = await _question(view, text, only, events)
            return await self._walk(question, admission, view, asked, grouped=False)

        walk, start = await self._place(view, asked, request, begin)
        hits, more = await self._page(walk, start, limit, admission)
        items = await self._shown(admission, hits, text)
        page = self._as_page(items, hits, walk, start, asked, has_more=more)
        return SessionEvents(session, page)

    async def _checked(
        self, query: str, mode: MatchMode, request: PageRequest
    ) -> tuple[SearchText, int]:
        most = self._limits.search_query_max
        if len(query) <= _SHORT_QUERY:
            text = _text_asked_for(query, mode, most)
        else:
            text = await asyncio.to_thread(SearchText.of, query, mode, most)
        return text, request.limit(default=20, maximum=self._limits.page_max)

    async def _place(
        self,
        view: CorpusView,
        asked: Asked,
        request: PageRequest,
        begin: Callable[[], Awaitable[Walk | None]],
    ) -> tuple[Walk | None, int]:
        """The walk that a page is of, and how many of its hits came before."""
        name, start = None, 0
        if request.after is not None:
            cursors = self._cursors.within(asked.seen.scope())
            name, start = cursors.read(asked.field, asked.digest, request.after)
        await self._come_up(view)
        if name is None:
            return await begin(), 0
        return self.walks.find(name), start

    async def _come_up(self, view: CorpusView) -> None:
        """Let the index reach what was acknowledged by now."""
        position = view.reader.position
        if self._through is not None:
            position = self._through
        elif view.is_ahead:
            await self._settle()
            position = (await self.indexing.progress()).target
        await self.indexing.reach(position)

    async def _walk(
        self,
        question: Question | None,
        admission: Admission,
        view: CorpusView,
        asked: Asked,
        *,
        grouped: bool,
    ) -> Walk | None:
        if question is None:
            return None
        observation = self.indexing.index.observe()
        position = view.reader.position
        distinct = grouped and not admission.looks_at_events
        walk = Walk(observation, position, asked, question, distinct, grouped)
        if admission.depends_on_placement:
            self.walks.watch(walk)
            for commit in await self.indexing.commits_between(position, self.indexing.seen):
                walk.commit(commit)
        return walk

    async def _page(
        self, walk: Walk | None, start: int, limit: int, admission: Admission
    ) -> tuple[Sequence[Hit], bool]:
        """The next accepted hits, and whether there are more behind them."""
        if walk is None:
            return [], False
        end = start + limit
        try:
            await walk.extend(end + 1, partial(admission.passing, walk=walk))
        except IndexFailed:
            self.indexing.doubt()
            raise
        return walk.accepted[start:end], len(walk.accepted) > end

    async def _shown(
        self, admission: Admission, hits: Sequence[Hit], text: SearchText
    ) -> list[EventHit]:
        events = await admission.read(hits)
        maker = SnippetMaker(text, self._limits.snippet_chars)

        def snippets() -> list[EventHit]:
            texts = list(map(_text_of, events))
            return list(map(EventHit, events, map(maker.snippet, texts)))

        if sum(len(each.event.payload) for each in events) <= _SHORT_PAYLOADS:
            return snippets()
        return await asyncio.to_thread(snippets)

    def _as_page(
        self,
        items: Sequence[H],
        hits: Sequence[Hit],
        walk: Walk | None,
        start: int,
        asked: Asked,
        *,
        has_more: bool,
    ) -> SearchPage[H]:
        places: dict[tuple[str, Seq], int] = {}

        def cursor_of(item: H) -> str:
            assert walk is not None
            if not places:
                places.update(((h.session_id, h.seq), start + n) for n, h in enumerate(hits, 1))
            key = [self.walks.hold(walk), places[item.key]]
            cursors = self._cursors.within(asked.seen.scope())
            return cursors.issue(asked.field, asked.digest, key)

        return SearchPage(items, cursor_of, has_next_page=has_more, has_previous_page=start > 0)


_text_asked_for: Final = lru_cache(_KEPT_QUERIES)(SearchText.of)


async def _question(
    view: CorpusView, text: SearchText, sessions: SessionSelection, events: EventSelection
) -> Question | None:
    """What the index is asked; None when nothing can match."""
    admitted = IndexFilter.of(sessions, events)
    if sessions.impossible or events.impossible:
        return None
    if admitted.types is not None and not admitted.types:
        return None
    if admitted.within is not None and not admitted.within:
        return None
    if sessions.titles or sessions.sources is not None or sessions.availability is not None:
        # Few sessions are best looked for by their ids; among many, hits are soon found.
        found = await view.sessions(sessions, SessionOrder.CREATED, limit=_NAMED_SESSIONS + 1)
        if not found:
            return None
        if len(found) <= _NAMED_SESSIONS:
            admitted = replace(admitted, ids=frozenset(each.session_id for each in found))
    if events.surfaces == frozenset({EventSurface.SHADOWED}):
        rewritten = await view.rewritten(_REWRITTEN_SESSIONS)
        if rewritten is not None:
            ids = rewritten if admitted.ids is None else rewritten & admitted.ids
            if not ids:
                return None
            admitted = replace(admitted, ids=ids)
    return Question(text, admitted, by_time=view.seen.is_confined)


def _text_of(placed: PlacedEvent) -> str:
    try:
        return semantic_text(placed.event)
    except ValueError as error:
        raise CorruptSession(
            f"event {placed.seq} of {placed.session_id!r} has a payload that cannot be read"
        ) from error
