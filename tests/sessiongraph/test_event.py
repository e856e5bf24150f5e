"""Events and the runs that stand for many of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.event import (
    LOG_ONLY,
    DeltaKind,
    DeltaRun,
    EventSurface,
    PlacedEvent,
    Placement,
    SessionEvent,
    SurfaceOp,
    events_of,
)
from tests.strategies import delta_run, delta_runs, event, message


def expanded(run: DeltaRun) -> list[tuple[int, str, int, Any]]:
    """The members of a packed row, as dsh-formats.md tells it."""
    members = []
    time = run.time
    for k, text in enumerate(run.texts):
        if k > 0:
            time += run.gaps[k - 1]
        chunk: dict[str, Any] = {"index": run.index}
        if run.kind is DeltaKind.TEXT:
            chunk |= {"type": "text-delta", "text": text}
        elif run.kind is DeltaKind.REASONING:
            chunk |= {"type": "reasoning-delta", "text": text}
        else:
            chunk |= {"type": "tool-call-delta", "id": run.call_id, "argumentsDelta": text}
            if run.name is not None:
                chunk["name"] = run.name
        data = {"turn": run.turn, "step": run.step, "chunk": chunk}
        members.append((run.seq + k, "assistant/chunk", time, data))
    return members


def told(member: SessionEvent) -> tuple[int, str, int, Any]:
    assert member.surface_op is None
    assert member.source_event_seqs is None
    assert not member.ignorable
    return (member.seq, member.type, member.time, json.loads(member.payload))


@given(run=delta_runs(3))
def test_a_run_is_exactly_its_members(run: DeltaRun) -> None:
    assert [told(member) for member in run.members()] == expanded(run)
    assert run.last_seq == expanded(run)[-1][0]


@given(run=delta_runs(3), first=st.integers(0, 9), last=st.integers(0, 9))
def test_a_range_of_a_run_is_its_members_inside_the_range(
    run: DeltaRun, first: int, last: int
) -> None:
    inside = [member for member in expanded(run) if first <= member[0] <= last]
    assert [told(member) for member in run.members(first, last)] == inside


@given(run=delta_runs(0))
def test_the_times_of_a_run_are_those_of_its_members(run: DeltaRun) -> None:
    assert list(run.times()) == [member[2] for member in expanded(run)]


def test_events_of_an_entry_are_itself_or_its_members() -> None:
    single, run = event(0, "turn/start"), delta_run(1, ["a", "b"])
    assert list(events_of(single)) == [single]
    assert [each.seq for each in events_of(run)] == [1, 2]


@pytest.mark.parametrize(
    ("placement", "surface"),
    [
        (LOG_ONLY, EventSurface.LOG_ONLY),
        (Placement(position=0), EventSurface.CURRENT),
        (Placement(position=0, replaced_by=9), EventSurface.SHADOWED),
    ],
)
def test_a_placement_names_its_surface(placement: Placement, surface: EventSurface) -> None:
    assert placement.surface is surface
    assert PlacedEvent("a", event(0), placement).surface is surface


def test_events_that_say_the_same_in_other_words_are_the_same() -> None:
    one = SessionEvent(0, "a/b", 1, b'{"a":1,"b":[2]}')
    two = SessionEvent(0, "a/b", 1, b'{ "b": [2], "a": 1 }')
    assert one.same_as(two)


@pytest.mark.parametrize(
    "other",
    [
        event(1, "a/b", {"a": 1}),
        event(0, "a/c", {"a": 1}),
        event(0, "a/b", {"a": 2}),
        event(0, "a/b", {"a": True}),
        event(0, "a/b", {"a": 1}, time=5),
        event(0, "a/b", {"a": 1}, ignorable=True),
        event(0, "a/b", {"a": 1}, op=SurfaceOp()),
        event(0, "a/b", {"a": 1}, sources=()),
    ],
)
def test_events_that_differ_anywhere_are_not_the_same(other: SessionEvent) -> None:
    assert not event(0, "a/b", {"a": 1}).same_as(other)


def test_only_the_five_message_types_are_messages() -> None:
    assert message(0, "developer/message").is_message
    assert not event(0, "assistant/chunk").is_message
    assert not event(0, "user/messages").is_message
