"""The connections of one file: the one that writes, and a few that read.

``synchronous=FULL`` makes a commit survive the loss of power. Reading connections cannot write at
all; they are kept open and lent to one observation after the other.
"""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Final

from providers.sqlite import covers, directories
from providers.sqlite.migrations import migrate, recognise, require_newest_shape
from sessiongraph.errors import InvalidConfig, PersistenceFailed

IDLE_READERS: Final = 8
"""Reading connections kept open for the next observation."""

_READER_CACHE_KIB: Final = 8 * 1024
_WRITER_CACHE_KIB: Final = 16 * 1024
_BUSY_MS: Final = 10_000

_LEFT_OF_WAL_BYTES: Final = 64 << 20
"""To what the write-ahead log is cut when it begins anew. A long read lets it grow."""

# sqlite3 asks each bound value that is neither a number nor a text whether it wants to be adapted.
# None and bytes say no by an exception, which costs more than binding them: half a microsecond for
# each NULL of each row. Adapters that give back the very value answer at once.
sqlite3.register_adapter(type(None), {None: None}.__getitem__)
sqlite3.register_adapter(bytes, bytes)


def open_writer(path: Path) -> sqlite3.Connection:
    """The writing connection of a file that is created, or brought to the newest shape.

    Raises:
        InvalidConfig: the file is another program's, or a newer version's.
        PersistenceFailed: the file cannot be opened.
    """
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            recognise(connection, str(path))
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA journal_size_limit = {_LEFT_OF_WAL_BYTES}")
            connection.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")
            connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
            covers.teach(connection)
            directories.teach(connection)
            migrate(connection)
        except BaseException:
            connection.close()
            raise
    except sqlite3.DatabaseError as error:
        raise PersistenceFailed(f"{path} cannot be opened as a store: {error}") from error
    return connection


class Readers:
    """Lends reading connections of one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    def require_store(self) -> None:
        """Check that there is a store of ours to read.

        Raises:
            InvalidConfig: there is none, or the file is not ours, or another version's.
            PersistenceFailed: the file cannot be read.
        """
        if not self._path.exists():
            raise InvalidConfig(f"there is no store at {self._path}: import something first")
        connection = self.borrow()
        try:
            if not recognise(connection, str(self._path)):
                raise InvalidConfig(f"{self._path} is empty: import something first")
            require_newest_shape(connection, str(self._path))
        except sqlite3.Error as error:
            raise PersistenceFailed(f"{self._path} cannot be read as a store: {error}") from error
        finally:
            connection.close()

    def borrow(self) -> sqlite3.Connection:
        """A connection outside any transaction.

        Raises:
            PersistenceFailed: the file cannot be opened, or the store is closed.
        """
        with self._lock:
            if self._closed:
                raise PersistenceFailed("the store is closed")
            if self._idle:
                return self._idle.pop()
        try:
            return self._connect()
        except sqlite3.Error as error:
            raise PersistenceFailed(f"{self._path} could not be opened: {error}") from error

    def give_back(self, connection: sqlite3.Connection) -> None:
        """Take a connection back, outside any transaction."""
        with self._lock:
            if not self._closed and len(self._idle) < IDLE_READERS:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close what is idle now and the rest when it is given back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            connection.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB}")
            connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        except BaseException:
            connection.close()
            raise
        return connection
