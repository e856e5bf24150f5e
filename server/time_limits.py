"""Blocks that may each last the same time, and one timer for all of them.

A timer of the event loop costs as much to set and to cancel as a small body costs to be read, and
of those that watch over requests hardly one ever fires. Blocks of one length end in the order in
which they began, as long as none ends early; so the timer is set for the oldest only, and looks for
the next one when it fires.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Protocol, Self

from server.own_cancellation import OwnCancellation


class Lasting(Protocol):
    """What wants to be told."""

    def lasts(self) -> None:
        """It has lasted the time after which it is told; nothing may be raised."""


class SharedTimer:
    """Tells blocks of one event loop that they have lasted a while.

    after_s: the while.
    """

    def __init__(self, after_s: float) -> None:
        self.after_s = after_s
        self._due: dict[Lasting, float] = {}
        self._is_set = False

    def begin(self, block: Lasting) -> None:
        """A block begins, and is told once if it does not end before."""
        loop = asyncio.get_running_loop()
        due = self._due[block] = loop.time() + self.after_s
        if not self._is_set:
            self._is_set = True
            loop.call_at(due, self._tell)

    def end(self, block: Lasting) -> None:
        """A block has ended; it may have been told."""
        self._due.pop(block, None)

    def _tell(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._is_set = False
        while self._due:
            block = next(iter(self._due))
            due = self._due[block]
            if due > now:
                self._is_set = True
                loop.call_at(due, self._tell)
                return
            del self._due[block]
            block.lasts()


class TimeLimit:
    """How long each of many blocks may take.

    limit_s: the time, in seconds.
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._timer = SharedTimer(limit_s)

    def block(self) -> LimitedBlock:
        """A block that may take so long, and ends with TimeoutError when it takes longer."""
        return LimitedBlock(self._timer)


class LimitedBlock:
    """One block, as that of :func:`asyncio.timeout` is.

    expired: whether its time was over.
    """

    __slots__ = ("_cancellation", "_timer", "expired")

    def __init__(self, timer: SharedTimer) -> None:
        self.expired = False
        self._timer = timer

    def __enter__(self) -> Self:
        self._cancellation = OwnCancellation()
        self._timer.begin(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.end(self)
        if self.expired and self._cancellation.ended(kind):
            raise TimeoutError from error

    def lasts(self) -> None:
        """End the block."""
        self.expired = True
        self._cancellation.begin()
