"""The enums of the contract. The values are the domain's own, their names are its members'."""

from __future__ import annotations

from enum import StrEnum

import strawberry

from sessiongraph.event import EventSurface
from sessiongraph.filters import Availability
from sessiongraph.header import SourceKind
from sessiongraph.ports import SessionOrder

strawberry.enum(
    EventSurface,
    description=(
        "Placement of one event: model context now, replaced model context, or only in the raw log."
    ),
)
strawberry.enum(
    Availability,
    name="SessionAvailability",
    description="Where a session can be read from; one session can be both live and persisted.",
)
strawberry.enum(
    SourceKind,
    name="SessionSourceKind",
    description="Which recorder wrote the log that a session was read from.",
)
strawberry.enum(
    SessionOrder,
    description=(
        "CREATED: newest first, stable while paging. ACTIVE: latest prompt of a person first; a "
        "session that becomes active while paging moves to the front."
    ),
)


@strawberry.enum(description="How a message enters the surface.")
class SurfaceOpKind(StrEnum):
    """At the tail, or in the place of current nodes."""

    APPEND = "append"
    REPLACE = "replace"


__all__ = ["Availability", "EventSurface", "SessionOrder", "SourceKind", "SurfaceOpKind"]
