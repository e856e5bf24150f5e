"""Who goes first: work that somebody waits for, before work that can wait a moment.

Threads of one process take the processor from each other, also where none blocks the other. So work
in the background asks between its portions, and lets what has precedence end; never for long, since
there may always be more of it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType


class Precedence:
    """Counts what has precedence; ``with precedence:`` around it."""

    __slots__ = ("_ebb", "_under_way")

    def __init__(self) -> None:
        self._under_way = 0
        self._ebb: asyncio.Event | None = None

    def __enter__(self) -> None:
        self._under_way += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._under_way -= 1
        if not self._under_way and self._ebb is not None:
            self._ebb.set()
            self._ebb = None

    async def give_way(self, until: float) -> None:
        """Let others run, and wait while something has precedence.

        until: when to go on whatever is under way, by the clock of the event loop (seconds).
        """
        await asyncio.sleep(0)
        if not self._under_way or asyncio.get_running_loop().time() >= until:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                while self._under_way:
                    if self._ebb is None:
                        self._ebb = asyncio.Event()
                    await self._ebb.wait()
