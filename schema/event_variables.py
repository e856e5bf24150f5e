"""Lists of events that come as variables, coerced by one look at each.

The usual coercion takes every event apart member by member, which costs several times what an
append then does with it. Nearly all events are an object of a type, its data and perhaps a time;
coercing such a one gives its very members. So a list in which every event is like that is set
aside before variables are coerced and put back behind. Any other list goes the usual way, whole,
and so does everything when something else about the variables is wrong: what an error looks like
is decided there alone.

Always true: the coerced variables are the same as without this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from graphql import (
    DocumentNode,
    ListTypeNode,
    NamedTypeNode,
    NonNullTypeNode,
    OperationDefinitionNode,
    TypeNode,
)
from graphql.execution.values import VariableValues, VariableValueSource

from sessiongraph.lossless import MAX_SAFE_INTEGER

_EVENT: Final = "EventInput"
_APPEND: Final = "AppendEventsInput"
_EVENTS: Final = "events"
_FEWEST: Final = 4
"""Lists of fewer events are coerced the usual way: looking for them costs something, too."""


@dataclass(slots=True)
class EventVariables:
    """The variables of one operation.

    rest: what is left to be coerced the usual way, empty lists in the place of the events.
    """

    given: Mapping[str, Any]
    rest: dict[str, Any]
    _lists: dict[str, list[Any]]
    _within: dict[str, list[Any]]

    @classmethod
    def of(
        cls, document: DocumentNode, operation_name: str | None, given: dict[str, Any]
    ) -> EventVariables:
        """Set the lists of plain events aside."""
        taken = cls(given, given, {}, {})
        for name, type_node in _declared(document, operation_name):
            value = given.get(name)
            if type(value) is list and _is_list_of_events(type_node):
                if _are_plain(value):
                    taken._lists[name] = value
            elif type(value) is dict and _bare(type_node) == _APPEND:
                events = value.get(_EVENTS)
                if type(events) is list and _are_plain(events):
                    taken._within[name] = events
        if taken.are_set_aside:
            taken.rest = given | {name: [] for name in taken._lists}
            taken.rest |= {name: {**given[name], _EVENTS: []} for name in taken._within}
        return taken

    @property
    def are_set_aside(self) -> bool:
        """Whether there is anything to be put back."""
        return bool(self._lists or self._within)

    def put_back(self, values: VariableValues) -> None:
        """Give the coerced variables their events."""
        for name in (*self._lists, *self._within):
            signature = values.sources[name].signature
            values.sources[name] = VariableValueSource(signature, self.given[name])
        values.coerced.update(self._lists)
        for name, events in self._within.items():
            values.coerced[name][_EVENTS] = events


def _declared(document: DocumentNode, operation_name: str | None) -> Iterator[tuple[str, TypeNode]]:
    """The variables of the operation that will be run, where that is clear."""
    operations = [
        each
        for each in document.definitions
        if isinstance(each, OperationDefinitionNode)
        and operation_name in (None, each.name and each.name.value)
    ]
    if len(operations) == 1:
        for variable in operations[0].variable_definitions or ():
            yield variable.variable.name.value, variable.type


def _bare(node: TypeNode) -> str | None:
    """The name of a type that may or may not be null; None for a list."""
    while isinstance(node, NonNullTypeNode):
        node = node.type
    return node.name.value if isinstance(node, NamedTypeNode) else None


def _is_list_of_events(node: TypeNode) -> bool:
    while isinstance(node, NonNullTypeNode):
        node = node.type
    return isinstance(node, ListTypeNode) and _bare(node.type) == _EVENT


def _are_plain(events: list[Any]) -> bool:
    """Whether coercing these gives each as it is."""
    if len(events) < _FEWEST:
        return False
    for event in events:
        if type(event) is not dict or type(event.get("type")) is not str:
            return False
        if event.get("data") is None:
            return False
        if len(event) > 2:
            time = event.get("time")
            if len(event) > 3 or type(time) is not int or abs(time) > MAX_SAFE_INTEGER:
                return False
    return True
