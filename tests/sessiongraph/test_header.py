"""When two headers under one id are the same log and when they are a conflict."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from msgspec.structs import replace

from sessiongraph.header import SessionHeader, SessionSource, SourceKind
from tests.strategies import header, headers

IDENTITY: dict[str, tuple[str, Any]] = {
    "version": ("version", 3),
    "created_at": ("createdAt", 7),
    "cwd": ("cwd", "/elsewhere"),
    "parent_session": ("parentSession", "parent"),
    "seed_length": ("seedLength", 0),
    "delegation_depth": ("delegationDepth", 1),
}
OTHERS: dict[str, Any] = {
    "origin": "subagent",
    "agent_preset": "standard",
    "source": SessionSource(SourceKind.DSH, "/log", 5, ("noted",)),
    "extra": {"draft": True},
}


@given(one=headers())
def test_a_header_does_not_conflict_with_itself(one: SessionHeader) -> None:
    assert one.conflicts_with(replace(one)) == ()


@pytest.mark.parametrize("field", IDENTITY)
def test_a_field_of_the_identity_that_differs_is_named(field: str) -> None:
    name, value = IDENTITY[field]
    other = replace(header("a"), **{field: value})
    assert header("a").conflicts_with(other) == (name,)
    assert other.conflicts_with(header("a")) == (name,)


def test_all_fields_that_differ_are_named() -> None:
    other = replace(header("a"), **{field: value for field, (_, value) in IDENTITY.items()})
    assert header("a").conflicts_with(other) == tuple(name for name, _ in IDENTITY.values())


@pytest.mark.parametrize("field", OTHERS)
def test_what_is_not_identity_does_not_conflict(field: str) -> None:
    assert header("a").conflicts_with(replace(header("a"), **{field: OTHERS[field]})) == ()
