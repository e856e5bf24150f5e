"""What cannot work is refused when it is registered, with a reason."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from sessiongraph.event import SessionEvent
from sessiongraph.projections import Projection
from sessiongraph.projections.registry import Registry
from sessiongraph.projections.unit import InvalidProjection


def unit(**members: Any) -> Projection[Any]:
    """A sound unit, but for the members."""
    whole: dict[str, Any] = {
        "key": "count",
        "state_version": 1,
        "init": lambda: 0,
        "apply": lambda state, event: state + 1,
        "view": lambda state: state,
        "state_schema": int,
    }
    return Projection(**{**whole, **members})


async def _later(*_: Any) -> int:
    return 0


def _generator(*_: Any) -> Any:
    yield 0


async def _async_generator(*_: Any) -> Any:
    yield 0


class _Callable:
    async def __call__(self, *_: Any) -> int:
        return 0


@pytest.mark.parametrize("name", ["init", "apply", "view", "apply_run"])
@pytest.mark.parametrize(
    "function",
    [
        _later,
        _generator,
        _async_generator,
        _Callable(),
        partial(_later, 1),
        partial(_Callable(), 1),
    ],
    ids=["coroutine", "generator", "async generator", "object", "partial", "partial of object"],
)
def test_asynchronous_functions_are_refused(name: str, function: Any) -> None:
    with pytest.raises(InvalidProjection, match=f"count: {name} must not be asynchronous"):
        Registry().register(unit(**{name: function}))


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"key": ""}, "non-empty string"),
        ({"key": 5}, "non-empty string"),
        ({"state_version": -1}, "not negative"),
        ({"state_version": True}, "not negative"),
        ({"state_version": "1"}, "not negative"),
        ({"event_types": "session/title"}, "not one string"),
        ({"apply": None}, "apply is not a function"),
        ({"init": 5}, "init is not a function"),
        ({"view": 5}, "view is not a function"),
        ({"view": None, "view_schema": int}, "without a view"),
        ({"state_schema": dict[str, 5]}, "no type"),  # type: ignore[misc, valid-type]
        ({"view_schema": dict[str, 5]}, "no type"),  # type: ignore[misc, valid-type]
    ],
)
def test_what_could_never_work_is_refused(members: dict[str, Any], reason: str) -> None:
    registry = Registry()
    with pytest.raises(InvalidProjection, match=reason):
        registry.register(unit(**members))
    assert registry.routes.units == ()


def test_every_kind_of_synchronous_function_is_taken() -> None:
    class Folder:
        def apply(self, state: int, event: SessionEvent) -> int:
            return state + event.seq

        def __call__(self, state: int) -> int:
            return state

    folder = Folder()
    Registry().register(unit(init=int, apply=folder.apply, view=folder))
    Registry().register(unit(init=partial(int, "7"), apply=max))


def test_a_unit_without_types_looks_at_every_event() -> None:
    assert unit().looks_at("anything/at-all")


def test_a_unit_with_types_looks_at_those_alone() -> None:
    narrow = unit(event_types=["session/title"])
    assert (narrow.looks_at("session/title"), narrow.looks_at("turn/start")) == (True, False)
