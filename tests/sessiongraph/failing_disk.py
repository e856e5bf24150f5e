"""A disk that refuses, in ways that need no privileges and no special file system.

``full``: no file of this process may grow beyond what the write-ahead log has now, so the operating
system itself refuses the next commit. ``sync``: the commit is rolled back and answered with an
error, which is what SQLite does when ``fsync`` fails.
"""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from providers.sqlite.log_store import SqliteLogStore
from tests.sessiongraph.live_engine import soon

KINDS = ("full", "sync")

PATIENCE_S = 20
"""How long something may take that happens at once unless something is wrong."""


class FailingDisk:
    """The disk under one store."""

    def __init__(self, kind: str, path: Path, store: SqliteLogStore) -> None:
        self._kind = kind
        self._log = path.with_name(f"{path.name}-wal")
        self._connection = _Connection(store)
        self._writer = store.writer

    async def has_refused(self, times: int) -> None:
        """Return when it has refused so many commits more."""
        await asyncio.to_thread(self._connection.wait_for, self._connection.refused + times)

    @asynccontextmanager
    async def failing(self) -> AsyncIterator[None]:
        """Refuse every commit inside; behind it, everybody has heard of those refused."""
        with self._refusing():
            yield
        await self._writer.run(lambda connection: None)
        await soon()

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        if self._kind == "sync":
            self._connection.failing = True
            try:
                yield
            finally:
                self._connection.failing = False
            return
        most, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._log.stat().st_size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))


class _Connection:
    """Takes the place of a store's writing connection."""

    def __init__(self, store: SqliteLogStore) -> None:
        writer = store._write()
        self._connection = writer._connection
        self.failing = False
        self.refused = 0
        self._news = threading.Condition()
        writer._connection = self  # type: ignore[assignment]

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql != "COMMIT":
            return self._connection.execute(sql, *values)
        if self.failing:
            self._connection.execute("ROLLBACK")
            self._refuse()
            raise sqlite3.OperationalError("disk I/O error")
        try:
            return self._connection.execute(sql, *values)
        except sqlite3.Error:
            self._refuse()
            raise

    def wait_for(self, refused: int) -> None:
        with self._news:
            assert self._news.wait_for(lambda: self.refused >= refused, PATIENCE_S)

    def _refuse(self) -> None:
        with self._news:
            self.refused += 1
            self._news.notify_all()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)
