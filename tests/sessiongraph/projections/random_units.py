"""Random projections and the fold of them as anybody would write it: the model of the framework.

A drawn unit keeps all the rules of a unit. What it folds is a small record of the events that it
looks at, and its view may be coarser than its state, so that states change without their views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from sessiongraph.event import Entry, Seq, SessionEvent, events_of
from sessiongraph.projections import Projection
from sessiongraph.projections.views import Snapshot

SOME_TYPES = (
    "user/message",
    "assistant/message",
    "tool/result",
    "turn/start",
    "turn/end",
    "session/title",
    "assistant/chunk",
    "custom/Überraschung",
)


@dataclass(frozen=True)
class Recorded:
    """How a drawn unit folds.

    every: it takes notice of every so-many-th event that it is passed.
    coarse: its view changes with every so-many-th of those.
    breaks_at: it raises at this event; None never.
    """

    every: int
    coarse: int
    breaks_at: Seq | None = None

    def init(self) -> dict[str, Any]:
        return {"passed": 0, "noticed": []}

    def apply(self, state: dict[str, Any], event: SessionEvent) -> dict[str, Any]:
        if event.seq == self.breaks_at:
            raise ValueError("this unit breaks here")
        if (event.seq + len(event.type)) % self.every:
            return state
        noticed = [*state["noticed"], [event.seq, event.type, len(event.data)]]
        return {"passed": state["passed"] + 1, "noticed": noticed[-5:]}

    def view(self, state: dict[str, Any]) -> Any:
        passed = state["passed"] // self.coarse
        return {"passed": passed} if self.coarse > 1 else [passed, state["noticed"]]


State = dict[str, Any]
STATE_SCHEMA = dict[str, int | list[list[int | str]]]


@st.composite
def units(
    draw: st.DrawFn, key: str, *, breaking: bool = False, visible: bool | None = None
) -> Projection[State]:
    """One unit under a key."""
    breaks_at = draw(st.none() | st.integers(0, 20)) if breaking else None
    recorded = Recorded(draw(st.integers(1, 3)), draw(st.integers(1, 3)), breaks_at)
    is_visible = draw(st.booleans()) if visible is None else visible
    return Projection(
        key,
        draw(st.integers(0, 3)),
        recorded.init,
        recorded.apply,
        recorded.view if is_visible else None,
        state_schema=STATE_SCHEMA,
        event_types=draw(st.none() | st.frozensets(st.sampled_from(SOME_TYPES))),
    )


@st.composite
def unit_sets(
    draw: st.DrawFn, *, least: int = 1, most: int = 4, breaking: bool = False
) -> list[Projection[State]]:
    """A few units, at least one of them visible."""
    count = draw(st.integers(least, most))
    first = draw(units("k0", breaking=breaking, visible=True))
    return [first, *(draw(units(f"k{n}", breaking=breaking)) for n in range(1, count))]


@dataclass(frozen=True)
class PlainChange:
    """One change of a view."""

    seq: Seq
    key: str
    value: Any


@dataclass(frozen=True)
class PlainFold:
    """What a log makes of some units: final states and views, and every change on the way.

    states, shown, changed: by key, without the units that raised.
    """

    as_of_seq: Seq
    states: dict[str, Any]
    shown: dict[str, Any]
    changed: dict[str, Seq]
    changes: list[PlainChange]

    def told(self, keys: Iterable[str] | None = None) -> dict[str, tuple[Seq, Any]]:
        """Seq and value of each view."""
        wanted = self.shown if keys is None else [key for key in self.shown if key in keys]
        return {key: (self.changed[key], self.shown[key]) for key in wanted}


def plain_fold(units: Sequence[Projection[Any]], log: Iterable[Entry]) -> PlainFold:
    """Everything that the units make of a log, one unit after the other, event by event."""
    events = [event for entry in log for event in events_of(entry)]
    states: dict[str, Any] = {}
    shown: dict[str, Any] = {}
    changed: dict[str, Seq] = {}
    changes: list[PlainChange] = []
    for unit in units:
        try:
            state, value, seq = _fold_one(unit, events, changes.append)
        except ValueError:
            continue
        states[unit.key] = state
        if unit.view is not None:
            shown[unit.key], changed[unit.key] = value, seq
    order = [unit.key for unit in units]
    changes.sort(key=lambda change: (change.seq, order.index(change.key)))
    return PlainFold(events[-1].seq if events else -1, states, shown, changed, changes)


def _fold_one(
    unit: Projection[Any], events: Sequence[SessionEvent], tell: Callable[[PlainChange], None]
) -> tuple[Any, Any, Seq]:
    state, changed = unit.init(), -1
    value = None if unit.view is None else unit.view(state)
    for event in events:
        if unit.event_types is not None and event.type not in unit.event_types:
            continue
        state = unit.apply(state, event)
        if unit.view is not None and unit.view(state) != value:
            value, changed = unit.view(state), event.seq
            tell(PlainChange(changed, unit.key, value))
    return state, value, changed


def told(snapshot: Snapshot) -> dict[str, tuple[Seq, Any]]:
    """Seq and value of each view of a snapshot."""
    return {view.key: (view.seq, view.value) for view in snapshot.views}
