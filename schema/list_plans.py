"""How the items of a list are completed: a plan for each type under each selection.

A plan is a function that reads attributes off an object, checks them, and puts them into an answer.
It is made by taking the selection apart once; nothing of it belongs to the operation that it was
made for, so that it can be kept as long as the document. What a plan does not expect it raises, and
whoever runs it completes the item the usual way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final, cast

from graphql import (
    Executor,
    GraphQLAbstractType,
    GraphQLEnumType,
    GraphQLField,
    GraphQLLeafType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLResolveInfo,
    Undefined,
    is_abstract_type,
    is_leaf_type,
)
from graphql.execution.collect_fields import FieldDetails
from strawberry.types.field import StrawberryField

from schema.declaration import Resolution

_EXACT: Final[dict[str, type]] = {"String": str, "ID": str, "Boolean": bool}
"""Leaf types whose values of exactly this Python type go into the answer as they are."""

_INT: Final = 1 << 31
Details = list[FieldDetails]

_Key = tuple[str | int, str | None]
"""A step of a path: a name with the type that has it, or an index."""

_Complete = Callable[[Any, "Item"], Any]
"""Completes one value, or raises something: the item then goes the usual way."""

_Compute = Callable[[Any, "Light"], Any]
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
    keys: tuple[_Key, ...]


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
    keys: tuple[_Key, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """How values of one type are completed under one selection.

    slow: whether there may be fields that go the usual way, so that their path must be known.
    """

    complete: _Complete
    slow: bool = False

    def within(self, name: str | int, type_name: str | None) -> _Complete:
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


def plan_of(
    executor: Executor[Any], output_type: GraphQLOutputType, details: Details
) -> Plan | None:
    """How values of a type are completed under a selection, None where there is no plan."""
    if isinstance(output_type, GraphQLNonNull):
        return _never_null(plan_of(executor, output_type.of_type, details))
    if isinstance(output_type, GraphQLList):
        return _each(plan_of(executor, output_type.of_type, details))
    if is_leaf_type(output_type):
        return Plan(_leaf(output_type))
    if is_abstract_type(output_type):
        return _abstract(output_type, details)
    return _object(executor, cast("GraphQLObjectType", output_type), details)


def _abstract(abstract: GraphQLAbstractType, details: Details) -> Plan | None:
    """Each value by the plan of its own type, made when the first one of it comes."""
    resolve_type = abstract.resolve_type
    if resolve_type is None:
        return None
    plans: dict[Any, Plan | None] = {}

    def complete(value: Any, item: Item) -> Any:
        if value is None:
            return None
        name = resolve_type(value, item.info, abstract)
        if name not in plans:
            runtime_type = item.executor.ensure_valid_runtime_type(
                name, abstract, details, item.info, value
            )
            plans[name] = _object(item.executor, runtime_type, details)
        plan = plans[name]
        if plan is None:
            raise Unusual
        return plan.complete(value, item)

    return Plan(complete, slow=True)


def _object(
    executor: Executor[Any], object_type: GraphQLObjectType, details: Details
) -> Plan | None:
    """A plan for objects of one type, None when a field that must not be null has none."""
    middleware = executor.middleware_manager
    fields, deferred, _ = executor.collect_subfields(object_type, details)
    if deferred or (middleware is not None and middleware.middlewares):
        return None
    plan = _ObjectPlan(object_type, dict.fromkeys(fields))
    for name, selection in fields.items():
        field_name = selection[0].node.name.value
        if field_name == "__typename":
            plan.template[name] = object_type.name
            continue
        definition = executor.schema.get_field(object_type, field_name)
        if definition is None:
            return None
        attribute, compute = _way(definition)
        inner = None
        if attribute is not None or compute is not None:
            inner = plan_of(executor, definition.type, selection)
        if inner is None:
            if isinstance(definition.type, GraphQLNonNull):
                return None
            plan.slow.append((name, selection))
            continue
        plan.has_slow |= inner.slow
        complete = inner.within(name, object_type.name)
        if attribute is None:
            plan.computed.append((name, cast("_Compute", compute), complete))
        elif (kind := _EXACT.get(named(definition.type).name)) and not _is_list(definition):
            plan.exact.append((name, attribute, kind, complete))
        else:
            plan.read.append((name, attribute, complete))
    return Plan(plan.compiled(), plan.has_slow or bool(plan.slow))


def _way(definition: GraphQLField) -> tuple[str | None, _Compute | None]:
    """The attribute that a field shows, or how it is computed; neither where it is executed."""
    declared = definition.extensions.get("strawberry-definition")
    if not isinstance(declared, StrawberryField) or definition.args or declared.extensions:
        return None, None
    if declared.is_basic_field:
        return declared.python_name, None
    resolver = declared.base_resolver
    resolution = declared.metadata.get(Resolution)
    if resolver is None or resolver.is_async or resolution is None:
        return None, None
    function = cast("Callable[..., Any]", resolver.wrapped_func)
    if resolution is Resolution.OF_THE_OBJECT:
        return None, lambda value, _: function(value)

    def at_hand(value: Any, light: Light) -> Any:
        found = function(value, value, light)
        if hasattr(found, "__await__"):
            found.close()  # it is asked for again, the usual way
            raise Unusual
        return found

    return None, at_hand


@dataclass(slots=True)
class _ObjectPlan:
    """The fields of one type under one selection, by how their values are found.

    template: every name in order; what is the same for all objects has its value.
    exact: name, attribute, and the type of values that need no completing.
    """

    object_type: GraphQLObjectType
    template: dict[str, Any]
    exact: list[tuple[str, str, type, _Complete]] = field(default_factory=list)
    read: list[tuple[str, str, _Complete]] = field(default_factory=list)
    computed: list[tuple[str, _Compute, _Complete]] = field(default_factory=list)
    slow: list[tuple[str, Details]] = field(default_factory=list)
    has_slow: bool = False

    def compiled(self) -> _Complete:
        """The plan as a function."""
        object_type, template, computed, slow = (
            self.object_type,
            self.template,
            self.computed,
            self.slow,
        )
        is_type_of = object_type.is_type_of
        values_of = _reader([*(each[1] for each in self.exact), *(each[1] for each in self.read)])
        exact = [(name, kind, complete) for name, _, kind, complete in self.exact]
        read = [(name, complete) for name, _, complete in self.read]
        exactly = len(exact)

        def complete_object(value: Any, item: Item) -> Any:
            if value is None:
                return None
            if is_type_of is not None and is_type_of(value, item.info) is not True:
                raise Unusual
            answer = template.copy()
            values = values_of(value)
            for (name, kind, complete), found in zip(exact, values, strict=False):
                answer[name] = found if type(found) is kind else complete(found, item)
            for (name, complete), found in zip(read, values[exactly:], strict=True):
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


def _never_null(plan: Plan | None) -> Plan | None:
    if plan is None:
        return None
    inner = plan.complete

    def complete(value: Any, item: Item) -> Any:
        completed = inner(value, item)
        if completed is None:
            raise Unusual
        return completed

    return Plan(complete, plan.slow)


def _each(plan: Plan | None) -> Plan | None:
    if plan is None:
        return None
    inner, slow = plan.complete, plan.slow

    def complete(value: Any, item: Item) -> Any:
        if value is None:
            return None
        if type(value) not in (list, tuple):
            raise Unusual
        if not slow:
            return [inner(each, item) for each in value]
        return [plan.within(place, None)(each, item) for place, each in enumerate(value)]

    return Plan(complete, slow)


def _leaf(leaf: GraphQLLeafType) -> _Complete:
    """Completes scalars and enum values."""
    coerce = leaf.coerce_output_value

    def complete(value: Any, _: Item) -> Any:
        if value is None:
            return None
        if isinstance(value, Exception) or hasattr(value, "__await__"):
            raise Unusual
        completed = coerce(value)
        if completed is None or completed is Undefined:
            raise Unusual
        return completed

    if leaf.name == "Int":

        def complete_int(value: Any, item: Item) -> Any:
            if type(value) is int and -_INT <= value < _INT:
                return value
            return complete(value, item)

        return complete_int
    if isinstance(leaf, GraphQLEnumType):
        known: dict[Any, Any] = {}

        def complete_enum(value: Any, item: Item) -> Any:
            try:
                return known[value]
            except KeyError:
                completed = known[value] = complete(value, item)
                return completed

        return complete_enum
    return complete


def _is_list(definition: GraphQLField) -> bool:
    inner = definition.type
    return isinstance(inner.of_type if isinstance(inner, GraphQLNonNull) else inner, GraphQLList)


def named(output_type: GraphQLOutputType) -> Any:
    """The type inside lists and non-nulls."""
    while isinstance(output_type, (GraphQLNonNull, GraphQLList)):
        output_type = output_type.of_type
    return output_type
