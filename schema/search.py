"""Searches: hits with their snippets, in pages."""

from __future__ import annotations

import strawberry

from resolvers import search
from schema.connection import Connection, Edge, PageInfo
from schema.declaration import object_type, resolved
from schema.enums import EventSurface
from schema.event import SessionEvent
from schema.scalars import EpochMillis
from schema.session import SessionHeader, SessionRecord


@object_type
class TextSpan:
    """A piece of a text, [start, end) in Unicode code points."""

    start: int
    end: int


@object_type
class EventSearchHit:
    """One event that matches. `highlights` are [start, end) offsets into `snippet`, in Unicode code
    points.
    """

    session_id: strawberry.ID
    seq: int
    type: str
    time: EpochMillis
    surface: EventSurface
    snippet: str = resolved(
        search.snippet, "The words around the match, white space as single spaces."
    )
    highlights: list[TextSpan] = resolved(search.highlights)
    event: SessionEvent | None = resolved(search.hit_event, "The whole event.")


@object_type
class SessionSearchHit:
    """A session and its strongest event."""

    session: SessionRecord
    best_match: EventSearchHit


@object_type
class SessionSearchEdge(Edge[SessionSearchHit]):
    """One session that was found and its cursor."""


@object_type
class SessionSearchConnection(Connection[SessionSearchHit, SessionSearchEdge]):
    """One page of sessions that were found, the strongest first."""


@object_type
class EventSearchEdge(Edge[EventSearchHit]):
    """One event that was found and its cursor."""


@object_type
class EventSearchConnection:
    """Carries the observed session even when nothing matched."""

    session: SessionHeader
    edges: list[EventSearchEdge] = resolved(search.event_edges)
    items: list[EventSearchHit] = resolved(
        search.event_nodes, "The hits alone, for those who need no cursor of each.", "nodes"
    )
    page_info: PageInfo = resolved(search.event_page_info)
