"""``turnOutline``: the turns of the session, a line each, for whoever wants to jump about in it.

A turn's line shows the first message of a person in it and its last reply with any words. What a
person writes between two turns belongs to the next one.
"""

from __future__ import annotations

from typing import Any, Final, TypedDict

from sessiongraph.event import SessionEvent
from sessiongraph.payloads import Shape, content_of, is_count, is_human_prompt, shape_of, text_of
from sessiongraph.projections.unit import Projection

MOST_TURNS: Final = 500
"""Turns that are kept, the latest."""

MOST_CHARACTERS: Final = 200
"""Code points of a prompt or a response."""


class TurnLine(TypedDict):
    """seq: of the person's message, of the turn's start while there is none.

    prompt, response: first lines, null where there are no words.
    """

    turn: int
    seq: int
    prompt: str | None
    response: str | None


class Prompt(TypedDict):
    """A person's message that waits for its turn."""

    seq: int
    prompt: str | None


class OutlineState(TypedDict):
    """isOpen: a turn is running. isAsked: its line has its message. waiting: for the next turn."""

    turns: list[TurnLine]
    isOpen: bool
    isAsked: bool
    waiting: Prompt | None


def _apply(state: OutlineState, event: SessionEvent) -> OutlineState:
    if event.type == "turn/start":
        return _start_turn(state, event)
    if event.type == "turn/end":
        return {**state, "isOpen": False} if state["isOpen"] else state
    if event.type == "assistant/message":
        return _reply(state, event)
    return _ask(state, event)


def _start_turn(state: OutlineState, event: SessionEvent) -> OutlineState:
    turn = event.data.get("turn") if isinstance(event.data, dict) else None
    if not isinstance(turn, int) or not is_count(turn):
        return state
    waiting = state["waiting"]
    line: TurnLine = {
        "turn": turn,
        "seq": event.seq if waiting is None else waiting["seq"],
        "prompt": None if waiting is None else waiting["prompt"],
        "response": None,
    }
    return {
        "turns": [*state["turns"], line][-MOST_TURNS:],
        "isOpen": True,
        "isAsked": waiting is not None,
        "waiting": None,
    }


def _ask(state: OutlineState, event: SessionEvent) -> OutlineState:
    data = event.data
    if shape_of(event.type, data) is not Shape.USER_MESSAGE or not is_human_prompt(data):
        return state
    if not state["isOpen"]:
        if state["waiting"] is not None:
            return state
        return {**state, "waiting": {"seq": event.seq, "prompt": _first_line(event.type, data)}}
    if state["isAsked"]:
        return state
    prompt = _first_line(event.type, data)
    line: TurnLine = {**state["turns"][-1], "seq": event.seq, "prompt": prompt}
    return {**state, "turns": [*state["turns"][:-1], line], "isAsked": True}


def _reply(state: OutlineState, event: SessionEvent) -> OutlineState:
    if not state["isOpen"] or shape_of(event.type, event.data) is not Shape.ASSISTANT_MESSAGE:
        return state
    response = _first_line(event.type, event.data)
    last = state["turns"][-1]
    if response is None or response == last["response"]:
        return state
    return {**state, "turns": [*state["turns"][:-1], {**last, "response": response}]}


def _first_line(event_type: str, data: dict[str, Any]) -> str | None:
    """The first line with words of a message, cut to length; None when it has none."""
    lines = text_of(content_of(event_type, data)).lstrip().split("\n", 1)
    line = lines[0].strip()[:MOST_CHARACTERS]
    return line or None


TURN_OUTLINE: Final = Projection[OutlineState](
    key="turnOutline",
    state_version=1,
    init=lambda: {"turns": [], "isOpen": False, "isAsked": False, "waiting": None},
    apply=_apply,
    view=lambda state: state["turns"],
    state_schema=OutlineState,
    view_schema=list[TurnLine],
    event_types=("turn/start", "turn/end", "user/message", "assistant/message"),
)
