"""The plan of one type under one selection: where each value comes from, and what is done with it.

Most values go into the answer as they are. They are read off an object together, and one look at
their types says whether all of them are what is expected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from types import NoneType
from typing import Any, Final, cast

from graphql import GraphQLObjectType

from schema.list_items import Complete, Compute, Details, Item, Plan, SlowField, Unusual

INT_BOUND: Final = 1 << 31
"""The contract's Int lies between this, exclusive, and its negative, inclusive."""


@dataclass(frozen=True, slots=True)
class ExactField:
    """A field whose values of one Python type go into the answer as they are.

    nullable: so does None. bounded: only those of 32 bits.
    """

    name: str
    attribute: str
    kind: type
    nullable: bool
    bounded: bool
    complete: Complete

    def admits(self, found: type) -> bool:
        """Whether a value of this type needs no completing."""
        return found is self.kind or (self.nullable and found is NoneType)


@dataclass(slots=True)
class ObjectPlan:
    """The fields of one type under one selection, by how their values are found.

    template: every name in order; what is the same for all objects has its value.
    signature: what is selected and where each value comes from, to compare plans of several types.
    """

    object_type: GraphQLObjectType
    template: dict[str, Any]
    signature: list[tuple[Any, ...]] = field(default_factory=list)
    exact: list[ExactField] = field(default_factory=list)
    read: list[tuple[str, str, Complete]] = field(default_factory=list)
    computed: list[tuple[str, Compute, Complete]] = field(default_factory=list)
    slow: list[tuple[str, Details]] = field(default_factory=list)
    has_slow: bool = False

    @property
    def is_slow(self) -> bool:
        """Whether there may be fields that go the usual way."""
        return self.has_slow or bool(self.slow)

    def plan(self) -> Plan:
        """How objects of the type are completed."""
        return Plan(self._compiled(), self.is_slow)

    def _compiled(self) -> Complete:
        object_type, template, computed, slow = (
            self.object_type,
            self.template,
            self.computed,
            self.slow,
        )
        is_type_of = object_type.is_type_of
        exact, names = self.exact, [each.name for each in self.exact]
        exact_values = _reader([each.attribute for each in exact])
        bounded = [place for place, each in enumerate(exact) if each.bounded]
        usual: set[tuple[type, ...]] = set()
        values_of = _reader([attribute for _, attribute, _ in self.read])
        read = [(name, complete) for name, _, complete in self.read]

        def all_exact(types: tuple[type, ...]) -> bool:
            if all(each.admits(found) for each, found in zip(exact, types, strict=True)):
                usual.add(types)
                return True
            return False

        def complete_object(value: Any, item: Item) -> Any:
            if value is None:
                return None
            if is_type_of is not None and is_type_of(value, item.info) is not True:
                raise Unusual
            answer = template.copy()
            values = exact_values(value)
            types = tuple(map(type, values))
            if types in usual or all_exact(types):
                for place in bounded:
                    if types[place] is int and not -INT_BOUND <= values[place] < INT_BOUND:
                        raise Unusual
                answer.update(zip(names, values, strict=True))
            else:
                for each, found in zip(exact, values, strict=True):
                    answer[each.name] = each.complete(found, item)
            for (name, complete), found in zip(read, values_of(value), strict=True):
                answer[name] = complete(found, item)
            for name, compute, complete in computed:
                answer[name] = complete(compute(value, item.light), item)
            for name, details in slow:
                item.slow.append(SlowField(answer, name, object_type, value, details, item.keys))
            return answer

        return complete_object


def _reader(attributes: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Reads these attributes of an object."""
    if len(attributes) > 1:
        return cast("Callable[[Any], tuple[Any, ...]]", attrgetter(*attributes))
    if not attributes:
        return lambda _: ()
    (attribute,) = attributes
    return lambda value: (getattr(value, attribute),)
