"""The log store: one SQLite file in WAL mode, one writer, and a reader for each observation.

``synchronous=FULL`` makes a commit survive the loss of power. Reading connections are kept and
reused; each observation is one read transaction on one of them, so that everything an operation
sees is of one moment, whatever is written meanwhile.
"""

from __future__ import annotations

import asyncio
import secrets
import sqlite3
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

from providers.sqlite import commits, headers
from providers.sqlite.appending import Batch, prepare
from providers.sqlite.codec import to_octets
from providers.sqlite.log_reader import SqliteLogReader
from providers.sqlite.migrations import DOOMED, VISIBLE, migrate, recognise
from providers.sqlite.rebuilding import rebuild_log, recount
from providers.sqlite.staging import SqliteStagedLog, begin_growth, begin_log, take_end
from providers.sqlite.sweeping import sweep_growth, sweep_log, unsettled
from providers.sqlite.types import TypeNames
from providers.sqlite.verification import Fault, Progress, verify
from providers.sqlite.writer import Writer
from sessiongraph.errors import InvalidConfig, LogConflict, PersistenceFailed
from sessiongraph.event import CHUNK_TYPE
from sessiongraph.header import SessionHeader
from sessiongraph.ports import LogReader, PlacedEntry, Position, RecordingState, StoredSession

IDLE_READERS: Final = 8
"""Reading connections kept open for the next observation."""

_NAME_BITS: Final = 62
_READER_CACHE_KIB: Final = 8 * 1024
_WRITER_CACHE_KIB: Final = 32 * 1024
_BUSY_MS: Final = 10_000


