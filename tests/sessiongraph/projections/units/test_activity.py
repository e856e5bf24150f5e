"""Messages of people count, injected ones do not."""

from __future__ import annotations

from sessiongraph.projections.units.activity import ACTIVITY
from tests.sessiongraph.projections.units.folding import value_after
from tests.strategies import user_message


def test_a_new_session_is_blank() -> None:
    assert value_after(ACTIVITY) == {"lastPromptAt": None, "prompts": 0, "blank": True}


def test_it_is_blank_until_a_turn_starts() -> None:
    shown = value_after(ACTIVITY, ("user/message", user_message("hello"), 7))
    assert shown == {"lastPromptAt": 7, "prompts": 1, "blank": True}
    shown = value_after(ACTIVITY, ("turn/start", {"turn": 1}), ("turn/start", {"turn": 2}))
    assert shown["blank"] is False


def test_people_are_counted_and_producers_are_not() -> None:
    shown = value_after(
        ACTIVITY,
        ("user/message", user_message("one"), 30),
        ("user/message", user_message("note", "plugin"), 40),
        ("user/message", user_message("two"), 20),
        ("user/message", {"content": "not a message"}, 50),
    )
    assert shown == {"lastPromptAt": 20, "prompts": 2, "blank": True}
