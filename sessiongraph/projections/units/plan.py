"""``plan``: whether plan mode is on, and whether a person has asked for the other mode.

``/plan`` asks for plan mode, ``/plan off`` for the end of it; the mode itself changes when
``plan/mode`` lands. A command that failed has asked for nothing.
"""

from __future__ import annotations

from typing import Any, Final, TypedDict

from sessiongraph.event import SessionEvent
from sessiongraph.projections.unit import Projection


class RunningCommand(TypedDict):
    """A ``/plan`` command whose end is not logged yet.

    wanted: the mode that it asks for.
    """

    commandId: str
    wanted: bool


class PlanState(TypedDict):
    """wanted: the mode that a command has asked for since ``plan/mode`` last landed."""

    active: bool
    wanted: bool | None
    running: RunningCommand | None


class PlanView(TypedDict):
    """pending: the mode that was asked for last is not the one that is active."""

    active: bool
    pending: bool


def _apply(state: PlanState, event: SessionEvent) -> PlanState:
    data = event.data if isinstance(event.data, dict) else {}
    if event.type == "command/run":
        return _ran(state, data)
    if event.type == "command/done":
        return _done(state, data)
    active = data.get("active")
    if not isinstance(active, bool):
        return state
    return {"active": active, "wanted": None, "running": state["running"]}


def _ran(state: PlanState, data: dict[str, Any]) -> PlanState:
    command_id, args = data.get("commandId"), data.get("args", "")
    if data.get("name") != "plan" or not isinstance(command_id, str) or not isinstance(args, str):
        return state
    return {**state, "running": {"commandId": command_id, "wanted": args.strip() != "off"}}


def _done(state: PlanState, data: dict[str, Any]) -> PlanState:
    running = state["running"]
    if running is None or data.get("commandId") != running["commandId"]:
        return state
    if data.get("kind") != "success":
        return {**state, "running": None}
    return {**state, "wanted": running["wanted"], "running": None}


def _view(state: PlanState) -> PlanView:
    running = state["running"]
    wanted = state["wanted"] if running is None else running["wanted"]
    return {
        "active": state["active"],
        "pending": wanted is not None and wanted != state["active"],
    }


PLAN: Final = Projection[PlanState](
    key="plan",
    state_version=1,
    init=lambda: {"active": False, "wanted": None, "running": None},
    apply=_apply,
    view=_view,
    state_schema=PlanState,
    view_schema=PlanView,
    event_types=("plan/mode", "command/run", "command/done"),
)
