"""``subagent``: how this session was delegated, null when it was not, or nobody can tell.

A fork may begin with its ancestor's descriptor; the latest is the session's own. A malformed one
takes the identity away, so that nobody goes on under an ancestor's.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NotRequired, TypedDict

from sessiongraph.event import SessionEvent
from sessiongraph.projections.unit import Projection

VERSIONS: Final = (2, 3)
"""The descriptor versions that we understand."""

MODES: Final = ("one-shot", "continuable")


class SubagentIdentity(TypedDict):
    """seq: of the descriptor."""

    mode: Literal["one-shot", "continuable"]
    label: NotRequired[str]
    seq: int


Subagent = SubagentIdentity | None


def _apply(_state: Subagent, event: SessionEvent) -> Subagent:
    data: Any = event.data
    if not isinstance(data, dict):
        return None
    version, mode = data.get("version"), data.get("mode")
    if version not in VERSIONS or isinstance(version, bool) or mode not in MODES:
        return None
    if "label" not in data:
        return {"mode": mode, "seq": event.seq}
    label = data["label"]
    return {"mode": mode, "label": label, "seq": event.seq} if isinstance(label, str) else None


SUBAGENT: Final = Projection[Subagent](
    key="subagent",
    state_version=1,
    init=lambda: None,
    apply=_apply,
    view=lambda identity: identity,
    state_schema=Subagent,
    view_schema=Subagent,
    event_types=("subagent/descriptor",),
)
