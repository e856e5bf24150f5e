"""How much may run at once: sockets, subscriptions, operations, and what these could cost together.

Whatever is one too many is refused at once and can be tried again. Only dear operations wait for
each other: they begin in the order in which they came, as long as all that run together stay within
a budget. Cheap ones pass by, so that who asks for little never waits behind those who ask for much.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Final

from sessiongraph.errors import TooManyRequests

CHEAP: Final = 1000
"""Estimated cost up to which an operation waits for nobody."""

WAITING: Final = 100
"""Dear operations that wait at most; another one is refused."""


class Places:
    """A number of places, of which each that is taken is given back.

    what: what takes them, as a refusal says it. setting: where the number comes from.
    """

    def __init__(self, most: int, what: str, setting: str) -> None:
        self.most = most
        self.taken = 0
        self._what = what
        self._setting = setting

    def require(self, count: int = 1) -> None:
        """Check that places are left.

        Raises:
            TooManyRequests: all are taken.
        """
        if self.taken + count > self.most:
            raise TooManyRequests(
                f"more than {self.most} {self._what} at once ({self._setting}): try again later"
            )

    def take(self, count: int = 1) -> Taken:
        """Have places while a block lasts.

        Raises:
            TooManyRequests: (when it is entered) all are taken.
        """
        return Taken(self, count)


class Taken:
    """Places that are taken while a block lasts."""

    __slots__ = ("_count", "_places")

    def __init__(self, places: Places, count: int) -> None:
        self._places = places
        self._count = count

    def __enter__(self) -> None:
        self._places.require(self._count)
        self._places.taken += self._count

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._places.taken -= self._count


class RunningCost:
    """What the dear operations that run at once could cost together."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.running = 0
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()

    @asynccontextmanager
    async def share(self, cost: int) -> AsyncIterator[None]:
        """Run at a cost while the block lasts; waits before it while too much runs.

        Raises:
            TooManyRequests: too many wait already.
        """
        if cost <= CHEAP:
            yield
            return
        share = min(cost, self.most)
        await self._begin(share)
        try:
            yield
        finally:
            self._end(share)

    async def _begin(self, share: int) -> None:
        if not self._waiting and self.running + share <= self.most:
            self.running += share
            return
        if len(self._waiting) >= WAITING:
            raise TooManyRequests(
                f"{WAITING} operations wait already until those that run cost less than "
                f"{self.most} (max_running_cost): try again later"
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((turn, share))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._end(share)
            elif (turn, share) in self._waiting:
                self._waiting.remove((turn, share))
                self._let_in()
            raise

    def _end(self, share: int) -> None:
        self.running -= share
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self.running + self._waiting[0][1] <= self.most:
            turn, share = self._waiting.popleft()
            if not turn.done():
                self.running += share
                turn.set_result(None)


class Occupancy:
    """The places of one server.

    max_operations: queries and mutations, waiting ones included. max_operations_per_connection: of
    any kind, on one WebSocket.
    max_body_bytes: of requests that are being received or read, each as long as it may be.
    """

    def __init__(
        self,
        *,
        max_websockets: int = 2000,
        max_subscriptions: int = 10_000,
        max_operations: int = 1000,
        max_operations_per_connection: int = 500,
        max_running_cost: int = 400_000,
        max_body_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        self.websockets = Places(max_websockets, "WebSockets", "max_websockets")
        self.subscriptions = Places(max_subscriptions, "subscriptions", "max_subscriptions")
        self.operations = Places(max_operations, "operations", "max_operations")
        self.bodies = Places(max_body_bytes, "bytes of requests", "max_body_bytes")
        self.cost = RunningCost(max_running_cost)
        self.max_operations_per_connection = max_operations_per_connection
