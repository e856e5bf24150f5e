"""Full-text search over all sessions, and inside one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from resolvers.connections import Edge
from resolvers.context import RequestContext
from sessiongraph.event import PlacedEvent
from sessiongraph.filters import EventSelection, SessionSelection
from sessiongraph.header import SessionHeader
from sessiongraph.paging import PageRequest
from sessiongraph.search.question import MatchMode
from sessiongraph.search.service import EventHit, Search, SearchPage, SessionHit
from sessiongraph.search.snippets import Span


@dataclass(frozen=True, slots=True)
class EventPage:
    """A page of one session's hits, and the session that was looked into."""

    session: SessionHeader
    page: SearchPage[EventHit]


async def search_sessions(
    context: RequestContext,
    search: Search,
    query: str,
    mode: MatchMode,
    sessions: SessionSelection,
    events: EventSelection,
    request: PageRequest,
    *,
    include_inherited: bool,
) -> SearchPage[SessionHit]:
    """Sessions ranked by their strongest event.

    Raises:
        InvalidQuery, InvalidLimit, InvalidCursor, StaleCursor, IndexFailed: see there.
    """
    observation = await context.observation()
    return await search.sessions(
        observation.view,
        query,
        mode,
        sessions,
        events,
        request,
        include_inherited=include_inherited,
    )


async def search_events(
    context: RequestContext,
    search: Search,
    session_id: str,
    query: str,
    mode: MatchMode,
    events: EventSelection,
    request: PageRequest,
) -> EventPage:
    """The events of one session that match, and the session that was looked into.

    Raises:
        SessionNotFound: there is no such session.
        InvalidQuery, InvalidLimit, InvalidCursor, StaleCursor, IndexFailed: see there.
    """
    observation = await context.observation()
    found = await search.events(observation.view, session_id, query, mode, events, request)
    return EventPage(found.session.header, found.page)


def snippet(root: EventHit) -> str:
    """The words around the match."""
    return root.snippet.text


def highlights(root: EventHit) -> Sequence[Span]:
    """Where the match is in the snippet."""
    return root.snippet.highlights


def hit_event(root: EventHit) -> PlacedEvent:
    """The whole event of a hit."""
    return root.event


def event_edges(root: EventPage) -> list[Edge[EventHit]]:
    """The hits of a page with their cursors."""
    return [Edge(root.page, item) for item in root.page.items]


def event_nodes(root: EventPage) -> Sequence[EventHit]:
    """The hits of a page."""
    return root.page.items


def event_page_info(root: EventPage) -> SearchPage[EventHit]:
    """What lies beyond the ends of a page."""
    return root.page
