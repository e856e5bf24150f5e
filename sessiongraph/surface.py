"""The model surface: which messages of an append-only log the model sees, in which order.

The log is never rewritten. A message event joins the surface at its tail, or takes the place of a
span of nodes that are on it now; the nodes it removes are *shadowed*, and every event that is not a
message is *log-only*. Always true after any prefix of a valid log:

* positions of current nodes are distinct and strictly increase in model order;
* a node, once shadowed, stays shadowed, and names the event that removed it;
* a fold from scratch and any sequence of single steps agree (tests/sessiongraph/test_surface.py
  proves it on random logs).

An appended node takes its own seq as its position; a replacement inherits the position of the first
node that it removes. So positions need no counter, a step is O(nodes touched) plus a binary search,
and a store keeps the whole surface as one indexed column instead of a list.

Checking and applying are two steps: :meth:`Surface.plan` refuses an event without touching
anything, :meth:`Surface.apply` cannot fail. The rules and their numbers are those of log.md.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from sessiongraph import lossless
from sessiongraph.event import LOG_ONLY as LOG_ONLY_PLACEMENT
from sessiongraph.event import MESSAGE_TYPES, Entry, Placement, Seq, SessionEvent
from sessiongraph.payloads import tool_result_without_content

_TYPE_CODES: Final = {name: code for code, name in enumerate(sorted(MESSAGE_TYPES))}
_TYPE_NAMES: Final = {code: name for name, code in _TYPE_CODES.items()}


class SurfaceRuleBroken(ValueError):
    """An event that the surface refuses; ``rule`` is its number in log.md."""

    def __init__(self, rule: int, seq: Seq, message: str) -> None:
        super().__init__(f"event {seq}: {message} (rule {rule})")
        self.rule = rule
        self.seq = seq


class Transition(msgspec.Struct, frozen=True, gc=False):
    """What one entry would change, and nothing else does.

    There is one for each entry of a log that is read, so it is of the kind that costs least.

    position: where the event would stand, None when it is log-only.
    removed: the nodes that it would shadow, in model order.
    """

    seq: Seq
    last_seq: Seq
    position: int | None
    removed: tuple[Seq, ...] = ()
    type_code: int = -1
    _index: int = -1

    @property
    def placement(self) -> Placement:
        return LOG_ONLY_PLACEMENT if self.position is None else Placement(self.position)


@dataclass(slots=True)
class Undo:
    """What one applied transition changed, to take it back; costs what was removed.

    index: where the node went, None for a log-only entry; the rest is what it replaced, if any.
    """

    next_seq: Seq
    index: int | None = None
    positions: array[int] | None = None
    seqs: array[int] | None = None
    codes: array[int] | None = None


@dataclass(frozen=True, slots=True)
class SurfaceNode:
    """One current node, as a store gives it back when a log is made writable again."""

    position: int
    seq: Seq
    type: str


class Surface:
    """The current nodes of one log, and the seq that its next event must have.

    Memory: 17 bytes a current node, plus one dictionary entry for each node that is a replacement.

    event_data: gives the payload of an earlier event; rule 5 reads the one that is replaced.
    """

    __slots__ = ("_codes", "_event_data", "_moved", "_positions", "_seqs", "next_seq")

    def __init__(
        self,
        event_data: Callable[[Seq], Mapping[str, Any]],
        nodes: Iterable[SurfaceNode] = (),
        next_seq: Seq = 0,
    ) -> None:
        self._event_data = event_data
        self._positions = array("q")
        self._seqs = array("q")
        self._codes = array("b")
        self._moved: dict[Seq, int] = {}
        self.next_seq = next_seq
        for node in nodes:
            self._positions.append(node.position)
            self._seqs.append(node.seq)
            self._codes.append(_TYPE_CODES[node.type])
            if node.position != node.seq:
                self._moved[node.seq] = node.position

    def __len__(self) -> int:
        return len(self._seqs)

    def current(self) -> list[Seq]:
        """Seqs of the current nodes in model order."""
        return self._seqs.tolist()

    def nodes(self) -> list[SurfaceNode]:
        """The current nodes in model order."""
        rows = zip(self._positions, self._seqs, self._codes, strict=True)
        return [SurfaceNode(position, seq, _TYPE_NAMES[code]) for position, seq, code in rows]

    def plan(self, entry: Entry) -> Transition:
        """Check one entry against the surface and say what it would change; changes nothing.

        Raises:
            SurfaceRuleBroken: the entry breaks a rule.
        """
        if entry.seq != self.next_seq:
            raise SurfaceRuleBroken(
                1, entry.seq, f"seq is not the next one, which is {self.next_seq}"
            )
        if not isinstance(entry, SessionEvent):
            return Transition(entry.seq, entry.last_seq, None)
        code = _TYPE_CODES.get(entry.type)
        if code is None:
            self._refuse_surface_members(entry)
            return Transition(entry.seq, entry.seq, None)
        if entry.surface_op is None:
            raise SurfaceRuleBroken(2, entry.seq, f"{entry.type} has no surfaceOp")
        self._check_sources(entry)
        if not entry.surface_op.replaces:
            return Transition(entry.seq, entry.seq, entry.seq, (), code, len(self._seqs))
        return self._plan_replacement(entry, code)

    def apply(self, transition: Transition) -> Undo:
        """Make a planned transition true; the plan must be of this very state.

        The answer takes it back, as long as nothing was applied after it.
        """
        undo = Undo(self.next_seq)
        if transition.position is not None:
            undo.index = low = transition._index
            if transition.removed:
                high = low + len(transition.removed)
                undo.positions = self._positions[low:high]
                undo.seqs = self._seqs[low:high]
                undo.codes = self._codes[low:high]
        self._apply(transition)
        return undo

    def _apply(self, transition: Transition) -> None:
        position = transition.position
        if position is not None:
            if transition.removed:
                self._replace(transition, position)
            else:
                self._positions.append(position)
                self._seqs.append(transition.seq)
                self._codes.append(transition.type_code)
        self.next_seq = transition.last_seq + 1

    def _replace(self, transition: Transition, position: int) -> None:
        low, high = transition._index, transition._index + len(transition.removed)
        for seq in transition.removed:
            self._moved.pop(seq, None)
        self._positions[low:high] = array("q", (position,))
        self._seqs[low:high] = array("q", (transition.seq,))
        self._codes[low:high] = array("b", (transition.type_code,))
        if position != transition.seq:
            self._moved[transition.seq] = position

    def revert(self, undo: Undo) -> None:
        """Take back the latest transition that still stands."""
        index = undo.index
        if index is not None:
            if undo.positions is None:
                del self._positions[index:], self._seqs[index:], self._codes[index:]
            else:
                assert undo.seqs is not None
                assert undo.codes is not None
                self._moved.pop(self._seqs[index], None)
                self._positions[index : index + 1] = undo.positions
                self._seqs[index : index + 1] = undo.seqs
                self._codes[index : index + 1] = undo.codes
                for seq, position in zip(undo.seqs, undo.positions, strict=True):
                    if seq != position:
                        self._moved[seq] = position
        self.next_seq = undo.next_seq

    def advance(self, entry: Entry) -> Transition:
        """Plan and apply in one step.

        Raises:
            SurfaceRuleBroken: the entry breaks a rule; nothing has changed.
        """
        transition = self.plan(entry)
        self._apply(transition)
        return transition

    def _refuse_surface_members(self, event: SessionEvent) -> None:
        if event.surface_op is not None:
            raise SurfaceRuleBroken(2, event.seq, f"{event.type} must not have a surfaceOp")
        if event.source_event_seqs is not None:
            raise SurfaceRuleBroken(2, event.seq, f"{event.type} must not have sourceEventSeqs")

    def _check_sources(self, event: SessionEvent) -> None:
        sources = event.source_event_seqs
        if sources is None:
            return
        if not sources:
            if event.type != "assistant/message":
                raise SurfaceRuleBroken(3, event.seq, "sourceEventSeqs is empty")
            return
        if len(sources) == 1 and 0 <= sources[0] < event.seq:
            return
        if min(sources) < 0:
            raise SurfaceRuleBroken(3, event.seq, "sourceEventSeqs has a negative member")
        if max(sources) >= event.seq:
            raise SurfaceRuleBroken(
                3, event.seq, f"cites {max(sources)}, which is not earlier than itself"
            )
        if len(set(sources)) != len(sources):
            raise SurfaceRuleBroken(3, event.seq, "sourceEventSeqs repeats a member")

    def _index_of(self, seq: Seq) -> int | None:
        position = self._moved.get(seq, seq)
        index = bisect_left(self._positions, position)
        if index < len(self._seqs) and self._seqs[index] == seq:
            return index
        return None

    def _plan_replacement(self, event: SessionEvent, code: int) -> Transition:
        op = event.surface_op
        assert op is not None and op.start is not None and op.end is not None
        first, last = self._index_of(op.start), self._index_of(op.end)
        if first is None or last is None:
            missing = op.start if first is None else op.end
            raise SurfaceRuleBroken(
                4, event.seq, f"replaces {missing}, which is not on the surface"
            )
        if first > last:
            raise SurfaceRuleBroken(
                4, event.seq, f"replaces from {op.start}, which stands after {op.end}"
            )
        removed = tuple(self._seqs[first : last + 1])
        uncited = set(removed).difference(event.source_event_seqs or ())
        if uncited:
            raise SurfaceRuleBroken(
                4, event.seq, f"replaces {min(uncited)} without citing it in sourceEventSeqs"
            )
        if event.type == "tool/result":
            self._check_tool_result(event, removed, first)
        if first == 0 and self._codes[0] == _TYPE_CODES["system/message"]:
            self._check_system_head(event, removed)
        return Transition(event.seq, event.seq, self._positions[first], removed, code, first)

    def _check_tool_result(self, event: SessionEvent, removed: tuple[Seq, ...], first: int) -> None:
        if len(removed) != 1 or self._codes[first] != _TYPE_CODES["tool/result"]:
            raise SurfaceRuleBroken(
                5, event.seq, "a tool/result can replace exactly one tool/result and nothing else"
            )
        before = tool_result_without_content(self._event_data(removed[0]))
        if not lossless.same(tool_result_without_content(event.data), before):
            raise SurfaceRuleBroken(
                5, event.seq, f"differs from the replaced {removed[0]} in more than its content"
            )

    def _check_system_head(self, event: SessionEvent, removed: tuple[Seq, ...]) -> None:
        if event.type != "system/message" or len(removed) != 1:
            raise SurfaceRuleBroken(
                6,
                event.seq,
                f"the system/message {removed[0]} at the head can only be replaced, alone, "
                "by a system/message",
            )
