"""How the items of a list are completed: a plan for each type under each selection.

A plan is a function that reads attributes off an object, checks them, and puts them into an answer.
It is made by taking the selection apart once; nothing of it belongs to the operation that it was
made for, so that it can be kept as long as the document. What a plan does not expect it raises, and
whoever runs it completes the item the usual way.
"""

from __future__ import annotations

from collections.abc import Callable
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
    Undefined,
    get_named_type,
    is_abstract_type,
)
from strawberry.types.field import StrawberryField

from schema import columns
from schema.columns import INT_BOUND
from schema.declaration import Resolution
from schema.list_items import Complete, Compute, Details, Item, Light, Plan, Unusual
from schema.object_plan import AttributeField, ObjectPlan
from schema.scalars import PASSED_ON

_EXACT: Final[dict[str, type]] = {
    "String": str,
    "ID": str,
    "Boolean": bool,
    "Int": int,
    **dict.fromkeys(PASSED_ON, int),
}
"""Leaf types whose values of exactly this Python type go into the answer as they are."""


def plan_of(
    executor: Executor[Any],
    output_type: GraphQLOutputType,
    details: Details,
    *,
    nullable: bool = True,
) -> Plan | None:
    """How values of a type are completed under a selection, None where there is no plan.

    nullable: whether None is a value.
    """
    if isinstance(output_type, GraphQLNonNull):
        return plan_of(executor, output_type.of_type, details, nullable=False)
    if is_abstract_type(output_type):
        return _abstract(executor, output_type, details, nullable=nullable)
    if isinstance(output_type, GraphQLObjectType):
        return _object(executor, output_type, details, nullable=nullable)
    if isinstance(output_type, GraphQLList):
        plan = _each(plan_of(executor, output_type.of_type, details))
        return plan if nullable else _never_null(plan)
    return _leaf_plan(cast("GraphQLLeafType", output_type), nullable=nullable)


def _abstract(
    executor: Executor[Any], abstract: GraphQLAbstractType, details: Details, *, nullable: bool
) -> Plan | None:
    """Each value by the plan of its own type, made when the first one of it comes."""
    resolve_type = abstract.resolve_type
    if resolve_type is None:
        return None
    plans: dict[Any, Plan | None] = {}
    if getattr(resolve_type, "always_resolves", False):
        shared = _same_for_all(executor, abstract, details, nullable=nullable)
        if shared is not None:
            return shared

    def complete(value: Any, item: Item) -> Any:
        if value is None:
            if nullable:
                return None
            raise Unusual
        name = resolve_type(value, item.info, abstract)
        if name not in plans:
            runtime_type = item.executor.ensure_valid_runtime_type(
                name, abstract, details, item.info, value
            )
            plans[name] = _object(item.executor, runtime_type, details, nullable=False)
        plan = plans[name]
        if plan is None:
            raise Unusual
        return plan.complete(value, item)

    return Plan(complete, slow=True)


def _same_for_all(
    executor: Executor[Any], abstract: GraphQLAbstractType, details: Details, *, nullable: bool
) -> Plan | None:
    """The plan that values of all types of an interface share, None when they differ."""
    plans = [
        _object_plan(executor, each, details)
        for each in executor.schema.get_possible_types(abstract)
    ]
    first = plans[0] if plans else None
    if first is None or first.is_slow:
        return None
    if any(each is None or each.signature != first.signature for each in plans):
        return None
    return first.plan(nullable=nullable)


def _object(
    executor: Executor[Any], object_type: GraphQLObjectType, details: Details, *, nullable: bool
) -> Plan | None:
    """A plan for objects of one type, None when a field that must not be null has none."""
    found = _object_plan(executor, object_type, details)
    return None if found is None else found.plan(nullable=nullable)


def _object_plan(
    executor: Executor[Any], object_type: GraphQLObjectType, details: Details
) -> ObjectPlan | None:
    middleware = executor.middleware_manager
    fields, deferred, _ = executor.collect_subfields(object_type, details)
    if deferred or (middleware is not None and middleware.middlewares):
        return None
    plan = ObjectPlan(object_type, dict.fromkeys(fields), [(object_type.is_type_of,)])
    for name, selection in fields.items():
        field_name = selection[0].node.name.value
        if field_name == "__typename":
            plan.template[name] = object_type.name
            plan.columns[name] = columns.of_constant(object_type.name)
            plan.signature.append((name, object_type.name))
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
        source = attribute or definition.extensions["strawberry-definition"].base_resolver
        nodes = [id(each.node) for each in selection]
        plan.signature.append((name, str(definition.type), source, *nodes))
        if attribute is None:
            computed = cast("Compute", compute)
            plan.computed.append((name, computed, complete))
            plan.columns[name] = columns.of_computed(computed, inner.column)
        else:
            plan.attributes.append(_attribute_field(definition, name, attribute, complete))
            plan.columns[name] = columns.of_attribute(attribute, inner.column)
    return plan


def _attribute_field(
    definition: GraphQLField, name: str, attribute: str, complete: Complete
) -> AttributeField:
    kind = _EXACT.get(get_named_type(definition.type).name)
    if kind is None or _is_list(definition):
        return AttributeField(name, attribute, complete)
    nullable = not isinstance(definition.type, GraphQLNonNull)
    bounded = get_named_type(definition.type).name == "Int"
    return AttributeField(name, attribute, complete, kind, nullable, bounded)


def _way(definition: GraphQLField) -> tuple[str | None, Compute | None]:
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


def _leaf_plan(leaf: GraphQLLeafType, *, nullable: bool) -> Plan:
    plan = Plan(_leaf(leaf))
    if not nullable:
        plan = cast("Plan", _never_null(plan))
    kind = _EXACT.get(leaf.name)
    if kind is not None:
        bounded = leaf.name == "Int"
        complete_all = columns.as_they_are(kind, plan.complete, nullable=nullable, bounded=bounded)
        return Plan(plan.complete, complete_all=complete_all)
    if isinstance(leaf, GraphQLEnumType):
        return Plan(plan.complete, complete_all=columns.looked_up(plan.complete))
    return plan


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


def _leaf(leaf: GraphQLLeafType) -> Complete:
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
            if type(value) is int and -INT_BOUND <= value < INT_BOUND:
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
