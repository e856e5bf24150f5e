"""Cells fold like the plain model, contain what fails, and do nothing where nothing changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph import lossless
from sessiongraph.errors import CorruptSession
from sessiongraph.event import Entry, Seq, SessionEvent
from sessiongraph.projections import Projection
from sessiongraph.projections.cells import Seed, SessionCells, is_same, seed_of
from sessiongraph.projections.routes import Routes
from sessiongraph.projections.views import View
from tests.sessiongraph.projections.random_units import (
    PlainChange,
    plain_fold,
    told,
    unit_sets,
)
from tests.sessiongraph.projections.test_unit import unit
from tests.strategies import delta_run, event, logs


def cells_of(*units: Projection[Any]) -> SessionCells:
    return SessionCells("a", Routes(units))


def numbered(*types: str) -> list[SessionEvent]:
    return [event(seq, each) for seq, each in enumerate(types)]


# Folding


@given(units=unit_sets(), log=logs())
def test_cells_show_what_the_plain_fold_makes_of_the_log(
    units: list[Projection[Any]], log: list[Entry]
) -> None:
    cells = cells_of(*units)
    cells.fold_all(log)
    plain = plain_fold(units, log)
    snapshot = cells.snapshot()
    assert (snapshot.as_of_seq, told(snapshot)) == (plain.as_of_seq, plain.told())
    assert {each.key: cells.state_of(each.key) for each in units} == plain.states


@given(units=unit_sets(breaking=True), log=logs())
def test_changes_are_those_of_the_plain_fold_in_its_order(
    units: list[Projection[Any]], log: list[Entry]
) -> None:
    cells, views = cells_of(*units), list[View]()
    for entry in log:
        cells.fold(entry, views)
    changes = [PlainChange(view.seq, view.key, view.value) for view in views]
    assert changes == plain_fold(units, log).changes
    assert told(cells.snapshot()) == plain_fold(units, log).told()


@given(units=unit_sets(), log=logs(min_size=1), data=st.data())
def test_events_that_were_folded_before_are_skipped(
    units: list[Projection[Any]], log: list[Entry], data: st.DataObject
) -> None:
    again = data.draw(st.integers(0, len(log) - 1))
    cells = cells_of(*units)
    cells.fold_all(log)
    before = cells.rows()
    cells.fold_all(log[again:])
    assert cells.rows() == before


def test_a_gap_in_the_log_is_never_folded_over() -> None:
    cells = cells_of(unit())
    cells.fold(event(0, "x/y"))
    with pytest.raises(CorruptSession, match="event 1 of 'a' is missing"):
        cells.fold(event(2, "x/y"))
    assert cells.snapshot().as_of_seq == 0


def test_an_empty_log_shows_first_values_as_of_minus_one() -> None:
    snapshot = cells_of(unit(init=lambda: 7)).snapshot()
    assert snapshot.as_of_seq == -1
    assert told(snapshot) == {"count": (-1, 7)}


def test_types_that_a_unit_does_not_name_are_not_passed_to_it() -> None:
    passed: list[Seq] = []

    def apply(state: int, each: SessionEvent) -> int:
        passed.append(each.seq)
        return state

    cells = cells_of(unit(apply=apply, event_types=["turn/start"]))
    cells.fold_all(numbered("x/y", "turn/start", "turn/end", "turn/start"))
    assert passed == [1, 3]


# The identity gate


class Counted:
    """A unit that counts how often each of its functions is called."""

    def __init__(self, changes_at: Callable[[SessionEvent], bool]) -> None:
        self.views = 0
        self._changes_at = changes_at

    def apply(self, state: int, each: SessionEvent) -> int:
        return state + 1 if self._changes_at(each) else state

    def view(self, state: int) -> int:
        self.views += 1
        return state

    def unit(self) -> Projection[int]:
        return unit(apply=self.apply, view=self.view, view_schema=int)


def test_an_event_that_concerns_no_unit_causes_no_view_no_check_and_no_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = Counted(lambda each: each.type == "turn/start")
    cells = cells_of(counted.unit())
    cells.fold(event(0, "turn/start"))
    cells.snapshot()
    checks = [0]

    def count_checks(*_: Any) -> bool:
        checks[0] += 1
        return True

    monkeypatch.setattr("sessiongraph.projections.schemas.is_plain_json", count_checks)
    views, changes, shown = counted.views, cells.changes, list[View]()
    for seq in range(1, 101):
        cells.fold(event(seq, "x/y"), shown)
    cells.snapshot()
    assert (counted.views, cells.changes, checks[0], shown) == (views, changes, 0, [])


def test_a_view_is_checked_once_however_often_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = cells_of(unit())
    cells.fold(event(0, "x/y"))
    cells.snapshot()
    monkeypatch.setattr("sessiongraph.projections.schemas.is_plain_json", lambda _: 1 / 0)
    assert told(cells.snapshot()) == {"count": (0, 1)}


def test_a_state_that_changes_without_its_view_changes_nothing_for_clients() -> None:
    cells, views = cells_of(unit(view=lambda state: state // 2)), list[View]()
    for seq in range(4):
        cells.fold(event(seq, "x/y"), views)
    assert [(view.seq, view.value) for view in views] == [(1, 1), (3, 2)]
    assert cells.changes == 4


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ({"a": [1]}, {"a": [1]}, True),
        (1, True, False),
        (1, 1.0, False),
        ([0], [False], False),
        ("\ud800", "\ud800", True),
        (None, None, True),
        ({}, [], False),
    ],
)
def test_values_are_the_same_when_their_json_is(left: Any, right: Any, same: bool) -> None:
    assert is_same(left, right) is same


# Containment


async def _later() -> int:
    return 1


def raising(*_: Any) -> Any:
    raise RuntimeError("broken on purpose")


def awaitable(*_: Any) -> Any:
    return _later()


def not_json(*_: Any) -> Any:
    return {1, 2}


def at_seq(seq: Seq, function: Callable[..., Any]) -> Callable[[int, SessionEvent], Any]:
    return lambda state, each: function() if each.seq == seq else state + 1


@pytest.mark.parametrize("breaks", [raising, awaitable, not_json])
@pytest.mark.parametrize("place", ["before", "after"])
def test_a_unit_that_breaks_is_absent_from_then_on_and_the_others_go_on(
    breaks: Callable[..., Any], place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = unit(key="broken", apply=at_seq(2, breaks), state_schema=int | dict[str, Any])
    units = [broken, unit()] if place == "before" else [unit(), broken]
    cells, views = cells_of(*units), list[View]()
    for each in numbered("a/a", "b/b", "c/c", "d/d", "e/e"):
        cells.fold(each, views)
    assert told(cells.snapshot()) == {"count": (4, 5)}
    assert [view.seq for view in views if view.key == "broken"] == [0, 1]
    assert cells.failures == {"broken": 2}
    with pytest.raises(KeyError):
        cells.state_of("broken")
    assert [row.key for row in cells.rows()] == ["count"]
    logged = capsys.readouterr().out
    assert logged.count("a projection failed") == 1
    assert "seq=2" in logged.replace("\x1b[35m", "").replace("\x1b[0m", "").replace("\x1b[36m", "")


@pytest.mark.parametrize("breaks", [raising, awaitable, not_json])
@pytest.mark.parametrize("function", ["init", "view"])
def test_a_unit_that_breaks_before_the_first_event_is_absent_from_the_beginning(
    breaks: Callable[..., Any], function: str
) -> None:
    broken = unit(key="broken", **{function: breaks})
    cells = cells_of(broken, unit())
    cells.fold_all(numbered("a/a", "b/b"))
    assert told(cells.snapshot()) == {"count": (1, 2)}
    assert cells.failures == {"broken": -1}


def test_an_awaitable_deep_inside_a_view_is_never_shown() -> None:
    promise = _later()
    broken = unit(key="broken", view=lambda state: {"later": promise})
    cells = cells_of(broken, unit())
    assert told(cells.snapshot()) == {"count": (-1, 0)}
    assert cells.failures == {"broken": -1}
    promise.close()


def test_a_view_that_fails_its_schema_is_never_shown() -> None:
    broken = unit(key="broken", view=lambda state: state, view_schema=str)
    cells, views = cells_of(broken, unit()), list[View]()
    for each in numbered("a/a", "b/b"):
        cells.fold(each, views)
    assert {view.key for view in views} == {"count"}
    assert told(cells.snapshot()) == {"count": (1, 2)}


def test_a_state_that_fails_its_schema_is_never_written() -> None:
    cells = cells_of(unit(key="broken", state_schema=str), unit())
    cells.fold_all(numbered("a/a"))
    assert [row.key for row in cells.rows()] == ["count"]
    assert told(cells.snapshot()) == {"count": (0, 1)}


def test_a_unit_that_is_known_to_fail_is_not_tried_and_not_logged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken = unit(key="broken", init=raising, apply=raising)
    cells = SessionCells("a", Routes((broken, unit())), failures={"broken": 7})
    cells.fold_all(numbered("a/a"))
    assert (cells.failures, capsys.readouterr().out) == ({"broken": 7}, "")
    assert told(cells.snapshot()) == {"count": (0, 1)}


# States, snapshots and checkpoints


def test_a_snapshot_shows_the_named_keys_and_leaves_unknown_ones_out() -> None:
    cells = cells_of(unit(), unit(key="other"), unit(key="host", view=None))
    assert list(cells.snapshot(["other", "host", "nobody"]).values()) == ["other"]


def test_the_state_of_one_unit_is_had_without_a_view() -> None:
    counted = Counted(lambda each: True)
    cells = cells_of(counted.unit(), unit(key="host", view=None))
    cells.fold_all(numbered("a/a", "b/b"))
    views = counted.views
    assert (cells.state_of("count"), cells.state_of("host")) == (2, 2)
    assert counted.views == views


def test_a_checkpoint_shares_nothing_with_the_states() -> None:
    kept = unit(key="kept", init=list, apply=lambda state, each: [*state, [each.seq]])
    cells = cells_of(Projection("kept", 1, kept.init, kept.apply, state_schema=list[list[int]]))
    cells.fold_all(numbered("a/a"))
    copies = cells.checkpoint()
    copies["kept"][0].append("changed")
    assert cells.state_of("kept") == [[0]]


@given(units=unit_sets(), log=logs())
def test_rows_hold_what_a_fold_can_go_on_from(
    units: list[Projection[Any]], log: list[Entry]
) -> None:
    cells = cells_of(*units)
    cells.fold_all(log)
    plain = plain_fold(units, log)
    for each, row in zip(units, cells.rows(), strict=True):
        assert (row.key, row.version, row.seq) == (each.key, each.state_version, plain.as_of_seq)
        assert lossless.decode(row.state) == plain.states[each.key]
        if each.view is not None:
            assert seed_of(each, row) == Seed(
                row.seq, plain.changed[each.key], plain.states[each.key]
            )


# Units that come and go


def test_units_that_left_are_gone_and_late_ones_come_in_folded_as_far() -> None:
    first, second, third = unit(), unit(key="second"), unit(key="third")
    cells = cells_of(first, second)
    log = numbered("a/a", "b/b")
    cells.fold_all(log)
    routes = Routes((third, first))
    assert cells.lacks(routes) == (third,)
    late = SessionCells("a", Routes((third,)))
    late.fold_all(log)
    cells.adopt(routes, late)
    cells.fold(event(2, "c/c"))
    assert told(cells.snapshot()) == {"third": (2, 3), "count": (2, 3)}


def test_letting_units_go_needs_nobody_elses_help() -> None:
    first, second = unit(), unit(key="second")
    cells = cells_of(first, second)
    cells.fold(event(0, "a/a"))
    cells.keep_only(Routes((second,)))
    assert told(cells.snapshot()) == {"second": (0, 1)}


def test_another_definition_under_the_same_key_begins_anew() -> None:
    cells = cells_of(unit())
    other = unit(init=lambda: 100)
    assert cells.lacks(Routes((other,))) == (other,)


def test_a_run_counts_as_its_members() -> None:
    cells = cells_of(unit())
    cells.fold_all([delta_run(0, ["a", "b", "c"]), event(3, "x/y")])
    assert cells.snapshot().as_of_seq == 3
    assert told(cells.snapshot()) == {"count": (3, 4)}
