"""Sessions as commands read them: one by its id, its surface page by page, its log as lines."""

from __future__ import annotations

from collections.abc import AsyncIterator

from providers.recordings.dsh_export import export_lines
from sessiongraph.corpus import LogicalSession
from sessiongraph.errors import SessionNotFound
from sessiongraph.event import PlacedEvent
from sessiongraph.paging import PageRequest
from sessiongraph.ports import LogReader, StoredSession
from sessiongraph.query import Observation


def not_found(session_id: str) -> SessionNotFound:
    """The refusal of an id that nothing has."""
    return SessionNotFound(f"no session has the id {session_id!r}")


async def session_of(observation: Observation, session_id: str) -> LogicalSession:
    """The session with this id.

    Raises:
        SessionNotFound: there is none.
    """
    found = await observation.find([session_id])
    if session_id not in found:
        raise not_found(session_id)
    return found[session_id]


async def surface_of(
    observation: Observation, session: LogicalSession
) -> AsyncIterator[list[PlacedEvent]]:
    """The current surface in model order, page by page."""
    after: str | None = None
    while True:
        request = PageRequest(first=observation.limits.page_max, after=after)
        page = await observation.list_surface(session, request)
        yield list(page.items)
        if not page.has_next_page:
            return
        after = page.end_cursor


async def log_lines(reader: LogReader, session: StoredSession) -> AsyncIterator[bytes]:
    """The log in dsh's format, line by line, the header first; never the whole log in memory."""
    yield next(export_lines(session.header, ()))
    async for entries in reader.entries(session):
        lines = export_lines(session.header, entries)
        next(lines)  # the header comes with every page of entries
        for line in lines:
            yield line
