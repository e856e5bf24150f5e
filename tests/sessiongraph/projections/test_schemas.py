"""Schemas are types; nothing passes that is not plain JSON of the declared shape."""

from __future__ import annotations

import enum
from types import MappingProxyType
from typing import Any, TypedDict

import pytest
from hypothesis import given

from sessiongraph.projections.schemas import (
    NotPlainJson,
    Schema,
    is_plain_json,
    require_json_kind,
)
from tests.strategies import json_values


class Point(TypedDict):
    x: int
    label: str | None


class Word(str):
    """A subclass of a JSON type."""


class Colour(enum.StrEnum):
    RED = "red"


@given(value=json_values())
def test_every_json_value_is_plain_and_fits_any(value: Any) -> None:
    assert is_plain_json(value)
    assert Schema(Any).accepts_made(value)
    require_json_kind(value)


@pytest.mark.parametrize(
    "value",
    [
        (1, 2),
        {1: 2},
        {1, 2},
        b"bytes",
        float("nan"),
        float("inf"),
        Word("a"),
        Colour.RED,
        MappingProxyType({}),
        object(),
        {"deep": [{"deeper": (1,)}]},
        [float("-inf")],
    ],
)
def test_what_json_has_no_word_for_is_not_plain(value: Any) -> None:
    assert not is_plain_json(value)
    assert not Schema(Any).accepts_made(value)


def test_a_value_that_contains_itself_is_not_plain() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert not is_plain_json(endless)


def test_an_awaitable_is_refused_by_its_outermost_type_and_closed() -> None:
    async def later() -> int:
        return 1

    with pytest.raises(NotPlainJson, match="coroutine"):
        require_json_kind(later())


def test_an_awaitable_inside_a_value_fails_a_schema_that_lets_anything_through() -> None:
    async def later() -> int:
        return 1

    promise = later()
    assert not Schema(dict[str, Any]).accepts_made({"value": promise})
    promise.close()


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({"x": 1, "label": "a"}, True),
        ({"x": 1, "label": None, "more": True}, True),
        ({"x": 1}, False),
        ({"x": "1", "label": None}, False),
        ({"x": True, "label": None}, False),
        ({"x": 1.5, "label": None}, False),
        (None, False),
        ([], False),
        ({"x": 1, "label": "\ud800"}, True),
    ],
)
def test_a_declared_shape_is_checked_without_coercion(value: Any, fits: bool) -> None:
    assert Schema(Point).accepts(value) is fits


def test_a_key_that_is_not_unicode_fails_instead_of_raising() -> None:
    assert not Schema(Point).accepts({"\ud800": 1})


def test_what_msgspec_does_not_understand_is_no_schema() -> None:
    with pytest.raises(TypeError):
        Schema(dict[str, 5])  # type: ignore[misc, valid-type]
