"""Payloads: their text as logged, whole or in a batch, and what happens to one that is damaged."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolvers.context import RequestContext, Services
from resolvers.loaders import PayloadKey
from resolvers.messages import shape
from resolvers.payload import data_of, fetch_payload, payload_at_hand
from sessiongraph.corpus import Corpus
from sessiongraph.cursor import CursorCodec
from sessiongraph.errors import CorruptSession
from sessiongraph.event import PlacedEvent, Placement, SessionEvent
from sessiongraph.payloads import Shape
from sessiongraph.query import SessionQuery
from tests.plain_store import PlainLogStore
from tests.strategies import json_text, json_values


def context() -> RequestContext:
    query = SessionQuery(Corpus(PlainLogStore()), CursorCodec(b"k" * 32))
    return RequestContext(Services(query, "1"))


def placed(text: bytes, event_type: str = "session/title", *, elided: bool = False) -> PlacedEvent:
    return PlacedEvent("s", SessionEvent(0, event_type, 1, text), Placement(), elided)


@given(json_values(), st.booleans(), st.booleans())
def test_a_json_text_is_given_as_it_is_without_waiting(
    value: Any, ascii_only: bool, spaced: bool
) -> None:
    text = json_text(value, ascii_only=ascii_only, spaced=spaced)
    assert payload_at_hand(placed(text)) is text


@given(st.binary(max_size=20))
def test_bytes_are_given_only_if_they_are_json(text: bytes) -> None:
    try:
        given_text = payload_at_hand(placed(text))
    except CorruptSession as error:
        assert "event 0 of 's'" in error.message
        with pytest.raises(CorruptSession):
            data_of(placed(text))
    else:
        assert given_text is text
        data_of(placed(text))


@pytest.mark.parametrize("event_type", ["session/title", "user/message", "turn/end"])
def test_a_damaged_payload_has_no_shape_and_fails_where_it_is_asked_for(event_type: str) -> None:
    event = placed(b"{", event_type)
    assert shape(event) is Shape.GENERIC
    with pytest.raises(CorruptSession, match="event 0 of 's'"):
        payload_at_hand(event)


def test_payloads_of_types_without_a_shape_are_not_looked_into() -> None:
    assert shape(placed(b"{", "assistant/chunk")) is Shape.GENERIC


def test_a_payload_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []

    def decode(text: bytes) -> dict[str, str]:
        parsed.append(text)
        return {"title": "x"}

    monkeypatch.setattr("sessiongraph.lossless.decode", decode)
    event = placed(b"{}")
    assert [shape(event), shape(event), data_of(event)] == [Shape.TITLE] * 2 + [{"title": "x"}]
    assert parsed == [b"{}"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b'{"whole":1}', b'{"whole":1}'),
        (b'{"torn"', "cannot be read"),
        (None, "lost its payload"),
        (CorruptSession("torn row"), "torn row"),
    ],
)
def test_an_elided_payload_is_loaded_and_checked(answer: Any, expected: bytes | str) -> None:
    async def load(keys: Sequence[PayloadKey]) -> Mapping[PayloadKey, Any]:
        assert list(keys) == [("s", 0)]
        return {} if answer is None else {("s", 0): answer}

    async def run() -> bytes:
        operation = context()
        operation.loaders.payloads._load_many = load
        return await fetch_payload(operation, placed(b"{}", elided=True))

    if isinstance(expected, bytes):
        assert asyncio.run(run()) == expected
    else:
        with pytest.raises(CorruptSession, match=expected):
            asyncio.run(run())
