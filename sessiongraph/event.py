"""One event of a session's log, and the compact run that stands for many stream deltas.

An event is a numbered, timed payload. The payload is kept as the JSON text it arrived in and parsed
only when somebody asks for a value, so that a log passes through the product without being taken
apart, and nothing a recorder wrote is ever rewritten.

Most events of a streamed log are single deltas that nobody reads one by one. Recorders pack runs of
them into one row; so do we. A :class:`DeltaRun` *is* its members: it has as many seqs as members,
and :meth:`DeltaRun.members` gives exactly the events that it stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from itertools import accumulate
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from sessiongraph import lossless
from sessiongraph.header import EpochMillis

Seq = int
"""The number of an event in its log: 0, 1, 2, … without a gap."""

MESSAGE_TYPES: Final = frozenset(
    {"user/message", "assistant/message", "tool/result", "system/message", "developer/message"}
)
"""The five event types that can stand on the surface."""

CHUNK_TYPE: Final = "assistant/chunk"


class SurfaceOp(msgspec.Struct, frozen=True, gc=False):
    """How a message event enters the surface: at the tail, or in the place of current nodes.

    start, end: the first and last node that it replaces, both None for an append.
    """

    start: Seq | None = None
    end: Seq | None = None

    @property
    def replaces(self) -> bool:
        return self.start is not None


APPEND: Final = SurfaceOp()


class SessionEvent(msgspec.Struct, eq=False, gc=False):
    """One event as logged.

    text: the payload, or what gives it when it is asked for.
    source_event_seqs: earlier events that this one cites; None when the log does not say.
    """

    seq: Seq
    type: str
    time: EpochMillis
    text: bytes | Callable[[], bytes]
    surface_op: SurfaceOp | None = None
    source_event_seqs: tuple[Seq, ...] | None = None
    ignorable: bool = False
    _data: Any = None

    @property
    def payload(self) -> bytes:
        """The JSON text of ``data``, UTF-8.

        Raises:
            CorruptSession: what is stored cannot be read.
        """
        text = self.text
        if type(text) is not bytes:
            text = self.text = text()  # type: ignore[operator]
        return text

    def with_payload(self, payload: bytes) -> SessionEvent:
        """The same event with another payload."""
        return replace(self, text=payload, _data=None)

    @property
    def data(self) -> dict[str, Any]:
        """The parsed payload; shared, not to be changed."""
        if self._data is None:
            self._data = lossless.decode(self.payload)
        return self._data  # type: ignore[no-any-return]

    @property
    def is_parsed(self) -> bool:
        """Whether the payload was parsed before, so that :attr:`data` costs nothing."""
        return self._data is not None

    @property
    def is_message(self) -> bool:
        return self.type in MESSAGE_TYPES

    @property
    def last_seq(self) -> Seq:
        return self.seq

    def same_as(self, other: SessionEvent) -> bool:
        """Whether both say the same: equal envelopes and equal payload values."""
        return (
            self.seq == other.seq
            and self.type == other.type
            and self.time == other.time
            and self.surface_op == other.surface_op
            and self.source_event_seqs == other.source_event_seqs
            and self.ignorable == other.ignorable
            and (self.payload == other.payload or lossless.same(self.data, other.data))
        )


class DeltaKind(StrEnum):
    """What the members of a run are, and the tag of its packed row in dsh's files."""

    TEXT = "text-chunks"
    REASONING = "reasoning-chunks"
    TOOL_CALL = "tool-call-chunks"


