"""The feed of commits, followed from any position: read from its table, woken by the writer.

What a follower reads is what is on disk, in the order of commits; being woken only says that it may
be worth a look. So a follower may be as slow as it likes and misses nothing.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from typing import Final

from providers.sqlite.commits import commits_after
from providers.sqlite.connections import Readers
from sessiongraph.errors import PersistenceFailed
from sessiongraph.ports import Commit, Position

COMMITS_AT_ONCE: Final = 1000


class SqliteCommitFeed:
    """See :class:`sessiongraph.ports.CommitFeed`."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._waiting: dict[asyncio.AbstractEventLoop, set[asyncio.Event]] = {}
        self._closed = False

    async def follow(self, after: Position) -> AsyncIterator[list[Commit]]:
        """Every commit after a position, in order, without a hole; ends with the store.

        Raises:
            PersistenceFailed: the feed cannot be read.
        """
        woken = asyncio.Event()
        loop = asyncio.get_running_loop()
        waiting = self._waiting.setdefault(loop, set())
        waiting.add(woken)
        try:
            while not self._closed:
                woken.clear()
                commits = self._read(after)
                if commits:
                    yield commits
                    after = commits[-1].position
                else:
                    await woken.wait()
        finally:
            waiting.discard(woken)
            if not waiting:
                self._waiting.pop(loop, None)

    def wake(self) -> None:
        """Let every follower look again, soon; for any thread.

        Each loop is called once, however many follow in it: every call takes turns with the loop.
        """
        for loop, waiting in tuple(self._waiting.items()):
            try:
                loop.call_soon_threadsafe(_set_all, waiting)
            except RuntimeError:
                # This loop is closed, and its followers with it.
                self._waiting.pop(loop, None)

    def close(self) -> None:
        """End every follower."""
        self._closed = True
        self.wake()

    def _read(self, after: Position) -> list[Commit]:
        connection = self._readers.borrow()
        try:
            return commits_after(connection, after, COMMITS_AT_ONCE)
        except sqlite3.Error as error:
            raise PersistenceFailed(f"the feed of commits cannot be read: {error}") from error
        finally:
            self._readers.give_back(connection)


def _set_all(events: set[asyncio.Event]) -> None:
    for event in events:
        event.set()
