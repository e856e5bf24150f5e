"""The enums of the contract. The values are the domain's own, their names are its members'."""

from __future__ import annotations

from enum import StrEnum

import strawberry

from sessiongraph.corpus_changes import ChangeKind
from sessiongraph.event import EventSurface
from sessiongraph.filters import Availability
from sessiongraph.header import SourceKind
from sessiongraph.live_sessions import Durability
from sessiongraph.ports import SessionOrder
from sessiongraph.projections.views import Freshness
from sessiongraph.search.question import MatchMode

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
strawberry.enum(
    MatchMode,
    description=(
        "ALL: every term occurs in the event; events where they stand together rank higher. ANY: "
        "one of them does. PHRASE: everything stands together, in this order."
    ),
)
strawberry.enum(
    Durability,
    description=(
        "DURABLE: acknowledged after the commit is on disk. ACCEPTED: acknowledged once in the "
        "live log, on disk within the write-behind window."
    ),
)
strawberry.enum(
    ChangeKind,
    name="CorpusChangeKind",
    description=(
        "CREATED, RESUMED and CLOSED are of the live set. PERSISTED: the first of it is on disk. "
        "IMPORTED: read from a recorder's file, or grown with it. UPDATED: title or activity; "
        "REPLACED: the stored log was read anew."
    ),
)

strawberry.enum(
    Freshness,
    name="ProjectionFreshness",
    description=(
        "CURRENT: reflects everything that was acknowledged. STORED: what the last checkpoint "
        "says, without reading the log; possibly old, never wrong."
    ),
)


@strawberry.enum(description="How a message enters the surface.")
class SurfaceOpKind(StrEnum):
    """At the tail, or in the place of current nodes."""

    APPEND = "append"
    REPLACE = "replace"


__all__ = [
    "Availability",
    "ChangeKind",
    "Durability",
    "EventSurface",
    "Freshness",
    "MatchMode",
    "SessionOrder",
    "SourceKind",
    "SurfaceOpKind",
]
