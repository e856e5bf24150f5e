"""A crashed tail is closed by events that follow from the log alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.event import APPEND, Entry, SessionEvent
from sessiongraph.payloads import (
    Shape,
    call_id_of,
    content_of,
    result_error,
    result_is_error,
    shape_of,
    turn_end_reason,
)
from sessiongraph.repair import NOT_STARTED, OUTCOME_UNKNOWN, TailState, closing_events
from sessiongraph.surface import Surface
from tests.oracle import needs_oracle, oracle_root, read_session
from tests.strategies import (
    delta_run,
    event,
    logs,
    message,
    payload_lookup,
    prompt,
)

VERSIONS = (0, 1, 2, 3, 4)
Told = tuple[str, Any]


def tail_of(log: Iterable[Entry]) -> TailState:
    state = TailState()
    for entry in log:
        state.advance(entry)
    return state


def closers(log: list[Entry], version: int = 4, session_id: str = "s") -> list[SessionEvent]:
    next_seq = log[-1].last_seq + 1 if log else 0
    return closing_events(tail_of(log), session_id, version, next_seq)


def told(events: Iterable[SessionEvent]) -> list[Told]:
    """What closing events say, in a few words."""
    found: list[Told] = []
    for each in events:
        if each.type == "tool/result":
            found.append((call_id_of(each.data) or "", result_error(each.data)[1]))
        elif each.type == "turn/end":
            found.append(("turn/end", turn_end_reason(each.data)))
        else:
            found.append((each.type, each.data["step"]))
    return found


# Rows of a turn


def turn(seq: int, number: int = 1) -> Entry:
    return event(seq, "turn/start", {"turn": number})


def step(seq: int, number: int = 1) -> Entry:
    return event(seq, "step/start", {"turn": 1, "step": number})


def asks(seq: int, *call_ids: str) -> Entry:
    blocks = [{"type": "tool-call", "id": each, "name": "bash"} for each in call_ids]
    return message(seq, "assistant/message", {"turn": 1, "step": 1, "message": {"content": blocks}})


def starts(seq: int, call_id: str) -> Entry:
    call = {"turn": 1, "step": 1, "callId": call_id, "name": "bash", "arguments": "{}"}
    return event(seq, "tool/call", call)


def answers(seq: int, call_id: str) -> Entry:
    source = {"kind": "tool", "callId": call_id}
    return message(seq, "tool/result", {"turn": 1, "message": {"source": source, "content": []}})


def ends(seq: int, event_type: str = "turn/end") -> Entry:
    return event(seq, event_type, {"turn": 1, "step": 1, "reason": {"kind": "completed"}})


INTERRUPTED: Told = ("turn/end", "interrupted")


# What is closed, and with what


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param([turn(0)], [INTERRUPTED], id="a turn"),
        pytest.param([turn(0), step(1, 3)], [("step/end", 3), INTERRUPTED], id="a step"),
        pytest.param(
            [turn(0), step(1), ends(2, "step/end")], [INTERRUPTED], id="a turn between steps"
        ),
        pytest.param(
            [turn(0), step(1), asks(2, "a")],
            [("a", NOT_STARTED), ("step/end", 1), INTERRUPTED],
            id="a call that never started",
        ),
        pytest.param(
            [turn(0), step(1), asks(2, "a"), starts(3, "a")],
            [("a", OUTCOME_UNKNOWN), ("step/end", 1), INTERRUPTED],
            id="a call that started",
        ),
        pytest.param(
            [turn(0), step(1), asks(2, "a", "b", "c"), starts(3, "b"), starts(4, "a"),
             answers(5, "a")],
            [("b", OUTCOME_UNKNOWN), ("c", NOT_STARTED), ("step/end", 1), INTERRUPTED],
            id="one of three was answered",
        ),
        pytest.param(
            [turn(0), step(1), asks(2, "a"), starts(3, "a"), answers(4, "a")],
            [("step/end", 1), INTERRUPTED],
            id="an answered call",
        ),
        pytest.param(
            [turn(0), step(1), starts(2, "alone")],
            [("alone", OUTCOME_UNKNOWN), ("step/end", 1), INTERRUPTED],
            id="a call nobody asked for",
        ),
        pytest.param(
            [turn(0), asks(1, "lost"), turn(2, 2), step(3)],
            [("step/end", 1), INTERRUPTED],
            id="a turn that another one followed",
        ),
        pytest.param(
            [turn(0), step(1), event(2, "compaction/start", {"compactionId": "c", "turn": 1})],
            [("step/end", 1), INTERRUPTED],
            id="an open compaction is left alone",
        ),
    ],
)  # fmt: skip
def test_everything_that_is_open_is_closed(log: list[Entry], expected: list[Told]) -> None:
    assert told(closers(log)) == expected
    assert tail_of(log).is_open


@pytest.mark.parametrize(
    "log",
    [
        pytest.param([], id="nothing"),
        pytest.param([prompt(0, "hello")], id="no turn"),
        pytest.param([turn(0), step(1), asks(2, "a"), ends(3)], id="a turn that ended"),
        pytest.param([asks(0, "a"), starts(1, "a")], id="calls outside of a turn"),
        pytest.param([step(0)], id="a step outside of a turn"),
        pytest.param([event(0, "compaction/start", {"turn": 1})], id="a standalone bracket"),
        pytest.param(
            [turn(0), ends(1), event(2, "compaction/start", {"turn": 1})],
            id="a bracket behind a turn",
        ),
        pytest.param([event(0, "turn/start", {"no": "turn"})], id="a turn without a number"),
    ],
)
def test_a_closed_log_gets_nothing(log: list[Entry]) -> None:
    assert closers(log) == []
    assert not tail_of(log).is_open


def test_an_unknown_outcome_cites_the_call_and_one_that_never_started_cites_nothing() -> None:
    log = [turn(0), step(1), asks(2, "a", "b"), starts(3, "b")]
    never_started, unknown = closers(log)[:2]
    assert never_started.source_event_seqs is None
    assert unknown.source_event_seqs == (3,)


def test_closing_events_take_the_time_of_the_last_event() -> None:
    log: list[Entry] = [turn(0), delta_run(1, ["a", "b", "c"], time=500, gaps=[7, -20])]
    assert {each.time for each in closers(log)} == {487}
    assert {each.time for each in closers([*log, event(4, "x/y", time=3)])} == {3}


def test_results_are_worded_for_the_model_and_marked_as_errors() -> None:
    for version in VERSIONS:
        for each in closers([turn(0), step(1), asks(2, "a", "b"), starts(3, "a")], version)[:2]:
            assert shape_of(each.type, each.data) is Shape.TOOL_RESULT
            assert result_is_error(each.data)
            assert result_error(each.data)[0] == "ToolError"
            (block,) = content_of(each.type, each.data)
            assert "interrupted" in block["text"]
            assert (each.data["turn"], each.data["step"]) == (1, 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_results_are_spelled_as_the_version_does(version: int) -> None:
    (result, *_) = closers([turn(0), step(1), asks(2, "a")], version)
    sent = result.data["message"]
    assert sent["source"] == {"kind": "tool", "callId": "a"}
    if version >= 4:
        assert (sent["role"], sent["toolCallId"], sent["isError"]) == ("tool", "a", True)
        assert [block["type"] for block in sent["content"]] == ["text"]
    else:
        (wrapper,) = sent["content"]
        assert (sent["role"], wrapper["type"], wrapper["toolCallId"]) == (
            "user", "tool-result", "a",
        )  # fmt: skip
        assert wrapper["isError"] is True
        assert {"toolCallId", "isError"}.isdisjoint(sent)


def test_ids_of_results_are_of_the_session_and_the_seq() -> None:
    log = [turn(0), step(1), asks(2, "a", "b")]
    ids = {
        each.data["message"]["id"]
        for session_id in ("one", "two")
        for each in closers(log, 4, session_id)[:2]
    }
    assert len(ids) == 4


def test_an_answer_that_was_pruned_later_is_still_an_answer() -> None:
    log = [turn(0), step(1), asks(2, "a"), starts(3, "a"), answers(4, "a")]
    pruned = message(
        5,
        "tool/result",
        {"turn": 1, "message": {"source": {"kind": "tool", "callId": "a"}, "content": []}},
        replaces=(4, 4),
        sources=[4],
    )
    assert told(closers([*log, pruned])) == [("step/end", 1), INTERRUPTED]


@pytest.mark.parametrize(
    "content",
    ["text", None, 5, ["a bare string"], [None], [[{"type": "tool-call", "id": "a"}]],
     [{"type": "tool-call"}], [{"type": "tool-call", "id": 7}], {"type": "tool-call", "id": "a"}],
)  # fmt: skip
def test_a_message_that_is_not_one_asks_for_nothing(content: Any) -> None:
    odd = message(2, "assistant/message", {"message": {"content": content}})
    assert told(closers([turn(0), step(1), odd])) == [("step/end", 1), INTERRUPTED]


@pytest.mark.parametrize(
    "event_type",
    [
        "turn/start",
        "turn/end",
        "step/start",
        "step/end",
        "tool/call",
        "tool/result",
        "assistant/message",
    ],
)
def test_payloads_without_their_fields_are_no_reason_to_fail(event_type: str) -> None:
    op = APPEND if "message" in event_type or event_type == "tool/result" else None
    odd = event(2, event_type, {"turn": "one", "step": [], "callId": {}}, op=op)
    log = [turn(0), step(1), odd]
    assert tail_of([*log, *closers(log)]).is_open is False


# For any log


def is_prefix_closed(log: list[Entry]) -> bool:
    """Whether no turn is open, told without the code under test."""
    started = [
        event.type == "turn/start"
        for event in log
        if isinstance(event, SessionEvent)
        and (
            event.type == "turn/end"
            or (event.type == "turn/start" and type(event.data.get("turn")) is int)
        )
    ]
    return not started or not started[-1]


@st.composite
def conversations(draw: st.DrawFn) -> list[Entry]:
    """Turns, steps, calls and answers in any order, sensible or not, with runs between them."""
    log: list[Entry] = []
    ids = st.sampled_from(("a", "b", "c", "\ud800", ""))
    for _ in range(draw(st.integers(0, 14))):
        seq = log[-1].last_seq + 1 if log else 0
        steps = (
            turn(seq, draw(st.integers(1, 3))),
            step(seq, draw(st.integers(1, 3))),
            asks(seq, *draw(st.lists(ids, max_size=3))),
            starts(seq, draw(ids)),
            answers(seq, draw(ids)),
            ends(seq, "step/end"),
            ends(seq),
            delta_run(seq, ["x"] * draw(st.integers(1, 3))),
            prompt(seq, "hello"),
        )
        log.append(draw(st.sampled_from(steps)))
    return log


any_log = conversations() | logs()


@given(any_log, st.sampled_from(VERSIONS))
def test_closing_is_the_same_each_time_and_leaves_nothing_to_close(
    log: list[Entry], version: int
) -> None:
    added = closers(log, version)
    assert told(closers(log, version)) == told(added)
    assert [each.payload for each in closers(log, version)] == [each.payload for each in added]
    assert bool(added) is not is_prefix_closed(log)
    assert closers([*log, *added], version) == []


@given(any_log, st.sampled_from(VERSIONS))
def test_closing_events_follow_the_rules_of_the_surface(log: list[Entry], version: int) -> None:
    added = closers(log, version)
    surface = Surface(payload_lookup([*log, *added]))
    for entry in [*log, *added]:
        surface.advance(entry)
    assert [each.type for each in added][-1:] in ([], ["turn/end"])


@given(conversations())
def test_every_call_of_the_open_turn_is_answered_exactly_once(log: list[Entry]) -> None:
    """Told by a plain walk back from the end to where the last turn began."""
    if is_prefix_closed(log):
        return
    began = max(n for n, each in enumerate(log) if each.type == "turn/start")
    open_calls: list[str] = []
    for each in log[began:]:
        if not isinstance(each, SessionEvent):
            continue
        if each.type == "assistant/message":
            asked = [block["id"] for block in each.data["message"]["content"]]
            open_calls = list(dict.fromkeys([*open_calls, *asked]))
        elif each.type == "tool/call" and each.data["callId"] not in open_calls:
            open_calls.append(each.data["callId"])
        elif each.type == "tool/result":
            answered = each.data["message"]["source"]["callId"]
            open_calls = [call_id for call_id in open_calls if call_id != answered]
    found = [call_id_of(each.data) for each in closers(log) if each.type == "tool/result"]
    assert sorted(map(repr, found)) == sorted(map(repr, open_calls))


@given(any_log, st.integers(0, 14))
def test_a_tail_kept_up_to_date_is_the_tail_of_the_whole(log: list[Entry], cut: int) -> None:
    state = tail_of(log[:cut])
    for entry in log[cut:]:
        state.advance(entry)
    assert state == tail_of(log)


# Sessions that crashed


def recorded(name: str) -> list[Entry]:
    root = oracle_root()
    assert root is not None
    (path,) = Path(root / "v0/none").rglob(f"{name}/session.jsonl")
    return read_session(path)[1]


@needs_oracle
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("s19-crash-call", [("crash_1", OUTCOME_UNKNOWN), ("step/end", 1), INTERRUPTED]),
        (
            "s20-crash-nocall",
            [("crash_a", OUTCOME_UNKNOWN), ("crash_b", NOT_STARTED), ("step/end", 1), INTERRUPTED],
        ),
        ("s21-crash-stream", [("step/end", 1), INTERRUPTED]),
    ],
)
def test_the_crashed_sessions_of_the_oracle_are_closed(name: str, expected: list[Told]) -> None:
    log = recorded(name)
    assert told(closers(log, 0, name)) == expected


@needs_oracle
def test_the_call_whose_outcome_is_unknown_is_cited() -> None:
    (result, *_) = closers(recorded("s19-crash-call"), 0)
    assert (result.seq, result.source_event_seqs) == (12, (11,))


@needs_oracle
@pytest.mark.parametrize("name", ["s01-basic", "s05-compact", "s22-ends", "s24-plan"])
def test_sessions_of_the_oracle_that_ended_well_need_nothing(name: str) -> None:
    assert closers(recorded(name), 0) == []
