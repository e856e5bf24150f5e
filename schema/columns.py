"""Lists completed column by column: one field of all objects after the other.

Where nothing of a list goes the usual way, the values of a field are read off all its objects
together, checked by one look at their types, and the answers are made of the columns. Each of these
steps is one call for the whole list, which takes a third of the time of a call for each value. What
a column does not expect it raises, and the list is completed item by item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from types import NoneType
from typing import Any, Final

from schema.answers import answer_type
from schema.list_items import Complete, CompleteAll, Compute, Item, Unusual

INT_BOUND: Final = 1 << 31
"""The contract's Int lies between this, exclusive, and its negative, inclusive."""

IsTypeOf = Callable[[Any, Any], Any]


def as_they_are(
    kind: type, complete: Complete, *, nullable: bool, bounded: bool = False
) -> CompleteAll:
    """Leaves values of exactly one type as they are, and None where it is a value.

    complete: for columns with anything else. bounded: whether numbers have 32 bits at most.
    """
    admitted = {kind, NoneType} if nullable else {kind}

    def complete_all(values: Sequence[Any], item: Item) -> Sequence[Any]:
        types = set(map(type, values))
        if not types <= admitted:
            return [complete(value, item) for value in values]
        if bounded:
            numbers = values if NoneType not in types else [n for n in values if n is not None]
            if numbers and not (min(numbers) >= -INT_BOUND and max(numbers) < INT_BOUND):
                raise Unusual
        return values

    return complete_all


def looked_up(complete: Complete) -> CompleteAll:
    """Completes each distinct value once."""

    def complete_all(values: Sequence[Any], item: Item) -> Sequence[Any]:
        completed = {value: complete(value, item) for value in set(values)}
        return [completed[value] for value in values]

    return complete_all


def of_attribute(attribute: str, complete_all: CompleteAll) -> CompleteAll:
    """The column of a field that shows an attribute."""
    read = attrgetter(attribute)
    return lambda objects, item: complete_all(list(map(read, objects)), item)


def of_computed(compute: Compute, complete_all: CompleteAll) -> CompleteAll:
    """The column of a field that is computed."""

    def column(objects: Sequence[Any], item: Item) -> Sequence[Any]:
        light = item.light
        return complete_all([compute(each, light) for each in objects], item)

    return column


def of_constant(value: Any) -> CompleteAll:
    """The column of a field that is the same for all objects."""
    return lambda objects, _: [value] * len(objects)


def objects_of(
    columns: Mapping[str, CompleteAll], is_type_of: IsTypeOf | None, *, nullable: bool
) -> CompleteAll:
    """Completes objects of one type.

    columns: by response name, in order. is_type_of: whether an object is of the type.
    """
    answer = answer_type(tuple(columns))
    makers = list(columns.values())
    asks_class = getattr(is_type_of, "asks_class", False)
    seen: set[type] = set()

    def complete_all(objects: Sequence[Any], item: Item) -> Sequence[Any]:
        types = set(map(type, objects))
        if NoneType in types:
            if not nullable:
                raise Unusual
            return _around_nulls(objects, complete_all, item)
        if is_type_of is not None and not types <= seen:
            asked: Iterable[Any] = objects
            if asks_class:
                asked = {type(each): each for each in objects}.values()
            if any(is_type_of(each, item.info) is not True for each in asked):
                raise Unusual
            if asks_class:
                seen.update(types)
        return list(map(answer, *[column(objects, item) for column in makers]))

    return complete_all


def _around_nulls(objects: Sequence[Any], complete_all: CompleteAll, item: Item) -> list[Any]:
    """Nulls where they were, and between them what was completed of the others."""
    present = [each for each in objects if each is not None]
    completed = iter(complete_all(present, item) if present else ())
    return [None if each is None else next(completed) for each in objects]
