"""The scalars of the contract: numbers that stay exact, JSON that stays as it was logged, cursors.

A payload is never parsed on its way out. It reaches the response as ``msgspec.Raw``, the text
itself, and :mod:`schema.response` writes it out verbatim.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NewType

import msgspec
import strawberry
from graphql import (
    BooleanValueNode,
    FloatValueNode,
    GraphQLError,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    ObjectValueNode,
    StringValueNode,
    Undefined,
    ValueNode,
    VariableNode,
)
from strawberry.types.scalar import ScalarDefinition

from sessiongraph import lossless
from sessiongraph.lossless import MAX_SAFE_INTEGER

EpochMillis = NewType("EpochMillis", int)
SafeInt = NewType("SafeInt", int)
JSON = NewType("JSON", object)
Cursor = NewType("Cursor", str)


def _integer_parser(name: str) -> Callable[[object], int]:
    def parse(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise GraphQLError(f"{name} takes an integer, not {_shown(value)}.")
        if abs(value) > MAX_SAFE_INTEGER:
            raise GraphQLError(f"{name} takes integers from -(2^53 - 1) to 2^53 - 1.")
        return value

    return parse


def _parse_cursor(value: object) -> str:
    if not isinstance(value, str):
        raise GraphQLError(f"Cursor takes a string, not {_shown(value)}.")
    return value


def _shown(value: object) -> str:
    """A refused value in so many characters as an error message can hold."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return repr(value) if not isinstance(value, str) else repr(value[:40])


def _as_is(value: Any) -> Any:
    return value


def _json_literal(node: ValueNode, variables: Mapping[str, Any] | None = None) -> Any:
    """The value of a literal in a document; what is no JSON is refused, not bent into it.

    The parser has refused repeated keys, lone surrogates and excessive nesting by now.
    """
    match node:
        case StringValueNode() | BooleanValueNode():
            return node.value
        case NullValueNode():
            return None
        case IntValueNode():
            return _integer_literal(node)
        case FloatValueNode():
            return float(node.value)
        case ListValueNode():
            return [_json_literal(item, variables) for item in node.values]
        case ObjectValueNode():
            members = {
                member.name.value: _json_literal(member.value, variables) for member in node.fields
            }
            return {key: value for key, value in members.items() if value is not Undefined}
        case VariableNode():
            return (variables or {}).get(node.name.value, Undefined)
    raise GraphQLError("JSON has no such literal; a text stands in quotes.", node)


def _integer_literal(node: IntValueNode) -> int | float:
    if node.value == "-0":
        return -0.0  # an int has no negative zero
    try:
        return int(node.value)
    except ValueError as error:
        raise GraphQLError("This integer has too many digits.", node) from error


def _json_text(value: object) -> msgspec.Raw:
    """The JSON text of a value; a text that is one already is not touched."""
    return value if isinstance(value, msgspec.Raw) else msgspec.Raw(lossless.encode(value))


PASSED_ON: Final = ("EpochMillis", "SafeInt")
"""Scalars of integers that are written as they are."""

SCALARS: Final[dict[object, ScalarDefinition]] = {
    EpochMillis: strawberry.scalar(
        name="EpochMillis",
        description="Milliseconds since the Unix epoch as a JSON number (exact up to 2^53 - 1).",
        serialize=_as_is,
        parse_value=_integer_parser("EpochMillis"),
    ),
    SafeInt: strawberry.scalar(
        name="SafeInt",
        description="An integer as a JSON number (exact up to 2^53 - 1).",
        serialize=_as_is,
        parse_value=_integer_parser("SafeInt"),
    ),
    JSON: strawberry.scalar(
        name="JSON",
        description="Any JSON value, kept losslessly.",
        serialize=_json_text,
        parse_value=_as_is,
        parse_literal=_json_literal,
    ),
    Cursor: strawberry.scalar(
        name="Cursor",
        description="Opaque continuation token, bound to the normalized request that issued it.",
        serialize=_as_is,
        parse_value=_parse_cursor,
    ),
}
"""How each scalar of the contract is written and read."""
