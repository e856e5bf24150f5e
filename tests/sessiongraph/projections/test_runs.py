"""Runs of stream deltas: taken apart for those who need it, and for nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.event import DeltaKind, DeltaRun, Entry, SessionEvent, events_of
from sessiongraph.projections.cells import Seed, SessionCells
from sessiongraph.projections.routes import Routes
from sessiongraph.projections.units import FIRST_PARTY
from sessiongraph.projections.views import View
from tests.sessiongraph.projections.test_unit import unit
from tests.strategies import delta_run, event


@pytest.fixture
def taken_apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The first seq of every run whose members somebody asked for."""
    runs: list[int] = []
    members = DeltaRun.members

    def noted(self: DeltaRun, *args: Any) -> Iterator[SessionEvent]:
        runs.append(self.seq)
        return members(self, *args)

    monkeypatch.setattr(DeltaRun, "members", noted)
    yield runs


def test_a_run_is_not_taken_apart_for_units_that_look_elsewhere(taken_apart: list[int]) -> None:
    cells = SessionCells("a", Routes((unit(event_types=["turn/start"]),)))
    cells.fold_all([delta_run(0, ["a"] * 1000), event(1000, "turn/start")])
    assert (cells.snapshot().values(), taken_apart) == ({"count": 1}, [])


def test_no_unit_of_ours_needs_a_run_taken_apart(taken_apart: list[int]) -> None:
    SessionCells("a", Routes(FIRST_PARTY)).fold_all([delta_run(0, ["a"] * 1000)])
    assert taken_apart == []


def test_a_run_is_taken_apart_once_for_all_who_need_it(taken_apart: list[int]) -> None:
    cells = SessionCells("a", Routes((unit(), unit(key="second"), *FIRST_PARTY)))
    cells.fold_all([delta_run(0, ["a"] * 5)])
    assert cells.snapshot().values()["second"] == 5
    assert taken_apart == [0]


def test_each_member_that_changes_a_view_is_a_change_of_its_own() -> None:
    cells, views = SessionCells("a", Routes((unit(), unit(key="second")))), list[View]()
    cells.fold(delta_run(0, ["a", "b"]), views)
    told = [(view.key, view.seq, view.value) for view in views]
    assert told == [("count", 0, 1), ("second", 0, 1), ("count", 1, 2), ("second", 1, 2)]


def test_members_that_a_restored_state_reflects_are_skipped() -> None:
    whole = unit(key="whole", apply_run=lambda state, run: state + 100 * len(run.texts))
    seeds = {"count": Seed(2, 2, 30), "whole": Seed(2, 2, 30)}
    cells = SessionCells("a", Routes((unit(), whole)), 1, seeds)
    cells.fold_all([delta_run(0, ["a"] * 5), delta_run(5, ["b", "c"])])
    assert cells.snapshot().values() == {"count": 34, "whole": 232}


def test_a_unit_that_breaks_within_a_run_is_absent_and_the_others_go_on() -> None:
    def apply(state: int, each: SessionEvent) -> int:
        if each.seq == 2:
            raise ValueError("broken on purpose")
        return state + 1

    cells = SessionCells("a", Routes((unit(key="broken", apply=apply), unit())))
    cells.fold_all([delta_run(0, ["a"] * 5)])
    assert (cells.snapshot().values(), cells.failures) == ({"count": 5}, {"broken": 2})


@st.composite
def streams(draw: st.DrawFn) -> list[Entry]:
    """Steps with deltas of every kind, as runs, and what comes before and after them."""
    log: list[Entry] = []

    def next_seq() -> int:
        return log[-1].last_seq + 1 if log else 0

    for _ in range(draw(st.integers(1, 4))):
        step = draw(st.integers(1, 2))
        place = {"turn": 1, "step": step}
        if draw(st.booleans()):
            log.append(event(next_seq(), "step/start", place, time=draw(st.integers(0, 50))))
        for _ in range(draw(st.integers(0, 2))):
            texts = draw(st.lists(st.sampled_from(["", "a", "bc"]), min_size=1, max_size=4))
            kind = draw(st.sampled_from(DeltaKind))
            called = draw(st.none() | st.just("bash")) if kind is DeltaKind.TOOL_CALL else None
            gaps = draw(
                st.lists(st.integers(-5, 9), min_size=len(texts) - 1, max_size=len(texts) - 1)
            )
            log.append(
                delta_run(
                    next_seq(),
                    texts,
                    kind=kind,
                    step=step,
                    gaps=gaps,
                    name=called,
                    call_id="c",
                    time=draw(st.integers(40, 90)),
                )
            )
        if draw(st.booleans()):
            data = {**place, "message": {"content": []}, "usage": {"outputTokens": 3}}
            log.append(event(next_seq(), "assistant/message", data, time=draw(st.integers(80, 99))))
        if draw(st.booleans()):
            log.append(event(next_seq(), "step/end", place))
    return log


@given(log=streams())
def test_our_units_make_of_runs_what_they_make_of_the_members(log: list[Entry]) -> None:
    runs, members = SessionCells("a", Routes(FIRST_PARTY)), SessionCells("a", Routes(FIRST_PARTY))
    runs.fold_all(log)
    members.fold_all(each for entry in log for each in events_of(entry))
    assert runs.checkpoint() == members.checkpoint()
    assert runs.snapshot().views == members.snapshot().views
