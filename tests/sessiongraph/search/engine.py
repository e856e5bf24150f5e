"""Search put together as the server does it, and what a plain look through everything finds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from providers.sqlite.log_store import SqliteLogStore
from providers.tantivy.index import TantivyIndex
from sessiongraph.corpus import CorpusView, LogicalSession, admits_session, is_available
from sessiongraph.cursor import KEY_BYTES, CursorCodec
from sessiongraph.event import PlacedEvent, Seq, SurfaceOp
from sessiongraph.filters import (
    ALL_EVENTS,
    ALL_SESSIONS,
    EventSelection,
    SessionSelection,
)
from sessiongraph.header import SourceKind
from sessiongraph.live_sessions import LiveLimits
from sessiongraph.paging import PageRequest
from sessiongraph.ports import SessionOrder
from sessiongraph.precedence import Precedence
from sessiongraph.search.indexing import Indexing
from sessiongraph.search.ports import SearchIndex
from sessiongraph.search.question import MatchMode, SearchText
from sessiongraph.search.service import EventHit, Search, SearchLimits, SearchPage, SessionHit
from sessiongraph.search.walks import Walks
from sessiongraph.text import semantic_text
from tests.plain_search import PlainIndex, plain_match
from tests.sessiongraph.live_engine import (
    DURABLE,
    EVERYTHING,
    LAZY,
    PROMPT,
    Engine,
    running,
    said,
)

PATIENCE_S = 20
Key = tuple[str, Seq]


def tantivy_at(path: Path) -> SearchIndex:
    return TantivyIndex.open(path / "index", 16 << 20)


def plain_at(path: Path) -> SearchIndex:
    return PlainIndex()


@dataclass(frozen=True)
class Searched:
    """A live engine and the search over it."""

    engine: Engine
    search: Search
    walks: Walks
    indexing: Indexing

    async def page(
        self, query: str, first: int = 200, after: str | None = None, **asked: Any
    ) -> SearchPage[SessionHit]:
        mode = asked.pop("mode", MatchMode.ALL)
        sessions = asked.pop("sessions", ALL_SESSIONS)
        events = asked.pop("events", ALL_EVENTS)
        async with self.engine.corpus.observe() as view:
            request = PageRequest(first, after)
            return await self.search.sessions(view, query, mode, sessions, events, request, **asked)

    async def inside(
        self, session_id: str, query: str, first: int = 200, after: str | None = None, **asked: Any
    ) -> SearchPage[EventHit]:
        mode = asked.pop("mode", MatchMode.ALL)
        events = asked.pop("events", ALL_EVENTS)
        async with self.engine.corpus.observe() as view:
            request = PageRequest(first, after)
            found = await self.search.events(view, session_id, query, mode, events, request)
            assert found.session.session_id == session_id
            return found.page

    async def found(self, query: str, **asked: Any) -> set[str]:
        """The sessions of the one page that holds them all."""
        page = await self.page(query, **asked)
        assert not page.has_next_page
        ids = [hit.session.session_id for hit in page.items]
        assert len(ids) == len(set(ids))
        return set(ids)

    async def found_inside(self, session_id: str, query: str, **asked: Any) -> set[Seq]:
        """The events of the one page that holds them all."""
        page = await self.inside(session_id, query, **asked)
        assert not page.has_next_page
        return {hit.seq for hit in page.items}

    async def expected(
        self,
        query: str,
        mode: MatchMode = MatchMode.ALL,
        sessions: SessionSelection = ALL_SESSIONS,
        events: EventSelection = ALL_EVENTS,
        include_inherited: bool = True,
    ) -> set[Key]:
        """The events that a look at every event of every session finds."""
        wanted = SearchText.of(query, mode, 100_000)
        async with self.engine.corpus.observe() as view:
            return await plain_answer(view, wanted, sessions, events, include_inherited)

    async def delete(self, session_id: str) -> None:
        await self.engine.writing.delete(session_id)

    async def standing(self, session_id: str) -> list[Seq]:
        """The current nodes of a session, in model order."""
        async with self.engine.corpus.observe() as view:
            session = (await view.find([session_id]))[session_id]
            return [each.seq for each in await session.log.surface(EVERYTHING)]

    async def compact(self, session_id: str, first: Seq, last: Seq, text: str) -> Seq:
        """Replace the nodes from one to another by one message; answers its seq."""
        standing = await self.standing(session_id)
        gone = tuple(standing[standing.index(first) : standing.index(last) + 1])
        event = said(text, surface_op=SurfaceOp(first, last), source_event_seqs=gone)
        appended = await self.engine.writing.append(session_id, [event], None, DURABLE)
        return appended[0].seq


async def plain_answer(
    view: CorpusView,
    wanted: SearchText,
    sessions: SessionSelection,
    events: EventSelection,
    include_inherited: bool,
) -> set[Key]:
    everyone = await view.sessions(ALL_SESSIONS, SessionOrder.CREATED, limit=10_000)
    known = {each.session_id: each for each in everyone}
    logs = {each.session_id: await each.log.events(ALL_EVENTS, EVERYTHING) for each in everyone}
    found: set[Key] = set()
    for session in everyone:
        if not admits_session(sessions, session):
            continue
        if sessions.availability is not None and not is_available(session, sessions.availability):
            continue
        for placed in logs[session.session_id]:
            if not include_inherited and is_copy(known, logs, session, placed):
                continue
            text = semantic_text(placed.event)
            if text and events.admits(placed) and plain_match(text, wanted):
                found.add((session.session_id, placed.seq))
    return found


def is_copy(
    known: dict[str, LogicalSession],
    logs: dict[str, list[PlacedEvent]],
    session: LogicalSession,
    placed: PlacedEvent,
) -> bool:
    """Whether the parent of a fork has the original of one of its events."""

    def parent_of(child: LogicalSession) -> LogicalSession | None:
        is_inherited = placed.seq < (child.header.seed_length or 0)
        return known.get(child.header.parent_session or "") if is_inherited else None

    parent = parent_of(session)
    if parent is None or parent.header.created_at > session.header.created_at:
        return False
    original = next((each for each in logs[parent.session_id] if each.seq == placed.seq), None)
    if original is None:
        return False
    way: list[LogicalSession] = [session]
    while (above := parent_of(way[-1])) and above not in way:
        if above.header.created_at != session.header.created_at:
            break
        way.append(above)
    else:
        if above is session and session.session_id == min(each.session_id for each in way):
            return False
    kind, versions = session.header.source.kind, (session.header.version, parent.header.version)
    if kind is SourceKind.API or (kind is SourceKind.DSH and versions[0] == versions[1]):
        return all(
            of(placed) == of(original)
            for of in (lambda e: e.type, lambda e: e.time, lambda e: semantic_text(e.event))
        )
    return True


@asynccontextmanager
async def searched(
    path: Path,
    *,
    index_at: Callable[[Path], SearchIndex] = tantivy_at,
    limits: LiveLimits = PROMPT,
    ttl_s: float = 300,
    walks_max: int = 64,
    hits_max: int = 500_000,
    commit_ms: int = 60_000,
    wait_ms: int = 10_000,
    page_max: int = 200,
    precedence: Precedence | None = None,
) -> AsyncIterator[Searched]:
    """A search that runs over files in a folder; it leaves no task behind."""
    store = SqliteLogStore.open(path / "log.db")
    index = index_at(path)
    try:
        async with running(store, limits) as engine:
            walks = Walks(ttl_s, walks_max, hits_max)
            indexing = Indexing(
                store,
                store,
                index,
                commit_ms=commit_ms,
                wait_ms=wait_ms,
                on_commit=walks.commit,
                precedence=precedence,
            )
            cursors = CursorCodec(b"k" * KEY_BYTES)
            search = Search(
                indexing,
                walks,
                cursors,
                SearchLimits(page_max=page_max),
                engine.live.commit_accepted,
            )
            task = asyncio.create_task(indexing.run())
            try:
                async with asyncio.timeout(3 * PATIENCE_S):
                    yield Searched(engine, search, walks, indexing)
            finally:
                task.cancel()
                await asyncio.wait([task])
            assert task.cancelled(), task.exception()
    finally:
        await index.close()
        await store.close()


__all__ = ["LAZY", "PROMPT", "Searched", "plain_at", "searched", "tantivy_at"]
