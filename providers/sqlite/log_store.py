"""The log store: one SQLite file in WAL mode, one writer, and a reader for each observation.

Each observation is one read transaction on a connection of its own, so that everything an operation
sees is of one moment, whatever is written meanwhile. Small writes are one job of the writer; large
ones are staged.
"""

from __future__ import annotations

import asyncio
import secrets
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Final, Self

from providers.sqlite import commits, covers, directories, headers
from providers.sqlite.append_jobs import AppendJob, append_all
from providers.sqlite.appending import prepare
from providers.sqlite.codec import json_octets, to_octets
from providers.sqlite.connections import Readers, open_writer
from providers.sqlite.feed import SqliteCommitFeed
from providers.sqlite.forking import first_members, latest_prompt, latest_title
from providers.sqlite.numbering import DOOMED, VISIBLE
from providers.sqlite.observing import Observations, Observing
from providers.sqlite.rebuilding import rebuild_log, recount
from providers.sqlite.staging import SqliteStagedLog, begin_growth, begin_log, take_end
from providers.sqlite.sweeping import sweep_growth, sweep_log, unsettled
from providers.sqlite.types import TypeNames
from providers.sqlite.verification import Fault, Progress, verify
from providers.sqlite.writer import Writer
from sessiongraph.errors import LogConflict, PersistenceFailed
from sessiongraph.event import CHUNK_TYPE, DeltaRun, Seq
from sessiongraph.header import SessionHeader
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.ports import Commit, CommitKind, LogReader, Position, StoredSession
from sessiongraph.recordings import RecordingState
from sessiongraph.surface import Transition

_NAME_BITS: Final = 62

_PREPARED_HERE: Final = 256
"""Entries up to which rows are made where the append was asked for, not in a worker thread."""

_KNOWN_LOGS: Final = 20_000
"""Numbers of logs kept for the next append."""