class SqliteLogStore:
    """See :class:`sessiongraph.ports.LogStore`."""

    def __init__(self, path: Path, writer: Writer | None, types: TypeNames) -> None:
        self._path = path
        self._writer = writer
        self._types = types
        self._idle: list[sqlite3.Connection] = []
        self._idle_lock = threading.Lock()
        self._closed = False

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> SqliteLogStore:
        """Open the file, or create it.

        read_only: answer beside the process that writes; nothing is created or migrated.

        Raises:
            InvalidConfig: the file is another program's, or a newer version's, or is missing and
                may not be created.
            PersistenceFailed: the file cannot be opened.
        """
        types = TypeNames()
        if read_only:
            store = cls(path, None, types)
            if not path.exists():
                raise InvalidConfig(f"there is no store at {path}: import something first")
            connection = store._connect()
            try:
                if not recognise(connection, str(path)):
                    raise InvalidConfig(f"{path} is empty: import something first")
                types.load(connection)
            finally:
                connection.close()
            return store
        try:
            connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            try:
                known = recognise(connection, str(path))
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")
                connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
                migrate(connection)
                if known:
                    types.load(connection)
                types.remember(types.assign(connection, types.unknown({CHUNK_TYPE})))
            except BaseException:
                connection.close()
                raise
        except sqlite3.DatabaseError as error:
            raise PersistenceFailed(f"{path} cannot be opened as a store: {error}") from error
        store = cls(path, Writer(connection), types)
        store._sweep()
        return store

    @asynccontextmanager
    async def observe(self) -> AsyncIterator[LogReader]:
        """One read transaction.

        Raises:
            PersistenceFailed: the file cannot be read.
        """
        connection = self._borrow()
        try:
            connection.execute("BEGIN")
            try:
                yield SqliteLogReader(connection, self._types)
            finally:
                connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            connection.close()
            raise PersistenceFailed(f"the store could not be read: {error}") from error
        except BaseException:
            self._give_back(connection)
            raise
        else:
            self._give_back(connection)

    async def create(self, header: SessionHeader) -> Position:
        """A new, empty log.

        Raises:
            LogConflict: the id is taken.
            PersistenceFailed: the disk refused.
        """

        def job(connection: sqlite3.Connection) -> Position:
            octets = to_octets(header.session_id)
            if _visible(connection, octets) is not None:
                raise LogConflict(f"the id {header.session_id!r} is taken")
            connection.execute("DELETE FROM tombstones WHERE id = ?", (octets,))
            position = commits.record(connection, commits.CREATED, octets, None, 0, -1)
            headers.insert_log(connection, header, state=VISIBLE, epoch=position)
            commits.count(connection, sessions=1)
            return position

        return await asyncio.wrap_future(self._write().submit(job))

    async def append(self, session_id: str, epoch: int, entries: Sequence[PlacedEntry]) -> Position:
        """Append in one transaction.

        Raises:
            LogConflict: the log is not at the first entry's seq, or has another epoch.
            PersistenceFailed: the disk refused; nothing was appended.
        """
        async with self.observe() as reader:
            session = (await reader.find([session_id])).get(session_id)
        if session is None or session.epoch != epoch:
            raise LogConflict(f"{session_id!r} is not the log that was to be appended to")
        await self._register(
            self._types.unknown({each.entry.type for each in entries} | {CHUNK_TYPE})
        )
        batch = prepare(session.log, entries, self._types.numbers())
        return await asyncio.wrap_future(
            self._write().submit(lambda connection: _append(connection, session, batch))
        )

    async def stage(self, header: SessionHeader) -> SqliteStagedLog:
        """A log that is invisible until it is published."""
        name = secrets.randbits(_NAME_BITS)
        log = await asyncio.wrap_future(
            self._write().submit(lambda connection: begin_log(connection, header, name))
        )
        return self._staged(log, name, None)

    async def stage_growth(self, session: StoredSession) -> SqliteStagedLog:
        """More events for a stored log, invisible until they are published."""
        name = secrets.randbits(_NAME_BITS)
        await asyncio.wrap_future(
            self._write().submit(lambda connection: begin_growth(connection, session.log, name))
        )
        return self._staged(session.log, name, session)

    async def remember_recording(self, recording: RecordingState) -> None:
        """Note that a file was looked at and holds nothing new."""
        await asyncio.wrap_future(
            self._write().submit(
                lambda connection: commits.remember_recording(connection, recording)
            )
        )

    async def delete(self, session_id: str) -> bool:
        """Remove a log; it vanishes at once, its rows go in bounded transactions.

        Raises:
            PersistenceFailed: the disk refused; the log is still there.
        """

        def job(connection: sqlite3.Connection) -> int | None:
            octets = to_octets(session_id)
            row = _visible(connection, octets)
            if row is None:
                return None
            log, epoch, last_seq = row
            connection.execute("UPDATE logs SET state = ? WHERE log = ?", (DOOMED, log))
            connection.execute("INSERT OR IGNORE INTO tombstones VALUES (?)", (octets,))
            connection.execute("DELETE FROM recordings WHERE id = ?", (octets,))
            commits.record(connection, commits.DELETED, octets, epoch, 0, last_seq)
            commits.count(connection, sessions=-1, events=-(last_seq + 1))
            return log

        log = await asyncio.wrap_future(self._write().submit(job))
        if log is not None:
            sweep_log(self._write(), log)
        return log is not None

    async def check(self, on_progress: Progress | None = None) -> list[Fault]:
        """Verify everything against a fold from scratch, in a worker thread.

        Raises:
            PersistenceFailed: the file cannot be read.
        """

        def read() -> list[Fault]:
            connection = self._borrow()
            try:
                connection.execute("BEGIN")
                return list(verify(connection, self._types, on_progress))
            except sqlite3.Error as error:
                raise PersistenceFailed(f"the store could not be read: {error}") from error
            finally:
                connection.close()

        return await asyncio.to_thread(read)

    async def repair(self, faults: Sequence[Fault]) -> None:
        """Rebuild what is derived, for every log with a fault and for the totals.

        A log that is damaged itself is left as it is.

        Raises:
            PersistenceFailed: the disk refused.
        """
        damaged = {fault.session_id for fault in faults if not fault.repairable}
        repairable = dict.fromkeys(
            fault.session_id for fault in faults if fault.session_id is not None
        )
        for session_id in repairable:
            if session_id not in damaged:
                await asyncio.wrap_future(self._write().submit(partial(self._rebuild, session_id)))
        await asyncio.wrap_future(self._write().submit(recount))

    def _rebuild(self, session_id: str, connection: sqlite3.Connection) -> None:
        row = _visible(connection, to_octets(session_id))
        if row is not None:
            rebuild_log(connection, self._types, row[0], row[2])

    async def close(self) -> None:
        """Commit what is queued and release the file."""
        self._closed = True
        with self._idle_lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        if self._writer is not None:
            await asyncio.to_thread(self._writer.close)

    def _sweep(self) -> None:
        """Begin to remove what a crash left behind."""
        writer = self._write()
        doomed, grown = writer.submit(unsettled).result()
        for log in doomed:
            sweep_log(writer, log)
        for log, staged_by in grown:
            sweep_growth(writer, log, staged_by)

    def _staged(self, log: int, name: int, growing: StoredSession | None) -> SqliteStagedLog:
        return SqliteStagedLog(self._write(), self._types, self._register, log, name, growing)

    async def _register(self, names: set[str]) -> None:
        """Give numbers to new event types, on disk before any row uses them."""
        if names:
            assigned = await asyncio.wrap_future(
                self._write().submit(lambda connection: self._types.assign(connection, names))
            )
            self._types.remember(assigned)

    def _write(self) -> Writer:
        if self._writer is None:
            raise PersistenceFailed("the store was opened for reading only")
        return self._writer

    def _borrow(self) -> sqlite3.Connection:
        if self._closed:
            raise PersistenceFailed("the store is closed")
        with self._idle_lock:
            if self._idle:
                return self._idle.pop()
        try:
            return self._connect()
        except sqlite3.Error as error:
            raise PersistenceFailed(f"the store could not be opened: {error}") from error

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._idle_lock:
            if not self._closed and len(self._idle) < IDLE_READERS:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> sqlite3.Connection:
        uri = f"{self._path.absolute().as_uri()}?mode=ro"
        connection = sqlite3.connect(
            uri, uri=True, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        connection.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB}")
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        return connection


def _visible(connection: sqlite3.Connection, octets: bytes) -> tuple[int, int, int] | None:
    row: tuple[int, int, int] | None = connection.execute(
        "SELECT log, epoch, last_seq FROM logs WHERE id = ? AND state = ?", (octets, VISIBLE)
    ).fetchone()
    return row


def _append(connection: sqlite3.Connection, session: StoredSession, batch: Batch) -> Position:
    octets = to_octets(session.header.session_id)
    row = _visible(connection, octets)
    if row is None or row[:2] != (session.log, session.epoch):
        raise LogConflict(f"{session.header.session_id!r} was replaced or deleted meanwhile")
    if row[2] + 1 != batch.first_seq:
        raise LogConflict(
            f"{session.header.session_id!r} is at seq {row[2] + 1}, not at {batch.first_seq}"
        )
    take_end(connection, batch.log)
    batch.write(connection)
    connection.execute("UPDATE logs SET last_seq = ? WHERE log = ?", (batch.last_seq, batch.log))
    commits.show_latest(connection, batch.log, batch.title, batch.prompt)
    commits.count(connection, events=batch.last_seq - batch.first_seq + 1)
    return commits.record(
        connection, commits.APPENDED, octets, session.epoch, batch.first_seq, batch.last_seq
    )
