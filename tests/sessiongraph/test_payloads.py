"""Payloads of all generations, in whatever spelling, give one vocabulary."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from sessiongraph import payloads
from sessiongraph.payloads import Citation, Shape, Usage, shape_of
from tests.strategies import (
    LOG_ONLY_TYPES,
    MESSAGES,
    bare_result,
    direct_result,
    json_values,
    user_message,
    wrapped_result,
)

TEXT = [{"type": "text", "text": "out"}, {"type": "text", "text": "put"}]
SOURCE = {"kind": "model", "provider": "mock", "model": "mock-1"}

# The same result as versions 0 to 3, as version 4 and as the earliest logs wrote it.
RESULTS = {
    "wrapped": wrapped_result("call-1", TEXT, isError=True),
    "direct": direct_result("call-1", TEXT, isError=True),
    "bare": bare_result("call-1", TEXT, isError=True),
}
ASSISTANTS = {
    "wrapped": {
        "turn": 1,
        "step": 1,
        "message": {"id": "a", "role": "assistant", "content": TEXT, "source": SOURCE},
    },
    "bare": {"content": TEXT, "provenance": SOURCE},
}


@pytest.mark.parametrize("data", RESULTS.values(), ids=RESULTS)
def test_a_tool_result_says_the_same_in_every_spelling(data: dict[str, Any]) -> None:
    assert shape_of("tool/result", data) is Shape.TOOL_RESULT
    assert payloads.call_id_of(data) == "call-1"
    assert payloads.result_is_error(data) is True
    assert payloads.content_of("tool/result", data) == TEXT
    assert payloads.text_of(payloads.content_of("tool/result", data)) == "out\nput"


@pytest.mark.parametrize("data", ASSISTANTS.values(), ids=ASSISTANTS)
def test_an_assistant_message_says_the_same_in_every_spelling(data: dict[str, Any]) -> None:
    assert shape_of("assistant/message", data) is Shape.ASSISTANT_MESSAGE
    assert payloads.content_of("assistant/message", data) == TEXT
    assert payloads.model_of(data) == ("mock", "mock-1")


@pytest.mark.parametrize("name", ["system/message", "developer/message"])
def test_a_prompt_message_gives_its_content(name: str) -> None:
    data = {"turn": 1, "step": 1, "message": {"id": "s", "role": "system", "content": TEXT}}
    assert payloads.content_of(name, data) == TEXT


@pytest.mark.parametrize("spell", [wrapped_result, direct_result, bare_result])
@pytest.mark.parametrize(("member", "is_error"), [({}, False), ({"isError": False}, False)])
def test_a_result_that_does_not_say_so_is_no_error(
    spell: Any, member: dict[str, Any], is_error: bool
) -> None:
    assert payloads.result_is_error(spell("c", TEXT, **member)) is is_error


def test_the_call_id_of_a_result_falls_back_to_its_source() -> None:
    data = {"message": {"role": "user", "source": {"kind": "tool", "callId": "c"}, "content": TEXT}}
    assert payloads.call_id_of(data) == "c"


def test_the_error_of_a_result_has_a_name_and_a_code() -> None:
    assert payloads.result_error({"error": {"name": "E", "code": "C"}}) == ("E", "C")
    assert payloads.result_error({"error": {"name": 1}}) == (None, None)
    assert payloads.result_error({}) == (None, None)


WHOLE: list[tuple[str, dict[str, Any], Shape]] = [
    ("user/message", user_message("hi"), Shape.USER_MESSAGE),
    ("tool/call", {"callId": "c", "name": "n", "arguments": "{}"}, Shape.TOOL_CALL),
    ("todo/write", {"todos": [{"content": "c", "status": "s"}]}, Shape.TODO_WRITE),
    ("todo/write", {"todos": []}, Shape.TODO_WRITE),
    ("session/title", {"title": ""}, Shape.TITLE),
    ("turn/end", {"turn": 1, "reason": {"kind": "completed"}}, Shape.TURN_END),
    ("turn/end", {"turn": 1, "reason": "aborted"}, Shape.TURN_END),
]
LACKING: list[tuple[str, dict[str, Any]]] = [
    ("user/message", {"content": "text", "source": {"kind": "user"}}),
    ("user/message", {"content": []}),
    ("user/message", {"content": [{"no": "type"}], "source": {"kind": "user"}}),
    ("assistant/message", {"message": {"role": "assistant"}}),
    ("assistant/message", {"message": "text", "content": None}),
    ("tool/call", {"callId": "c", "name": "n", "arguments": {}}),
    ("tool/result", {"message": {"role": "tool", "content": []}}),
    ("tool/result", wrapped_result("c", TEXT) | {"message": None}),
    ("todo/write", {"todos": [{"content": "c"}]}),
    ("todo/write", {"todos": {}}),
    ("session/title", {"title": None}),
    ("turn/end", {"turn": True, "reason": "completed"}),
    ("turn/end", {"turn": 1, "reason": {}}),
    ("custom/thing", {"title": "t"}),
]


@pytest.mark.parametrize(("name", "data", "shape"), WHOLE)
def test_a_whole_payload_has_the_shape_of_its_type(
    name: str, data: dict[str, Any], shape: Shape
) -> None:
    assert shape_of(name, data) is shape


@pytest.mark.parametrize(("name", "data"), LACKING)
def test_a_payload_that_lacks_its_fields_is_generic(name: str, data: dict[str, Any]) -> None:
    assert shape_of(name, data) is Shape.GENERIC


@given(value=json_values())
def test_any_value_has_a_shape_and_only_mappings_have_another_than_generic(value: Any) -> None:
    for name in (*MESSAGES, *LOG_ONLY_TYPES):
        shape = shape_of(name, value)
        assert shape is Shape.GENERIC or isinstance(value, dict)


@given(value=json_values())
def test_asking_a_payload_of_the_matching_shape_never_fails(value: Any) -> None:
    """A random value stands wherever a payload leaves its content open."""
    data = user_message("hi") | {"usage": value, "error": value, "reason": value}
    data["source"] |= {"references": value, "plugin": value}
    for kind in ("user", "plugin", "session-reference"):
        data["source"]["kind"] = kind
        assert shape_of("user/message", data) is Shape.USER_MESSAGE
        payloads.is_human_prompt(data)
        payloads.is_compaction_checkpoint(data)
        payloads.citations_of(data)
        payloads.usage_of(data)
        payloads.result_error(data)
        payloads.turn_end_error(data)
        payloads.model_of(data)


@pytest.mark.parametrize(
    ("kind", "human"), [("user", True), ("plugin", False), ("goal", False), ("tool", False)]
)
def test_a_person_is_whom_the_source_calls_user(kind: str, human: bool) -> None:
    assert payloads.is_human_prompt(user_message("hi", kind)) is human
    assert payloads.message_source_kind(user_message("hi", kind)) == kind


@pytest.mark.parametrize(
    ("source", "checkpoint"),
    [
        ({"kind": "plugin", "plugin": "compact"}, True),
        ({"kind": "compact-checkpoint"}, True),
        ({"kind": "plugin", "plugin": "goal"}, False),
        ({"kind": "plugin"}, False),
        ({"kind": "user", "plugin": "compact"}, False),
    ],
)
def test_a_compaction_checkpoint_is_told_by_its_source_in_both_spellings(
    source: dict[str, Any], checkpoint: bool
) -> None:
    data = {"source": source, "content": []}
    assert payloads.is_compaction_checkpoint(data) is checkpoint


def test_usage_counts_what_is_reported_and_0_otherwise() -> None:
    full = {"inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 3, "cacheWriteTokens": 4}
    assert payloads.usage_of({"usage": full}) == Usage(1, 2, 3, 4)
    assert payloads.usage_of({"usage": {"inputTokens": 7, "outputTokens": None}}) == Usage(
        7, 0, 0, 0
    )
    assert payloads.usage_of({"usage": {"inputTokens": True}}) == Usage(0, 0, 0, 0)
    assert payloads.usage_of({}) is None


@pytest.mark.parametrize(
    ("reason", "kind", "error"),
    [
        ({"kind": "completed"}, "completed", None),
        ("aborted", "aborted", None),
        ({"kind": "error", "error": {"message": "m", "code": "X"}}, "error", "m"),
        ({"kind": "error", "message": "m"}, "error", "m"),
        ({"kind": "error", "error": "text"}, "error", None),
        ({"kind": 7}, None, None),
        (None, None, None),
    ],
)
def test_the_end_of_a_turn_has_a_reason_and_perhaps_an_error(
    reason: Any, kind: str | None, error: str | None
) -> None:
    data = {"turn": 1, "reason": reason}
    assert payloads.turn_end_reason(data) == kind
    assert payloads.turn_end_error(data) == error


def test_an_assistant_message_is_interrupted_when_it_says_so() -> None:
    assert payloads.was_interrupted({"interrupted": True})
    assert not payloads.was_interrupted({"interrupted": "yes"})
    assert not payloads.was_interrupted({})


def test_citations_are_the_references_of_a_session_reference() -> None:
    references = [
        {"sessionId": "a", "label": "A", "capturedThroughSeq": 7},
        {"sessionId": "b", "capturedThroughSeq": None},
        {"label": "names no session"},
        "no object",
    ]
    source = {"kind": "session-reference", "version": 1, "references": references}
    assert payloads.citations_of({"source": source, "content": []}) == (
        Citation("a", "A", 7),
        Citation("b", "b", None),
    )
    assert payloads.citations_of({"source": {**source, "kind": "user"}, "content": []}) == ()


@pytest.mark.parametrize(
    ("value", "counts"),
    [(0, True), (2**31 - 1, True), (-1, True), (2**31, False), (True, False), (1.0, False)],
)
def test_a_count_is_an_integer_that_fits_graphql(value: Any, counts: bool) -> None:
    assert payloads.is_count(value) is counts


def test_only_text_blocks_have_text() -> None:
    blocks: list[Any] = [
        {"type": "text", "text": "a"},
        {"type": "reasoning", "text": "b"},
        {"type": "text", "text": 3},
        {"type": "text"},
        "no block",
        {"type": "text", "text": "c"},
    ]
    assert list(payloads.texts_of(blocks)) == ["a", "c"]
