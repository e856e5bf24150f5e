"""What the server tells of itself."""

from __future__ import annotations

from dataclasses import dataclass

from resolvers.context import RequestContext


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server and its corpus in numbers.

    index_lag: commits that the search index has not reached yet; None when search is off, and for
        a caller who must not learn of commits elsewhere.
    projection_keys: of the views that clients can ask for.
    """

    version: str
    search_enabled: bool
    index_lag: int | None
    sessions: int
    events: int
    projection_keys: list[str]


async def read_server_facts(context: RequestContext) -> ServerFacts:
    """The facts of this moment."""
    projections = context.services.projections
    counts = await (await context.observation()).counts()
    search = context.services.search
    return ServerFacts(
        version=context.services.version,
        search_enabled=search is not None,
        index_lag=None if search is None or context.seen.is_confined else await search.lag(),
        sessions=counts.sessions,
        events=counts.events,
        projection_keys=[] if projections is None else projections.registry.keys(),
    )
