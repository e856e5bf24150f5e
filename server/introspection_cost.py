"""What questions about the schema cost: just what they would answer, since nothing of that changes.

Each field is asked of the very objects that it would be asked of; a selection is reckoned once for
each object, and reckoning stops where it has gone beyond what is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLList,
    GraphQLObjectType,
    GraphQLSchema,
    SelectionSetNode,
    StringValueNode,
    get_named_type,
    get_nullable_type,
    introspection_types,
)

from schema.costs import INTROSPECTION


@dataclass(frozen=True, slots=True)
class _Info:
    """All that these fields ask of an info."""

    schema: GraphQLSchema


class IntrospectionCost:
    """The cost of what one operation asks about a schema.

    most: more is not told from much more.
    """

    def __init__(
        self, schema: GraphQLSchema, fragments: Mapping[str, FragmentDefinitionNode], most: int
    ) -> None:
        self._schema = schema
        self._info = _Info(schema)
        self._fragments = fragments
        self._left = most // INTROSPECTION
        self._known: dict[tuple[int, int], int] = {}
        self._seen: list[Any] = []

    def of_field(self, node: FieldNode) -> int:
        """The cost of one of the fields that every type or the root has: ``__…``."""
        name = node.name.value
        if name == "__typename":
            return 1
        assert node.selection_set is not None
        if name == "__schema":
            fields = self._selection(node.selection_set, "__Schema", self._schema)
        else:
            types = self._asked_for(node)
            fields = sum(self._selection(node.selection_set, "__Type", each) for each in types)
        return INTROSPECTION * (1 + fields)

    def _asked_for(self, node: FieldNode) -> list[Any]:
        """The types that ``__type`` could be about."""
        for argument in node.arguments or ():
            if isinstance(argument.value, StringValueNode):
                return [self._schema.type_map.get(argument.value.value)]
        return list(self._schema.type_map.values())

    def _selection(self, nodes: SelectionSetNode, type_name: str, value: Any) -> int:
        """How many fields the answer about a value has."""
        if value is None:
            return 0
        key = id(nodes), id(value)
        if key in self._known:
            return self._known[key]
        self._seen.append(value)  # so that its address is nobody else's
        fields = 0
        for node in nodes.selections:
            if self._left < 0:
                break
            if isinstance(node, FieldNode):
                self._left -= 1
                fields += 1 + self._inside(node, type_name, value)
            elif isinstance(node, FragmentSpreadNode):
                fragment = self._fragments[node.name.value]
                fields += self._selection(fragment.selection_set, type_name, value)
            else:
                fields += self._selection(cast("Any", node).selection_set, type_name, value)
        self._known[key] = fields
        return fields

    def _inside(self, node: FieldNode, type_name: str, value: Any) -> int:
        if node.selection_set is None:
            return 0
        described = cast("GraphQLObjectType", introspection_types[type_name])
        definition = described.fields[node.name.value]
        arguments = {"includeDeprecated": True} if "includeDeprecated" in definition.args else {}
        assert definition.resolve is not None
        found = definition.resolve(value, cast("Any", self._info), **arguments)
        if found is None:
            return 0
        is_list = isinstance(get_nullable_type(definition.type), GraphQLList)
        items = found if is_list else [found]
        inner = get_named_type(definition.type).name
        return sum(self._selection(node.selection_set, inner, each) for each in items)
