"""Responses as text: payloads verbatim, and strings that UTF-8 cannot carry."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from schema.response import encode_response
from tests.strategies import any_text

responses = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), any_text),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.from_regex("[_A-Za-z]{1,5}", fullmatch=True), inner, max_size=4),
    ),
    max_leaves=12,
)


def joined(value: Any) -> Any:
    """A value as JSON means it, where a surrogate pair in two escapes is one character."""
    return json.loads(json.dumps(value))


@given(responses)
def test_every_parser_reads_back_what_was_answered(value: Any) -> None:
    assert json.loads(encode_response({"data": value}).decode("utf-8")) == {"data": joined(value)}


def test_a_raw_text_is_copied_as_it_is() -> None:
    text = b'{ "a" : 1.0, "a" : [ 1e400 ] }'
    response = {"data": {"plain": "x", "payload": msgspec.Raw(text)}}
    assert encode_response(response) == b'{"data":{"plain":"x","payload":' + text + b"}}"


def test_a_raw_text_is_copied_as_it_is_beside_a_lone_surrogate() -> None:
    text = b'{ "a" : 1.0, "a" : "\\uD800" }'
    response = {"data": [msgspec.Raw(text), "ü\udc00"], "errors": []}
    encoded = encode_response(response)
    assert encoded == b'{"data":[' + text + b',"\\u00fc\\udc00"],"errors":[]}'
