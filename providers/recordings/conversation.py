"""Tells a conversation in our vocabulary, event by event, for recorders that have another one.

A reader says what happened (a prompt, a piece of a reply, the result of a call) and this module
turns it into events: it numbers them, opens and closes turns and steps around them, and keeps the
surface. Three rules make what is told independent of how a growing file was cut into readings:

* every record is told at once, by what stood before it and never by what may follow;
* what turns out later to be more of the same message takes that message's place on the surface, so
  that the surface is at every moment what the model saw, and nothing told is taken back;
* all that the next record depends on fits into a :class:`Memory`, which a later reading resumes.

A turn begins at a prompt and ends before the next one; a step is one call of the model with the
results of its tools. Times are those of the records: where a recorder does not say when something
began, it is the time of the record before.
"""

from __future__ import annotations

import base64
import zlib
from array import array
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from operator import sub
from typing import Any, Final

import msgspec

from sessiongraph import lossless
from sessiongraph.event import APPEND, Seq, SessionEvent, SurfaceOp
from sessiongraph.header import EpochMillis

COMPLETED: Final = {"kind": "completed"}
ABORTED: Final = {"kind": "aborted", "reason": {"kind": "user"}}
PERSON: Final = {"kind": "user"}
CHECKPOINT: Final = {"kind": "compact-checkpoint"}

_CALLS_REMEMBERED: Final = 256


class Memory(msgspec.Struct, omit_defaults=True):
    """What a conversation must know to go on.

    surface: seqs of the current nodes, compressed.
    calls: the seq of each recent call, by its id; open_calls: those without a result.
    ending: the reason with which the open turn will end, where that is known already.
    """

    next_seq: int = 0
    time: int = 0
    turn: int = 0
    step: int = 0
    turn_open: bool = False
    step_open: bool = False
    surface: str = ""
    calls: dict[str, int] = {}
    open_calls: list[str] = []
    ending: dict[str, Any] | None = None


