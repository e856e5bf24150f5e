"""One live session: the authority for its log while it is open, in bounded memory.

In memory are the header, the surface (without contents), what is open at the tail, and the batches
that are not on disk yet; nothing grows with the log. Three seqs order everything, each at most the
next:

* ``committed_seq``: on disk;
* ``visible_seq``: acknowledged, so shown to exact reads and never taken back;
* ``planned_seq``: in the log, perhaps still waiting for the disk with nobody told yet.

When a write fails, batches behind the last acknowledged one are withdrawn, newest first; whatever
an acknowledged batch stands on stays and is tried again (log.md, "Durability").

This module does no input or output and knows no clock; it is driven by
:mod:`sessiongraph.live_sessions`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sessiongraph.errors import InvalidEvent
from sessiongraph.event import Seq, SessionEvent
from sessiongraph.header import EpochMillis, SessionHeader
from sessiongraph.new_event import NewEvent
from sessiongraph.payloads import Shape, is_human_prompt, shape_of
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.repair import TailState
from sessiongraph.surface import Surface, SurfaceNode, SurfaceRuleBroken, Undo

_LISTED_TYPES: Final = frozenset({"session/title", "user/message"})
"""Events that can change what lists show of a session."""


@dataclass(slots=True, eq=False)
class Batch:
    """Events that were appended together: all of them, or none.

    octets: what they cost in memory, about.
    acknowledged: their caller was told that they are in the log.
    """

    entries: list[PlacedEntry]
    octets: int
    undos: list[Undo]
    tail_before: TailState
    acknowledged: bool = False

    @property
    def last_seq(self) -> Seq:
        return self.entries[-1].entry.last_seq

    def events(self) -> list[SessionEvent]:
        """What was appended; a batch of a live session holds single events only."""
        return [each.entry for each in self.entries if isinstance(each.entry, SessionEvent)]


@dataclass(frozen=True, slots=True)
class LiveCapture:
    """What one observation sees of a live session beyond the store.

    entries: acknowledged and not known to be on disk, in order; shared, never changed.
    epoch: None when nothing of the session is known to be on disk.
    """

    header: SessionHeader
    visible_seq: Seq
    title: str | None
    prompted_at: EpochMillis | None
    entries: Sequence[PlacedEntry]
    epoch: int | None

    @property
    def relisted(self) -> bool:
        """Whether the entries may have changed title or latest prompt."""
        return any(each.entry.type in _LISTED_TYPES for each in self.entries)

    def after(self, seq: Seq) -> Sequence[PlacedEntry]:
        """The entries behind the last one that the store's observation holds."""
        start = bisect_right(self.entries, seq, key=lambda each: each.entry.seq)
        return self.entries[start:]


@dataclass(slots=True, eq=False)
class LiveSession:
    """See the module.

    epoch: None until the first transaction of the session is on disk; its creation was acknowledged
        all the same, so it is written even without an event.
    """

    header: SessionHeader
    epoch: int | None
    nodes: Sequence[SurfaceNode] = ()
    committed_seq: Seq = -1
    tail: TailState = field(default_factory=TailState)
    title: str | None = None
    prompted_at: EpochMillis | None = None
    visible_seq: Seq = field(init=False)
    batches: list[Batch] = field(init=False, default_factory=list)
    unwritten_octets: int = field(init=False, default=0)
    _surface: Surface = field(init=False)
    _replaced_data: Mapping[Seq, Mapping[str, Any]] = field(init=False, default_factory=dict)
    _shown: list[PlacedEntry] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.visible_seq = self.committed_seq
        self._surface = Surface(self._data_of_replaced, self.nodes, self.committed_seq + 1)
        self.nodes = ()

    @property
    def session_id(self) -> str:
        return self.header.session_id

    @property
    def planned_seq(self) -> Seq:
        return self._surface.next_seq - 1

    @property
    def is_written(self) -> bool:
        """Whether everything, the session itself included, is on disk."""
        return self.epoch is not None and not self.batches

    @property
    def is_ahead(self) -> bool:
        """Whether exact reads see more of it than the store is known to hold."""
        return bool(self._shown) or self.epoch is None

    def plan(
        self,
        events: Sequence[NewEvent],
        now: EpochMillis,
        replaced_data: Mapping[Seq, Mapping[str, Any]],
    ) -> Batch:
        """Add events to the log, all or none, visible to nobody yet.

        replaced_data: payloads of the tool results that the events replace.

        Raises:
            InvalidEvent: an event breaks a rule; nothing has changed.
        """
        batch = Batch([], 0, [], _copied(self.tail))
        known = dict(replaced_data)
        self._replaced_data = known
        try:
            for new in events:
                event = new.at(self._surface.next_seq, now)
                transition = self._surface.plan(event)
                batch.undos.append(self._surface.apply(transition))
                batch.entries.append(PlacedEntry(event, transition))
                batch.octets += new.octets
                self.tail.advance(event)
                if event.type == "tool/result":
                    known[event.seq] = event.data
        except SurfaceRuleBroken as broken:
            self._take_back(batch)
            raise InvalidEvent(str(broken)) from broken
        except BaseException:
            self._take_back(batch)
            raise
        finally:
            self._replaced_data = {}
        self.batches.append(batch)
        self.unwritten_octets += batch.octets
        return batch

    def acknowledge(self, batch: Batch) -> None:
        """Show a batch, and everything it stands on, to exact reads."""
        for each in self.batches:
            if not each.acknowledged:
                self._show(each)
            if each is batch:
                return

    def settle(self, count: int) -> list[Batch]:
        """The first ``count`` batches are on disk; answers them."""
        done, self.batches = self.batches[:count], self.batches[count:]
        for batch in done:
            if not batch.acknowledged:
                self._show(batch)
            self.unwritten_octets -= batch.octets
            self.committed_seq = batch.last_seq
        shown = self._shown
        start = bisect_right(shown, self.committed_seq, key=lambda each: each.entry.seq)
        self._shown = shown[start:]
        return done

    def withdraw(self) -> list[Batch]:
        """Take back every batch behind the last acknowledged one, newest first."""
        withdrawn: list[Batch] = []
        while self.batches and not self.batches[-1].acknowledged:
            batch = self.batches.pop()
            self._take_back(batch)
            self.unwritten_octets -= batch.octets
            withdrawn.append(batch)
        return withdrawn

    def capture(self) -> LiveCapture:
        """What an observation that begins now sees beyond the store."""
        return LiveCapture(
            self.header,
            self.visible_seq,
            self.title,
            self.prompted_at,
            tuple(self._shown),
            self.epoch,
        )

    def _data_of_replaced(self, seq: Seq) -> Mapping[str, Any]:
        try:
            return self._replaced_data[seq]
        except KeyError:
            # It came while the payloads of what the batch replaces were being read.
            raise InvalidEvent(f"event {seq} was not in the log when it was replaced") from None

    def _show(self, batch: Batch) -> None:
        batch.acknowledged = True
        self.visible_seq = batch.last_seq
        self._shown.extend(batch.entries)
        for event in batch.events():
            if event.type in _LISTED_TYPES:
                shape = shape_of(event.type, event.data)
                if shape is Shape.TITLE:
                    self.title = event.data["title"]
                elif shape is Shape.USER_MESSAGE and is_human_prompt(event.data):
                    self.prompted_at = event.time

    def _take_back(self, batch: Batch) -> None:
        for undo in reversed(batch.undos):
            self._surface.revert(undo)
        self.tail = batch.tail_before


def _copied(tail: TailState) -> TailState:
    return TailState(tail.turn, tail.step, dict(tail.calls), tail.last_time)
