"""A store whose doors can be held, so that a race happens exactly where a test wants it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sessiongraph.errors import PersistenceFailed
from sessiongraph.ports import LogReader, LogStore


class Door:
    """One place where calls of one method wait.

    reached: set when somebody waits here.
    """

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self._open = asyncio.Event()

    async def pass_through(self) -> None:
        self.reached.set()
        await self._open.wait()

    def open(self) -> None:
        self._open.set()


class StoppedStore:
    """Everything that the store does, but at held doors its callers wait.

    blind: whether the store cannot be observed, as with a sick disk.
    calls: how often each method was called.
    """

    def __init__(self, store: LogStore) -> None:
        self._store = store
        self._before: dict[str, Door] = {}
        self._after: dict[str, Door] = {}
        self.blind = False
        self.calls: Counter[str] = Counter()

    def hold(self, method: str) -> Door:
        """Let calls of a method wait before they do anything."""
        return self._before.setdefault(method, Door())

    def hold_answer(self, method: str) -> Door:
        """Let calls of a method wait when everything is done."""
        return self._after.setdefault(method, Door())

    def let(self, method: str) -> None:
        """Hold no further calls of a method; those that wait go on waiting."""
        self._before.pop(method, None)
        self._after.pop(method, None)

    async def create(self, *arguments: Any) -> Any:
        return await self._through("create", *arguments)

    async def append(self, *arguments: Any) -> Any:
        return await self._through("append", *arguments)

    async def delete(self, *arguments: Any) -> Any:
        return await self._through("delete", *arguments)

    @asynccontextmanager
    async def observe(self) -> AsyncIterator[LogReader]:
        if self.blind:
            raise PersistenceFailed("the file cannot be read")
        async with self._store.observe() as reader:
            if (door := self._after.get("observe")) is not None:
                await door.pass_through()
            yield reader

    async def _through(self, method: str, *arguments: Any) -> Any:
        self.calls[method] += 1
        if (door := self._before.get(method)) is not None:
            await door.pass_through()
        answer = await getattr(self._store, method)(*arguments)
        if (door := self._after.get(method)) is not None:
            await door.pass_through()
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
