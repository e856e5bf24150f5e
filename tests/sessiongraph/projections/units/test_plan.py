"""Plan mode is pending from the command that asks for it to the event that brings it."""

from __future__ import annotations

from typing import Any

import pytest

from sessiongraph.projections.units.plan import PLAN
from tests.sessiongraph.projections.units.folding import Event, value_after


def ran(command_id: str, args: Any = "", name: str = "plan") -> Event:
    return "command/run", {"commandId": command_id, "name": name, "args": args}


def done(command_id: str, kind: str = "success") -> Event:
    return "command/done", {"commandId": command_id, "kind": kind}


ON: Event = ("plan/mode", {"active": True})
OFF: Event = ("plan/mode", {"active": False})


@pytest.mark.parametrize(
    ("events", "active", "pending"),
    [
        ([], False, False),
        ([ON], True, False),
        ([ON, OFF], False, False),
        ([ran("1")], False, True),
        ([ran("1"), done("1")], False, True),
        ([ran("1"), done("1", "error")], False, False),
        ([ran("1"), done("1"), ON], True, False),
        ([ran("1"), ON, done("1")], True, False),
        ([ran("1", " a whole plan")], False, True),
        ([ran("1", " off ")], False, False),
        ([ON, ran("1", "off")], True, True),
        ([ON, ran("1", "off"), done("1")], True, True),
        ([ON, ran("1", "off"), done("1"), OFF], False, False),
        ([ran("1"), done("2")], False, True),
        ([ran("1"), done("1"), ran("2", "off")], False, False),
        ([ran("1"), done("1"), ran("2", "off"), done("2")], False, False),
        ([ran("1"), done("1"), ran("2", "off"), done("2", "error")], False, True),
        ([ran("1", name="permission")], False, False),
        ([("command/run", {"commandId": "1", "name": "plan"})], False, True),
        ([("command/run", {"name": "plan", "args": ""})], False, False),
        ([ran("1", 5)], False, False),
        ([ON, ("plan/mode", {"active": "no"})], True, False),
    ],
)
def test_the_plan_is_active_and_pending_as_the_events_say(
    events: list[Event], active: bool, pending: bool
) -> None:
    assert value_after(PLAN, *events) == {"active": active, "pending": pending}
