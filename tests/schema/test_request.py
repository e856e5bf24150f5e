"""Requests as JSON: read exactly, or refused with the place that means two things."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schema.request import RequestUnreadable, decode_request

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_whatever_json_is_written_the_same_is_read(
    value: Any, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    read = decode_request(text.encode())
    assert read == value
    assert json.dumps(read) == json.dumps(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a":"\\ud800"}', {"a": "\ud800"}),
        (b"123456789012345678901234567890", 123456789012345678901234567890),
        (b'{"":{"":0}}', {"": {"": 0}}),
        (b'{"a":1,"A":2,"\\u0061b":3}', {"a": 1, "A": 2, "ab": 3}),
    ],
)
def test_unusual_json_is_read_exactly(text: bytes, value: Any) -> None:
    assert decode_request(text) == value


@pytest.mark.parametrize("text", [b"-0", b"-0.0", b"-0e5"])
def test_a_negative_zero_stays_one(text: bytes) -> None:
    read = decode_request(text)
    assert read == 0
    assert math.copysign(1, read) < 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"a":1,"a":1}', "the request has the key 'a' twice"),
        (b'{"a":1,"b":2,"\\u0061":3}', "the request has the key 'a' twice"),
        (
            b'{"variables":{"events":[{},{"data":{"x":1,"x":2}}]}}',
            "variables.events[1].data has the key 'x' twice",
        ),
        (b'[[{"k":{"":0,"":0}}]]', "[0][0].k has the key '' twice"),
    ],
)
def test_a_repeated_key_is_refused_with_its_place(text: bytes, said: str) -> None:
    with pytest.raises(RequestUnreadable) as refusal:
        decode_request(text)
    assert str(refusal.value) == said


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"{} {}",
        b"{'a':1}",
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'"\xff"',
        b"[" * 100_000 + b"]" * 100_000,
        b"9" * 5000,
        b"\xef\xbb\xbf{}",
    ],
)
def test_what_is_not_json_is_refused(text: bytes) -> None:
    with pytest.raises(RequestUnreadable):
        decode_request(text)


@pytest.mark.parametrize("text", [b"[0,0,0]", b'{"a":[{"b":0}]}', b'["[,"]', b"[[[]]]"])
def test_a_request_has_as_many_values_as_it_may(text: bytes) -> None:
    """Three, counted by what could begin one."""
    assert decode_request(text, max_values=3) == json.loads(text)
    with pytest.raises(RequestUnreadable, match=r"more than 2 values \(max_request_values\)"):
        decode_request(text, max_values=2)


def test_a_refusal_costs_no_more_than_the_request() -> None:
    key = "k" * 100_000
    items = ",".join("0" for _ in range(200_000))
    with pytest.raises(RequestUnreadable) as refusal:
        decode_request(f'{{"{key}":[{items},{{"a":1,"a":1}}]}}'.encode())
    assert str(refusal.value) == f"{key[:40]}[200000] has the key 'a' twice"
