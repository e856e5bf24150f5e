"""Sessions that wait to be folded when there is time, each at most once.

Those that are being written to come before those that were read from files.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict


class ColdQueue:
    """Ids of sessions, taken one by one."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, None] = OrderedDict()
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, session_id: str, *, first: bool) -> None:
        """Let a session wait, in front of the others or behind them."""
        self._waiting.setdefault(session_id)
        if first:
            self._waiting.move_to_end(session_id, last=False)
        self._wake()

    def discard(self, session_id: str) -> None:
        """Let a session wait no longer."""
        self._waiting.pop(session_id, None)
        self._wake()

    async def take(self) -> str:
        """The next session; waits for one."""
        while not self._waiting:
            await self._changed.wait()
        session_id, _ = self._waiting.popitem(last=False)
        self._wake()
        return session_id

    async def shorter_than(self, length: int) -> None:
        """Wait until fewer than so many sessions wait."""
        while len(self._waiting) >= length:
            await self._changed.wait()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
