"""How many bytes of events one operation may take, and all that run together.

The cost of an operation counts fields; an event can be of any size. So what is read for an
operation is weighed, and again each time a field shows it, since each of them makes a copy: one
that takes too much stops there. What it took is held, as part of what all operations may hold
together, until it is given back when its answer was sent.

Always true: no operation has taken more than its allowance and the event that went beyond it.
"""

from __future__ import annotations

import threading
from typing import Final

from sessiongraph.errors import CostLimitExceeded, TooManyRequests

UNCOUNTED: Final = 64 * 1024
"""Bytes that an operation takes without being counted among the others."""

_STEP: Final = 256 * 1024
"""Bytes that are taken from what all may hold at a time."""


class EventBytes:
    """What all operations of one server hold.

    most_each: of one operation; None: as much as it likes. most_together: of all of them, beyond
    the first 64 KiB of each.
    """

    def __init__(self, most_each: int | None = None, most_together: int | None = None) -> None:
        self.most_each = most_each
        self.most_together = most_together
        self.held = 0
        self._lock = threading.Lock()

    def allowance(self) -> Allowance:
        """Of another operation."""
        return Allowance(self)

    def hold(self, count: int) -> None:
        """Hold so much more.

        Raises:
            TooManyRequests: it would be too much.
        """
        with self._lock:
            if self.most_together is not None and self.held + count > self.most_together:
                raise TooManyRequests(
                    f"operations hold more than {self.most_together} bytes of events together "
                    "(max_running_bytes): try again later"
                )
            self.held += count

    def give_back(self, count: int) -> None:
        """Hold so much less."""
        with self._lock:
            self.held -= count


class Allowance:
    """What one operation may take.

    taken: bytes so far.
    """

    __slots__ = ("_free", "_held", "_of", "taken")

    def __init__(self, of: EventBytes) -> None:
        self._of = of
        self._held = 0
        most = of.most_each
        self._free = UNCOUNTED if most is None else min(UNCOUNTED, most)
        self.taken = 0

    def take(self, count: int) -> None:
        """Take an event of so many bytes, to read it or to show it.

        Raises:
            CostLimitExceeded: that is more than one operation may take.
            TooManyRequests: that is more than all may hold together.
        """
        self.taken += count
        if self.taken > self._free:
            self._take_more()

    def let_go(self, count: int) -> None:
        """Take back what was read and is not kept."""
        self.taken -= count

    def require(self, count: int) -> None:
        """Check that an answer of so many bytes is not more than one operation may take.

        Raises:
            CostLimitExceeded: it is.
        """
        most = self._of.most_each
        if most is not None and count > most:
            raise CostLimitExceeded(
                f"it takes more than {most} bytes of events (max_answer_bytes): ask for less, or "
                "in smaller pages"
            )

    def close(self) -> None:
        """Give back what is held; nothing is taken any more."""
        held, self._held = self._held, 0
        if held:
            self._of.give_back(held)

    def _take_more(self) -> None:
        self.require(self.taken)
        wanted = -(-(self.taken - self._free) // _STEP) * _STEP
        self._of.hold(wanted)
        self._held += wanted
        self._free += wanted
        if self._of.most_each is not None:
            self._free = min(self._free, self._of.most_each)
