"""``permissions``: the latest preset, sandbox mode and approval policy, null where never set."""

from __future__ import annotations

from typing import Final, TypedDict

from sessiongraph.event import SessionEvent
from sessiongraph.projections.unit import Projection


class Permissions(TypedDict):
    """What the agent may do, in the recorder's own words."""

    preset: str | None
    sandboxMode: str | None
    approvalPolicy: str | None


_SOURCES: Final = {
    "permission/preset": ("preset", "preset"),
    "sandbox/mode": ("mode", "sandboxMode"),
    "approval/policy": ("policy", "approvalPolicy"),
}
"""For each event its member, and the one of ours that it sets."""


def _apply(state: Permissions, event: SessionEvent) -> Permissions:
    member, ours = _SOURCES[event.type]
    value = event.data.get(member) if isinstance(event.data, dict) else None
    if not isinstance(value, str) or value == state[ours]:  # type: ignore[literal-required]
        return state
    changed: Permissions = {**state, ours: value}  # type: ignore[misc]
    return changed


PERMISSIONS: Final = Projection[Permissions](
    key="permissions",
    state_version=1,
    init=lambda: {"preset": None, "sandboxMode": None, "approvalPolicy": None},
    apply=_apply,
    view=lambda state: state,
    state_schema=Permissions,
    view_schema=Permissions,
    event_types=tuple(_SOURCES),
)
