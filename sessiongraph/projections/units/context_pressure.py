"""``contextPressure``: how much context the latest request took, and how large the window is.

Both are what the recorder reports, each the latest there is, absent while unknown; nothing is
estimated here.
"""

from __future__ import annotations

from typing import Any, Final, NotRequired, TypedDict

from sessiongraph.event import DeltaRun, SessionEvent
from sessiongraph.payloads import is_count
from sessiongraph.projections.unit import Projection
from sessiongraph.projections.units.model_output import OUTPUT_TYPES, usage_in


class ContextPressure(TypedDict):
    """Tokens. pressureTokens: input and cache of the latest request; contextWindow: at most."""

    pressureTokens: NotRequired[int]
    contextWindow: NotRequired[int]


def _apply(state: ContextPressure, event: SessionEvent) -> ContextPressure:
    changed = state.copy()
    if event.type == "request/context":
        if not isinstance(event.data, dict):
            return state
        window: Any = event.data.get("contextWindow")
        if is_count(window) and window > 0:
            changed["contextWindow"] = window
        else:
            changed.pop("contextWindow", None)
    else:
        usage = usage_in(event)
        if usage is None:
            return state
        changed["pressureTokens"] = (
            usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        )
    return state if changed == state else changed


def _init() -> ContextPressure:
    return {}


def _apply_run(state: ContextPressure, _run: DeltaRun) -> ContextPressure:
    """No delta of a run reports usage."""
    return state


CONTEXT_PRESSURE: Final = Projection[ContextPressure](
    key="contextPressure",
    state_version=1,
    init=_init,
    apply=_apply,
    view=lambda state: state,
    state_schema=ContextPressure,
    view_schema=ContextPressure,
    event_types=(*OUTPUT_TYPES, "request/context"),
    apply_run=_apply_run,
)
