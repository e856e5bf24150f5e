"""The latest descriptor says who the session is, or that nobody can tell."""

from __future__ import annotations

from typing import Any

import pytest

from sessiongraph.projections.units.subagent import SUBAGENT
from tests.sessiongraph.projections.units.folding import value_after

GOOD = {"version": 2, "mode": "one-shot", "provider": "spawn", "label": "research"}


def descriptor(**members: Any) -> tuple[str, dict[str, Any]]:
    return "subagent/descriptor", {**GOOD, **members}


def test_a_session_without_a_descriptor_is_no_subagent() -> None:
    assert value_after(SUBAGENT) is None


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("mode", ["one-shot", "continuable"])
def test_a_descriptor_names_mode_label_and_itself(version: int, mode: str) -> None:
    shown = value_after(SUBAGENT, ("x/y", {}), descriptor(version=version, mode=mode))
    assert shown == {"mode": mode, "label": "research", "seq": 1}


def test_a_label_is_optional() -> None:
    bare = {key: value for key, value in GOOD.items() if key != "label"}
    assert value_after(SUBAGENT, ("subagent/descriptor", bare)) == {"mode": "one-shot", "seq": 0}


def test_the_latest_descriptor_is_the_sessions_own() -> None:
    assert value_after(SUBAGENT, descriptor(), descriptor(label="own"))["label"] == "own"


@pytest.mark.parametrize(
    "members",
    [
        {"version": 1},
        {"version": True},
        {"version": "2"},
        {"mode": "other"},
        {"mode": None},
        {"label": 5},
        {"label": None},
    ],
    ids=str,
)
def test_a_malformed_descriptor_takes_the_identity_away(members: dict[str, Any]) -> None:
    assert value_after(SUBAGENT, descriptor(), descriptor(**members)) is None
