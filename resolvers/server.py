"""What the server tells of itself."""

from __future__ import annotations

from dataclasses import dataclass

from resolvers.context import RequestContext


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server and its corpus in numbers.

    index_lag: commits that the search index has not reached yet; None when search is off.
    """

    version: str
    search_enabled: bool
    index_lag: int | None
    sessions: int
    events: int


async def read_server_facts(context: RequestContext) -> ServerFacts:
    """The facts of this moment."""
    counts = await (await context.observation()).counts()
    return ServerFacts(
        version=context.services.version,
        search_enabled=False,
        index_lag=None,
        sessions=counts.sessions,
        events=counts.events,
    )
