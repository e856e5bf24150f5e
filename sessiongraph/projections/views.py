"""What leaves the server: views, cuts of many of them, and changes of one.

All three are shared between everybody who is shown them, and never changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from sessiongraph.event import Seq


class Freshness(StrEnum):
    """CURRENT: everything committed. STORED: what the last checkpoint says, no log is read."""

    CURRENT = "current"
    STORED = "stored"


class View(msgspec.Struct, frozen=True):
    """One value as clients see it; a Struct, since lists are made of thousands.

    seq: the event that last changed the value, -1 before the first.
    value: plain JSON that passed the unit's view schema.
    """

    key: str
    seq: Seq
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One consistent cut of the views of a session, in the order of registration.

    as_of_seq: every value reflects the log up to this event, -1 for an empty log.
    """

    session_id: str
    as_of_seq: Seq
    views: tuple[View, ...]

    def values(self) -> dict[str, Any]:
        """The values by key."""
        return {view.key: view.value for view in self.views}


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """One view after the event that changed it; of several, the one with the higher seq wins."""

    session_id: str
    view: View

    @property
    def frame_key(self) -> Change:
        """What makes another change the same for those who share what they make of it."""
        return self
