"""Edges of a page: an item together with its cursor, which is made only when somebody asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from sessiongraph.paging import Page

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Edge(Generic[T]):
    """One item of a page."""

    page: Page[T]
    node: T

    @property
    def cursor(self) -> str:
        return self.page.cursor(self.node)


def edges(root: Page[T]) -> list[Edge[T]]:
    """The items of a page with their cursors."""
    return [Edge(root, item) for item in root.items]


def page_info(root: Page[T]) -> Page[T]:
    """A page tells itself what lies beyond its ends."""
    return root
