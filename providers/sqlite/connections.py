"""The connections of one file: the one that writes, and a few that read.

``synchronous=FULL`` makes a commit survive the loss of power. Reading connections cannot write at
all; they are kept open and lent to one observation after the other.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from typing_extensions import override

from providers.sqlite import covers, directories
from providers.sqlite.migrations import migrate, recognise, require_newest_shape
from sessiongraph.errors import InvalidConfig, PersistenceFailed

IDLE_READERS: Final = 8
"""Reading connections kept open for the next observation."""

SPARE_READERS: Final = 56
"""Further ones, with little memory, for moments in which many observe at once: to open one and to
close it again takes as long as some small answers."""

_READER_CACHE_KIB: Final = 8 * 1024
_SPARE_CACHE_KIB: Final = 256
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


class Reader(sqlite3.Connection):
    """A connection that reads.

    is_spare: whether it has little memory for pages. when_closed: called once when it is closed.
    """

    is_spare = False
    when_closed: Callable[[], None] | None = None

    @override
    def close(self) -> None:
        told, self.when_closed = self.when_closed, None
        super().close()
        if told is not None:
            told()


class Readers:
    """Lends reading connections of one file: a few, and spare ones while those are lent."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[Reader] = []
        self._idle_spare: list[Reader] = []
        self._usual = 0
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

    def borrow(self) -> Reader:
        """A connection outside any transaction.

        Raises:
            PersistenceFailed: the file cannot be opened, or the store is closed.
        """
        with self._lock:
            if self._closed:
                raise PersistenceFailed("the store is closed")
            if self._idle:
                return self._idle.pop()
            is_spare = self._usual >= IDLE_READERS
            if is_spare and self._idle_spare:
                return self._idle_spare.pop()
            self._usual += not is_spare
        try:
            return self._connect(is_spare=is_spare)
        except sqlite3.Error as error:
            raise PersistenceFailed(f"{self._path} could not be opened: {error}") from error

    def give_back(self, connection: Reader) -> None:
        """Take a connection back, outside any transaction."""
        with self._lock:
            idle = self._idle_spare if connection.is_spare else self._idle
            if not self._closed and len(idle) < SPARE_READERS:
                idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close what is idle now and the rest when it is given back."""
        with self._lock:
            self._closed = True
            idle = [*self._idle, *self._idle_spare]
            self._idle.clear()
            self._idle_spare.clear()
        for connection in idle:
            connection.close()

    def _forget_one(self) -> None:
        with self._lock:
            self._usual -= 1

    def _connect(self, *, is_spare: bool) -> Reader:
        try:
            connection = sqlite3.connect(
                f"{self._path.absolute().as_uri()}?mode=ro",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
                factory=Reader,
            )
        except BaseException:
            if not is_spare:
                self._forget_one()
            raise
        connection.is_spare = is_spare
        connection.when_closed = None if is_spare else self._forget_one
        cache = _SPARE_CACHE_KIB if is_spare else _READER_CACHE_KIB
        try:
            connection.execute(f"PRAGMA cache_size = -{cache}")
            connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        except BaseException:
            connection.close()
            raise
        return connection
