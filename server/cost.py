"""What an operation could cost, before anything of it is run.

The estimate counts the fields that an answer could have at most: 1 for each (or its weight), and
what stands in a list as often as the list can have items. It is an upper bound, except that lists
without a page are reckoned with an assumed length (:mod:`schema.costs`). It takes time linear in
the document: what a fragment costs is found once, however often it is spread. Of variables nothing
matters but page sizes, lengths and conditions; the estimate for each combination of those is kept
with the document, so that an operation that is asked for often is not reckoned again.

What stands under different concrete types of an interface excludes each other, so only the dearest
counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from graphql import (
    DirectiveNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    Undefined,
    get_named_type,
    is_abstract_type,
    is_composite_type,
)

from schema import costs
from server.cost_arguments import (
    Probes,
    Size,
    Variables,
    condition,
    count_of,
    page_of,
    window_of,
)
from server.introspection_cost import IntrospectionCost
from sessiongraph.errors import CostLimitExceeded

_KEPT: Final = 64
"""Estimates that are kept of one operation."""


@dataclass(frozen=True, slots=True)
class CostLimits:
    """What the cost of an operation depends on, named as in the configuration."""

    max_operation_cost: int
    page_max: int
    read_window_max: int
    lineage_page_max: int
    candidate_limit: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What one operation could cost, and may."""

    estimated: int
    limit: int

    def shown(self) -> dict[str, int]:
        """As clients read it, in ``extensions.cost``."""
        return {"estimated": self.estimated, "limit": self.limit}

    def require(self) -> None:
        """Refuse an operation that is too dear.

        Raises:
            CostLimitExceeded: it could cost more than the limit.
        """
        if self.estimated > self.limit:
            raise CostLimitExceeded(
                f"the operation could cost {self.estimated}, more than {self.limit} "
                "(max_operation_cost): ask for fewer fields or smaller pages"
            )


@dataclass(slots=True)
class _Field:
    """A field as far as its cost goes.

    size: how many items its list has, or that of the value it gives.
    is_list: whether the items are its own. of_parent: whether the field above says how many.
    """

    weight: int
    size: Size | None
    is_list: bool
    of_parent: bool
    conditions: Sequence[Size]
    inner: _Selection | None


@dataclass(slots=True)
class _Part:
    """A fragment within a selection.

    only: the concrete type that it is for, where the others of the selection exclude it.
    """

    only: str | None
    conditions: Sequence[Size]
    selection: _Selection


@dataclass(slots=True)
class _Selection:
    fields: list[_Field] = field(default_factory=list)
    parts: list[_Part] = field(default_factory=list)


class OperationCost:
    """The cost of one operation of a document, for any variables."""

    def __init__(self, root: _Selection, probes: Probes) -> None:
        self._root = root
        self._probes = probes
        self._kept: dict[tuple[int, ...], int] = {}

    def estimate(self, variables: Variables) -> int:
        """What it could cost with these variables, which nobody has checked yet."""
        found = self._probes.read(variables)
        estimate = self._kept.get(found)
        if estimate is None:
            estimate = sum(_Reckoning(found).selection(self._root))
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[found] = estimate
        return estimate


class CostModel:
    """What the fields of one schema cost."""

    def __init__(self, schema: GraphQLSchema, limits: CostLimits) -> None:
        self.limit = limits.max_operation_cost
        self._schema = schema
        self._limits = limits
        self._rules: dict[tuple[str, str], _Rule] = {}

    def of_operation(
        self,
        operation: OperationDefinitionNode,
        fragments: Mapping[str, FragmentDefinitionNode],
    ) -> OperationCost:
        """The cost of an operation of a document that fits the schema."""
        root = {
            OperationType.QUERY: self._schema.query_type,
            OperationType.MUTATION: self._schema.mutation_type,
            OperationType.SUBSCRIPTION: self._schema.subscription_type,
        }[operation.operation]
        assert root is not None
        probes = Probes(operation)
        reading = _Reading(self, fragments, probes)
        return OperationCost(reading.selection(operation.selection_set, root), probes)

    def rule(self, parent: GraphQLNamedType, name: str) -> _Rule:
        """What the field costs, wherever it stands."""
        rule = self._rules.get((parent.name, name))
        if rule is None:
            rule = self._rules[parent.name, name] = self._made_rule(parent, name)
        return rule

    @property
    def schema(self) -> GraphQLSchema:
        return self._schema

    def _made_rule(self, parent: GraphQLNamedType, name: str) -> _Rule:
        assert isinstance(parent, GraphQLObjectType | GraphQLInterfaceType)
        definition = parent.fields[name]
        places = [f"{each.name}.{name}" for each in (parent, *parent.interfaces)]
        is_list = _is_list(definition)
        weight = _first_of(costs.WEIGHTS, places) or 1
        if "first" in definition.args:
            weight = max(weight, costs.READS)
        size: _Sized | Size | None = self._size(definition, places)
        of_parent = is_list and size is None
        if of_parent and not self._has_its_length_above(parent, name, places):
            length = _first_of(costs.LENGTHS, places)
            if length is None:
                raise LookupError(f"{places[0]} is a list of no known length: see schema/costs.py")
            size, of_parent = Size.constant(length), False
        return _Rule(definition, weight, size, is_list, of_parent)

    def _size(self, definition: GraphQLField, places: Sequence[str]) -> _Sized | None:
        limits = self._limits
        if "first" in definition.args:
            most = limits.page_max
            if costs.DESCENDANTS in places:
                most = limits.lineage_page_max
            default = definition.args["first"].default_value
            usual = costs.PAGE if default is Undefined else default
            return page_of(("first", "last"), min(usual, most), most)
        counted = _first_of(costs.COUNTED, places)
        if counted is not None:
            items = costs.LENGTHS.get(counted.items or "", 0)
            return count_of(counted.argument.split("."), items)
        if _first_of(costs.WINDOWS, places) is not None:
            return window_of(("before", "after"), limits.read_window_max)
        if costs.CANDIDATES in places:
            return page_of(("limit",), limits.candidate_limit, limits.candidate_limit)
        return None

    def _has_its_length_above(
        self, parent: GraphQLNamedType, name: str, places: Sequence[str]
    ) -> bool:
        if parent.name.endswith("Connection") and name in ("edges", "nodes"):
            return True
        counted = {each.items for each in costs.COUNTED.values()}
        return not counted.isdisjoint(places) or not set(costs.WINDOWS.values()).isdisjoint(places)


