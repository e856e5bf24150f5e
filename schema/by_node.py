"""What was found out about nodes of documents, for whoever meets them again.

A node is the same object as long as its document is kept, and is told by its address: to compare
nodes by what they say would cost more than most of what is found out about them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from graphql import Node

V = TypeVar("V")


class ByNode(Generic[V]):
    """Values of the nodes that came last; most: how many are kept."""

    def __init__(self, most: int) -> None:
        self._most = most
        # The nodes are kept too, so that nothing else gets their addresses.
        self._kept: OrderedDict[int, tuple[Node, V]] = OrderedDict()

    def of(self, node: Node, find: Callable[[], V]) -> V:
        """The value of a node; found out when there is none yet."""
        kept = self._kept.get(id(node))
        if kept is None:
            kept = self._kept[id(node)] = node, find()
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return kept[1]
