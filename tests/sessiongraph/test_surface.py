"""The surface against the plain fold, rule by rule, and what a step costs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given

import sessiongraph.surface
from sessiongraph.event import (
    MESSAGE_TYPES,
    Entry,
    Placement,
    Seq,
    SessionEvent,
    SurfaceOp,
    events_of,
)
from sessiongraph.surface import Surface, SurfaceNode, SurfaceRuleBroken
from tests.plain_store import PlainFold, plain_fold
from tests.strategies import (
    BrokenEvent,
    bare_result,
    broken_events,
    delta_run,
    direct_result,
    event,
    logs,
    message,
    payload_lookup,
    placed,
    with_content,
    wrapped_result,
)

RULES = [1, 2, 3, 4, 5, 6]

NESTED_REPLACEMENTS: list[Entry] = [
    *(message(seq) for seq in range(4)),
    message(4, replaces=(0, 1), sources=[0, 1]),
    message(5, replaces=(4, 2), sources=[2, 4]),
    message(6, replaces=(5, 5), sources=[5]),
    message(7, replaces=(6, 3), sources=[3, 6]),
]


def surface_of(log: list[Entry]) -> Surface:
    surface = Surface(payload_lookup(log))
    for entry in log:
        surface.advance(entry)
    return surface


def fold_of(log: list[Entry]) -> PlainFold:
    return plain_fold(each for entry in log for each in events_of(entry))


def state_of(surface: Surface) -> tuple[list[SurfaceNode], Seq]:
    return surface.nodes(), surface.next_seq


# Agreement with the plain fold


@given(log=logs())
@example(log=NESTED_REPLACEMENTS)
def test_stepwise_surface_equals_the_plain_fold_after_every_step(log: list[Entry]) -> None:
    surface = Surface(payload_lookup(log))
    for length, entry in enumerate(log, start=1):
        surface.advance(entry)
        fold = fold_of(log[:length])
        types = {each.seq: each.type for each in log}
        assert surface.current() == fold.order
        assert surface.nodes() == [
            SurfaceNode(fold.positions[seq], seq, types[seq]) for seq in fold.order
        ]
        assert (len(surface), surface.next_seq) == (len(fold.order), entry.last_seq + 1)


@given(log=logs())
@example(log=NESTED_REPLACEMENTS)
def test_the_transitions_of_a_log_tell_every_placement_of_the_plain_fold(log: list[Entry]) -> None:
    placements: dict[Seq, Placement] = {}
    for step in placed(log):
        transition = step.transition
        placements[transition.seq] = transition.placement
        for seq in transition.removed:
            placements[seq] = Placement(placements[seq].position, transition.seq)
    fold = fold_of(log)
    assert placements == {entry.seq: fold.placement(entry.seq) for entry in log}


@given(log=logs())
@example(log=NESTED_REPLACEMENTS)
def test_a_transition_removes_the_nodes_of_the_plain_fold_in_model_order(log: list[Entry]) -> None:
    fold = fold_of(log)
    for step in placed(log):
        assert list(step.transition.removed) == fold.removed.get(step.entry.seq, [])
        assert step.transition.last_seq == step.entry.last_seq


@given(log=logs())
@example(log=NESTED_REPLACEMENTS)
def test_positions_of_current_nodes_strictly_increase(log: list[Entry]) -> None:
    surface = Surface(payload_lookup(log))
    for entry in log:
        surface.advance(entry)
        positions = [node.position for node in surface.nodes()]
        assert positions == sorted(set(positions))


@given(log=logs(min_size=1))
def test_a_surface_made_from_its_nodes_goes_on_like_the_first(log: list[Entry]) -> None:
    half = len(log) // 2
    before = surface_of(log[:half])
    again = Surface(payload_lookup(log), before.nodes(), before.next_seq)
    for entry in log[half:]:
        again.advance(entry)
    assert state_of(again) == state_of(surface_of(log))


@given(log=logs(min_size=1))
def test_planning_changes_nothing(log: list[Entry]) -> None:
    surface = surface_of(log[:-1])
    before = state_of(surface)
    surface.plan(log[-1])
    assert state_of(surface) == before


@given(log=logs(min_size=1))
@example(log=NESTED_REPLACEMENTS)
def test_steps_taken_back_lead_through_every_earlier_state_and_forth_again(
    log: list[Entry],
) -> None:
    surface = Surface(payload_lookup(log))
    states, undos = [state_of(surface)], []
    for entry in log:
        undos.append(surface.apply(surface.plan(entry)))
        states.append(state_of(surface))
    for undo, before in zip(reversed(undos), states[-2::-1], strict=True):
        surface.revert(undo)
        assert state_of(surface) == before
    for entry in log:
        surface.advance(entry)
    assert state_of(surface) == states[-1]


def test_a_run_is_one_step_over_all_its_seqs() -> None:
    surface = surface_of([message(0), delta_run(1, ["a", "b", "c"])])
    assert (surface.current(), surface.next_seq) == ([0], 4)


def test_start_may_be_greater_than_end_after_an_earlier_replacement() -> None:
    log: list[Entry] = [*(message(seq) for seq in range(3))]
    log += [message(3, replaces=(0, 0), sources=[0])]
    log += [message(4, replaces=(3, 1), sources=[3, 1])]
    assert surface_of(log).current() == [4, 2]


# The rules


@pytest.mark.parametrize("rule", RULES)
def test_what_breaks_a_rule_is_refused_with_its_number_and_changes_nothing(rule: int) -> None:
    @given(broken=broken_events(rule))
    def check(broken: BrokenEvent) -> None:
        surface = surface_of(broken.log)
        before = state_of(surface)
        with pytest.raises(SurfaceRuleBroken) as refusal:
            surface.advance(broken.entry)
        assert (refusal.value.rule, refusal.value.seq) == (rule, broken.entry.seq)
        assert f"(rule {rule})" in str(refusal.value)
        assert state_of(surface) == before

    check()


@given(broken=broken_events())
def test_a_log_goes_on_after_a_refusal_as_if_nothing_had_been_asked(broken: BrokenEvent) -> None:
    surface = surface_of(broken.log)
    with pytest.raises(SurfaceRuleBroken):
        surface.plan(broken.entry)
    surface.advance(message(surface.next_seq))
    assert surface.current() == [*fold_of(broken.log).order, surface.next_seq - 1]


def broken_rule(log: list[Entry], entry: Entry) -> int | None:
    """The rule that an entry breaks after a log, None when it is allowed."""
    try:
        surface_of(log).plan(entry)
    except SurfaceRuleBroken as refusal:
        return refusal.rule
    return None


@pytest.mark.parametrize("name", sorted(MESSAGE_TYPES))
def test_rule_2_each_message_type_needs_an_op(name: str) -> None:
    assert broken_rule([], event(0, name)) == 2
    assert broken_rule([], message(0, name)) is None


@pytest.mark.parametrize("name", sorted(MESSAGE_TYPES))
def test_rule_3_an_empty_list_of_sources_is_for_assistant_messages_alone(name: str) -> None:
    expected = None if name == "assistant/message" else 3
    assert broken_rule([], message(0, name, sources=[])) == expected


def test_rule_3_sources_may_be_any_earlier_events_in_any_order() -> None:
    log: list[Entry] = [event(0, "turn/start"), delta_run(1, ["a", "b"]), message(3)]
    assert broken_rule(log, message(4, sources=[2, 0, 3])) is None


@pytest.mark.parametrize("ends", [(0, 0), (1, 1), (3, 1), (1, 3), (2, 4), (9, 9), (-1, 2)])
def test_rule_4_both_ends_must_stand_now(ends: tuple[int, int]) -> None:
    # 0 is log-only, 1 is shadowed by 3, 2 and 3 stand.
    log: list[Entry] = [event(0, "turn/start"), message(1), message(2)]
    log.append(message(3, replaces=(1, 1), sources=[1]))
    broken = message(4, replaces=ends, sources=[0, 1, 2, 3])
    assert broken_rule(log, broken) == 4


def test_rule_4_every_removed_node_must_be_cited_and_more_may_be() -> None:
    log: list[Entry] = [message(seq) for seq in range(4)]
    assert broken_rule(log, message(4, replaces=(1, 3), sources=[1, 3])) == 4
    assert broken_rule(log, message(4, replaces=(1, 3))) == 4
    assert broken_rule(log, message(4, replaces=(1, 3), sources=[3, 0, 2, 1])) is None


Spelling = Callable[..., dict[str, Any]]
SPELLINGS: list[Spelling] = [wrapped_result, direct_result, bare_result]
TEXT = [{"type": "text", "text": "long output"}]


@pytest.mark.parametrize("spell", SPELLINGS)
def test_rule_5_a_result_may_replace_a_result_with_other_content(spell: Spelling) -> None:
    original = spell("c", TEXT, isError=False)
    pruned = with_content(original, [{"type": "text", "text": "pruned"}])
    log: list[Entry] = [message(0, "tool/result", original)]
    entry = message(1, "tool/result", pruned, replaces=(0, 0), sources=[0])
    assert broken_rule(log, entry) is None


@pytest.mark.parametrize("spell", SPELLINGS)
@pytest.mark.parametrize("content", [[], TEXT * 2])
def test_rule_5_content_may_become_empty_or_longer(
    spell: Spelling, content: list[dict[str, Any]]
) -> None:
    original = spell("c", TEXT)
    log: list[Entry] = [message(0, "tool/result", original)]
    changed = with_content(original, content)
    entry = message(1, "tool/result", changed, replaces=(0, 0), sources=[0])
    assert broken_rule(log, entry) is None


@pytest.mark.parametrize("spell", SPELLINGS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"isError": True}),
        ({"isError": False}, {"isError": True}),
        ({"isError": True}, {}),
        ({"note": 1}, {"note": 2}),
        ({"note": None}, {}),
        ({"isError": True}, {"isError": 1}),
        ({"note": False}, {"note": 0}),
    ],
)
def test_rule_5_nothing_but_the_content_may_differ(
    spell: Spelling, before: dict[str, Any], after: dict[str, Any]
) -> None:
    log: list[Entry] = [message(0, "tool/result", spell("c", TEXT, **before))]
    changed = spell("c", TEXT, **after)
    entry = message(1, "tool/result", changed, replaces=(0, 0), sources=[0])
    assert broken_rule(log, entry) == 5


@pytest.mark.parametrize("spell", SPELLINGS)
def test_rule_5_a_result_of_another_call_is_refused(spell: Spelling) -> None:
    log: list[Entry] = [message(0, "tool/result", spell("c", TEXT))]
    entry = message(1, "tool/result", spell("d", TEXT), replaces=(0, 0), sources=[0])
    assert broken_rule(log, entry) == 5


def test_rule_5_another_spelling_of_the_same_result_is_refused() -> None:
    log: list[Entry] = [message(0, "tool/result", wrapped_result("c", TEXT))]
    entry = message(1, "tool/result", direct_result("c", TEXT), replaces=(0, 0), sources=[0])
    assert broken_rule(log, entry) == 5


def test_rule_5_other_messages_may_replace_results() -> None:
    log: list[Entry] = [message(0, "tool/result", wrapped_result("c", TEXT)), message(1)]
    assert broken_rule(log, message(2, replaces=(0, 1), sources=[0, 1])) is None


def test_rule_6_a_system_head_gives_way_to_a_system_message_alone() -> None:
    log: list[Entry] = [message(0, "system/message"), message(1)]
    for name, ends, rule in [
        ("system/message", (0, 0), None),
        ("system/message", (0, 1), 6),
        ("user/message", (0, 0), 6),
        ("developer/message", (0, 1), 6),
    ]:
        sources = range(ends[0], ends[1] + 1)
        assert broken_rule(log, message(2, name, replaces=ends, sources=sources)) == rule


def test_rule_6_protects_the_new_head_like_the_old_one() -> None:
    log: list[Entry] = [message(0, "system/message"), message(1)]
    log.append(message(2, "system/message", replaces=(0, 0), sources=[0]))
    assert broken_rule(log, message(3, replaces=(2, 1), sources=[1, 2])) == 6


def test_rule_6_leaves_system_messages_elsewhere_alone() -> None:
    log: list[Entry] = [message(0), message(1, "system/message")]
    assert broken_rule(log, message(2, replaces=(1, 1), sources=[1])) is None
    assert broken_rule(log, message(2, replaces=(0, 1), sources=[0, 1])) is None


# Costs, counted in executed lines


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of the surface module a piece of work executes, loops counted each time."""
    path = sessiongraph.surface.__file__
    count = 0

    def trace(frame: FrameType, kind: str, argument: object) -> Any:
        nonlocal count
        if frame.f_code.co_filename != path:
            return None
        count += kind == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def appended(count: int) -> Surface:
    return surface_of([message(seq) for seq in range(count)])


