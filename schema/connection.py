"""Connections: a page of a list, with cursors that are made only when they are asked for."""

from __future__ import annotations

from typing import Generic, TypeVar

import strawberry

from resolvers import connections
from schema.declaration import object_type, resolved
from schema.scalars import Cursor
from sessiongraph.paging import PageRequest

NodeT = TypeVar("NodeT")
EdgeT = TypeVar("EdgeT")
T = TypeVar("T")


@object_type
class PageInfo:
    """What lies beyond the two ends of a page."""

    has_next_page: bool
    has_previous_page: bool
    start_cursor: Cursor | None = strawberry.field(description="Null on an empty page.")
    end_cursor: Cursor | None = strawberry.field(
        description="Null on an empty page; in searches null on the last page too."
    )


@strawberry.type
class Edge(Generic[NodeT]):
    """One item of a list and its cursor; each list has a type of its own made from this."""

    cursor: Cursor
    node: NodeT


@strawberry.type
class Connection(Generic[NodeT, EdgeT]):
    """One page of a list; each list has a type of its own made from this."""

    edges: list[EdgeT] = resolved(connections.edges)
    items: list[NodeT] = strawberry.field(
        name="nodes", description="The items alone, for those who need no cursor of each."
    )
    page_info: PageInfo = resolved(connections.page_info)


def page_request(
    first: int | None = strawberry.UNSET,
    after: str | None = strawberry.UNSET,
    last: int | None = strawberry.UNSET,
    before: str | None = strawberry.UNSET,
) -> PageRequest:
    """The page that a caller asks for; a null and an argument left out are the same."""
    return PageRequest(_given(first), _given(after), _given(last), _given(before))


def _given(argument: T | None) -> T | None:
    return None if argument is strawberry.UNSET else argument
