"""``activity``: how often and when a person last wrote, and whether anything happened at all."""

from __future__ import annotations

from typing import Final, TypedDict

from sessiongraph.event import SessionEvent
from sessiongraph.payloads import Shape, is_human_prompt, shape_of
from sessiongraph.projections.unit import Projection


class Activity(TypedDict):
    """prompts: messages by a person, lastPromptAt the latest's time. blank: no turn has started."""

    lastPromptAt: int | None
    prompts: int
    blank: bool


def _apply(state: Activity, event: SessionEvent) -> Activity:
    if event.type == "turn/start":
        return {**state, "blank": False} if state["blank"] else state
    if shape_of(event.type, event.data) is Shape.USER_MESSAGE and is_human_prompt(event.data):
        return {**state, "lastPromptAt": event.time, "prompts": state["prompts"] + 1}
    return state


ACTIVITY: Final = Projection[Activity](
    key="activity",
    state_version=1,
    init=lambda: {"lastPromptAt": None, "prompts": 0, "blank": True},
    apply=_apply,
    view=lambda state: state,
    state_schema=Activity,
    view_schema=Activity,
    event_types=("user/message", "turn/start"),
)
