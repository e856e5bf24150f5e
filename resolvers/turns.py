"""Turns on the event loop, for operations that read many things.

The fields of an operation that read something run side by side, each in a piece of a few
milliseconds, and whatever is ready the event loop runs before it looks at its sockets again. Two
hundred pieces of one operation would keep everybody else waiting for a second. So each piece takes
a turn: within one pass of the loop they have a few milliseconds together, and those that do not fit
come one in a pass, in order.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

PASS_S: Final = 0.005
"""How long pieces may take together in one pass before others have to wait."""


class Turns:
    """The turns of one server."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._passing = False
        self._pass_begun = 0.0

    async def take(self) -> None:
        """Come back when it is one's turn, mostly at once."""
        loop = asyncio.get_running_loop()
        if not self._passing:
            self._passing = True
            self._pass_begun = loop.time()
            loop.call_soon(self._next)
            return
        if not self._waiting and loop.time() - self._pass_begun < PASS_S:
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next(self) -> None:
        """A pass has ended: another one may have its turn."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                loop.call_soon(self._next)
                return
        self._passing = False