def replacement(length: int, seq: Seq) -> SessionEvent:
    return message(seq, replaces=(0, length - 1), sources=range(length))


def test_an_append_costs_the_same_on_a_surface_of_any_length() -> None:
    short, long = appended(10), appended(10_000)
    costs = [lines_run(partial(each.advance, message(each.next_seq))) for each in (short, long)]
    assert costs[0] == costs[1]


def test_replacing_one_node_costs_the_same_on_a_surface_of_any_length() -> None:
    costs = []
    for length in (10, 10_000):
        surface = appended(length)
        entry = message(length, replaces=(5, 5), sources=[5])
        costs.append(lines_run(partial(surface.advance, entry)))
    assert costs[0] == costs[1]


def test_replacing_ten_thousand_nodes_costs_at_most_in_proportion() -> None:
    costs = {}
    for length in (1_000, 10_000):
        surface, entry = appended(length), replacement(length, length)
        costs[length] = lines_run(partial(surface.advance, entry))
    assert costs[10_000] <= 10 * costs[1_000]


def test_a_node_is_removed_once_however_often_its_place_is_replaced() -> None:
    length = 500
    surface, removed = appended(length), 0
    for seq in range(length, 2 * length):
        head = surface.current()[0]
        removed += len(surface.advance(message(seq, replaces=(head, head), sources=[head])).removed)
    assert (removed, len(surface)) == (length, length)


def test_only_the_event_that_a_tool_result_replaces_is_read() -> None:
    log: list[Entry] = [message(seq, "tool/result", wrapped_result("c", TEXT)) for seq in range(9)]
    read: list[Seq] = []
    payload = payload_lookup(log)

    def lookup(seq: Seq) -> Any:
        read.append(seq)
        return payload(seq)

    surface = Surface(lookup)
    for entry in log:
        surface.advance(entry)
    pruned = with_content(wrapped_result("c", TEXT), [])
    surface.advance(message(9, "tool/result", pruned, replaces=(4, 4), sources=[4]))
    surface.advance(message(10, replaces=(0, 8), sources=[0, 1, 2, 3, 9, 5, 6, 7, 8]))
    assert read == [4]


def test_an_op_with_no_start_is_an_append() -> None:
    assert not SurfaceOp().replaces
    assert SurfaceOp(3, 3).replaces
