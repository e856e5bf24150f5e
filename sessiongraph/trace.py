"""Tracing one event: what took its place, what it replaced, what it cites and who cites it."""

from __future__ import annotations

from dataclasses import dataclass

from sessiongraph.event import EventSurface, PlacedEvent, Seq
from sessiongraph.header import EpochMillis


@dataclass(frozen=True, slots=True)
class EventTrace:
    """The provenance of one event, from one observation of its log.

    replacement_chain: from the direct replacer to the event that stands now.
    replaced_event_seqs: the nodes that the event removed itself, in model order.
    source_event_seqs: what it cites, in recorded order.
    derived_event_seqs: later events that cite it, in log order.
    """

    target: PlacedEvent
    replacement_chain: tuple[Seq, ...]
    replaced_event_seqs: tuple[Seq, ...]
    source_event_seqs: tuple[Seq, ...]
    derived_event_seqs: tuple[Seq, ...]

    @property
    def replaced_by(self) -> Seq | None:
        return self.target.replaced_by


@dataclass(frozen=True, slots=True)
class EventWindow:
    """An event with its raw neighbours, clipped at the ends of the log."""

    target: PlacedEvent
    events: tuple[PlacedEvent, ...]

    @property
    def start_seq(self) -> Seq:
        return self.events[0].seq

    @property
    def end_seq(self) -> Seq:
        return self.events[-1].seq


@dataclass(frozen=True, slots=True)
class EventDocument:
    """One event as its semantic text."""

    placed: PlacedEvent
    text: str

    @property
    def session_id(self) -> str:
        return self.placed.session_id

    @property
    def seq(self) -> Seq:
        return self.placed.seq

    @property
    def type(self) -> str:
        return self.placed.type

    @property
    def time(self) -> EpochMillis:
        return self.placed.time

    @property
    def surface(self) -> EventSurface:
        return self.placed.surface
