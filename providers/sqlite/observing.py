"""Observations of the file: read transactions, each on a connection of its own."""

from __future__ import annotations

import sqlite3
from types import TracebackType

from providers.sqlite.connections import Reader, Readers
from providers.sqlite.known_sessions import KnownSessions
from providers.sqlite.log_reader import SqliteLogReader
from providers.sqlite.types import TypeNames
from sessiongraph.errors import PersistenceFailed


class Observations:
    """Those of one file.

    open: how many there are.
    """

    def __init__(self, readers: Readers, types: TypeNames) -> None:
        self.open = 0
        self._readers = readers
        self._types = types
        self._known = KnownSessions()

    def begin(self) -> tuple[Reader, SqliteLogReader]:
        """A connection in a transaction, and what reads on it.

        Raises:
            PersistenceFailed: the file cannot be read.
        """
        connection = self._readers.borrow()
        try:
            connection.execute("BEGIN")
            reader = SqliteLogReader(connection, self._types, self._known)
        except BaseException as error:
            connection.close()
            if isinstance(error, sqlite3.Error):
                raise _unreadable(error) from error
            raise
        self.open += 1
        return connection, reader

    def end(self, connection: Reader, error: BaseException | None) -> None:
        """End a transaction, whose connection is lent again unless it failed.

        Raises:
            PersistenceFailed: it failed, now or before.
        """
        self.open -= 1
        failure = error if isinstance(error, sqlite3.Error) else None
        try:
            connection.execute("ROLLBACK")
        except sqlite3.Error as refusal:
            failure = failure or refusal
        if failure is None:
            self._readers.give_back(connection)
        else:
            connection.close()
            raise _unreadable(failure) from failure


class Observing:
    """One observation, which lasts as long as its block.

    Written out, since every operation opens one: a generator that does the same takes twice as long
    as the transaction itself.
    """

    __slots__ = ("_connection", "_observations", "_reader")

    def __init__(self, observations: Observations) -> None:
        self._observations = observations

    async def __aenter__(self) -> SqliteLogReader:
        self._connection, self._reader = self._observations.begin()
        return self._reader

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._reader.stop()
        finally:
            self._observations.end(self._connection, error)


def _unreadable(error: sqlite3.Error) -> PersistenceFailed:
    return PersistenceFailed(f"the store could not be read: {error}")
