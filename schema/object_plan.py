"""The plan of one type under one selection: where each value comes from, and what is done with it.

Most values go into the answer as they are. They are read off an object together, and one look at
their types says whether all of them are what is expected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from types import NoneType
from typing import Any, cast

from graphql import GraphQLObjectType

from schema import columns
from schema.answers import answer_type
from schema.columns import INT_BOUND
from schema.list_items import (
    Complete,
    CompleteAll,
    Compute,
    Details,
    Item,
    Plan,
    SlowField,
    Unusual,
)

_Make = Callable[[Sequence[Any], Any, Item], Any]
"""Makes the answer for an object of the completed values of its attributes."""


@dataclass(frozen=True, slots=True)
class AttributeField:
    """A field that shows an attribute.

    kind: the Python type whose values go into the answer as they are; None when all are completed.
    nullable: so does None. bounded: only those of 32 bits.
    """

    name: str
    attribute: str
    complete: Complete
    kind: type | None = None
    nullable: bool = True
    bounded: bool = False

    def admits(self, found: type) -> bool:
        """Whether a value of this type is what is expected."""
        return self.kind is None or found is self.kind or (self.nullable and found is NoneType)


@dataclass(slots=True)
class ObjectPlan:
    """The fields of one type under one selection, by how their values are found.

    template: every name in order; what is the same for all objects has its value.
    signature: what is selected and where each value comes from, to compare plans of several types.
    columns: the fields of many objects at once, in order; for what is not slow.
    """

    object_type: GraphQLObjectType
    template: dict[str, Any]
    signature: list[tuple[Any, ...]] = field(default_factory=list)
    attributes: list[AttributeField] = field(default_factory=list)
    computed: list[tuple[str, Compute, Complete]] = field(default_factory=list)
    slow: list[tuple[str, Details]] = field(default_factory=list)
    columns: dict[str, CompleteAll] = field(default_factory=dict)
    has_slow: bool = False

    @property
    def is_slow(self) -> bool:
        """Whether there may be fields that go the usual way."""
        return self.has_slow or bool(self.slow)

    def plan(self, *, nullable: bool) -> Plan:
        """How objects of the type are completed; nullable: None is completed too, as None."""
        complete_all = None
        if not self.is_slow:
            is_type_of = self.object_type.is_type_of
            complete_all = columns.objects_of(self.columns, is_type_of, nullable=nullable)
        return Plan(self._compiled(nullable=nullable), self.is_slow, complete_all)

    def _compiled(self, *, nullable: bool) -> Complete:
        attributes = self.attributes
        values_of = _reader([each.attribute for each in attributes])
        bounded = [place for place, each in enumerate(attributes) if each.bounded]
        others = [
            (place, each.complete) for place, each in enumerate(attributes) if each.kind is None
        ]
        admits, make = self._admission(), self._maker()
        usual: set[tuple[type, ...]] = set()
        answer = None
        if len(attributes) == len(self.template):
            answer = answer_type(tuple(self.template))

        def complete_object(value: Any, item: Item) -> Any:
            if value is None:
                if nullable:
                    return None
                raise Unusual
            values = values_of(value)
            types = (type(value), *map(type, values))
            if types not in usual and not admits(value, types, item, usual):
                completed = zip(attributes, values, strict=True)
                return make([each.complete(found, item) for each, found in completed], value, item)
            for place in bounded:
                found = values[place]
                if found is not None and not -INT_BOUND <= found < INT_BOUND:
                    raise Unusual
            if others:
                values = list(values)
                for place, complete in others:
                    values[place] = complete(values[place], item)
            return make(values, value, item) if answer is None else answer(*values)

        return complete_object

    def _admission(self) -> Callable[[Any, tuple[type, ...], Item, set[tuple[type, ...]]], bool]:
        """Whether the values of an object have the types that are expected.

        What is found out of one object holds for all of its class whose values have the same types,
        unless objects are asked one by one of which type they are.
        """
        attributes, is_type_of = self.attributes, self.object_type.is_type_of
        by_class = is_type_of is None or getattr(is_type_of, "asks_class", False)

        def admits(
            value: Any, types: tuple[type, ...], item: Item, usual: set[tuple[type, ...]]
        ) -> bool:
            if is_type_of is not None and is_type_of(value, item.info) is not True:
                raise Unusual
            if not all(
                each.admits(found) for each, found in zip(attributes, types[1:], strict=True)
            ):
                return False
            if by_class:
                usual.add(types)
            return True

        return admits

    def _maker(self) -> _Make:
        """Makes answers in which something stands beside attributes."""
        template, computed, slow, object_type = (
            self.template,
            self.computed,
            self.slow,
            self.object_type,
        )
        names = [each.name for each in self.attributes]

        def make_open(values: Sequence[Any], value: Any, item: Item) -> Any:
            """An answer that is completed further later."""
            answer = template.copy()
            answer.update(zip(names, values, strict=True))
            for name, compute, complete in computed:
                answer[name] = complete(compute(value, item.light), item)
            for name, details in slow:
                item.slow.append(SlowField(answer, name, object_type, value, details, item.keys))
            return answer

        if slow:
            return make_open
        answer = answer_type(tuple(template))
        constants, order = list(template.values()), list(template)
        places = [order.index(name) for name in names]
        placed = [(order.index(name), compute, complete) for name, compute, complete in computed]

        def make(values: Sequence[Any], value: Any, item: Item) -> Any:
            filled = constants.copy()
            for place, found in zip(places, values, strict=True):
                filled[place] = found
            for place, compute, complete in placed:
                filled[place] = complete(compute(value, item.light), item)
            return answer(*filled)

        return make


def _reader(attributes: list[str]) -> Callable[[Any], Sequence[Any]]:
    """Reads these attributes of an object."""
    if len(attributes) > 1:
        return cast("Callable[[Any], tuple[Any, ...]]", attrgetter(*attributes))
    if not attributes:
        return lambda _: ()
    (attribute,) = attributes
    return lambda value: (getattr(value, attribute),)
