"""Turns: whoever works on the same thing does so one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Turns(Generic[K]):
    """A lock for each key, kept only as long as somebody holds it or waits for it."""

    def __init__(self) -> None:
        self._turns: dict[K, _Turn] = {}

    @asynccontextmanager
    async def alone(self, key: K) -> AsyncIterator[None]:
        """Be the only one with this key while the block lasts."""
        turn = self._turns.setdefault(key, _Turn())
        turn.holders += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.holders -= 1
            if not turn.holders:
                del self._turns[key]


class _Turn:
    __slots__ = ("holders", "lock")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.holders = 0
