"""Registrations are counted; a key means one version and one definition."""

from __future__ import annotations

import pytest

from sessiongraph.projections.registry import ProjectionConflict, Registry
from sessiongraph.projections.units import FIRST_PARTY, first_party_registry
from tests.sessiongraph.projections.test_unit import unit

COUNT = unit()


def test_a_registered_unit_is_driven_and_shown() -> None:
    registry = Registry()
    registry.register(COUNT)
    assert registry.routes.units == (COUNT,)
    assert registry.keys() == ["count"]
    assert registry.shows("count")


def test_a_unit_without_a_view_is_driven_and_never_shown() -> None:
    registry = Registry()
    registry.register(unit(view=None))
    assert len(registry.routes.units) == 1
    assert registry.keys() == []
    assert not registry.shows("count")


def test_the_last_disposer_takes_the_unit_away() -> None:
    registry = Registry()
    first, second = registry.register(COUNT), registry.register(COUNT)
    first()
    assert registry.keys() == ["count"]
    second()
    assert registry.keys() == []


def test_a_disposer_works_once() -> None:
    registry = Registry()
    first = registry.register(COUNT)
    registry.register(COUNT)
    first()
    first()
    assert registry.keys() == ["count"]


def test_another_version_under_a_taken_key_is_a_conflict() -> None:
    registry = Registry([COUNT])
    with pytest.raises(ProjectionConflict, match="version 1, not 2"):
        registry.register(unit(state_version=2, init=COUNT.init, apply=COUNT.apply))
    assert registry.routes.units == (COUNT,)


def test_another_definition_under_a_taken_key_is_a_conflict() -> None:
    registry = Registry([COUNT])
    with pytest.raises(ProjectionConflict, match="another definition"):
        registry.register(unit())
    assert registry.routes.units == (COUNT,)


def test_a_conflict_counts_for_nothing() -> None:
    registry = Registry()
    dispose = registry.register(COUNT)
    with pytest.raises(ProjectionConflict):
        registry.register(unit(state_version=2))
    dispose()
    assert registry.keys() == []


def test_a_key_that_is_free_again_can_mean_something_else() -> None:
    registry = Registry()
    registry.register(COUNT)()
    registry.register(unit(state_version=7))
    assert registry.routes.units[0].state_version == 7


def test_the_routes_are_another_object_only_when_a_unit_comes_or_goes() -> None:
    registry = Registry()
    empty = registry.routes
    first = registry.register(COUNT)
    one = registry.routes
    second = registry.register(COUNT)
    assert empty is not one is registry.routes
    first()
    assert registry.routes is one
    second()
    assert registry.routes is not one


def test_our_own_units_are_registered_from_the_beginning() -> None:
    registry = first_party_registry()
    assert registry.routes.units == FIRST_PARTY
    assert registry.keys() == [
        "title",
        "todos",
        "goal",
        "plan",
        "permissions",
        "sessionStats",
        "tokenUsage",
        "contextPressure",
        "subagent",
        "turnOutline",
        "activity",
    ]
