"""Words for telling what a unit makes of a few events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sessiongraph.event import Entry, SessionEvent
from sessiongraph.projections import Projection
from sessiongraph.projections.cells import SessionCells
from sessiongraph.projections.routes import Routes
from tests.strategies import event

Event = tuple[str, Mapping[str, Any]] | tuple[str, Mapping[str, Any], int]
"""Type, payload and, where it matters, time."""


def logged(*events: Event) -> list[SessionEvent]:
    """Events as a log, numbered from 0."""
    return [
        event(seq, each[0], each[1], time=each[2] if len(each) == 3 else 1000 + seq)
        for seq, each in enumerate(events)
    ]


def value_after(unit: Projection[Any], *events: Event) -> Any:
    """What clients see of a unit after these events; its state survives a checkpoint."""
    return value_of(unit, logged(*events))


def value_of(unit: Projection[Any], log: list[Any]) -> Any:
    """What clients see of a unit after a log; its state survives a checkpoint."""
    cells = SessionCells("a", Routes((unit,)))
    cells.fold_all(log)
    assert cells.failures == {}
    assert [row.key for row in cells.rows()] == [unit.key]
    (view,) = cells.snapshot().views
    return view.value


def seqs_of_changes(unit: Projection[Any], log: list[Entry]) -> list[int]:
    """The events that changed what clients see."""
    cells, changed = SessionCells("a", Routes((unit,))), []
    for entry in log:
        cells.fold(entry, changed)
    return [view.seq for view in changed]
