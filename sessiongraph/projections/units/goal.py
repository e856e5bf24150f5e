"""``goal``: what the session is working towards, as the latest well-formed change carries it.

A change carries the whole goal, so that one that is missed or malformed heals with the next.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, NotRequired, TypedDict

from msgspec import Meta

from sessiongraph.event import SessionEvent
from sessiongraph.projections.schemas import Schema
from sessiongraph.projections.unit import Projection

CHANGE_VERSION: Final = 1
"""The only version of ``goal/change`` there is; another means something else."""

_Text = Annotated[str, Meta(min_length=1)]
_Positive = Annotated[int, Meta(ge=1)]
_Count = Annotated[int, Meta(ge=0)]


class GoalSnapshot(TypedDict):
    """The goal itself; members that we do not know stay in it.

    phase: active, paused, blocked, complete.
    """

    id: _Text
    revision: _Positive
    objective: _Text
    phase: _Text
    maxGoalRounds: NotRequired[_Positive | None]


class CurrentGoal(TypedDict):
    """A goal and how far it has come; times in ms since the epoch."""

    goal: GoalSnapshot
    roundsStarted: _Count
    createdAt: _Count
    updatedAt: _Count


Goal = CurrentGoal | None
"""None before the first change, and after one that cleared."""

_IS_GOAL: Final = Schema(CurrentGoal)
_MEMBERS: Final = tuple(CurrentGoal.__annotations__)


def _apply(goal: Goal, event: SessionEvent) -> Goal:
    data = event.data
    if not _is_change(data):
        return goal
    if data["operation"] == "clear":
        return None
    latest: Any = {member: data.get(member) for member in _MEMBERS}
    return latest if _IS_GOAL.accepts(latest) else goal


def _is_change(data: Any) -> bool:
    return (
        isinstance(data, dict)
        and data.get("kind", "goal/change") == "goal/change"
        and data.get("version", CHANGE_VERSION) == CHANGE_VERSION
        and isinstance(data.get("operation"), str)
    )


GOAL: Final = Projection[Goal](
    key="goal",
    state_version=1,
    init=lambda: None,
    apply=_apply,
    view=lambda goal: goal,
    state_schema=Goal,
    view_schema=Goal,
    event_types=("goal/change",),
)
