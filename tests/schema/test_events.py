"""Events through the API: their types, their payloads, pages, windows, the surface and traces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.event import Entry, SessionEvent, events_of
from tests.plain_store import plain_fold
from tests.schema.asking import Asked
from tests.strategies import (
    bare_result,
    delta_run,
    direct_result,
    event,
    logs,
    message,
    prompt,
    user_message,
    wrapped_result,
)

ENVELOPE = """id sessionId seq type time surface sourceEventSeqs surfaceOp { op start end }
    replacedBy ignorable data"""

TEXT = {"type": "text", "text": "two"}
IMAGE = {"type": "image", "data": "…", "text": 7}


def first_event(asked_event: SessionEvent, selection: str) -> dict[str, Any]:
    """One event alone in a log, read through the API."""
    asked = Asked()
    asked.add("s", [asked_event])
    document = '{ session(id: "s") { events { nodes { __typename ' + selection + " } } } }"
    (node,) = asked.ask(document).data["session"]["events"]["nodes"]
    assert isinstance(node, dict)
    return node


@pytest.mark.parametrize(
    ("logged", "selection", "expected"),
    [
        (
            message(0, data={**user_message("one"), "content": [TEXT, IMAGE, TEXT]}),
            "... on UserMessageEvent { text sourceKind content { type text data } }",
            {
                "__typename": "UserMessageEvent",
                "text": "two\ntwo",
                "sourceKind": "user",
                "content": [
                    {"type": "text", "text": "two", "data": TEXT},
                    {"type": "image", "text": None, "data": IMAGE},
                    {"type": "text", "text": "two", "data": TEXT},
                ],
            },
        ),
        (
            message(
                0,
                "assistant/message",
                {
                    "message": {
                        "content": [TEXT],
                        "source": {"kind": "model", "provider": "p", "model": "m"},
                    },
                    "usage": {"inputTokens": 5, "outputTokens": 2, "cacheReadTokens": 1},
                    "interrupted": True,
                },
            ),
            """... on AssistantMessageEvent { text content { text } provider model interrupted
                usage { inputTokens outputTokens cacheReadTokens cacheWriteTokens } }""",
            {
                "__typename": "AssistantMessageEvent",
                "text": "two",
                "content": [{"text": "two"}],
                "provider": "p",
                "model": "m",
                "interrupted": True,
                "usage": {
                    "inputTokens": 5,
                    "outputTokens": 2,
                    "cacheReadTokens": 1,
                    "cacheWriteTokens": 0,
                },
            },
        ),
        (
            message(0, "assistant/message", {"content": []}),
            """... on AssistantMessageEvent { text content { text } provider model interrupted
                usage { inputTokens } }""",
            {
                "__typename": "AssistantMessageEvent",
                "text": "",
                "content": [],
                "provider": None,
                "model": None,
                "usage": None,
                "interrupted": False,
            },
        ),
        (
            event(0, "tool/call", {"callId": "c", "name": "read", "arguments": '{"a": 1'}),
            "... on ToolCallEvent { callId name arguments }",
            {"__typename": "ToolCallEvent", "callId": "c", "name": "read", "arguments": '{"a": 1'},
        ),
        *(
            (
                message(0, "tool/result", spelled),
                "... on ToolResultEvent { callId text isError content { type text } }",
                {
                    "__typename": "ToolResultEvent",
                    "callId": "c",
                    "text": "two",
                    "isError": True,
                    "content": [{"type": "text", "text": "two"}],
                },
            )
            for spelled in (
                wrapped_result("c", [TEXT], isError=True),
                direct_result("c", [TEXT], isError=True),
                bare_result("c", [TEXT], isError=True),
            )
        ),
        (
            event(0, "todo/write", {"todos": [{"content": "x", "status": "done", "extra": 1}]}),
            "... on TodoWriteEvent { todos { content status } }",
            {"__typename": "TodoWriteEvent", "todos": [{"content": "x", "status": "done"}]},
        ),
        (
            event(0, "session/title", {"title": "\ud800 title"}),
            "... on TitleEvent { title }",
            {"__typename": "TitleEvent", "title": "\ud800 title"},
        ),
        (
            event(
                0, "turn/end", {"turn": 3, "reason": {"kind": "error", "error": {"message": "m"}}}
            ),
            "... on TurnEndEvent { turn reason error }",
            {"__typename": "TurnEndEvent", "turn": 3, "reason": "error", "error": "m"},
        ),
        (
            event(0, "turn/end", {"turn": 3, "reason": "completed"}),
            "... on TurnEndEvent { turn reason error }",
            {"__typename": "TurnEndEvent", "turn": 3, "reason": "completed", "error": None},
        ),
        (event(0, "custom/thing", {"title": "no"}), "", {"__typename": "GenericEvent"}),
        (event(0, "session/title", {"title": 7}), "", {"__typename": "GenericEvent"}),
        (
            event(0, "tool/call", {"callId": "c", "name": "read"}),
            "",
            {"__typename": "GenericEvent"},
        ),
        (event(0, "todo/write", {"todos": [{"content": "x"}]}), "", {"__typename": "GenericEvent"}),
        (event(0, "turn/end", {"turn": 2**31, "reason": "x"}), "", {"__typename": "GenericEvent"}),
        (message(0, data={"content": "text"}), "", {"__typename": "GenericEvent"}),
        (message(0, "tool/result", {"content": []}), "", {"__typename": "GenericEvent"}),
        (message(0, "system/message", user_message("x")), "", {"__typename": "GenericEvent"}),
    ],
)
def test_an_event_has_the_type_of_what_its_payload_holds(
    logged: SessionEvent, selection: str, expected: dict[str, Any]
) -> None:
    assert first_event(logged, selection) == expected


@given(st.one_of(logs()))
def test_every_event_of_a_log_is_served_as_it_was_logged(log: Sequence[Entry]) -> None:
    asked = Asked()
    asked.add("s \ud800", log)
    events = [each for entry in log for each in events_of(entry)]
    fold = plain_fold(events)
    document = "query($id: ID!) { session(id: $id) { uri events(first: 200) { nodes { %s } } } }"
    session = asked.ask(document.replace("%s", ENVELOPE), id="s \ud800").data["session"]
    assert session["events"]["nodes"] == [
        {
            "id": f"{session['uri']}#{each.seq}",
            "sessionId": "s \ud800",
            "seq": each.seq,
            "type": each.type,
            "time": each.time,
            "surface": fold.surface_of(each.seq).name,
            "sourceEventSeqs": None
            if each.source_event_seqs is None
            else list(each.source_event_seqs),
            "surfaceOp": None
            if each.surface_op is None
            else {
                "op": "APPEND" if each.surface_op.start is None else "REPLACE",
                "start": each.surface_op.start,
                "end": each.surface_op.end,
            },
            "replacedBy": fold.replacer.get(each.seq),
            "ignorable": each.ignorable,
            "data": json.loads(each.payload),
        }
        for each in events
    ]


@pytest.mark.parametrize(
    "text",
    [
        b'{ "spaced" : [ 1.0 , 1e5, -0.0 ] }',
        b'{"a":1,"a":2}',
        b'{"big":123456789012345678901234567890}',
        b'{"lone":"\\ud800 \\uDFFF"}',
        '{"ü":"会话 🚀"}'.encode(),
        b'{"huge":1e999}',
        b"[1]",
    ],
)
def test_a_payload_stands_in_the_response_byte_for_byte(text: bytes) -> None:
    asked = Asked()
    asked.add("s", [SessionEvent(0, "custom/thing", 1, text)])
    answer = asked.ask('{ session(id: "s") { events { nodes { data } } } }')
    assert b'"data":' + text + b"}" in answer.text


def test_a_payload_stays_exact_beside_a_lone_surrogate_elsewhere() -> None:
    asked = Asked()
    text = b'{"a":1.0,"a":2}'
    asked.add("s", [SessionEvent(0, "odd \ud800", 1, text)])
    answer = asked.ask('{ session(id: "s") { events { nodes { type data } } } }')
    assert answer.text.endswith(b'{"type":"odd \\ud800","data":{"a":1.0,"a":2}}]}}}}')


def test_payloads_that_were_read_without_their_streams_are_served_whole_in_one_batch() -> None:
    asked = Asked()
    asked.store.elides = True
    data = {"message": {"content": [TEXT]}, "stream": ["t", "w", "o"]}
    asked.add(
        "s", [message(seq, "assistant/message", data) for seq in range(16)] + [prompt(16, "x")]
    )
    asked.add("t", [message(seq, "assistant/message", data) for seq in range(16)])
    document = (
        "{ sessions { nodes { events { nodes { data ... on AssistantMessageEvent { text } } } } } }"
    )
    sessions = asked.ask(document).data["sessions"]["nodes"]
    assert sessions[0]["events"]["nodes"][:-1] == [{"data": data, "text": "two"}] * 16
    assert sessions[0]["events"]["nodes"][-1] == {"data": user_message("x")}
    assert sessions[1]["events"]["nodes"] == [{"data": data, "text": "two"}] * 16
    assert asked.store.calls["payloads"] == 2


def test_streams_are_not_loaded_for_those_who_do_not_ask_for_data() -> None:
    asked = Asked()
    asked.store.elides = True
    asked.add("s", [message(0, "assistant/message", {"content": [TEXT], "stream": []})])
    asked.ask(
        '{ session(id: "s") { events { nodes { seq ... on AssistantMessageEvent { text } } } } }'
    )
    assert asked.store.calls["payloads"] == 0


def test_members_of_a_packed_run_are_events_like_all_others() -> None:
    asked = Asked()
    asked.add("s", [delta_run(0, ["a", "b\ud800"])])
    nodes = asked.ask('{ session(id: "s") { events { nodes { __typename seq type data } } } }')
    assert [node["data"]["chunk"]["text"] for node in nodes.data["session"]["events"]["nodes"]] == [
        "a",
        "b\ud800",
    ]
