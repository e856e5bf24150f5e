"""The goal is what the latest well-formed change carries."""

from __future__ import annotations

from typing import Any

import pytest

from sessiongraph.projections.units.goal import GOAL
from tests.sessiongraph.projections.units.folding import value_after

SNAPSHOT = {"id": "g", "revision": 1, "objective": "ship", "phase": "active", "maxGoalRounds": 8}
CURRENT = {"goal": SNAPSHOT, "roundsStarted": 0, "createdAt": 1, "updatedAt": 2}


def change(operation: str = "create", **members: Any) -> tuple[str, dict[str, Any]]:
    data = {"kind": "goal/change", "version": 1, "operation": operation, **CURRENT}
    return "goal/change", {**data, **members}


def test_before_the_first_change_there_is_no_goal() -> None:
    assert value_after(GOAL) is None


def test_the_latest_change_is_shown_as_it_carries_it() -> None:
    later = {**SNAPSHOT, "revision": 2, "phase": "complete", "note": "more"}
    shown = value_after(GOAL, change(), change("complete", goal=later, roundsStarted=3))
    assert shown == {**CURRENT, "goal": later, "roundsStarted": 3}


def test_a_clear_takes_the_goal_away() -> None:
    clear = {"kind": "goal/change", "version": 1, "operation": "clear", "clearedAt": 5}
    assert value_after(GOAL, change(), ("goal/change", clear)) is None


def test_a_goal_without_a_limit_of_rounds_is_a_goal() -> None:
    unbounded = {key: value for key, value in SNAPSHOT.items() if key != "maxGoalRounds"}
    assert value_after(GOAL, change(goal=unbounded))["goal"] == unbounded


@pytest.mark.parametrize(
    "members",
    [
        {"version": 2},
        {"kind": "else"},
        {"operation": None},
        {"goal": None},
        {"goal": {**SNAPSHOT, "revision": 0}},
        {"goal": {**SNAPSHOT, "objective": ""}},
        {"goal": {**SNAPSHOT, "phase": 5}},
        {"goal": {**SNAPSHOT, "maxGoalRounds": 0}},
        {"roundsStarted": -1},
        {"roundsStarted": "1"},
        {"createdAt": None},
        {"updatedAt": 1.5},
    ],
    ids=str,
)
def test_what_is_not_well_formed_changes_nothing(members: dict[str, Any]) -> None:
    assert value_after(GOAL, change(), change(**{"operation": "edit", **members})) == CURRENT
