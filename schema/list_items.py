"""Items of a list on their way into an answer, and what completes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from graphql import Executor, GraphQLObjectType, GraphQLResolveInfo
from graphql.execution.collect_fields import FieldDetails

Details = list[FieldDetails]

Key = tuple[str | int, str | None]
"""A step of a path: a name with the type that has it, or an index."""

Complete = Callable[[Any, "Item"], Any]
"""Completes one value, or raises something: the item then goes the usual way."""

CompleteAll = Callable[[Sequence[Any], "Item"], Sequence[Any]]
"""Completes many values at once, or raises something: each of them is then completed by itself."""

Compute = Callable[[Any, "Light"], Any]
"""Reads a value off an object."""


class Unusual(Exception):
    """A value is not what a plan expects."""


@dataclass(frozen=True, slots=True)
class Light:
    """What a resolver of a field at hand may ask of an info: the context of the operation."""

    context: Any


@dataclass(slots=True)
class SlowField:
    """A field that goes the usual way: where its value belongs, and what it is of.

    keys: they lead from the item to the object.
    """

    answer: dict[str, Any]
    name: str
    parent_type: GraphQLObjectType
    source: Any
    details: Details
    keys: tuple[Key, ...]


@dataclass(slots=True)
class Item:
    """One item on its way.

    executor: of the operation.
    keys: where in the item a value is that is being completed; kept where it may be needed.
    """

    executor: Executor[Any]
    info: GraphQLResolveInfo[Any]
    light: Light
    slow: list[SlowField]
    keys: tuple[Key, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """How values of one type are completed under one selection.

    slow: whether there may be fields that go the usual way, so that their path must be known.
    complete_all: completes many at once, where that takes less and nothing of them is slow.
    """

    complete: Complete
    slow: bool = False
    complete_all: CompleteAll | None = None

    @property
    def column(self) -> CompleteAll:
        """Completes many values at once, or else one after the other."""
        if self.complete_all is not None:
            return self.complete_all
        complete = self.complete
        return lambda values, item: [complete(value, item) for value in values]

    def within(self, name: str | int, type_name: str | None) -> Complete:
        """The same for a value under a key."""
        if not self.slow:
            return self.complete
        inner, key = self.complete, (name, type_name)

        def complete(value: Any, item: Item) -> Any:
            before = item.keys
            item.keys = (*before, key)
            try:
                return inner(value, item)
            finally:
                item.keys = before

        return complete
