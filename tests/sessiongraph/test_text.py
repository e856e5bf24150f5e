"""The rules of query.md on what can be searched, one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from sessiongraph.event import Entry, SessionEvent, events_of
from sessiongraph.text import SEMANTIC_TYPES, semantic_text
from tests.strategies import (
    bare_result,
    direct_result,
    event,
    json_objects,
    logs,
    user_message,
    wrapped_result,
)


def text_of(event_type: str, data: dict[str, Any]) -> str:
    return semantic_text(event(0, event_type, data))


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"turn": 1, "step": 1, "message": {"role": "assistant", "content": list(blocks)}}


def test_user_messages_give_their_text_blocks() -> None:
    data = user_message("first") | {"content": [text("first"), text("second")]}
    assert text_of("user/message", data) == "first\nsecond"


def test_injected_messages_are_text_like_those_by_people() -> None:
    assert text_of("user/message", user_message("noted", "plugin")) == "noted"


def test_assistant_messages_give_text_reasoning_and_tool_calls() -> None:
    call = {"type": "tool-call", "id": "c", "name": "bash", "arguments": '{"cmd":"ls"}'}
    data = assistant({"type": "reasoning", "text": "why"}, text("what"), call)
    assert text_of("assistant/message", data) == 'why\nwhat\nbash\n{"cmd":"ls"}'


def test_tool_calls_give_name_and_arguments() -> None:
    data = {"turn": 1, "step": 1, "callId": "c", "name": "bash", "arguments": '{"cmd":"ls"}'}
    assert text_of("tool/call", data) == 'bash\n{"cmd":"ls"}'


@pytest.mark.parametrize("spell", [wrapped_result, direct_result, bare_result])
def test_tool_results_give_their_text_and_the_error_name_and_code(spell: Any) -> None:
    data = spell("c", [{"type": "text", "text": "boom"}]) | {"error": {"name": "E", "code": "C"}}
    assert text_of("tool/result", data) == "boom\nE\nC"


def test_todo_lists_give_status_and_content_of_each_item() -> None:
    todos = [{"content": "fix", "status": "done"}, {"content": "test", "status": "pending"}]
    assert text_of("todo/write", {"todos": todos}) == "done\nfix\npending\ntest"


@pytest.mark.parametrize("kind", ["aborted", "max-tokens", "interrupted", "blocked"])
def test_a_turn_that_did_not_complete_gives_its_reason(kind: str) -> None:
    assert text_of("turn/end", {"turn": 1, "reason": {"kind": kind}}) == kind


def test_a_turn_that_failed_gives_error_and_the_message() -> None:
    reason = {"kind": "error", "error": {"message": "no network", "code": "NET"}}
    assert text_of("turn/end", {"turn": 1, "reason": reason}) == "error\nno network"


@pytest.mark.parametrize("kind", ["completed", "forked", "max-steps"])
def test_other_ends_of_a_turn_give_nothing(kind: str) -> None:
    assert text_of("turn/end", {"turn": 1, "reason": {"kind": kind}}) == ""


@pytest.mark.parametrize("decision", ["block", "deny"])
def test_a_hook_that_blocks_gives_decision_and_summary(decision: str) -> None:
    data = {"decision": decision, "stderrSummary": "secrets in the prompt"}
    assert text_of("hook/result", data) == f"{decision}\nsecrets in the prompt"


def test_a_hook_that_allows_gives_nothing() -> None:
    assert text_of("hook/result", {"decision": "allow", "stderrSummary": "noise"}) == ""


def test_a_retry_gives_the_message_of_its_failure() -> None:
    assert text_of("llm/retry", {"failure": {"message": "rate limit"}}) == "rate limit"


def test_a_command_that_failed_gives_its_error_text() -> None:
    assert text_of("command/done", {"kind": "error", "text": "no such file"}) == "no such file"
    assert text_of("command/done", {"kind": "done", "text": "fine"}) == ""


def test_a_compaction_that_failed_gives_its_error_text() -> None:
    assert text_of("compaction/end", {"error": {"message": "too long"}}) == "too long"
    assert text_of("compaction/end", {"error": "too long"}) == "too long"
    assert text_of("compaction/end", {"compactionId": "c"}) == ""


@pytest.mark.parametrize(
    "event_type",
    [
        "assistant/chunk",
        "assistant/attempt",
        "step/start",
        "step/end",
        "turn/start",
        "request/header",
        "request/context",
        "system/message",
        "developer/message",
        "session/title",
        "custom/thing",
    ],
)
def test_other_types_have_no_text_whatever_they_hold(event_type: str) -> None:
    everything = assistant(text("words")) | user_message("words") | {"error": "words"}
    everything |= {"stream": [{"type": "text-chunks", "texts": ["words"]}], "text": "words"}
    everything |= {"chunk": {"type": "text-delta", "text": "words"}, "title": "words"}
    assert text_of(event_type, everything) == ""


def test_an_embedded_stream_is_not_part_of_a_message() -> None:
    data = assistant(text("said")) | {"stream": [{"type": "text-chunks", "texts": ["streamed"]}]}
    assert text_of("assistant/message", data) == "said"


def test_unknown_blocks_and_image_data_give_nothing() -> None:
    image = {"type": "image", "source": {"data": "AAAA"}, "text": "not this"}
    data = user_message("") | {"content": [image, {"type": "hologram", "text": "nor this"}]}
    assert text_of("user/message", data) == ""


def test_parts_are_trimmed_blanks_dropped_and_the_rest_joined_by_newlines() -> None:
    content = [text("  a \n"), text(" \t\n"), text(""), text("\u00a0b  c\u3000")]
    assert text_of("user/message", user_message("") | {"content": content}) == "a\nb  c"


@given(data=json_objects)
def test_an_odd_payload_has_some_text_or_none_and_never_fails(data: dict[str, Any]) -> None:
    keys = ("content", "message", "todos", "reason", "failure", "error", "text", "arguments")
    blocks = [data, {"type": "text", **data}, {"type": "tool-result"} | data]
    wrapped: dict[str, Any] = dict.fromkeys(keys, data)
    listed: dict[str, Any] = dict.fromkeys(keys, blocks)
    for event_type in SEMANTIC_TYPES:
        for odd in (data, wrapped, listed):
            assert isinstance(text_of(event_type, odd), str)


def test_a_decision_that_is_no_word_gives_nothing() -> None:
    assert text_of("hook/result", {"decision": ["block"], "stderrSummary": "noise"}) == ""


def test_a_payload_that_is_no_object_has_no_text() -> None:
    for payload in (b"null", b"[]", b'"text"', b"7"):
        for event_type in SEMANTIC_TYPES:
            assert semantic_text(SessionEvent(0, event_type, 0, payload)) == ""


def test_results_within_results_are_read_as_deep_as_json_goes() -> None:
    inner: dict[str, Any] = text("deep")
    for _ in range(400):
        inner = {"type": "tool-result", "toolCallId": "c", "content": [inner]}
    assert text_of("user/message", user_message("") | {"content": [inner]}) == "deep"


@given(log=logs())
def test_only_semantic_types_have_text(log: list[Entry]) -> None:
    for each in (each for entry in log for each in events_of(entry)):
        assert each.type in SEMANTIC_TYPES or semantic_text(each) == ""


@given(log=logs())
def test_the_lines_of_a_text_are_neither_blank_at_its_ends_nor_padded(log: list[Entry]) -> None:
    for each in (each for entry in log for each in events_of(entry)):
        assert semantic_text(each) == semantic_text(each).strip()


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}
