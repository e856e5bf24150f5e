"""How an observation reads: on one connection, where it is asked or in a worker thread.

Small reads run where they are asked, since a walk along an index is shorter than the way to another
thread; what can be long (walks over many sessions, pages of a whole log) runs in a worker thread,
and the connection then belongs to that thread until it is done. Who is cancelled meanwhile stops
the read: what its thread does is interrupted until it has ended. So does the end of an observation:
its connection goes to somebody else, whoever did not wait for a read of his.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from sessiongraph.errors import PersistenceFailed

T = TypeVar("T")

VALUES_AT_MOST: Final = 500
"""Values bound to one statement."""

_INTERRUPTED_EVERY_S: Final = 0.01


class Reading:
    """Reads on one connection, one at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._busy = asyncio.Lock()
        self._running: tuple[asyncio.Future[Any], threading.Event] | None = None
        self._over = False

    async def stop(self) -> None:
        """Have nothing read any more, and wait for what a thread still reads."""
        self._over = True
        if self._running is not None:
            work, unwanted = self._running
            unwanted.set()
            if await self._interrupted(work):
                raise asyncio.CancelledError

    async def _here(self, read: Callable[[], T]) -> T:
        """Run a short read, at once unless a long one has the connection."""
        if self._busy.locked():
            async with self._busy:
                return self._read(read)
        return self._read(read)

    async def _aside(self, read: Callable[[], T]) -> T:
        """Run a long read in a worker thread, off the event loop."""
        unwanted = threading.Event()

        def unless_unwanted() -> T:
            if unwanted.is_set():
                raise PersistenceFailed("the read was cancelled before it began")
            return self._read(read)

        async with self._busy:
            work = asyncio.ensure_future(asyncio.to_thread(unless_unwanted))
            self._running = work, unwanted
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                unwanted.set()
                await self._interrupted(work)
                raise
            finally:
                self._running = None

    async def _interrupted(self, work: asyncio.Future[Any]) -> bool:
        """Wait for a read that is stopped; the connection is its thread's until it has ended.

        An interrupt stops the statement that runs at that moment, and none that begins after it.
        Answers whether whoever waits was cancelled meanwhile.
        """
        cancelled = False
        while not work.done():
            self._connection.interrupt()
            try:
                await asyncio.wait({work}, timeout=_INTERRUPTED_EVERY_S)
            except asyncio.CancelledError:
                cancelled = True
        if not work.cancelled():
            work.exception()
        return cancelled

    def _read(self, read: Callable[[], T]) -> T:
        if self._over:
            raise PersistenceFailed("the store could not be read: the observation has ended")
        try:
            return read()
        except sqlite3.Error as error:
            raise PersistenceFailed(f"the store could not be read: {error}") from error


def batches(values: Sequence[T]) -> list[Sequence[T]]:
    """The values in portions that one statement can be given."""
    return [
        values[start : start + VALUES_AT_MOST] for start in range(0, len(values), VALUES_AT_MOST)
    ]


def marks(values: Sequence[Any]) -> str:
    """The marks that values are bound to."""
    return ",".join("?" * len(values))
