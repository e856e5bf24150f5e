"""Encoding and decoding against the standard library, and every kind of loss named."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph import lossless
from sessiongraph.lossless import NotLossless
from tests.strategies import any_text, json_text, json_values

SAFE = 2**53 - 1
DEEP = 100_000

recorded_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
).filter(lambda value: "Infinity" not in json.dumps(value))
"""What a recorder may have written: also big integers, negative zero and lone surrogates."""


def same(a: Any, b: Any) -> bool:
    """Equality that tells 1 from true and from 1.0, and keeps the order of keys and signs of 0."""
    return repr(a) == repr(b)


# Round trips


@given(value=recorded_values)
def test_what_is_encoded_decodes_to_itself_by_the_standard_library(value: Any) -> None:
    if not holds_pair(value):
        assert same(json.loads(lossless.encode(value)), value)


@given(value=recorded_values, ascii_only=st.booleans(), spaced=st.booleans())
def test_decoding_agrees_with_the_standard_library(
    value: Any, ascii_only: bool, spaced: bool
) -> None:
    text = json_text(value, ascii_only=ascii_only, spaced=spaced)
    assert same(lossless.decode(text), json.loads(text))
    assert same(lossless.decode_exactly(text), json.loads(text))


@given(value=json_values())
def test_a_lossless_value_survives_a_round_trip(value: Any) -> None:
    assert same(lossless.decode(lossless.encode(value)), value)


def test_an_encoding_is_compact_utf_8() -> None:
    value = {"b": [1, "é 🚀", None], "a": {"\x00": "\ud800"}}
    expected = '{"b":[1,"é 🚀",null],"a":{"\\u0000":"\\ud800"}}'
    assert lossless.encode(value) == expected.encode()


@pytest.mark.parametrize(
    "text",
    [
        b"9" * 4300,
        b"123456789012345678901234567890",
        b"-9223372036854775809",
        b"18446744073709551616",
        b"1.0",
        b"-0.0",
        b"1e5",
        b"1E+2",
        b"12345678901234567890.5",
        b'"\\ud800"',
        b'"\\ud83d\\ude80"',
        b'"\\u0000\\/"',
        b'{"a":1,"b":2,"a":3}',
        b" [1 , 2]\n",
    ],
)
def test_unusual_texts_are_read_exactly(text: bytes) -> None:
    assert same(lossless.decode(text), json.loads(text))


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"nul", b"NaN", b"[Infinity]", b"-Infinity", b"'a'", b"01", b"1 2", b'"\xff"'],
)
def test_what_is_not_json_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError):
        lossless.decode(text)


def test_a_text_nested_too_deeply_is_refused_as_a_value_error() -> None:
    text = b"[" * DEEP + b"]" * DEEP
    for read in (lossless.decode, lossless.decode_exactly, lossless.losses_in_text):
        with pytest.raises(ValueError):
            read(text)


# What cannot be encoded


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        [-math.inf],
        {"a": {"b": math.nan}},
        ["\ud800", math.nan],
        {"a": object()},
    ],
)
def test_what_json_cannot_carry_is_not_encoded(value: Any) -> None:
    with pytest.raises(NotLossless):
        lossless.encode(value)


def test_a_value_nested_too_deeply_is_not_encoded() -> None:
    value: list[Any] = []
    for _ in range(DEEP):
        value = [value]
    with pytest.raises(NotLossless):
        lossless.encode(value)


# Losses

LOSSES: list[tuple[bytes, tuple[str, ...]]] = [
    (b'{"a":1}', ()),
    (b"%d" % SAFE, ()),
    (b"%d" % (SAFE + 1), ("integers beyond 2^53",)),
    (b"%d" % -(SAFE + 1), ("integers beyond 2^53",)),
    (b"[0.5, 1e300, -1.5]", ()),
    (b"[-0.0]", ("negative zero",)),
    (b'{"a":-0}', ("negative zero",)),
    (b"-0e5", ("negative zero",)),
    (b"-1e-400", ("negative zero",)),
    (b"NaN", ("NaN or an infinity",)),
    (b"[-Infinity]", ("NaN or an infinity",)),
    (b"1e400", ("NaN or an infinity",)),
    (b'{"a":1,"a":1}', ("duplicate keys",)),
    (b'[{"x":{"a":1,"\\u0061":2}}]', ("duplicate keys",)),
    (b'"\\ud800"', ("lone surrogates",)),
    (b'{"\\udfff":1}', ("lone surrogates",)),
    (b'"\\ud83d\\ude80 \\\\ud800"', ()),
    (b'{"a":NaN,"a":-0.0,"b":"\\udc00"}', ("duplicate keys", "lone surrogates", "negative zero")),
]


@pytest.mark.parametrize(("text", "losses"), LOSSES)
def test_every_kind_of_loss_in_a_text_is_named(text: bytes, losses: tuple[str, ...]) -> None:
    assert lossless.losses_in_text(text) == losses


@given(value=json_values())
def test_a_lossless_value_passes(value: Any) -> None:
    lossless.require_lossless(value)
    assert lossless.losses_in_text(json_text(value)) == ()


@pytest.mark.parametrize(
    ("value", "place", "reason"),
    [
        ({"a": [1, math.nan]}, "data.a[1]", "NaN or an infinity"),
        ([[math.inf]], "data[0][0]", "NaN or an infinity"),
        ({"a": {"b": -0.0}}, "data.a.b", "negative zero"),
        ([0, 2**53], "data[1]", "integers beyond 2^53"),
        ({"a": -(2**53)}, "data.a", "integers beyond 2^53"),
        ({"a": "\ud800"}, "data.a", "lone surrogates"),
        ({"\udfff": 1}, "data", "lone surrogates"),
        ({"a": {1: 2}}, "data.a", "not a string"),
        ({"a": b"x"}, "data.a", "bytes is not JSON"),
    ],
)
def test_a_loss_in_a_value_is_refused_with_its_place_and_reason(
    value: Any, place: str, reason: str
) -> None:
    with pytest.raises(NotLossless) as refusal:
        lossless.require_lossless(value)
    assert str(refusal.value).startswith(f"{place}: ")
    assert reason in str(refusal.value)


def test_a_deep_value_is_checked_without_recursion() -> None:
    value: Any = math.nan
    for _ in range(DEEP):
        value = [value]
    with pytest.raises(NotLossless):
        lossless.require_lossless(value)


@pytest.mark.parametrize("value", [True, False, None, 0, 0.0, SAFE, -SAFE, "", [], {}])
def test_plain_values_are_lossless(value: Any) -> None:
    lossless.require_lossless(value)


def holds_pair(value: Any) -> bool:
    """Whether two surrogates stand together somewhere; JSON cannot tell them from one character."""
    return ascii(json.loads(json.dumps(value))) != ascii(value)


def test_naming_a_place_costs_no_more_than_the_value() -> None:
    key = "k" * 20_000
    with pytest.raises(NotLossless) as refusal:
        lossless.require_lossless({key: [*([0] * 100_000), float("nan")]})
    assert str(refusal.value) == f"data.{key[:40]}[100000]: NaN or an infinity"
