"""An event as a caller wants it appended: checked by itself, before the log gives it a seq.

Unlike what a recorder wrote, what comes through our own API must be lossless JSON, so that every
reader sees what was sent (log.md, "Event"). Message events enter the surface at its tail unless
they say otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from sessiongraph import lossless
from sessiongraph.errors import InvalidEvent
from sessiongraph.event import APPEND, MESSAGE_TYPES, Seq, SessionEvent, SurfaceOp
from sessiongraph.header import EpochMillis

_EVENT_OCTETS: Final = 1024
_SOURCE_OCTETS: Final = 32


@dataclass(slots=True)
class NewEvent:
    """One event to append; nobody changes it, though nothing prevents that: it would cost too much.

    payload: the JSON text of ``data``; ``data`` itself where it is at hand, not to be changed.
    time: None for the moment of the append.
    """

    type: str
    payload: bytes
    time: EpochMillis | None = None
    surface_op: SurfaceOp | None = None
    source_event_seqs: tuple[Seq, ...] | None = None
    ignorable: bool = False
    data: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        event_type: str,
        data: Any,
        *,
        time: EpochMillis | None = None,
        surface_op: SurfaceOp | None = None,
        source_event_seqs: tuple[Seq, ...] | None = None,
        ignorable: bool = False,
    ) -> NewEvent:
        """Check what can be checked without the log.

        Raises:
            InvalidEvent: the type is empty, the time is out of range, the data is no object, or
                not lossless JSON.
        """
        if not event_type:
            raise InvalidEvent("an event needs a type")
        if time is not None and abs(time) > lossless.MAX_SAFE_INTEGER:
            raise InvalidEvent(f"the time of {event_type} is beyond 2^53 - 1")
        if not isinstance(data, dict):
            raise InvalidEvent(f"the data of {event_type} is not an object")
        try:
            lossless.require_lossless(event_type, "type")
            lossless.require_lossless(data)
            payload = lossless.encode(data)
        except lossless.NotLossless as error:
            raise InvalidEvent(f"{event_type}: {error}") from error
        if surface_op is None and event_type in MESSAGE_TYPES:
            surface_op = APPEND
        return cls(event_type, payload, time, surface_op, source_event_seqs, ignorable, data)

    @property
    def octets(self) -> int:
        """What it costs in memory, about: small events cost much more than their payload."""
        sources = len(self.source_event_seqs or ())
        return len(self.payload) + _EVENT_OCTETS + _SOURCE_OCTETS * sources

    def at(self, seq: Seq, now: EpochMillis) -> SessionEvent:
        """The event under the seq that the log gives it."""
        return SessionEvent(
            seq,
            self.type,
            now if self.time is None else self.time,
            self.payload,
            self.surface_op,
            self.source_event_seqs,
            self.ignorable,
            self.data,
        )

    def says_the_same_as(self, event: SessionEvent) -> bool:
        """Whether a logged event is this one; a time that was left open agrees with any."""
        return event.same_as(self.at(event.seq, event.time))
