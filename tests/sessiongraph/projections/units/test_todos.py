"""The list stays when its turn ends and goes when the next one starts."""

from __future__ import annotations

from typing import Any

import pytest

from sessiongraph.projections.units.todos import TODOS
from tests.sessiongraph.projections.units.folding import value_after

ONE = [{"content": "read", "status": "done"}]
TWO = [{"content": "write", "status": "pending"}, {"content": "rest", "status": "pending", "n": 1}]


def test_before_the_first_list_there_is_none() -> None:
    assert value_after(TODOS, ("turn/start", {"turn": 1})) is None


def test_the_latest_list_is_shown_whole_as_logged() -> None:
    assert value_after(TODOS, ("todo/write", {"todos": ONE}), ("todo/write", {"todos": TWO})) == TWO


def test_an_empty_list_is_a_list() -> None:
    assert value_after(TODOS, ("todo/write", {"todos": []})) == []


def test_it_outlives_its_turn_and_goes_with_the_next() -> None:
    written = (("turn/start", {"turn": 1}), ("todo/write", {"todos": ONE}), ("turn/end", {}))
    assert value_after(TODOS, *written) == ONE
    assert value_after(TODOS, *written, ("turn/start", {"turn": 2})) is None


@pytest.mark.parametrize(
    "data", [{}, {"todos": "x"}, {"todos": [{"content": "x"}]}, {"todos": [1]}], ids=str
)
def test_what_is_no_list_changes_nothing(data: Any) -> None:
    assert value_after(TODOS, ("todo/write", {"todos": ONE}), ("todo/write", data)) == ONE
