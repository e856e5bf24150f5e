"""Scalars: numbers stay exact or are refused, JSON keeps its text."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from graphql import GraphQLError
from hypothesis import given

from schema.scalars import JSON, SCALARS, Cursor, EpochMillis, SafeInt
from tests.strategies import json_values


def parse(scalar: object, value: object) -> Any:
    parser = SCALARS[scalar].parse_value
    assert parser is not None
    return parser(value)


def serialize(scalar: object, value: object) -> Any:
    serializer = SCALARS[scalar].serialize
    assert serializer is not None
    return serializer(value)


@pytest.mark.parametrize("scalar", [EpochMillis, SafeInt])
@pytest.mark.parametrize("value", [0, -1, 2**31, 2**53 - 1, -(2**53) + 1])
def test_integers_that_every_client_keeps_exact_pass_both_ways(scalar: Any, value: int) -> None:
    assert parse(scalar, value) == value
    assert serialize(scalar, value) == value


@pytest.mark.parametrize("scalar", [EpochMillis, SafeInt])
@pytest.mark.parametrize(
    "value",
    [
        2**53,
        -(2**53),
        pytest.param(10**5000, id="10^5000"),
        1.0,
        float("nan"),
        "1",
        True,
        None,
        [1],
        {"a": 1},
    ],
)
def test_everything_else_is_refused_in_a_short_sentence(scalar: Any, value: object) -> None:
    with pytest.raises(GraphQLError, match=SCALARS[scalar].name) as refused:
        parse(scalar, value)
    assert len(refused.value.message) < 150


@pytest.mark.parametrize("value", [1, None, True, ["a"], {}])
def test_a_cursor_is_a_string(value: object) -> None:
    assert parse(Cursor, "any \ud800") == "any \ud800"
    with pytest.raises(GraphQLError, match="Cursor takes a string"):
        parse(Cursor, value)


@given(json_values())
def test_json_is_written_so_that_it_reads_back_equal(value: Any) -> None:
    written = serialize(JSON, value)
    assert json.loads(bytes(written).decode("utf-8")) == json.loads(json.dumps(value))
    assert parse(JSON, value) is value


def test_a_json_text_is_not_touched() -> None:
    text = msgspec.Raw(b'{"a": 1.0}')
    assert serialize(JSON, text) is text
