"""Large work beside small: rows that nobody sees until one small transaction publishes them.

A staged log is written under a number of its own, in bounded transactions that let appends pass
between them. Growth of a stored log is written behind its visible end; older nodes that it replaces
are only marked when it is published. What a crash leaves behind is found by its state and removed
at the next start, so that an import that was killed can simply be run again.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final

from providers.sqlite import commits, headers
from providers.sqlite.appending import Batch, prepare, shadow
from providers.sqlite.codec import ROW_COLUMNS, event_of, to_octets
from providers.sqlite.forking import copy_prefix
from providers.sqlite.numbering import DOOMED, SEQ_SHIFT, STAGED, VISIBLE
from providers.sqlite.sweeping import remove_rows, sweep_growth, sweep_log
from providers.sqlite.types import TypeNames
from providers.sqlite.writer import Writer
from sessiongraph.errors import EventNotFound, LogConflict
from sessiongraph.event import CHUNK_TYPE, DeltaRun, Entry, Seq
from sessiongraph.header import SessionHeader
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.ports import CommitKind, Position, StoredSession
from sessiongraph.recordings import RecordingState

ON_THEIR_WAY: Final = 4
"""Batches of one staged log that may wait for the writer, so that memory stays bounded."""

ROWS_PER_JOB: Final = 1000

BYTES_PER_JOB: Final = 1 << 20
"""How much one bulk transaction writes; about 10 ms, which an append may have to wait."""


class SqliteStagedLog:
    """A new log, or the growth of one; see :class:`sessiongraph.ports.StagedLog`.

    name: the ``staged_by`` of its rows.
    growing: the stored session that grows; None for a log of its own.
    must_be_new: publish only while no stored log has the id.
    """

    def __init__(
        self,
        writer: Writer,
        types: TypeNames,
        register: Callable[[set[str]], Awaitable[None]],
        log: int,
        name: int,
        growing: StoredSession | None,
        *,
        must_be_new: bool = False,
    ) -> None:
        self._writer = writer
        self._types = types
        self._register = register
        self._log = log
        self._name = name
        self._growing = growing
        self._must_be_new = must_be_new
        self._visible_seq: Seq = -1 if growing is None else growing.last_seq
        self._last_seq: Seq = self._visible_seq
        self._shadowed: list[tuple[int, int]] = []
        self._title: tuple[Seq, str] | None = None
        self._prompt: tuple[Seq, int] | None = None
        self._waiting: list[Future[Any]] = []

    async def append(self, entries: Sequence[PlacedEntry]) -> None:
        """Write one batch behind what is staged already.

        Raises:
            PersistenceFailed: the disk refused this batch or an earlier one.
        """
        unknown = self._types.unknown({each.entry.type for each in entries} | {CHUNK_TYPE})
        if unknown:
            await self._register(unknown)
        for batch in await asyncio.to_thread(self._prepare, entries):
            self._note(batch)
            self._waiting.append(self._writer.submit(partial(self._write, batch), bulk=True))
            while len(self._waiting) > ON_THEIR_WAY:
                await asyncio.wrap_future(self._waiting.pop(0))

    def _prepare(self, entries: Sequence[PlacedEntry]) -> list[Batch]:
        numbers = self._types.numbers()
        return [prepare(self._log, part, numbers) for part in _bounded(entries)]

    async def begin_with(
        self,
        source: StoredSession,
        boundary: Seq,
        title: tuple[Seq, str] | None,
        prompt: tuple[Seq, int] | None,
    ) -> None:
        """Begin with a copy of another log up to a seq where one of its rows ends.

        Raises:
            LogConflict: the staged log was taken away.
            PersistenceFailed: the disk refused.
        """
        await copy_prefix(self._writer, self._require_ownership, source, boundary, self._log)
        self._last_seq, self._title, self._prompt = boundary, title, prompt

    async def payload(self, seq: Seq) -> bytes:
        """The payload of an event that was staged, or that the log held before it grew.

        Raises:
            EventNotFound: there is no such event.
        """
        # Asked through the writer, which has written everything staged so far by then.
        return await self._writer.run(lambda connection: self._payload(connection, seq), bulk=True)

    def _payload(self, connection: sqlite3.Connection, seq: Seq) -> bytes:
        row = connection.execute(
            f"SELECT {ROW_COLUMNS} FROM events WHERE id = ?", (self._log << SEQ_SHIFT | seq,)
        ).fetchone()
        if row is None:
            raise EventNotFound(f"event {seq} is not in the log")
        return event_of(row, "").payload

    async def publish(
        self, header: SessionHeader, recording: RecordingState | None = None
    ) -> Position:
        """Make everything visible in one small transaction.

        Raises:
            LogConflict: the log that was to grow has changed meanwhile.
            PersistenceFailed: the disk refused.
        """
        await self._settle()
        if self._growing is not None:
            return await self._writer.run(
                lambda connection: self._grow(connection, header, recording)
            )
        position, replaced = await self._writer.run(
            lambda connection: self._take_place(connection, header, recording)
        )
        if replaced is not None:
            sweep_log(self._writer, replaced)
        return position

    async def abandon(self) -> None:
        """Drop everything staged, in bounded transactions; what was published stays."""
        waiting, self._waiting = self._waiting, []
        await asyncio.gather(*map(asyncio.wrap_future, waiting), return_exceptions=True)
        if self._growing is not None:
            await asyncio.wrap_future(sweep_growth(self._writer, self._log, self._name))
            return
        doomed = await self._writer.run(
            lambda connection: (
                connection.execute(
                    "UPDATE logs SET state = ? WHERE log = ? AND state = ?",
                    (DOOMED, self._log, STAGED),
                ).rowcount
            )
        )
        if doomed:
            sweep_log(self._writer, self._log)

    async def _settle(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            await asyncio.wrap_future(future)

    def _note(self, batch: Batch) -> None:
        self._last_seq = batch.last_seq
        self._title = batch.title or self._title
        self._prompt = batch.prompt or self._prompt
        if self._growing is not None:
            seen = self._log << SEQ_SHIFT | self._visible_seq
            self._shadowed.extend(pair for pair in batch.shadowed if pair[1] <= seen)
            batch.shadowed = [pair for pair in batch.shadowed if pair[1] > seen]

    def _write(self, batch: Batch, connection: sqlite3.Connection) -> None:
        self._require_ownership(connection)
        batch.write(connection)

    def _require_ownership(self, connection: sqlite3.Connection) -> None:
        """Check that nobody has appended to, replaced or deleted what is being written.

        Raises:
            LogConflict: somebody has.
        """
        row = connection.execute(
            "SELECT state, epoch, last_seq, staged_by FROM logs WHERE log = ?", (self._log,)
        ).fetchone()
        if self._growing is None:
            expected: tuple[int, ...] = (STAGED, 0, -1, self._name)
        else:
            expected = (VISIBLE, self._growing.epoch, self._growing.last_seq, self._name)
        if row != expected:
            raise LogConflict("the log changed while its file was being read")

    def _take_place(
        self,
        connection: sqlite3.Connection,
        header: SessionHeader,
        recording: RecordingState | None,
    ) -> tuple[Position, int | None]:
        """The new position, and the number of the log that was there before."""
        octets = to_octets(header.session_id)
        old = connection.execute(
            "SELECT log, last_seq, cwd FROM logs WHERE id = ? AND state = ?", (octets, VISIBLE)
        ).fetchone()
        if old is not None and self._must_be_new:
            raise LogConflict(f"the id {header.session_id!r} is taken")
        if old is not None:
            connection.execute("UPDATE logs SET state = ? WHERE log = ?", (DOOMED, old[0]))
            commits.count(connection, sessions=-1, events=-(old[1] + 1))
            connection.execute("DELETE FROM recordings WHERE id = ?", (octets,))
        connection.execute("DELETE FROM tombstones WHERE id = ?", (octets,))
        kind = CommitKind.REPLACED if old is not None else CommitKind.IMPORTED
        if self._must_be_new:
            kind = CommitKind.CREATED
        position = commits.record(
            connection,
            kind,
            octets,
            None,
            0,
            self._last_seq,
            removed_cwd=None if old is None else old[2],
        )
        self._show(connection, header, recording, state=VISIBLE, epoch=position)
        commits.count(connection, sessions=1, events=self._last_seq + 1)
        return position, None if old is None else old[0]

    def _grow(
        self,
        connection: sqlite3.Connection,
        header: SessionHeader,
        recording: RecordingState | None,
    ) -> Position:
        assert self._growing is not None
        self._require_ownership(connection)
        shadow(connection, self._shadowed)
        position = commits.record(
            connection,
            CommitKind.APPENDED,
            to_octets(header.session_id),
            self._growing.epoch,
            self._visible_seq + 1,
            self._last_seq,
            relisted=self._title is not None or self._prompt is not None,
        )
        self._show(connection, header, recording, header_at=position)
        commits.count(connection, events=self._last_seq - self._visible_seq)
        return position

    def _show(
        self,
        connection: sqlite3.Connection,
        header: SessionHeader,
        recording: RecordingState | None,
        **columns: int,
    ) -> None:
        """Put into the list of logs what was staged, with its header and these columns."""
        values = headers.header_values(header)
        values.update(columns, staged_by=None)
        names = ", ".join(f"{name} = ?" for name in values)
        connection.execute(f"UPDATE logs SET {names} WHERE log = ?", [*values.values(), self._log])
        commits.advance(connection, self._log, self._last_seq, self._title, self._prompt)
        if recording is not None:
            commits.remember_recording(connection, recording)


def begin_log(connection: sqlite3.Connection, header: SessionHeader, name: int) -> int:
    """The number of a new log that ``name`` stages."""
    log = headers.insert_log(connection, header, state=STAGED, epoch=0)
    connection.execute("UPDATE logs SET staged_by = ? WHERE log = ?", (name, log))
    return log


def begin_growth(connection: sqlite3.Connection, log: int, name: int) -> None:
    """Give the end of a log to ``name``, whoever was writing there before."""
    take_end(connection, log)
    connection.execute(
        "UPDATE logs SET staged_by = ? WHERE log = ? AND state = ?", (name, log, VISIBLE)
    )


def take_end(connection: sqlite3.Connection, log: int) -> None:
    """Clear the end of a log of what somebody else is still staging there."""
    row = connection.execute(
        "SELECT last_seq FROM logs WHERE log = ? AND staged_by IS NOT NULL", (log,)
    ).fetchone()
    if row is not None:
        remove_rows(connection, log, row[0] + 1)
        connection.execute("UPDATE logs SET staged_by = NULL WHERE log = ?", (log,))


def _bounded(entries: Sequence[PlacedEntry]) -> list[Sequence[PlacedEntry]]:
    """Batches small enough for one bulk transaction each."""
    parts: list[Sequence[PlacedEntry]] = []
    start = size = 0
    for index, each in enumerate(entries):
        if index > start and (index - start >= ROWS_PER_JOB or size >= BYTES_PER_JOB):
            parts.append(entries[start:index])
            start, size = index, 0
        size += _size(each.entry)
    if start < len(entries):
        parts.append(entries[start:])
    return parts


def _size(entry: Entry) -> int:
    """About how many bytes the row of an entry has, before compression."""
    if isinstance(entry, DeltaRun):
        return 16 * len(entry.texts)
    return len(entry.payload)
