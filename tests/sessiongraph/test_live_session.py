"""One live session by itself: all or nothing, taking back, and what stays in memory."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.errors import InvalidEvent
from sessiongraph.event import Entry, Seq, SessionEvent, SurfaceOp
from sessiongraph.live_session import LiveSession
from sessiongraph.new_event import NewEvent
from sessiongraph.repair import TailState
from sessiongraph.surface import Surface, SurfaceRuleBroken
from tests.plain_store import plain_fold
from tests.providers.sqlite.imports import single_events
from tests.sessiongraph.live_engine import again, said
from tests.strategies import broken_events, event, header, logs, message, payload_lookup


def told(surface: Surface) -> Any:
    """Everything that a surface shows of itself."""
    return (surface.nodes(), surface.current(), surface.next_seq, len(surface))


def live(session_id: str = "a") -> LiveSession:
    return LiveSession(header(session_id), None)


def told_live(session: LiveSession) -> Any:
    """Everything that decides what comes next, or that somebody sees."""
    capture = session.capture()
    return (
        session.committed_seq,
        session.visible_seq,
        session.planned_seq,
        session.unwritten_octets,
        session.title,
        session.prompted_at,
        deepcopy(session.tail),
        told(session._surface),
        [placed.entry.seq for placed in capture.entries],
    )


def replaced_data(log: Sequence[SessionEvent]) -> dict[Seq, Any]:
    """Payloads of all tool results of a log."""
    return {each.seq: each.data for each in log if each.type == "tool/result"}


def plan(session: LiveSession, events: Sequence[SessionEvent], log: Sequence[SessionEvent]) -> Any:
    return session.plan([again(each) for each in events], 0, replaced_data(log))


# The surface


@given(log=logs(), data=st.data())
def test_taking_back_any_suffix_equals_never_having_applied_it(
    log: list[Entry], data: st.DataObject
) -> None:
    kept = data.draw(st.integers(0, len(log)))
    surface, untouched = (Surface(payload_lookup(log)) for _ in range(2))
    for entry in log[:kept]:
        surface.advance(entry)
        untouched.advance(entry)
    undos = [surface.apply(surface.plan(entry)) for entry in log[kept:]]
    for undo in reversed(undos):
        surface.revert(undo)
    assert told(surface) == told(untouched)
    assert surface._moved == untouched._moved
    for entry in log[kept:]:
        assert surface.advance(entry) == untouched.advance(entry)
    assert told(surface) == told(untouched)


@given(broken=broken_events())
def test_what_was_taken_back_lets_the_same_rules_hold(broken: Any) -> None:
    surface = Surface(payload_lookup(broken.log))
    for _ in range(2):
        undos = [surface.apply(surface.plan(entry)) for entry in broken.log]
        with pytest.raises(SurfaceRuleBroken) as caught:
            surface.plan(broken.entry)
        assert caught.value.rule == broken.rule
        for undo in reversed(undos):
            surface.revert(undo)
    assert told(surface) == told(Surface(payload_lookup([])))


# Batches


@given(log=logs(max_size=12).map(single_events), data=st.data())
def test_withdrawing_leaves_what_was_acknowledged_and_what_it_stands_on(
    log: list[SessionEvent], data: st.DataObject
) -> None:
    session, model = live(), live()
    steps = st.sampled_from(("durable", "accepted"))
    done, kept = 0, 0
    while done < len(log):
        size = data.draw(st.integers(1, len(log) - done))
        batch = plan(session, log[done : done + size], log)
        done += size
        if data.draw(steps) == "accepted":
            session.acknowledge(batch)
            kept = done
    session.withdraw()
    if kept:
        model.acknowledge(plan(model, log[:kept], log))
    assert told_live(session) == told_live(model)
    assert [each.entry.seq for each in session.capture().entries] == list(range(kept))
    again_planned = plan(session, log[kept:], log) if kept < len(log) else None
    if again_planned is not None:
        assert [each.entry.seq for each in again_planned.entries] == list(range(kept, len(log)))


@given(log=logs(min_size=1, max_size=12).map(single_events), data=st.data())
def test_settled_batches_leave_nothing_of_their_events_in_memory(
    log: list[SessionEvent], data: st.DataObject
) -> None:
    session = live()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(log)), min_size=1)) | {len(log)})
    before = 0
    for cut in cuts:
        batch = plan(session, log[before:cut], log)
        if data.draw(st.booleans()):
            session.acknowledge(batch)
        before = cut
    count = data.draw(st.integers(0, len(cuts)))
    session.epoch = 1
    session.settle(count)
    settled = cuts[count - 1] if count else 0
    assert session.committed_seq == settled - 1
    assert all(each.entry.seq >= settled for each in session.capture().entries)
    session.settle(len(cuts) - count)
    assert session.is_written
    assert not session.is_ahead
    assert (session.batches, session._shown, session._replaced_data) == ([], [], {})
    assert session.unwritten_octets == 0
    assert session._surface.current() == plain_fold(log).order


@given(log=logs(max_size=10).map(single_events), broken=broken_events(), data=st.data())
def test_a_batch_with_a_rule_violation_anywhere_changes_nothing(
    log: list[SessionEvent], broken: Any, data: st.DataObject
) -> None:
    good = single_events(broken.log)
    session = live()
    start = data.draw(st.integers(0, len(good)))
    if start:
        session.acknowledge(plan(session, good[:start], good))
    before = told_live(session)
    bad = [each for each in single_events([broken.entry]) if broken.rule != 1]
    if not bad:
        return
    with pytest.raises(InvalidEvent, match=rf"\(rule {broken.rule}\)"):
        plan(session, [*good[start:], *bad[:1], *log], good)
    assert told_live(session) == before


def test_an_event_that_cannot_be_judged_leaves_the_log_as_it_was() -> None:
    session = live()
    result = {"callId": "c", "content": []}
    session.acknowledge(plan(session, [message(0, "tool/result", result)], []))
    before = told_live(session)
    pruned = message(2, "tool/result", result, replaces=(0, 0), sources=[0])
    with pytest.raises(InvalidEvent):
        session.plan([said("first"), again(pruned)], 0, {})
    assert told_live(session) == before
    assert session.batches[-1].last_seq == 0


def test_a_batch_can_replace_what_it_brought_itself() -> None:
    result = {"callId": "c", "content": [{"type": "text", "text": "long"}]}
    short = {"callId": "c", "content": []}
    session = live()
    batch = [
        NewEvent.of("tool/result", result),
        NewEvent.of("tool/result", short, surface_op=SurfaceOp(0, 0), source_event_seqs=(0,)),
    ]
    session.plan(batch, 0, {})
    assert session._surface.current() == [1]


# What is open at the tail


@given(data=st.data())
def test_the_tail_is_taken_back_with_its_batch(data: st.DataObject) -> None:
    steps = [
        NewEvent.of("turn/start", {"turn": 1}),
        NewEvent.of("step/start", {"turn": 1, "step": 1}),
        NewEvent.of(
            "tool/call", {"turn": 1, "step": 1, "callId": "c", "name": "n", "arguments": ""}
        ),
        NewEvent.of("tool/result", {"callId": "c", "content": []}),
        NewEvent.of("step/end", {"turn": 1, "step": 1}),
        NewEvent.of("turn/end", {"turn": 1, "reason": {"kind": "completed"}}),
    ]
    kept = data.draw(st.integers(0, len(steps)))
    session, model = live(), TailState()
    for index, step in enumerate(steps):
        batch = session.plan([step], 7, {})
        if index < kept:
            session.acknowledge(batch)
            model.advance(step.at(index, 7))
    session.withdraw()
    assert session.tail == model


def test_a_title_that_is_not_acknowledged_is_not_shown() -> None:
    session = live()
    session.acknowledge(plan(session, [event(0, "session/title", {"title": "old"})], []))
    plan(session, [event(1, "session/title", {"title": "new"})], [])
    assert session.title == "old"
    assert session.capture().title == "old"
    session.withdraw()
    assert (session.title, session.planned_seq) == ("old", 0)
