"""Turns and steps are counted, and their time is told apart: waiting, decoding, tools."""

from __future__ import annotations

from typing import Any

import pytest

from sessiongraph.projections.units.session_stats import SESSION_STATS
from tests.sessiongraph.projections.units.folding import Event, value_after
from tests.strategies import direct_result, wrapped_result


def at(time: int, event_type: str, *, turn: int = 1, step: int = 1, **data: Any) -> Event:
    return event_type, {"turn": turn, "step": step, **data}, time


def delta(time: int, text: str = "a", **place: int) -> Event:
    return at(time, "assistant/chunk", chunk={"type": "text-delta", "text": text}, **place)


def message(time: int, *, tokens: int | None = None, **data: Any) -> Event:
    usage = {} if tokens is None else {"usage": {"outputTokens": tokens}}
    return at(time, "assistant/message", message={"content": []}, **usage, **data)


def stats(*events: Event) -> dict[str, int]:
    """What is not zero."""
    shown = value_after(SESSION_STATS, *events)
    assert len(shown) == 8
    return {name: value for name, value in shown.items() if value}


def test_closed_steps_are_counted_and_the_turns_that_have_one() -> None:
    shown = stats(
        at(0, "turn/start"),
        at(1, "turn/end"),
        at(2, "step/end", turn=2),
        at(3, "step/end", turn=2, step=2),
        at(4, "step/end", turn=3),
    )
    assert shown == {"turns": 2, "steps": 3}


def test_model_time_runs_from_the_start_of_the_step_to_its_message() -> None:
    shown = stats(at(100, "step/start"), message(150), message(500), at(600, "step/end"))
    assert shown == {"turns": 1, "steps": 1, "llmMs": 50}


def test_a_step_whose_message_never_came_is_counted_and_not_timed() -> None:
    shown = stats(at(100, "step/start"), delta(110), at(200, "step/end"))
    assert shown == {"turns": 1, "steps": 1}


def test_time_to_the_first_token_and_decoding_are_told_apart() -> None:
    shown = stats(at(100, "step/start"), delta(105, ""), delta(120), delta(140), message(150))
    assert shown == {"llmMs": 50, "ttftMs": 20, "ttftSteps": 1}
    shown = stats(at(100, "step/start"), delta(120), message(150, tokens=9))
    assert shown == {
        "llmMs": 50,
        "ttftMs": 20,
        "ttftSteps": 1,
        "decodeMs": 30,
        "decodeTokens": 9,
    }


def test_output_of_a_step_without_a_first_token_is_not_decoded() -> None:
    assert stats(at(100, "step/start"), message(150, tokens=9)) == {"llmMs": 50}


def test_a_stream_inside_the_message_or_an_earlier_try_tells_the_first_token() -> None:
    stream = [{"type": "chunk", "time": 130, "chunk": {"type": "text-delta", "text": "a"}}]
    shown = stats(at(100, "step/start"), message(150, stream=stream))
    assert (shown["ttftMs"], shown["ttftSteps"]) == (30, 1)
    tried = at(120, "assistant/attempt", stream=[{**stream[0], "time": 110}])
    shown = stats(at(100, "step/start"), tried, message(150, stream=stream))
    assert (shown["ttftMs"], shown["ttftSteps"]) == (10, 1)


def test_deltas_and_messages_of_another_step_do_not_count() -> None:
    shown = stats(
        delta(90),
        at(100, "step/start"),
        delta(110, turn=2),
        delta(120, step=2),
        message(130, step=2),
    )
    assert shown == {}


@pytest.mark.parametrize("spell", [wrapped_result, direct_result])
def test_tool_time_runs_from_each_call_to_its_own_result(spell: Any) -> None:
    shown = stats(
        at(100, "tool/call", callId="a"),
        at(110, "tool/call", callId="b"),
        ("tool/result", spell("b", []), 130),
        ("tool/result", spell("a", []), 200),
        ("tool/result", spell("a", []), 900),
        ("tool/result", spell("c", []), 900),
    )
    assert shown == {"toolMs": 120}


def test_a_call_without_a_result_is_forgotten_with_its_turn() -> None:
    shown = stats(
        at(100, "tool/call", callId="a"),
        at(110, "turn/end"),
        ("tool/result", direct_result("a", []), 900),
    )
    assert shown == {}


def test_clocks_that_run_backwards_add_nothing() -> None:
    shown = stats(
        at(100, "step/start"),
        delta(90),
        message(80, tokens=3),
        at(50, "tool/call", callId="a"),
        ("tool/result", direct_result("a", []), 40),
    )
    assert shown == {"ttftSteps": 1, "decodeTokens": 3}


def test_malformed_events_change_nothing() -> None:
    shown = stats(
        ("step/start", {}, 1),
        ("step/end", {"turn": "1", "step": 1}, 2),
        ("tool/call", {"callId": 5}, 3),
        ("assistant/message", {}, 4),
        ("assistant/chunk", {"chunk": 5}, 5),
    )
    assert shown == {}
