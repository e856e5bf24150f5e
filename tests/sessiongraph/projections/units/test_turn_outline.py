"""A line for each turn: what was asked first, and what was said last."""

from __future__ import annotations

from typing import Any

from sessiongraph.projections.units.turn_outline import TURN_OUTLINE
from tests.sessiongraph.projections.units.folding import Event, value_after
from tests.strategies import user_message


def starts(turn: int) -> Event:
    return "turn/start", {"turn": turn}


def ends(turn: int) -> Event:
    return "turn/end", {"turn": turn, "reason": {"kind": "completed"}}


def asks(text: str, kind: str = "user") -> Event:
    return "user/message", user_message(text, kind)


def replies(*texts: str) -> Event:
    content = [{"type": "text", "text": text} for text in texts]
    return "assistant/message", {"message": {"content": content}}


def line(turn: int, seq: int, prompt: str | None, response: str | None) -> dict[str, Any]:
    return {"turn": turn, "seq": seq, "prompt": prompt, "response": response}


def test_without_turns_there_are_no_lines() -> None:
    assert value_after(TURN_OUTLINE) == []


def test_a_line_leads_to_the_persons_message_and_tells_the_last_reply() -> None:
    shown = value_after(
        TURN_OUTLINE,
        starts(1),
        asks("why?\nreally"),
        replies("wait"),
        replies("so\nit is"),
        ends(1),
    )
    assert shown == [line(1, 1, "why?", "so")]


def test_a_turn_without_a_person_leads_to_its_start() -> None:
    shown = value_after(TURN_OUTLINE, starts(1), asks("noted", "plugin"), replies("done"))
    assert shown == [line(1, 0, None, "done")]


def test_the_first_message_of_a_turn_stays() -> None:
    shown = value_after(TURN_OUTLINE, starts(1), asks("first"), asks("second"))
    assert shown == [line(1, 1, "first", None)]


def test_a_message_between_two_turns_belongs_to_the_next() -> None:
    shown = value_after(
        TURN_OUTLINE, asks("one"), starts(1), ends(1), asks("two"), asks("three"), starts(2)
    )
    assert shown == [line(1, 0, "one", None), line(2, 3, "two", None)]


def test_a_reply_outside_a_turn_belongs_to_none() -> None:
    shown = value_after(TURN_OUTLINE, starts(1), ends(1), replies("late"))
    assert shown == [line(1, 0, None, None)]


def test_replies_without_words_leave_the_last_one_with_words() -> None:
    shown = value_after(TURN_OUTLINE, starts(1), replies("words"), replies(), replies("  \n "))
    assert shown == [line(1, 0, None, "words")]


def test_a_message_without_words_still_leads_there() -> None:
    image = ("user/message", {**user_message(""), "content": [{"type": "image"}]})
    assert value_after(TURN_OUTLINE, starts(1), image) == [line(1, 1, None, None)]


def test_lines_are_cut_at_200_code_points() -> None:
    shown = value_after(TURN_OUTLINE, starts(1), asks("🚀" * 300), replies("é" * 300))
    assert shown == [line(1, 1, "🚀" * 200, "é" * 200)]


def test_the_first_line_with_words_is_taken() -> None:
    shown = value_after(TURN_OUTLINE, starts(1), asks("\n \n  hello  \nthere"), replies("", "yes"))
    assert shown == [line(1, 1, "hello", "yes")]


def test_the_latest_500_turns_are_kept() -> None:
    shown = value_after(TURN_OUTLINE, *(starts(turn) for turn in range(1, 511)))
    assert (len(shown), shown[0]["turn"], shown[-1]["turn"]) == (500, 11, 510)


def test_malformed_events_change_nothing() -> None:
    shown = value_after(
        TURN_OUTLINE,
        ("turn/start", {"turn": "1"}),
        starts(1),
        ("user/message", {"content": 5}),
        ("assistant/message", {}),
    )
    assert shown == [line(1, 1, None, None)]
