"""What of an operation's arguments matters for its cost: page sizes, lengths, conditions.

Each is a :class:`Size`: a number that is known from the document, or one that is read from the
variables, which come as the client sent them. What cannot be read there is taken as the most that
there can be; whether it is allowed is found out later, by whoever takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from graphql import (
    BooleanValueNode,
    DirectiveNode,
    FieldNode,
    FloatValueNode,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    ObjectValueNode,
    OperationDefinitionNode,
    ValueNode,
    VariableNode,
)

Variables = Mapping[str, Any]

_UNKNOWN: Final = object()
_MOST_DIGITS: Final = 18


@dataclass(frozen=True, slots=True)
class Size:
    """A number of items; of conditions 1 or 0.

    known: the number, when it is in the document. place: else its place among the probes.
    """

    known: int
    place: int | None = None

    @classmethod
    def constant(cls, known: int) -> Size:
        """A number that depends on nothing."""
        return cls(known)

    def of(self, found: Sequence[int]) -> int:
        """The number, given what the probes have found in the variables."""
        return self.known if self.place is None else found[self.place]


_Read = Callable[[Variables], int]


class Probes:
    """Everything that the cost of one operation depends on in its variables."""

    def __init__(self, operation: OperationDefinitionNode) -> None:
        self.defaults = {
            each.variable.name.value: _literal(each.default_value, ())
            for each in operation.variable_definitions or ()
            if each.default_value is not None
        }
        self._reads: list[_Read] = []

    def read(self, variables: Variables) -> tuple[int, ...]:
        """What is found in the variables, a number for each probe."""
        return tuple([read(variables) for read in self._reads])

    def size(self, values: Sequence[_Value], of: Callable[[Sequence[Any]], int]) -> Size:
        """The number that is made of some values."""
        if all(each.variable is None for each in values):
            return Size.constant(of([each.value for each in values]))
        defaults = self.defaults
        self._reads.append(lambda variables: of([each.of(variables, defaults) for each in values]))
        return Size(0, len(self._reads) - 1)


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of an argument: from the document, or from a variable and the members behind it."""

    value: Any = None
    variable: str | None = None
    path: Sequence[str] = ()

    def of(self, variables: Variables, defaults: Variables) -> Any:
        if self.variable is None:
            return self.value
        if self.variable not in variables:
            return defaults.get(self.variable)
        value = variables[self.variable]
        for step in self.path:
            value = value.get(step) if isinstance(value, dict) else None
        return value


def page_of(names: Sequence[str], usual: int, most: int) -> Callable[[FieldNode, Probes], Size]:
    """The items of a page: what one of the arguments says, or the usual number."""

    def number(values: Sequence[Any]) -> int:
        given = [_number(each, most) for each in values if each is not None]
        return max(given, default=usual)

    return lambda node, probes: probes.size([_argument(node, (name,)) for name in names], number)


def window_of(names: Sequence[str], most: int) -> Callable[[FieldNode, Probes], Size]:
    """An item and its neighbours."""

    def number(values: Sequence[Any]) -> int:
        return 1 + sum(_number(each, most) for each in values if each is not None)

    return lambda node, probes: probes.size([_argument(node, (name,)) for name in names], number)


def count_of(path: Sequence[str], usual: int) -> Callable[[FieldNode, Probes], Size]:
    """An item for each that a list names; the usual number where there is no list."""

    def number(values: Sequence[Any]) -> int:
        (value,) = values
        if value is None:
            return usual
        return len(value) if isinstance(value, list) else 1

    return lambda node, probes: probes.size([_argument(node, path)], number)


def condition(directive: DirectiveNode, probes: Probes) -> Size:
    """Whether what has a directive is there: 1 or 0."""
    name = directive.name.value
    if name not in ("skip", "include"):
        return Size.constant(1)
    unwanted = name == "skip"
    values = [_of_arguments(directive.arguments or (), ("if",))]
    return probes.size(values, lambda found: 0 if found[0] is unwanted else 1)


def _argument(node: FieldNode, path: Sequence[str]) -> _Value:
    return _of_arguments(node.arguments or (), path)


def _of_arguments(arguments: Sequence[Any], path: Sequence[str]) -> _Value:
    for each in arguments:
        if each.name.value == path[0]:
            return _value(each.value, path[1:])
    return _Value()


def _value(node: ValueNode, path: Sequence[str]) -> _Value:
    if isinstance(node, VariableNode):
        return _Value(variable=node.name.value, path=path)
    if path and isinstance(node, ObjectValueNode):
        for each in node.fields:
            if each.name.value == path[0]:
                return _value(each.value, path[1:])
        return _Value()
    return _Value(_literal(node, path))


def _literal(node: ValueNode, path: Sequence[str]) -> Any:
    """The value of a literal as far as it matters here."""
    if path or isinstance(node, NullValueNode):
        return None
    if isinstance(node, BooleanValueNode):
        return node.value
    if isinstance(node, ListValueNode):
        return list(node.values)
    if isinstance(node, IntValueNode | FloatValueNode) and len(node.value) <= _MOST_DIGITS:
        return float(node.value)
    return _UNKNOWN


def _number(value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return most
    if not value <= most:  # NaN is not either
        return most
    return int(max(value, 0))