class Conversation:
    """The events of one session, told in order.

    turn, step: numbers of the latest ones, from 1 on.
    """

    def __init__(self, created_at: EpochMillis) -> None:
        self._next_seq = 0
        self._time = self._before = created_at
        self._surface = array("q")
        self._events: list[SessionEvent] = []
        self._calls: dict[str, Seq] = {}
        self._open_calls: list[str] = []
        self._turn_open = self._step_open = False
        self._ending: dict[str, Any] | None = None
        self.turn = 0
        self.step = 0

    # Between readings

    def memory(self) -> Memory:
        return Memory(
            self._next_seq,
            self._time,
            self.turn,
            self.step,
            self._turn_open,
            self._step_open,
            _packed(self._surface),
            self._calls,
            self._open_calls,
            self._ending,
        )

    def remember(self, memory: Memory) -> None:
        """Go on where the conversation stood that left ``memory`` behind."""
        self._next_seq, self._time, self._before = memory.next_seq, memory.time, memory.time
        self.turn, self.step = memory.turn, memory.step
        self._turn_open, self._step_open = memory.turn_open, memory.step_open
        self._surface = _unpacked(memory.surface)
        self._calls, self._open_calls = dict(memory.calls), list(memory.open_calls)
        self._ending = memory.ending

    # Around the events

    @property
    def next_seq(self) -> Seq:
        return self._next_seq

    @property
    def turn_is_open(self) -> bool:
        return self._turn_open

    def begin_record(self, time: EpochMillis | None) -> None:
        """Another record: its time, None where it has none and that of the one before stands."""
        self._before = self._time
        if time is not None:
            self._time = time

    def told(self) -> list[SessionEvent]:
        """What was told since the last time this was asked."""
        events, self._events = self._events, []
        return events

    def is_on_surface(self, seq: Seq) -> bool:
        return self._index_of(seq) is not None

    def surface(self) -> Sequence[Seq]:
        """The current nodes, in the order in which the model sees them."""
        return self._surface

    # What happened

    def log(
        self,
        event_type: str,
        data: Mapping[str, Any] | bytes,
        *,
        ignorable: bool = False,
        time: EpochMillis | None = None,
    ) -> Seq:
        """An event that is only logged. data: the payload, or its JSON text."""
        payload = data if isinstance(data, bytes) else lossless.encode_finite(data)
        return self._add(event_type, payload, None, None, ignorable, time)

    def keep(self, event_type: str, payload: bytes) -> None:
        """A record that is kept as the JSON text it is; readers of the log may ignore it."""
        seq = self._next_seq
        self._next_seq = seq + 1
        self._events.append(SessionEvent(seq, event_type, self._time, payload, None, None, True))

    def begin_turn(self) -> None:
        """A turn begins; one that is still open ended before."""
        self.end_turn(None, time=self._before)
        self.turn += 1
        self.step = 0
        self._turn_open = True
        self.log("turn/start", b'{"turn":%d}' % self.turn)

    def end_turn(
        self, reason: Mapping[str, Any] | None, *, time: EpochMillis | None = None
    ) -> None:
        """The turn ends, if one is open. reason: None for what is known of it, or completed."""
        if not self._turn_open:
            return
        self._end_step(time)
        reason = reason or self._ending or COMPLETED
        self._turn_open, self._ending = False, None
        self._open_calls.clear()
        self.log("turn/end", {"turn": self.turn, "reason": reason}, time=time)

    def will_end(self, reason: Mapping[str, Any] | None) -> None:
        """The open turn will end for this reason, unless it is told another one."""
        self._ending = None if reason is None else dict(reason)

    def begin_step(self) -> None:
        """The model is called, once what came before was there."""
        if not self._turn_open:
            self.begin_turn()
        self._end_step(self._before)
        self.step += 1
        self._step_open = True
        self.log("step/start", self._where(), time=self._before)

    @property
    def step_is_open(self) -> bool:
        return self._step_open

    def _end_step(self, time: EpochMillis | None) -> None:
        if self._step_open:
            self._step_open = False
            self.log("step/end", self._where(), time=time)

    def _where(self) -> bytes:
        """The payload of an event that says no more than its turn and step."""
        return b'{"turn":%d,"step":%d}' % (self.turn, self.step)

    def message(
        self, event_type: str, data: Mapping[str, Any], *, replacing: Seq | None = None
    ) -> Seq:
        """A message that joins the surface, or takes the place of one that stands on it."""
        payload = lossless.encode_finite(data)
        index = None if replacing is None else self._index_of(replacing)
        if replacing is None or index is None:
            seq = self._add(event_type, payload, APPEND, None)
            self._surface.append(seq)
            return seq
        seq = self._add(event_type, payload, SurfaceOp(replacing, replacing), (replacing,))
        self._surface[index] = seq
        return seq

    def compaction(self, data: Mapping[str, Any], kept: int = 0) -> Seq:
        """A message in the place of the whole surface but its last ``kept`` nodes."""
        payload = lossless.encode_finite(data)
        end = len(self._surface) - kept
        removed = tuple(self._surface[:end])
        if not removed:
            seq = self._add("user/message", payload, APPEND, None)
            self._surface.append(seq)
            return seq
        seq = self._add("user/message", payload, SurfaceOp(removed[0], removed[-1]), removed)
        self._surface[:end] = array("q", (seq,))
        return seq

    def call(self, call_id: str, name: str, arguments: str) -> None:
        """A tool is called; a call that was told already is not told again."""
        if call_id in self._calls:
            return
        data = {"turn": self.turn, "step": self.step, "callId": call_id}
        seq = self.log("tool/call", {**data, "name": name, "arguments": arguments})
        if len(self._calls) >= _CALLS_REMEMBERED:
            del self._calls[next(iter(self._calls))]
        self._calls[call_id] = seq
        self._open_calls.append(call_id)
        del self._open_calls[:-_CALLS_REMEMBERED]

    def oldest_open_call(self) -> str | None:
        """The call that has waited longest for its result."""
        return self._open_calls[0] if self._open_calls else None

    def result(
        self,
        call_id: str,
        content: Sequence[Mapping[str, Any]],
        *,
        is_error: bool = False,
        extra: Mapping[str, Any] | None = None,
    ) -> Seq:
        """What a tool answered."""
        if not self._turn_open and self.turn == 0:
            self.begin_turn()
        if call_id in self._open_calls:
            self._open_calls.remove(call_id)
        message: dict[str, Any] = {
            "role": "tool",
            "source": {"kind": "tool", "callId": call_id},
            "toolCallId": call_id,
            "content": content,
        }
        if is_error:
            message["isError"] = True
        data = {"turn": self.turn, "step": self.step, "message": message, **(extra or {})}
        called = self._calls.get(call_id)
        sources = None if called is None else (called,)
        seq = self._add("tool/result", lossless.encode_finite(data), APPEND, sources)
        self._surface.append(seq)
        return seq

    def _add(
        self,
        event_type: str,
        payload: bytes,
        surface_op: SurfaceOp | None,
        sources: tuple[Seq, ...] | None,
        ignorable: bool = False,
        time: EpochMillis | None = None,
    ) -> Seq:
        seq = self._next_seq
        when = self._time if time is None else time
        self._events.append(
            SessionEvent(seq, event_type, when, payload, surface_op, sources, ignorable)
        )
        self._next_seq = seq + 1
        return seq

    def _index_of(self, seq: Seq) -> int | None:
        surface = self._surface
        for index in range(len(surface) - 1, -1, -1):
            if surface[index] == seq:
                return index
        return None


def _packed(seqs: array[int]) -> str:
    if not seqs:
        return ""
    gaps = array("q", map(sub, seqs, chain((0,), seqs)))
    return base64.b85encode(zlib.compress(gaps.tobytes(), 1)).decode("ascii")


def _unpacked(text: str) -> array[int]:
    seqs = array("q")
    if text:
        seqs.frombytes(zlib.decompress(base64.b85decode(text)))
    return array("q", accumulate(seqs))
