"""Each of the three is the latest that was set."""

from __future__ import annotations

from sessiongraph.projections.units.permissions import PERMISSIONS
from tests.sessiongraph.projections.units.folding import logged, seqs_of_changes, value_after


def test_what_was_never_set_is_null() -> None:
    shown = value_after(PERMISSIONS, ("sandbox/mode", {"mode": "read-only"}))
    assert shown == {"preset": None, "sandboxMode": "read-only", "approvalPolicy": None}


def test_the_latest_of_each_stands() -> None:
    shown = value_after(
        PERMISSIONS,
        ("permission/preset", {"preset": "read-only"}),
        ("sandbox/mode", {"mode": "read-only"}),
        ("approval/policy", {"policy": "ask", "source": "delegation"}),
        ("permission/preset", {"preset": "workspace-write"}),
        ("sandbox/mode", {"mode": None}),
        ("approval/policy", {}),
    )
    assert shown == {
        "preset": "workspace-write",
        "sandboxMode": "read-only",
        "approvalPolicy": "ask",
    }


def test_setting_the_same_again_is_no_change() -> None:
    same = ("approval/policy", {"policy": "ask"})
    assert seqs_of_changes(PERMISSIONS, [*logged(same, same)]) == [0]
