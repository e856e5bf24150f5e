"""What is logged for a message and its references."""

from __future__ import annotations

import json

import pytest

from sessiongraph.errors import InvalidEvent
from sessiongraph.event import APPEND
from sessiongraph.payloads import Citation, citations_of, is_human_prompt
from sessiongraph.references.mention import ReferenceInput
from sessiongraph.references.posting import events_to_post
from sessiongraph.references.prepare import PreparedMessage
from tests.plain_store import run
from tests.sessiongraph.references.corpora import SELF, prepared, store_of, talk
from tests.strategies import header


def with_context() -> PreparedMessage:
    store = store_of((header("a"), talk(4)), (header("b"), []))
    references = (ReferenceInput("a", "Ay"), ReferenceInput("b"))
    return run(prepared(store, *references, text="words"))


def test_a_message_without_references_is_one_event_by_its_author() -> None:
    (event,) = events_to_post(SELF, PreparedMessage("words"))
    assert (event.type, event.surface_op) == ("user/message", APPEND)
    data = json.loads(event.payload)
    assert data.pop("id")
    assert data == {
        "role": "user",
        "source": {"kind": "user"},
        "content": [{"type": "text", "text": "words"}],
    }
    assert is_human_prompt(event.data)


def test_the_context_follows_as_an_injected_message_that_cites_its_sources() -> None:
    message = with_context()
    assert message.context is not None
    author, context = events_to_post(SELF, message)
    assert json.loads(author.payload)["content"] == [{"type": "text", "text": "words"}]
    data = json.loads(context.payload)
    assert data["content"] == [{"type": "text", "text": message.context.content}]
    assert list(data["source"]) == ["kind", "version", "references"]
    assert (data["source"]["kind"], data["source"]["version"]) == ("session-reference", 1)
    assert data["source"]["references"][0] == {
        "sessionId": "a",
        "label": "Ay",
        "capturedThroughSeq": 3,
        "compacted": False,
        "originalMessages": 4,
        "retainedMessages": 4,
        "omittedMessages": 0,
        "omittedBytes": 0,
        "truncated": False,
    }
    assert not is_human_prompt(context.data)
    assert citations_of(context.data) == (Citation("a", "Ay", 3), Citation("b", "b", None))
    assert author.data["id"] != context.data["id"]


def test_posting_again_at_the_same_seq_logs_the_same_events() -> None:
    first, again = (events_to_post(SELF, with_context(), 5) for _ in range(2))
    assert [each.payload for each in first] == [each.payload for each in again]


def test_other_places_and_other_sessions_get_other_ids() -> None:
    message = PreparedMessage("words")
    posts = [
        events_to_post(SELF, message, 5),
        events_to_post(SELF, message, 6),
        events_to_post("other", message, 5),
        events_to_post(SELF, message),
        events_to_post(SELF, message),
    ]
    assert len({event.data["id"] for (event,) in posts}) == 5


def test_what_a_log_of_ours_refuses_is_refused_before_anything_is_appended() -> None:
    with pytest.raises(InvalidEvent):
        events_to_post(SELF, PreparedMessage("\ud800"))
