"""What can be carried from a reply is the same whether its payload was parsed before or not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.carried import carried_in
from sessiongraph.event import APPEND, SessionEvent

TEXTS = st.sampled_from(["", "one", "zwei\nZeilen", "三", "a \ud800 lone one", 3, None, ["x"]])
BLOCKS = st.dictionaries(
    st.sampled_from(["type", "text", "arguments"]),
    st.sampled_from(["text", "reasoning", "tool-call"]) | TEXTS,
)
CONTENTS = st.lists(BLOCKS | TEXTS, max_size=4) | TEXTS
PAYLOADS = st.dictionaries(
    st.sampled_from(["turn", "content", "usage"]), CONTENTS | st.integers()
) | st.fixed_dictionaries(
    {"message": st.fixed_dictionaries({"content": CONTENTS}) | BLOCKS | TEXTS},
    optional={"content": CONTENTS, "turn": st.integers(0, 2**70)},
)


def reply(payload: str) -> SessionEvent:
    return SessionEvent(4, "assistant/message", 1, payload.encode(), APPEND)


def of_parsed(payload: str) -> Any:
    event = reply(payload)
    assert event.data is not None
    assert event.is_parsed
    return carried_in(event)


@given(PAYLOADS)
def test_an_unparsed_reply_gives_what_a_parsed_one_gives(data: Any) -> None:
    payload = json.dumps(data)
    assert carried_in(reply(payload)) == of_parsed(payload)


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ('{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}', "a\nb"),
        ('{"content":[{"type":"text","text":"bare"}]}', "bare"),
        ('{"message":null,"content":[{"type":"text","text":"beside"}]}', "beside"),
        ('{"message":{"content":[]},"message":{"content":[{"type":"text","text":"2"}]}}', "2"),
        ('{"message":{"content":[{"type":"text","text":"a\\ud800"}]}}', "a\ud800"),
        ('{"x":"\\ud800","message":{"content":[{"type":"text","text":"after"}]}}', "after"),
        ('{"message":{"content":[{"type":"text","text":"a"},{"text":"no type"}]}}', None),
        ('{"message":{"content":[{"type":"reasoning","text":"thought"}]}}', None),
        ('{"turn":1}', None),
    ],
    ids=[
        "joined", "bare", "no-message", "twice", "lone-surrogate", "lone-surrogate-elsewhere",
        "a-block-without-type", "only-reasoning", "generic",
    ],
)  # fmt: skip
def test_the_text_of_a_reply_in_any_spelling(payload: str, text: str | None) -> None:
    for carried in (carried_in(reply(payload)), of_parsed(payload)):
        assert (None if carried is None else carried.text) == text
