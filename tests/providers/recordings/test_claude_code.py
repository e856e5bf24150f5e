"""Claude Code's records in our vocabulary."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest

from providers.recordings.claude_code import ClaudeCodeReader
from providers.recordings.records import TOO_LONG
from sessiongraph.event import SessionEvent
from sessiongraph.header import SourceKind
from sessiongraph.payloads import content_of, is_compaction_checkpoint, is_human_prompt, text_of
from sessiongraph.recordings import RecordingRefused
from sessiongraph.text import semantic_text
from tests.providers.recordings.transcript_writing import (
    CLAUDE,
    SESSION,
    START,
    Json,
    Told,
    answered,
    asked,
    claude,
    replied,
    tell,
    text,
    tool_use,
    uuid_of,
    write_lines,
)


def told_of(tmp_path: Path, *records: Json) -> Told:
    told, _ = tell(CLAUDE, write_lines(tmp_path / f"{SESSION}.jsonl", records))
    return told


def words(event: SessionEvent) -> str:
    return text_of(content_of(event.type, event.data))


def test_a_turn_is_a_prompt_a_step_and_what_its_tools_answered(tmp_path: Path) -> None:
    told = told_of(
        tmp_path,
        asked(0, "list the files"),
        replied(1, "m1", tool_use("c1", command="ls"), usage=5),
        answered(2, "c1", "a.txt"),
        replied(3, "m2", text("One file."), usage=7),
        asked(4, "thanks"),
    )
    assert told.types == [
        "turn/start",
        "user/message",
        "step/start",
        "assistant/message",
        "tool/call",
        "tool/result",
        "step/end",
        "step/start",
        "assistant/message",
        "step/end",
        "turn/end",
        "turn/start",
        "user/message",
    ]
    call, result = told.events[4], told.events[5]
    assert call.data["callId"] == "c1"
    assert call.data["arguments"] == '{"command":"ls"}'
    assert (words(result), result.source_event_seqs) == ("a.txt", (call.seq,))
    assert told.events[10].data == {"turn": 1, "reason": {"kind": "completed"}}
    assert told.events[10].time == START + 3000, "a turn ends when its last record was written"
    assert [words(event) for event in told.surface] == [
        "list the files",
        "",
        "a.txt",
        "One file.",
        "thanks",
    ]


def test_the_header_says_whose_session_it_is(tmp_path: Path) -> None:
    told = told_of(tmp_path, {"type": "mode", "mode": "normal"}, asked(3, "hello"))
    header = told.header
    assert (header.session_id, header.cwd) == (SESSION, "/home/mei/harbor")
    assert (header.created_at, header.source.kind) == (START + 3000, SourceKind.CLAUDE_CODE)
    assert (header.parent_session, header.origin, header.delegation_depth) == (None, None, 0)


def test_records_of_one_message_are_one_message_and_its_usage_is_the_last(tmp_path: Path) -> None:
    told = told_of(
        tmp_path,
        asked(0, "look"),
        replied(1, "m1", {"type": "thinking", "thinking": "hm", "signature": "s"}, usage=1),
        replied(2, "m1", text("I look."), usage=1),
        claude(3, "progress", data={}),
        replied(4, "m1", tool_use("c1"), usage=80),
    )
    (message,) = [event for event in told.surface if event.type == "assistant/message"]
    blocks = content_of(message.type, message.data)
    assert [block["type"] for block in blocks] == ["reasoning", "text", "tool-call"]
    assert message.data["usage"]["outputTokens"] == 80
    assert told.types.count("step/start") == 1
    assert len({event.data["step"] for event in told.of_type("assistant/message")}) == 1


def test_a_result_between_the_records_of_a_message_stays_behind_it(tmp_path: Path) -> None:
    told = told_of(
        tmp_path,
        asked(0, "look"),
        replied(1, "m1", tool_use("c1")),
        answered(2, "c1", "first"),
        replied(3, "m1", tool_use("c2")),
        answered(4, "c2", "second"),
    )
    assert [(event.type, words(event)) for event in told.surface] == [
        ("user/message", "look"),
        ("assistant/message", ""),
        ("tool/result", "first"),
        ("tool/result", "second"),
    ]
    ids = [block["id"] for block in content_of("assistant/message", told.surface[1].data)]
    assert ids == ["c1", "c2"]
    assert [call.data["callId"] for call in told.of_type("tool/call")] == ["c1", "c2"]


@pytest.mark.parametrize(
    ("content", "members"),
    [
        ("<command-name>/clear</command-name>", {}),
        ("<local-command-stdout>ok</local-command-stdout>", {}),
        ("<task-notification>done</task-notification>", {}),
        ("<system-reminder>be brief</system-reminder>", {}),
        ("Caveat: the messages below were generated", {}),
        ("anything", {"isMeta": True}),
        ("anything", {"origin": {"kind": "task-notification"}}),
    ],
)
def test_what_claude_code_says_for_the_person_is_injected(
    tmp_path: Path, content: str, members: Json
) -> None:
    told = told_of(tmp_path, asked(0, content, **members))
    assert told.types == ["user/message"]
    assert not is_human_prompt(told.events[0].data)


def test_an_interruption_ends_the_turn_as_aborted(tmp_path: Path) -> None:
    interrupted = {"role": "user", "content": [text("[Request interrupted by user]")]}
    told = told_of(
        tmp_path,
        asked(0, "go"),
        replied(1, "m1", text("Going")),
        claude(2, "user", interrupted),
        asked(3, "stop that"),
    )
    (end,) = told.of_type("turn/end")
    assert end.data["reason"] == {"kind": "aborted", "reason": {"kind": "user"}}
    assert [is_human_prompt(event.data) for event in told.of_type("user/message")] == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("members", [{"isApiErrorMessage": True}, {}])
def test_a_failure_of_the_api_ends_the_turn_with_its_error(tmp_path: Path, members: Json) -> None:
    record = replied(1, "m1", text("API Error: 529 overloaded"), **members)
    if not members:
        record["message"]["model"] = "<synthetic>"
    told = told_of(tmp_path, asked(0, "go"), record)
    (end,) = told.of_type("turn/end")
    assert end.data["reason"]["kind"] == "error"
    assert end.data["reason"]["error"]["message"] == "API Error: 529 overloaded"
    assert "529" in semantic_text(end)
    assert told.of_type("assistant/message") == []


def test_a_reply_cut_off_by_the_token_limit_ends_its_turn_so(tmp_path: Path) -> None:
    told = told_of(
        tmp_path,
        asked(0, "go"),
        replied(1, "m1", text("Very lo"), stop_reason="max_tokens"),
        asked(2, "on"),
    )
    assert told.of_type("turn/end")[0].data["reason"] == {"kind": "max-tokens"}


def test_todos_are_written_as_the_whole_list(tmp_path: Path) -> None:
    todos = [{"content": "Ship", "status": "pending", "activeForm": "Shipping"}]
    call = tool_use("c1", "TodoWrite", todos=todos)
    told = told_of(tmp_path, asked(0, "plan"), replied(1, "m1", call))
    (written,) = told.of_type("todo/write")
    assert written.data["todos"] == todos


def test_a_compaction_replaces_everything_the_model_saw(tmp_path: Path) -> None:
    told = told_of(
        tmp_path,
        asked(0, "first"),
        replied(1, "m1", text("one")),
        claude(2, "system", subtype="compact_boundary", compactMetadata={"trigger": "auto"}),
        asked(3, "Summary of it all", isCompactSummary=True),
        replied(4, "m2", text("two")),
    )
    assert [words(event) for event in told.surface] == ["Summary of it all", "two"]
    summary = told.surface[0]
    assert is_compaction_checkpoint(summary.data)
    assert not is_human_prompt(summary.data)
    assert len(summary.source_event_seqs or ()) == 2


@pytest.mark.parametrize(
    "kept",
    [
        {"preservedMessages": {"uuids": [uuid_of(2), uuid_of(3)]}},
        {"preservedSegment": {"headUuid": uuid_of(2), "tailUuid": uuid_of(3)}},
    ],
)
def test_a_compaction_leaves_what_it_preserved(tmp_path: Path, kept: Json) -> None:
    told = told_of(
        tmp_path,
        asked(0, "first"),
        replied(1, "m1", text("one")),
        asked(2, "second"),
        replied(3, "m2", text("two")),
        claude(4, "system", subtype="compact_boundary", compactMetadata=kept),
        asked(5, "Summary", isCompactSummary=True),
    )
    assert [words(event) for event in told.surface] == ["Summary", "second", "two"]


def test_the_newest_title_by_a_person_stands_then_one_by_the_model(tmp_path: Path) -> None:
    told = told_of(
        tmp_path,
        asked(0, "hello"),
        {"type": "ai-title", "sessionId": SESSION, "aiTitle": "Greeting"},
        {"type": "custom-title", "sessionId": SESSION, "customTitle": "Mine"},
        {"type": "ai-title", "sessionId": SESSION, "aiTitle": "Another"},
        {"type": "custom-title", "sessionId": SESSION, "customTitle": "Mine still"},
    )
    titles = [event.data["title"] for event in told.of_type("session/title")]
    assert titles == ["Greeting", "Mine", "Mine still"]
    assert told.types.count("claude-code/ai-title") == 1


def test_a_summary_of_any_file_of_the_folder_is_the_title(tmp_path: Path) -> None:
    summary = {"type": "summary", "summary": "The harbor", "leafUuid": uuid_of(1)}
    other = asked(50, "later", sessionId="another", uuid=uuid_of(50))
    write_lines(tmp_path / "another.jsonl", [summary, other])
    told = told_of(tmp_path, asked(0, "hello"), replied(1, "m1", text("hi")))
    assert [event.data["title"] for event in told.of_type("session/title")] == ["The harbor"]


def test_a_summary_in_the_file_itself_is_the_title(tmp_path: Path) -> None:
    summary = {"type": "summary", "summary": "The harbor", "leafUuid": uuid_of(0)}
    for records in ([summary, asked(0, "hello")], [asked(0, "hello"), summary]):
        told = told_of(tmp_path, *records)
        assert [event.data["title"] for event in told.of_type("session/title")] == ["The harbor"]


def test_without_a_title_there_is_none(tmp_path: Path) -> None:
    assert told_of(tmp_path, asked(0, "hello")).of_type("session/title") == []


@pytest.mark.parametrize("record", [claude(1, "progress", data={"n": 1}), {"type": "brand-new"}])
def test_what_has_no_place_is_kept_word_for_word_and_not_searched(
    tmp_path: Path, record: Json
) -> None:
    told = told_of(tmp_path, asked(0, "hello"), record)
    kept = told.events[-1]
    assert (kept.type, kept.ignorable) == (f"claude-code/{record['type']}", True)
    assert kept.data == record
    assert semantic_text(kept) == ""


@pytest.mark.parametrize(
    "line", [b'{"type":"user","mess', b"[1,2]", b"\xff\xfe", b'{"a":"\xff"}', b"nul", b'{"a":1}x']
)
def test_a_line_that_is_no_object_is_kept_and_noted(tmp_path: Path, line: bytes) -> None:
    path = write_lines(tmp_path / "log.jsonl", [asked(0, "hello")])
    path.write_bytes(path.read_bytes() + line + b"\n")
    told, _ = tell(CLAUDE, path)
    assert told.types[-1] == "claude-code/unreadable"
    assert told.header.source.notes == (
        "Lines that are not JSON objects are kept as opaque events.",
    )


def test_lone_surrogates_survive(tmp_path: Path) -> None:
    told = told_of(tmp_path, asked(0, "broken \ud800 half"))
    assert words(told.surface[0]) == "broken \ud800 half"


def test_odd_records_of_every_kind_are_told(tmp_path: Path) -> None:
    odd: list[Any] = [None, 7, "x", [], [None], {}, {"content": 3}, {"content": [7, None, {}]}]
    records = [
        claude(n, kind, message=message)
        for n, (kind, message) in enumerate(
            (kind, message) for kind in ("user", "assistant") for message in odd
        )
    ]
    told = told_of(tmp_path, asked(99, "hello"), *records)
    assert {recorded.line for recorded in told.recorded} == set(range(1, len(records) + 2))


@pytest.mark.parametrize("odd", [{}, [], {"a": 1}, [[]]])
def test_values_that_are_no_names_are_none_of_ours(tmp_path: Path, odd: Any) -> None:
    """A list or an object cannot be looked up, not even to find that it is not there."""
    told = told_of(
        tmp_path,
        claude(0, odd, message={"role": "user", "content": "x"}),
        asked(1, "hello", origin={"kind": odd}, uuid=odd, parentUuid=odd),
        claude(2, "system", subtype=odd, compactMetadata={"preservedMessages": {"uuids": [odd]}}),
        replied(3, "m", tool_use("c"), uuid=odd),
    )
    assert "hello" in [words(event) for event in told.surface]


def test_an_image_is_named_by_its_content(tmp_path: Path) -> None:
    content = b"\x89PNG not really"
    source = {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(content).decode(),
    }
    message = {"role": "user", "content": [{"type": "image", "source": source}, text("see")]}
    told = told_of(tmp_path, claude(0, "user", message))
    digest = hashlib.sha256(content).hexdigest()
    (image, _) = content_of("user/message", told.surface[0].data)
    assert image["attachment"] == {
        "attachmentId": f"sha256:{digest}",
        "mediaType": "image/png",
        "bytes": len(content),
    }
    (media,) = [media for recorded in told.recorded for media in recorded.media]
    assert (media.name, media.content) == (digest, content)
    assert source["data"].encode() not in told.surface[0].payload


def test_a_prompt_typed_while_the_model_works_joins_the_turn(tmp_path: Path) -> None:
    queued = {"type": "queued_command", "commandMode": "prompt", "prompt": "and faster"}
    told = told_of(
        tmp_path,
        asked(0, "go"),
        replied(1, "m1", text("Going")),
        claude(2, "attachment", attachment=queued),
    )
    assert words(told.surface[-1]) == "and faster"
    assert is_human_prompt(told.surface[-1].data)
    assert told.types.count("turn/start") == 1


def test_times_that_are_missing_or_no_times_are_those_of_the_record_before(tmp_path: Path) -> None:
    told = told_of(
        tmp_path, asked(0, "a"), asked(1, "b", timestamp="soon"), asked(2, "c", timestamp=None)
    )
    assert {event.time for event in told.events} == {START}


def test_a_file_without_a_conversation_is_refused_with_its_line(tmp_path: Path) -> None:
    summary = {"type": "summary", "summary": "Other", "leafUuid": uuid_of(9)}
    path = write_lines(tmp_path / "log.jsonl", [summary, summary])
    with pytest.raises(RecordingRefused) as refused:
        CLAUDE.open(path, None)
    assert refused.value.line == 3


def test_a_session_without_an_id_gets_one_that_is_always_the_same(tmp_path: Path) -> None:
    records = [{"type": "user", "timestamp": "2026-01-01T10:00:00Z", "message": {"content": "hi"}}]
    first, _ = tell(CLAUDE, write_lines(tmp_path / "a.jsonl", records))
    again, _ = tell(CLAUDE, write_lines(tmp_path / "b.jsonl", records))
    assert first.header.session_id == again.header.session_id
    assert first.header.session_id.startswith("claude-code-")


def test_files_of_programs_that_record_alike_are_of_another_source(tmp_path: Path) -> None:
    told = told_of(tmp_path, asked(0, "你好", sessionId="session-1"))
    assert told.header.source.kind is SourceKind.OTHER


def test_a_line_beyond_the_limit_is_left_out_and_said_so(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "log.jsonl", [asked(0, "hello"), asked(1, "x" * 5000), asked(2, "on")]
    )
    told, _ = tell(ClaudeCodeReader(max_line_bytes=1000), path)
    assert told.types.count("claude-code/too-long") == 1
    assert told.header.source.notes == (TOO_LONG,)
    assert [words(event) for event in told.surface] == ["hello", "on"]


def test_a_number_out_of_all_bounds_is_kept_as_the_text_it_is(tmp_path: Path) -> None:
    path = write_lines(tmp_path / f"{SESSION}.jsonl", [asked(0, "hello"), asked(1, "again", x=1)])
    path.write_bytes(
        path.read_bytes().replace(b'"x": 1', b'"x": 1e999').replace(b'"x":1', b'"x":1e999')
    )
    told, _ = tell(CLAUDE, path)
    assert told.types == ["turn/start", "user/message", "claude-code/user"]
    assert b"1e999" in told.events[2].payload
