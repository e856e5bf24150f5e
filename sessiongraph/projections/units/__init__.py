"""The projections that come with the server, one module for each key."""

from __future__ import annotations

from typing import Any, Final

from sessiongraph.projections.registry import Registry
from sessiongraph.projections.unit import Projection
from sessiongraph.projections.units.activity import ACTIVITY
from sessiongraph.projections.units.context_pressure import CONTEXT_PRESSURE
from sessiongraph.projections.units.goal import GOAL
from sessiongraph.projections.units.permissions import PERMISSIONS
from sessiongraph.projections.units.plan import PLAN
from sessiongraph.projections.units.session_stats import SESSION_STATS
from sessiongraph.projections.units.subagent import SUBAGENT
from sessiongraph.projections.units.title import TITLE
from sessiongraph.projections.units.todos import TODOS
from sessiongraph.projections.units.token_usage import TOKEN_USAGE
from sessiongraph.projections.units.turn_outline import TURN_OUTLINE

FIRST_PARTY: Final[tuple[Projection[Any], ...]] = (
    TITLE,
    TODOS,
    GOAL,
    PLAN,
    PERMISSIONS,
    SESSION_STATS,
    TOKEN_USAGE,
    CONTEXT_PRESSURE,
    SUBAGENT,
    TURN_OUTLINE,
    ACTIVITY,
)


def first_party_registry() -> Registry:
    """A registry with the units of this package and no others."""
    return Registry(FIRST_PARTY)
