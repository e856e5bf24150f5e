"""The budget of one snapshot: what is kept of a conversation that does not fit, exactly counted.

The rule (references.md, "Prepare"). The object must not exceed its budget in bytes. Over it, the
oldest messages that are neither a checkpoint nor the newest go, one by one, until the rest fits.
When only checkpoints and the newest are left, the longest text is cut to what room there is
(:mod:`~sessiongraph.references.cutting`), then the next longest, until all fit.

Said another way: of the messages that may go, the newest stretch that fits is kept. So a message
that did not fit rules out every older one, and the conversation can be fed in from its newest end
without being held. Always true, whatever has been fed in, in whatever order:

* what is kept of the messages that may go fits together with those that may not;
* those at or before ``_floor`` are ruled out, and everything kept of them stands behind it.

What is held is bounded by the budget, except that checkpoints and the newest message, which may
not go, are held by what a cut could leave of them. Bytes of a text are those of its UTF-8, three
for a lone surrogate; bytes of the object are those of its JSON, which are never fewer.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace

from sessiongraph.carried import utf8_length
from sessiongraph.event import Seq
from sessiongraph.ports import ConversationTotals
from sessiongraph.references.conversation import Said
from sessiongraph.references.cutting import cut_text
from sessiongraph.references.errors import ReferenceBudgetExceeded
from sessiongraph.references.rendering import CLOSING, message_octets


@dataclass(frozen=True, slots=True)
class Retained:
    """A snapshot that fits, and how it came about.

    octets: the JSON object. The counts are those of ``ReferenceStats`` in the schema.
    """

    octets: bytes
    compacted: bool
    original_messages: int
    retained_messages: int
    omitted_bytes: int

    @property
    def omitted_messages(self) -> int:
        return self.original_messages - self.retained_messages

    @property
    def truncated(self) -> bool:
        """Whether anything is missing; every message has at least one byte."""
        return self.omitted_bytes > 0


@dataclass(order=True, slots=True)
class _Held:
    """A message that is kept so far.

    length: UTF-8 bytes of its whole text. said: of a text that can only be cut, the two ends.
    octets: its JSON; None for a text that is longer than the whole budget.
    """

    position: int
    said: Said = field(compare=False)
    length: int = field(compare=False)
    octets: bytes | None = field(compare=False)

    @property
    def cost(self) -> int:
        """Bytes in the object, the comma included; of a text beyond the budget, too few."""
        return (self.length if self.octets is None else len(self.octets)) + 1


class Retention:
    """Keeps of a conversation what fits.

    opening: the object up to its first message. max_bytes: of the whole object.
    """

    def __init__(self, opening: bytes, max_bytes: int) -> None:
        self._opening = opening
        self._max_bytes = max_bytes
        # Every message counts with a comma, which the first one does not have.
        self._size = len(opening) + len(CLOSING) - 1
        self._checkpoints: list[_Held] = []
        self._newest: _Held | None = None
        self._others: list[_Held] = []
        self._last = -1
        self._floor = -1
        self._messages = 0
        self._length = 0

    def add(self, said: Said) -> None:
        """Take note of one message; each once, in any order, the newest first at least cost."""
        length = utf8_length(said.text)
        self._messages += 1
        self._length += length
        is_newest = said.position > self._last
        if is_newest:
            self._last = said.position
            self._release_newest()
        if said.checkpoint:
            self._checkpoints.append(self._held(said, length))
            self._size += self._checkpoints[-1].cost
        elif is_newest:
            self._newest = self._held(said, length)
            self._size += self._newest.cost
        elif said.position > self._floor:
            self._offer(self._held(said, length))
        self._drop_oldest()

    def settled_before(self, seq: Seq) -> bool:
        """Whether no event before ``seq`` can be kept any more, unless it is a checkpoint."""
        return self._floor >= seq

    def finish(self, totals: ConversationTotals | None = None) -> Retained:
        """The snapshot; nothing can be added afterwards.

        totals: of the whole conversation, where not every message was added.

        Raises:
            ReferenceBudgetExceeded: not even empty texts fit.
        """
        newest = () if self._newest is None else (self._newest,)
        kept = sorted((*self._checkpoints, *newest, *self._others))
        missing = self._cut(kept)
        octets = self._opening + b",".join(each.octets or b"" for each in kept) + CLOSING
        if len(octets) > self._max_bytes:
            raise ReferenceBudgetExceeded(
                f"a snapshot of at most {self._max_bytes} bytes has no room for its fixed fields"
            )
        whole = totals or ConversationTotals(self._messages, self._length)
        return Retained(
            octets,
            bool(self._checkpoints),
            whole.messages,
            len(kept),
            whole.octets - sum(each.length for each in kept) + missing,
        )

    def _held(self, said: Said, length: int) -> _Held:
        if length <= self._max_bytes:
            return _Held(said.position, said, length, message_octets(said.role, said.text))
        most = self._max_bytes
        if len(said.text) > 2 * most:
            said = replace(said, text=said.text[:most] + said.text[-most:])
        return _Held(said.position, said, length, None)

    def _release_newest(self) -> None:
        """Let the message go that was the newest until now."""
        released, self._newest = self._newest, None
        if released is not None:
            self._size -= released.cost
            self._offer(released)

    def _offer(self, held: _Held) -> None:
        """Keep a message behind the floor that may go, if it can be kept."""
        if held.octets is not None:
            heapq.heappush(self._others, held)
            self._size += held.cost
            return
        self._floor = held.position
        while self._others and self._others[0].position < self._floor:
            self._size -= heapq.heappop(self._others).cost

    def _drop_oldest(self) -> None:
        while self._size > self._max_bytes and self._others:
            oldest = heapq.heappop(self._others)
            self._size -= oldest.cost
            self._floor = oldest.position

    def _cut(self, kept: list[_Held]) -> int:
        """Cut texts, the longest first, until all fit; answers how many bytes are missing."""
        missing = 0
        for held in sorted(kept, key=lambda each: (-each.length, each.position)):
            if self._size <= self._max_bytes:
                break
            self._size -= held.cost
            said, room = held.said, self._max_bytes - self._size - 1
            text, gone = cut_text(said.role, said.text, held.length, room)
            held.octets = message_octets(said.role, text)
            self._size += held.cost
            missing += gone
        return missing
