"""How late the event loop is: the time between when something should have run and when it did.

Everything that a client waits for goes through one loop, so its delay is part of every answer. It
is measured by being there: a timer that should go off every so often, and how late it does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from sessiongraph.distribution import SECONDS, Distribution

EVERY_S: Final = 0.25
"""Between two looks; they cost a few microseconds each."""


class LoopDelay:
    """The delays of one loop (seconds)."""

    def __init__(self) -> None:
        self.delays = Distribution(SECONDS)
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def measuring(self) -> AsyncIterator[None]:
        """Measure the running loop while the block lasts."""
        self._wait(asyncio.get_running_loop())
        try:
            yield
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_at(loop.time() + EVERY_S, self._look, loop, loop.time() + EVERY_S)

    def _look(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        self.delays.add(max(0.0, loop.time() - due))
        self._wait(loop)
