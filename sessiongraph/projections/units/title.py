"""``title``: the latest title of the session, null while it has none."""

from __future__ import annotations

from typing import Final

from sessiongraph.event import SessionEvent
from sessiongraph.payloads import Shape, shape_of
from sessiongraph.projections.unit import Projection


def _apply(title: str | None, event: SessionEvent) -> str | None:
    if shape_of(event.type, event.data) is not Shape.TITLE:
        return title
    latest: str = event.data["title"]
    return title if latest == title else latest


TITLE: Final = Projection[str | None](
    key="title",
    state_version=1,
    init=lambda: None,
    apply=_apply,
    view=lambda title: title,
    state_schema=str | None,
    view_schema=str | None,
    event_types=("session/title",),
)
