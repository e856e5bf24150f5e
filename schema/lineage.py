"""Lineage: a session among its ancestors, and the forest of its descendants."""

from __future__ import annotations

from typing import Final

import strawberry

from resolvers.lineage import list_descendants, unresolved_parent_id
from schema.connection import Connection, Edge, page_request
from schema.declaration import Info, asks_class, field, interface, object_type, resolved
from schema.scalars import Cursor
from schema.session import SessionRecord
from sessiongraph.families import Lineage
from sessiongraph.families import LineageNode as Descendant
from sessiongraph.paging import Page


@object_type
class LineageNode:
    """One descendant; depth is 1 for direct children."""

    session: SessionRecord
    parent_id: strawberry.ID
    depth: int


@object_type
class LineageEdge(Edge[LineageNode]):
    """One descendant and its cursor."""


@object_type
class LineageConnection(Connection[LineageNode, LineageEdge]):
    """One page of the forest of descendants."""

    total_count: int = strawberry.field(description="All descendants, not only those of this page.")


@interface
class SessionLineage:
    """A session among its relatives: either complete with a root or partial with the first parent
    that is not there; never both.
    """

    target: SessionRecord
    ancestors: list[SessionRecord] = strawberry.field(description="Known parents, nearest first.")
    complete: bool = strawberry.field(description="Whether the ancestors lead up to a root.")

    @field(
        LineageConnection,
        "The forest of descendants in pre-order; children by creation time, then id; pages of "
        "at most 2,000.",
    )
    async def descendants(
        self,
        lineage: strawberry.Parent[Lineage],
        info: Info,
        first: int | None = 2000,
        after: Cursor | None = strawberry.UNSET,
    ) -> Page[Descendant]:
        request = page_request(first, after)
        return await list_descendants(info.context, lineage, request)

    @staticmethod
    def resolve_type(value: Lineage, _info: object, _interface: object) -> str:
        return "CompleteLineage" if value.complete else "PartialLineage"

    @staticmethod
    @asks_class
    def is_type_of(value: object, _info: object) -> bool:
        return isinstance(value, Lineage)


@object_type
class CompleteLineage(SessionLineage):
    """A lineage whose ancestors lead up to a root."""

    root: SessionRecord = strawberry.field(
        description="The oldest ancestor; the session itself when it has no parent."
    )


@object_type
class PartialLineage(SessionLineage):
    """A lineage that ends at a parent that is not in the corpus."""

    unresolved_parent_id: strawberry.ID = resolved(
        unresolved_parent_id,
        "The first parent that is not there; empty, which no id is, for a client that is confined "
        "to directories.",
    )


IMPLEMENTATIONS: Final = (CompleteLineage, PartialLineage)
"""Both kinds of lineage; they are reached through the interface only."""