class DeltaRun(msgspec.Struct, eq=False, gc=False):
    """Consecutive ``assistant/chunk`` events of one stream, kept as one.

    time: of the first member; member k is ``sum(gaps[:k])`` ms later.
    turn, step: JSON values as logged.
    texts: the text (or the piece of the arguments) of each member, at least one.
    call_id, name: of a tool call; name only where the recorder gave one.
    """

    kind: DeltaKind
    seq: Seq
    time: EpochMillis
    turn: int
    step: int
    index: int
    gaps: Sequence[int]
    texts: Sequence[str]
    call_id: str | None = None
    name: str | None = None

    @property
    def type(self) -> str:
        return CHUNK_TYPE

    @property
    def last_seq(self) -> Seq:
        return self.seq + len(self.texts) - 1

    def times(self) -> Iterator[EpochMillis]:
        """The time of every member."""
        return accumulate(self.gaps, initial=self.time)

    def members(self, first: Seq | None = None, last: Seq | None = None) -> Iterator[SessionEvent]:
        """The events that this run stands for, those from ``first`` through ``last``."""
        low = 0 if first is None else max(0, first - self.seq)
        high = len(self.texts) if last is None else min(len(self.texts), last - self.seq + 1)
        for offset, time in enumerate(self.times()):
            if offset >= high:
                return
            if offset >= low:
                payload = lossless.encode(
                    {
                        "turn": self.turn,
                        "step": self.step,
                        "chunk": self._chunk(self.texts[offset]),
                    }
                )
                yield SessionEvent(self.seq + offset, CHUNK_TYPE, time, payload)

    def _chunk(self, text: str) -> dict[str, Any]:
        if self.kind is DeltaKind.TEXT:
            return {"type": "text-delta", "index": self.index, "text": text}
        if self.kind is DeltaKind.REASONING:
            return {"type": "reasoning-delta", "index": self.index, "text": text}
        chunk: dict[str, Any] = {
            "type": "tool-call-delta",
            "index": self.index,
            "id": self.call_id,
        }
        if self.name is not None:
            chunk["name"] = self.name
        chunk["argumentsDelta"] = text
        return chunk


Entry = SessionEvent | DeltaRun
"""One stored row of a log: an event, or a run of deltas."""


def events_of(entry: Entry) -> Iterator[SessionEvent]:
    """The single events of an entry."""
    if isinstance(entry, DeltaRun):
        yield from entry.members()
    else:
        yield entry


class EventSurface(StrEnum):
    """Placement of one event: model context now, replaced model context, or only in the log."""

    CURRENT = "current"
    SHADOWED = "shadowed"
    LOG_ONLY = "log-only"


class Placement(msgspec.Struct, frozen=True, gc=False):
    """Where one event stands.

    position: order key among surface nodes; None for log-only events.
    replaced_by: seq of the event that removed this node; None while it stands.
    """

    position: int | None = None
    replaced_by: Seq | None = None

    @property
    def surface(self) -> EventSurface:
        if self.position is None:
            return EventSurface.LOG_ONLY
        return EventSurface.CURRENT if self.replaced_by is None else EventSurface.SHADOWED


LOG_ONLY: Final = Placement()


class PlacedEvent(msgspec.Struct, eq=False):
    """An event together with its log and its placement in one observation.

    elided: the ``stream`` of the payload is left out; ask the store for the whole payload before
        showing ``data``. Everything else reads alike with and without it.
    """

    session_id: str
    event: SessionEvent
    placement: Placement
    elided: bool = False

    @property
    def seq(self) -> Seq:
        return self.event.seq

    @property
    def type(self) -> str:
        return self.event.type

    @property
    def time(self) -> EpochMillis:
        return self.event.time

    @property
    def surface(self) -> EventSurface:
        return self.placement.surface

    @property
    def replaced_by(self) -> Seq | None:
        return self.placement.replaced_by

    @property
    def surface_op(self) -> SurfaceOp | None:
        return self.event.surface_op

    @property
    def source_event_seqs(self) -> tuple[Seq, ...] | None:
        return self.event.source_event_seqs

    @property
    def ignorable(self) -> bool:
        return self.event.ignorable


class EventEnvelope(msgspec.Struct, frozen=True, gc=False):
    """What a list says of an event whose payload and place nobody asks for."""

    session_id: str
    seq: Seq
    type: str
    time: EpochMillis
    surface: EventSurface

    @classmethod
    def of(cls, placed: PlacedEvent) -> EventEnvelope:
        """The envelope of an event that is at hand."""
        return cls(placed.session_id, placed.seq, placed.type, placed.time, placed.surface)
