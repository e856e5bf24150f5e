"""Lineage: the ancestry of a session and the forest below it."""

from __future__ import annotations

from resolvers.context import RequestContext
from sessiongraph.corpus import LogicalSession
from sessiongraph.families import Lineage, LineageNode
from sessiongraph.paging import Page, PageRequest


async def read_lineage(context: RequestContext, session: LogicalSession) -> Lineage | None:
    """A session among its ancestors; asked in one batch for all sessions of a page.

    Raises:
        InvalidLineage: the ancestry runs in a circle.
    """
    return await context.loaders.lineages.load(session)


async def list_descendants(
    context: RequestContext, lineage: Lineage, request: PageRequest
) -> Page[LineageNode]:
    """A page of the forest below a session, in pre-order.

    Raises:
        InvalidLimit, InvalidCursor, StaleCursor: see there.
    """
    return await (await context.observation()).list_descendants(lineage.target, request)


def unresolved_parent_id(root: Lineage) -> str | None:
    """The first parent that is not in the corpus; None when the lineage is complete."""
    return root.path.unresolved_parent_id