class SqliteLogStore:
    """See :class:`sessiongraph.ports.LogStore`."""

    def __init__(self, readers: Readers, writer: Writer | None, types: TypeNames) -> None:
        self._observations = Observations(readers, types)
        self._readers = readers
        self._writer = writer
        self._types = types
        self._logs: dict[str, tuple[int, int]] = {}
        self._feed = SqliteCommitFeed(readers)
        if writer is not None:
            writer.committed = self._feed.wake

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> Self:
        """Open the file, or create it.

        read_only: answer beside the process that writes; nothing is created or migrated.

        Raises:
            InvalidConfig: the file is another program's, or a newer version's, or is missing and
                may not be created.
            PersistenceFailed: the file cannot be opened.
        """
        types = TypeNames()
        readers = Readers(path)
        if read_only:
            readers.require_store()
            return cls(readers, None, types)
        connection = open_writer(path)
        types.load(connection)
        types.remember(types.assign(connection, types.unknown({CHUNK_TYPE})))
        store = cls(readers, Writer(connection), types)
        store._sweep()
        return store

    @property
    def readers(self) -> Readers:
        """The reading connections, for what else lies in the file."""
        return self._readers

    @property
    def writer(self) -> Writer:
        """The one who writes the file.

        Raises:
            PersistenceFailed: the store was opened for reading only.
        """
        return self._write()

    @property
    def observations(self) -> int:
        """How many are open."""
        return self._observations.open

    def observe(self) -> AbstractAsyncContextManager[LogReader]:
        """One read transaction.

        Raises:
            PersistenceFailed: (when it is entered, or left) the file cannot be read.
        """
        return Observing(self._observations)

    def follow(self, after: Position) -> AsyncIterator[list[Commit]]:
        """Every commit after a position; see :class:`sessiongraph.ports.CommitFeed`."""
        return self._feed.follow(after)

    async def create(self, header: SessionHeader, entries: Sequence[PlacedEntry] = ()) -> int:
        """A new log with its first entries, in one transaction; answers its epoch.

        Raises:
            LogConflict: the id is taken.
            PersistenceFailed: the disk refused; there is no log.
        """
        await self._register(self._types.unknown(_type_names(entries)))
        octets = to_octets(header.session_id)

        def job(connection: sqlite3.Connection) -> tuple[int, int]:
            if _visible(connection, octets) is not None:
                raise LogConflict(f"the id {header.session_id!r} is taken")
            connection.execute("DELETE FROM tombstones WHERE id = ?", (octets,))
            epoch = commits.record(connection, CommitKind.CREATED, octets, None, 0, -1)
            log = headers.insert_log(connection, header, state=VISIBLE, epoch=epoch)
            commits.count(connection, sessions=1)
            if entries:
                batch = prepare(log, entries, self._types.numbers())
                append_all(connection, [AppendJob(header.session_id, (log, epoch), batch)])
            return log, epoch

        log, epoch = await self._write().run(job)
        self._remember_log(header.session_id, (log, epoch))
        return epoch

    def append(
        self, session_id: str, epoch: int, entries: Sequence[PlacedEntry]
    ) -> Awaitable[Position]:
        """Append in one transaction.

        A few events of a log that was appended to before are on their way when this returns.

        Raises:
            LogConflict: the log is not at the first entry's seq, or has another epoch.
            PersistenceFailed: the disk refused; nothing was appended.
        """
        known = self._logs.get(session_id)
        if known is not None and known[1] != epoch:
            known = None
        is_little = len(entries) <= _PREPARED_HERE
        if known is None or not is_little or self._types.unknown(_type_names(entries)):
            return self._append_slowly(session_id, epoch, entries, known)
        batch = prepare(known[0], entries, self._types.numbers())
        return self._write().run_merged(AppendJob(session_id, known, batch), append_all)

    async def _append_slowly(
        self,
        session_id: str,
        epoch: int,
        entries: Sequence[PlacedEntry],
        known: tuple[int, int] | None,
    ) -> Position:
        if known is None:
            async with self.observe() as reader:
                session = (await reader.find([session_id])).get(session_id)
            if session is None or session.epoch != epoch:
                raise LogConflict(f"{session_id!r} is not the log that was to be appended to")
            known = (session.log, epoch)
            self._remember_log(session_id, known)
        await self._register(self._types.unknown(_type_names(entries)))
        batch = await asyncio.to_thread(prepare, known[0], entries, self._types.numbers())
        return await self._write().run_merged(AppendJob(session_id, known, batch), append_all)

    async def fork(
        self, source: StoredSession, boundary: Seq, header: SessionHeader
    ) -> SqliteStagedLog:
        """A staged log that begins with the events of ``source`` through ``boundary``.

        Raises:
            LogConflict: the source was changed meanwhile.
            PersistenceFailed: the disk refused.
        """
        async with self.observe() as reader:
            title = await latest_title(reader, source, boundary)
            prompt = await latest_prompt(reader, source, boundary)
            pages = reader.entries(source, boundary, boundary)
            entries = [entry async for page in pages for entry in page]
        if not entries:
            raise LogConflict(f"{source.header.session_id!r} was replaced or deleted meanwhile")
        last = entries[0]
        cut = isinstance(last, DeltaRun) and last.last_seq > boundary
        whole = last.seq - 1 if cut else boundary
        name = secrets.randbits(_NAME_BITS)
        log = await self._write().run(lambda connection: begin_log(connection, header, name))
        staged = self._staged(log, name, None, must_be_new=True)
        try:
            await staged.begin_with(source, whole, title, prompt)
            if isinstance(last, DeltaRun) and cut:
                part = first_members(last, boundary - last.seq + 1)
                await staged.append([PlacedEntry(part, Transition(part.seq, part.last_seq, None))])
        except BaseException:
            await asyncio.shield(staged.abandon())
            raise
        return staged

    async def detach(self, session_id: str, epoch: int, notes: Sequence[str]) -> Position:
        """Let a log that was read from a file stand by itself.

        Raises:
            LogConflict: the log has another epoch or is gone.
            PersistenceFailed: the disk refused.
        """

        def job(connection: sqlite3.Connection) -> Position:
            octets = to_octets(session_id)
            row = _visible(connection, octets)
            if row is None or row[1] != epoch:
                raise LogConflict(f"{session_id!r} was replaced or deleted meanwhile")
            take_end(connection, row[0])
            position = commits.record(
                connection, CommitKind.DETACHED, octets, epoch, row[2] + 1, row[2]
            )
            connection.execute(
                "UPDATE logs SET source_path = NULL, notes = ?, header_at = ? WHERE log = ?",
                (json_octets(list(notes)), position, row[0]),
            )
            connection.execute("DELETE FROM recordings WHERE id = ?", (octets,))
            return position

        return await self._write().run(job)

    async def stage(self, header: SessionHeader) -> SqliteStagedLog:
        """A log that is invisible until it is published."""
        name = secrets.randbits(_NAME_BITS)
        log = await self._write().run(lambda connection: begin_log(connection, header, name))
        return self._staged(log, name, None)

    async def stage_growth(self, session: StoredSession) -> SqliteStagedLog:
        """More events for a stored log, invisible until they are published."""
        name = secrets.randbits(_NAME_BITS)
        await self._write().run(lambda connection: begin_growth(connection, session.log, name))
        return self._staged(session.log, name, session)

    async def remember_recording(self, recording: RecordingState) -> None:
        """Note that a file was looked at and holds nothing new."""
        await self._write().run(
            lambda connection: commits.remember_recording(connection, recording)
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
            cwd = _cwd(connection, log)
            connection.execute("UPDATE logs SET state = ? WHERE log = ?", (DOOMED, log))
            connection.execute("INSERT OR IGNORE INTO tombstones VALUES (?)", (octets,))
            connection.execute("DELETE FROM recordings WHERE id = ?", (octets,))
            connection.execute("DELETE FROM checkpoints WHERE log = ?", (log,))
            commits.record(
                connection, CommitKind.DELETED, octets, epoch, 0, last_seq, removed_cwd=cwd
            )
            commits.count(connection, sessions=-1, events=-(last_seq + 1))
            return log

        log = await self._write().run(job)
        if log is not None:
            sweep_log(self._write(), log)
        return log is not None

    async def check(self, on_progress: Progress | None = None) -> list[Fault]:
        """Verify everything against a fold from scratch, in a worker thread.

        Raises:
            PersistenceFailed: the file cannot be read.
        """

        def read() -> list[Fault]:
            connection = self._readers.borrow()
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
                await self._write().run(partial(self._rebuild, session_id))
        if any(fault.what == "index" for fault in faults):
            await self._write().run(lambda connection: connection.execute("REINDEX"))
        if any(fault.what == "covers" for fault in faults):
            await self._write().run(covers.rebuild)
        if any(fault.what == "directories" for fault in faults):
            await self._write().run(directories.rebuild)
        await self._write().run(recount)

    def _rebuild(self, session_id: str, connection: sqlite3.Connection) -> None:
        row = _visible(connection, to_octets(session_id))
        if row is not None:
            rebuild_log(connection, self._types, row[0], row[2])

    async def close(self) -> None:
        """Commit what is queued and release the file."""
        self._feed.close()
        self._readers.close()
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

    def _staged(
        self, log: int, name: int, growing: StoredSession | None, *, must_be_new: bool = False
    ) -> SqliteStagedLog:
        return SqliteStagedLog(
            self._write(), self._types, self._register, log, name, growing, must_be_new=must_be_new
        )

    def _remember_log(self, session_id: str, known: tuple[int, int]) -> None:
        """Keep the number of a log that is appended to; the transaction checks it again."""
        self._logs.pop(session_id, None)
        self._logs[session_id] = known
        if len(self._logs) > _KNOWN_LOGS:
            self._logs.pop(next(iter(self._logs)))

    async def _register(self, names: set[str]) -> None:
        """Give numbers to new event types, on disk before any row uses them."""
        if names:
            assigned = await self._write().run(
                lambda connection: self._types.assign(connection, names)
            )
            self._types.remember(assigned)

    def _write(self) -> Writer:
        if self._writer is None:
            raise PersistenceFailed("the store was opened for reading only")
        return self._writer


def _visible(connection: sqlite3.Connection, octets: bytes) -> tuple[int, int, int] | None:
    row: tuple[int, int, int] | None = connection.execute(
        "SELECT log, epoch, last_seq FROM logs WHERE id = ? AND state = ?", (octets, VISIBLE)
    ).fetchone()
    return row


def _cwd(connection: sqlite3.Connection, log: int) -> bytes | None:
    row = connection.execute("SELECT cwd FROM logs WHERE log = ?", (log,)).fetchone()
    cwd: bytes | None = row[0]
    return cwd


def _type_names(entries: Sequence[PlacedEntry]) -> set[str]:
    return {each.entry.type for each in entries} | {CHUNK_TYPE}
