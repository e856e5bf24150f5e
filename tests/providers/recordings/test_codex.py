"""Codex's records in our vocabulary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessiongraph.event import SessionEvent
from sessiongraph.header import SourceKind
from sessiongraph.payloads import (
    content_of,
    is_compaction_checkpoint,
    is_human_prompt,
    result_is_error,
    text_of,
)
from sessiongraph.recordings import RecordingRefused
from sessiongraph.text import semantic_text
from tests.providers.recordings.transcript_writing import (
    CODEX,
    SESSION,
    START,
    Json,
    Told,
    codex,
    codex_meta,
    history,
    iso,
    item,
    screen,
    tell,
    tokens,
    write_lines,
)


def told_of(tmp_path: Path, *records: Json, meta: Json | None = None) -> Told:
    told, further = tell(
        CODEX, write_lines(tmp_path / "log.jsonl", [meta or codex_meta(), *records])
    )
    assert further == []
    return told


def words(event: SessionEvent) -> str:
    return text_of(content_of(event.type, event.data))


def said(told: Told) -> list[tuple[str, str]]:
    return [(event.type, words(event)) for event in told.surface]


def test_the_first_line_says_whose_session_it_is_and_is_kept(tmp_path: Path) -> None:
    told = told_of(tmp_path, codex_meta("copied", 1))
    assert (told.header.session_id, told.header.cwd) == (SESSION, "/home/mei/harbor")
    assert (told.header.created_at, told.header.source.kind) == (START, SourceKind.CODEX)
    assert told.types == ["codex/session_meta", "codex/session_meta"]
    assert told.events[1].data["payload"]["id"] == "copied"


PROMPT_HISTORY = history(1, "user", "list  the files")
PROMPT_SCREEN = screen(1, "user_message", message="list the files ")
REPLY_HISTORY = history(2, "assistant", "One file.")
REPLY_SCREEN = screen(2, "agent_message", message="One file.")


@pytest.mark.parametrize(
    "prompts", [(PROMPT_HISTORY, PROMPT_SCREEN), (PROMPT_SCREEN, PROMPT_HISTORY)]
)
@pytest.mark.parametrize("replies", [(REPLY_HISTORY, REPLY_SCREEN), (REPLY_SCREEN, REPLY_HISTORY)])
def test_what_stands_in_the_file_twice_is_told_once(
    tmp_path: Path, prompts: tuple[Json, ...], replies: tuple[Json, ...]
) -> None:
    between = codex(1, "turn_context", {"model": "gpt-5.2"})
    told = told_of(tmp_path, prompts[0], between, prompts[1], replies[0], between, replies[1])
    assert [kind for kind, _ in said(told)] == ["user/message", "assistant/message"]
    assert [text.split() for _, text in said(told)] == [["list", "the", "files"], ["One", "file."]]
    assert told.types.count("user/message") == told.types.count("assistant/message") == 1
    assert told.types.count("turn/start") == 1
    assert len({recorded.line for recorded in told.recorded}) == 7


@pytest.mark.parametrize("prompt", [PROMPT_HISTORY, PROMPT_SCREEN])
@pytest.mark.parametrize("reply", [REPLY_HISTORY, REPLY_SCREEN])
def test_where_one_side_is_missing_the_other_is_told(
    tmp_path: Path, prompt: Json, reply: Json
) -> None:
    told = told_of(tmp_path, prompt, reply)
    assert [kind for kind, _ in said(told)] == ["user/message", "assistant/message"]


def test_the_person_is_quoted_from_the_screen_and_the_model_from_the_history(
    tmp_path: Path,
) -> None:
    told = told_of(
        tmp_path,
        history(1, "user", "look at this (wrapped)"),
        screen(1, "user_message", message="look at this"),
        screen(2, "agent_message", message="I look (shown)"),
        history(2, "assistant", "I look"),
    )
    assert said(told) == [("user/message", "look at this"), ("assistant/message", "I look")]


IN_AN_EDITOR = (
    "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nfix it"
)


@pytest.mark.parametrize("first", ["history", "screen"])
def test_a_request_with_an_editors_context_is_one_prompt_as_it_was_typed(
    tmp_path: Path, first: str
) -> None:
    both = [history(1, "user", IN_AN_EDITOR), screen(1, "user_message", message="fix it")]
    if first == "screen":
        both.reverse()
    told = told_of(tmp_path, both[0], codex(1, "turn_context", {"model": "gpt-5.2"}), both[1])
    assert said(told) == [("user/message", "fix it")]
    assert is_human_prompt(told.surface[0].data)
    assert told.types.count("turn/start") == 1


def test_the_same_prompt_twice_is_two_prompts(tmp_path: Path) -> None:
    told = told_of(
        tmp_path,
        history(1, "user", "go on"),
        screen(1, "user_message", message="go on"),
        history(2, "user", "go on"),
        screen(2, "user_message", message="go on"),
    )
    assert said(told) == [("user/message", "go on")] * 2


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>\n<cwd>/</cwd>",
        "<user_instructions>be brief",
        "# AGENTS.md instructions for /home",
        "# Context from my IDE setup:\n## Open tabs:",
    ],
)
def test_what_codex_says_for_the_person_is_injected(tmp_path: Path, text: str) -> None:
    told = told_of(tmp_path, history(1, "user", text))
    (message,) = told.surface
    assert not is_human_prompt(message.data)
    assert "turn/start" not in told.types


def test_calls_of_every_kind_and_their_results(tmp_path: Path) -> None:
    old = json.dumps({"output": "boom", "metadata": {"exit_code": 2}})
    told = told_of(
        tmp_path,
        PROMPT_HISTORY,
        item(2, "function_call", name="shell", arguments='{"command":["ls"]}', call_id="c1"),
        item(3, "function_call_output", call_id="c1", output=old),
        item(4, "custom_tool_call", name="apply_patch", input="*** Begin", call_id="c2"),
        item(5, "custom_tool_call_output", call_id="c2", output="Done"),
        item(6, "local_shell_call", call_id="c3", action={"type": "exec", "command": ["pwd"]}),
        item(7, "function_call_output", call_id="c3", output={"content": "no", "success": False}),
    )
    calls = [(call.data["name"], call.data["arguments"]) for call in told.of_type("tool/call")]
    assert calls == [
        ("shell", '{"command":["ls"]}'),
        ("apply_patch", "*** Begin"),
        ("local_shell", '{"type":"exec","command":["pwd"]}'),
    ]
    results = told.of_type("tool/result")
    assert [words(each) for each in results] == ["boom", "Done", "no"]
    assert [result_is_error(each.data) for each in results] == [True, False, True]
    assert results[0].data["meta"] == {"exit_code": 2}


def test_a_step_is_a_call_of_the_model_with_its_tools(tmp_path: Path) -> None:
    def call(number: int, call_id: str) -> Json:
        return item(number, "function_call", name="shell", arguments="{}", call_id=call_id)

    told = told_of(
        tmp_path,
        PROMPT_HISTORY,
        call(2, "a"),
        call(3, "b"),
        item(4, "function_call_output", call_id="a", output="1"),
        item(5, "function_call_output", call_id="b", output="2"),
        history(6, "assistant", "Done"),
    )
    steps = [event.data["step"] for event in told.of_type("assistant/message")]
    assert steps == [1, 1, 2]


def test_reasoning_is_the_summary_of_it(tmp_path: Path) -> None:
    summary = [{"type": "summary_text", "text": "**Thinking**"}]
    told = told_of(
        tmp_path,
        screen(1, "agent_reasoning", text="**Thinking**"),
        item(1, "reasoning", summary=summary, content=None, encrypted_content="x"),
        item(2, "reasoning", summary=[], content=None, encrypted_content="y"),
    )
    (message,) = told.surface
    assert semantic_text(message) == "**Thinking**"
    assert told.types.count("codex/response_item.reasoning") == 1


def test_usage_is_counted_once_however_often_it_is_reported(tmp_path: Path) -> None:
    told = told_of(
        tmp_path,
        PROMPT_HISTORY,
        tokens(2, 100, 100),
        history(3, "assistant", "one"),
        tokens(4, 100, 100),
        tokens(5, 180, 80),
        history(6, "assistant", "two"),
        screen(7, "token_count", info=None),
    )
    usages = [event.data["chunk"]["usage"] for event in told.of_type("assistant/chunk")]
    assert [usage["inputTokens"] + usage["cacheReadTokens"] for usage in usages] == [100, 80]
    assert sum(usage["outputTokens"] for usage in usages) == 3 * 180
    steps = [(event.data["turn"], event.data["step"]) for event in told.of_type("assistant/chunk")]
    assert len(set(steps)) == 2


def test_the_context_of_a_turn_names_model_and_window(tmp_path: Path) -> None:
    told = told_of(
        tmp_path,
        screen(1, "task_started", model_context_window=9000),
        codex(2, "turn_context", {"model": "gpt-5.2", "effort": "high"}),
        history(3, "assistant", "hi"),
    )
    (context,) = told.of_type("request/context")
    assert context.data["provider"] == "openai"
    assert (context.data["model"], context.data["contextWindow"]) == ("gpt-5.2", 9000)
    assert told.surface[0].data["message"]["source"] == {"provider": "openai", "model": "gpt-5.2"}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (screen(3, "turn_aborted", reason="interrupted"), {"kind": "aborted"}),
        (screen(3, "task_complete", last_agent_message="x"), {"kind": "completed"}),
        (
            screen(3, "error", message="Rate limit", codex_error_info="usage_limit"),
            {"kind": "error", "error": {"message": "Rate limit", "code": "usage_limit"}},
        ),
    ],
)
def test_turns_end_for_a_reason(tmp_path: Path, record: Json, reason: Json) -> None:
    told = told_of(tmp_path, PROMPT_HISTORY, REPLY_HISTORY, record, record)
    (end,) = told.of_type("turn/end")
    assert {key: end.data["reason"][key] for key in reason} == reason
    assert told.types[-1].startswith("codex/event_msg.")


def test_a_prompt_during_a_task_joins_its_turn(tmp_path: Path) -> None:
    told = told_of(
        tmp_path,
        screen(1, "task_started"),
        screen(1, "user_message", message="go"),
        REPLY_HISTORY,
        screen(3, "user_message", message="faster"),
        screen(4, "task_complete"),
        screen(5, "user_message", message="next"),
    )
    assert told.types.count("turn/start") == 2
    assert [event.data["turn"] for event in told.of_type("turn/start")] == [1, 2]


def test_a_plan_is_a_list_of_todos(tmp_path: Path) -> None:
    plan = json.dumps({"plan": [{"step": "Ship", "status": "in_progress"}]})
    call = item(1, "function_call", name="update_plan", arguments=plan, call_id="c1")
    told = told_of(tmp_path, call)
    (written,) = told.of_type("todo/write")
    assert written.data == {"todos": [{"content": "Ship", "status": "in_progress"}]}


COMPACTED = codex(
    5,
    "compacted",
    {"message": "Summary", "replacement_history": [{"type": "message", "content": "secret old"}]},
)
ON_SCREEN = screen(5, "context_compacted")


@pytest.mark.parametrize("records", [[COMPACTED], [COMPACTED, ON_SCREEN], [ON_SCREEN, COMPACTED]])
def test_a_compaction_is_one_message_in_the_place_of_all(
    tmp_path: Path, records: list[Json]
) -> None:
    told = told_of(tmp_path, PROMPT_HISTORY, REPLY_HISTORY, *records, history(6, "assistant", "on"))
    assert said(told) == [("user/message", "Summary"), ("assistant/message", "on")]
    summary = told.surface[0]
    assert is_compaction_checkpoint(summary.data)
    assert "secret old" not in semantic_text(summary)


def test_a_compaction_known_from_the_screen_alone_empties_the_surface(tmp_path: Path) -> None:
    told = told_of(tmp_path, PROMPT_HISTORY, REPLY_HISTORY, ON_SCREEN)
    (checkpoint,) = told.surface
    assert is_compaction_checkpoint(checkpoint.data)


def test_a_fork_inherits_what_was_copied_into_it_at_once(tmp_path: Path) -> None:
    at_once = iso(START)
    copied = [codex_meta("parent"), PROMPT_HISTORY, REPLY_HISTORY]
    copied = [{**record, "timestamp": at_once} for record in copied]
    own = screen(9, "user_message", message="my own")
    told = told_of(tmp_path, *copied, own, meta=codex_meta(forked_from_id="parent"))
    seed = told.header.seed_length
    assert seed is not None
    assert told.header.parent_session == "parent"
    assert told.header.origin is None
    assert told.events[seed].type == "session/end-seed"
    assert words(told.surface[-1]) == "my own"
    assert [words(event) for event in told.of_type("assistant/message")] == ["One file."]


@pytest.mark.parametrize(
    "members",
    [
        {"parent_thread_id": "caller", "source": {"subagent": {"thread_spawn": {"depth": 2}}}},
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "caller", "depth": 2}}}},
    ],
)
def test_a_spawned_thread_is_a_subagent_of_its_caller(tmp_path: Path, members: Json) -> None:
    header = told_of(tmp_path, meta=codex_meta(**members)).header
    assert (header.parent_session, header.origin) == ("caller", "subagent")
    assert header.delegation_depth == 2


def test_a_thread_that_is_named_has_a_title(tmp_path: Path) -> None:
    told = told_of(tmp_path, screen(1, "thread_name_updated", thread_name="The harbor"))
    assert told.of_type("session/title")[0].data["title"] == "The harbor"


def test_an_image_in_a_prompt_is_named_by_its_content(tmp_path: Path) -> None:
    content = [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
        {"type": "input_image", "image_url": "https://example.org/a.png"},
    ]
    told = told_of(tmp_path, item(1, "message", role="user", content=content))
    _, image, linked = content_of("user/message", told.surface[0].data)
    assert (image["attachment"]["mediaType"], image["attachment"]["bytes"]) == ("image/png", 2)
    assert linked["image_url"] == "https://example.org/a.png"
    assert [media.content for each in told.recorded for media in each.media] == [b"hi"]


def test_odd_records_of_every_kind_are_told(tmp_path: Path) -> None:
    kinds = [
        *(("response_item", kind) for kind in ("message", "reasoning", "function_call")),
        *(("response_item", kind) for kind in ("function_call_output", "local_shell_call")),
        *(("event_msg", kind) for kind in ("user_message", "agent_message", "token_count")),
        *(("event_msg", kind) for kind in ("error", "thread_name_updated", "brand_new")),
    ]
    fillings: list[Json] = [
        {},
        {"role": "user", "message": "x", "kind": {}, "call_id": [], "id": {}},
        {"role": "assistant", "content": 7, "message": 7, "info": 7, "call_id": 7, "output": 7},
        {"role": "developer", "content": [None], "summary": [None], "call_id": "c", "output": [7]},
    ]
    records: list[Json] = [
        codex(n, outer, {**filling, "type": inner})
        for n, (filling, (outer, inner)) in enumerate(
            (filling, kind) for filling in fillings for kind in kinds
        )
    ]
    records += [codex(99, "compacted", {}), {"type": 7, "payload": 7}, {"payload": {"type": "x"}}]
    told = told_of(tmp_path, *records)
    assert {recorded.line for recorded in told.recorded} == set(range(1, len(records) + 2))


@pytest.mark.parametrize("payload", [{}, {"id": ""}, {"id": "x", "timestamp": "soon"}])
def test_a_session_without_an_id_or_a_time_is_refused(tmp_path: Path, payload: Json) -> None:
    record = {"type": "session_meta", "payload": payload}
    with pytest.raises(RecordingRefused) as refused:
        CODEX.open(write_lines(tmp_path / "log.jsonl", [record]), None)
    assert refused.value.line == 1