_Sized = Callable[[FieldNode, Probes], Size]
"""Makes of a field's arguments how many items there are."""


@dataclass(frozen=True, slots=True)
class _Rule:
    definition: GraphQLField
    weight: int
    size: _Sized | Size | None
    is_list: bool
    of_parent: bool

    def size_of(self, node: FieldNode, probes: Probes) -> Size | None:
        if self.size is None or isinstance(self.size, Size):
            return self.size
        return self.size(node, probes)


class _Reading:
    """Takes one operation apart; each fragment once for each type that it is spread on."""

    def __init__(
        self, model: CostModel, fragments: Mapping[str, FragmentDefinitionNode], probes: Probes
    ) -> None:
        self._model = model
        self._fragments = fragments
        self._probes = probes
        self._read: dict[str, _Selection] = {}
        self._introspection = IntrospectionCost(model.schema, fragments, model.limit)

    def selection(self, nodes: SelectionSetNode, parent: GraphQLNamedType) -> _Selection:
        found = _Selection()
        for node in nodes.selections:
            if isinstance(node, FieldNode):
                found.fields.append(self._field(node, parent))
            elif isinstance(node, FragmentSpreadNode):
                conditions = self._conditions(node.directives)
                fragment = self._fragments[node.name.value]
                condition = self._type(fragment.type_condition.name.value)
                inner = self._fragment(fragment, condition)
                found.parts.append(_Part(_only(parent, condition), conditions, inner))
            elif isinstance(node, InlineFragmentNode):
                conditions = self._conditions(node.directives)
                named = node.type_condition
                condition = parent if named is None else self._type(named.name.value)
                inner = self.selection(node.selection_set, condition)
                found.parts.append(_Part(_only(parent, condition), conditions, inner))
        return found

    def _fragment(
        self, fragment: FragmentDefinitionNode, condition: GraphQLNamedType
    ) -> _Selection:
        name = fragment.name.value
        if name not in self._read:
            self._read[name] = self.selection(fragment.selection_set, condition)
        return self._read[name]

    def _field(self, node: FieldNode, parent: GraphQLNamedType) -> _Field:
        conditions = self._conditions(node.directives)
        name = node.name.value
        if name.startswith("__"):
            weight = self._introspection.of_field(node)
            return _Field(weight, None, False, False, conditions, None)
        rule = self._model.rule(parent, name)
        inner = None
        if node.selection_set is not None:
            inner = self.selection(node.selection_set, get_named_type(rule.definition.type))
        size = rule.size_of(node, self._probes)
        return _Field(rule.weight, size, rule.is_list, rule.of_parent, conditions, inner)

    def _type(self, name: str) -> GraphQLNamedType:
        return self._model.schema.type_map[name]

    def _conditions(self, directives: Sequence[DirectiveNode] | None) -> Sequence[Size]:
        return [condition(each, self._probes) for each in directives or ()]


class _Reckoning:
    """One estimate. A selection costs so much by itself, and so much for each item of the list that
    the field around it has.
    """

    def __init__(self, found: Sequence[int]) -> None:
        self._found = found
        self._known: dict[int, tuple[int, int]] = {}

    def selection(self, selection: _Selection) -> tuple[int, int]:
        known = self._known.get(id(selection))
        if known is not None:
            return known
        own = per_item = 0
        for each in selection.fields:
            if all(size.of(self._found) for size in each.conditions):
                its_own, its_items = self._field(each)
                own += its_own
                per_item += its_items
        dearest: dict[str, tuple[int, int]] = {}
        for part in selection.parts:
            if not all(size.of(self._found) for size in part.conditions):
                continue
            its_own, its_items = self.selection(part.selection)
            if part.only is None:
                own += its_own
                per_item += its_items
            else:
                before = dearest.get(part.only, (0, 0))
                dearest[part.only] = before[0] + its_own, before[1] + its_items
        own += max((each[0] for each in dearest.values()), default=0)
        per_item += max((each[1] for each in dearest.values()), default=0)
        self._known[id(selection)] = own, per_item
        return own, per_item

    def _field(self, each: _Field) -> tuple[int, int]:
        own, per_item = (0, 0) if each.inner is None else self.selection(each.inner)
        if each.of_parent:
            return each.weight, own + per_item
        size = 1 if each.size is None else each.size.of(self._found)
        if each.is_list:
            return each.weight + size * (own + per_item), 0
        return each.weight + own + size * per_item, 0


def _only(parent: GraphQLNamedType, condition: GraphQLNamedType) -> str | None:
    if is_abstract_type(parent) and isinstance(condition, GraphQLObjectType):
        return condition.name
    return None


def _first_of(table: Mapping[str, Any], places: Sequence[str]) -> Any:
    return next((table[place] for place in places if place in table), None)


def _is_list(definition: GraphQLField) -> bool:
    """Whether it is a list of objects; lists of leaves are one value each."""
    inner = definition.type
    if isinstance(inner, GraphQLNonNull):
        inner = inner.of_type
    return isinstance(inner, GraphQLList) and is_composite_type(get_named_type(inner))
