"""Checkpoints of projections: rows beside the logs that they are shortcuts of.

A row names its log by number and by epoch, so a log that was read anew or made again under its id
has none, and a row is written only while its log is as long as the row says. Rows go with their
log: in the transaction that dooms it, and once more when the log is swept, in case one was written
between the two.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Collection, Sequence
from typing import Final

from providers.sqlite.codec import to_octets
from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.errors import PersistenceFailed
from sessiongraph.projections.ports import CheckpointRow, LogIdentity

_LOGS_AT_ONCE: Final = 16_000
"""Logs that one statement asks for; SQLite binds twice as many values at most."""

_READ_HERE: Final = 64
"""Rows up to which a read is not worth the way to another thread."""

_UPSERT: Final = """
    INSERT INTO checkpoints (log, key, epoch, version, seq, changed_seq, state)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (log, key) DO UPDATE SET epoch = excluded.epoch, version = excluded.version,
        seq = excluded.seq, changed_seq = excluded.changed_seq, state = excluded.state
    """


class SqliteCheckpointStore:
    """See :class:`sessiongraph.projections.ports.CheckpointStore`; in the file of a log store."""

    def __init__(self, logs: SqliteLogStore) -> None:
        self._logs = logs

    async def rows(
        self, logs: Collection[LogIdentity], keys: Collection[str]
    ) -> dict[str, list[CheckpointRow]]:
        """The rows of these logs under these keys, by session id.

        Raises:
            PersistenceFailed: the rows cannot be read.
        """
        if not logs or not keys:
            return {}
        if len(logs) * len(keys) <= _READ_HERE:
            return self._read(logs, keys)
        return await asyncio.to_thread(self._read, logs, keys)

    async def write(
        self, log: LogIdentity, rows: Sequence[CheckpointRow], gone: Collection[str] = ()
    ) -> None:
        """Put rows in the place of those with their keys; a log that does not fit is left alone.

        Raises:
            PersistenceFailed: nothing was written.
        """
        values = [
            (to_octets(row.key), log.epoch, row.version, row.seq, row.changed_seq, row.state)
            for row in rows
        ]
        reached = max((row.seq for row in rows), default=-1)
        removed = [to_octets(key) for key in gone]
        await self._logs.writer.run(
            lambda connection: _put(connection, log, reached, values, removed)
        )

    async def delete(self, session_id: str) -> None:
        """Remove every row of a session, of whatever log.

        Raises:
            PersistenceFailed: the rows are still there.
        """
        octets = to_octets(session_id)

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "DELETE FROM checkpoints WHERE log IN (SELECT log FROM logs WHERE id = ? AND "
                "state = 1 UNION SELECT log FROM logs WHERE id = ? AND state <> 1)",
                (octets, octets),
            )

        await self._logs.writer.run(job)

    def _read(
        self, logs: Collection[LogIdentity], keys: Collection[str]
    ) -> dict[str, list[CheckpointRow]]:
        names = {to_octets(key): key for key in keys}
        by_id = {to_octets(log.session_id): log for log in logs}
        ids = list(by_id)
        found: dict[str, list[CheckpointRow]] = {}
        connection = self._logs.readers.borrow()
        try:
            for start in range(0, len(ids), _LOGS_AT_ONCE):
                part = ids[start : start + _LOGS_AT_ONCE]
                cursor = connection.execute(
                    "SELECT logs.id, logs.epoch, logs.created_at, logs.cwd, key, "
                    "checkpoints.version, seq, changed_seq, checkpoints.state "
                    "FROM logs JOIN checkpoints ON checkpoints.log = logs.log "
                    "AND checkpoints.epoch = logs.epoch "
                    f"WHERE logs.state = 1 AND logs.id IN ({_marks(part)}) "
                    f"AND key IN ({_marks(names)})",
                    [*part, *names],
                )
                for octets, epoch, created_at, cwd, key, version, seq, changed_seq, state in cursor:
                    log = by_id[octets]
                    if _is_of(log, epoch, created_at, cwd):
                        row = CheckpointRow(names[key], version, seq, changed_seq, state)
                        found.setdefault(log.session_id, []).append(row)
        except sqlite3.Error as error:
            connection.close()
            raise PersistenceFailed(f"checkpoints could not be read: {error}") from error
        except BaseException:
            connection.close()
            raise
        self._logs.readers.give_back(connection)
        return found


def _put(
    connection: sqlite3.Connection,
    identity: LogIdentity,
    reached: int,
    values: Sequence[tuple[bytes, int, int, int, int, bytes]],
    removed: Sequence[bytes],
) -> None:
    row = connection.execute(
        "SELECT log, epoch, created_at, cwd, last_seq FROM logs WHERE id = ? AND state = 1",
        (to_octets(identity.session_id),),
    ).fetchone()
    if row is None or not _is_of(identity, *row[1:4]) or row[4] < reached:
        return
    log = row[0]
    connection.execute(
        "DELETE FROM checkpoints WHERE log = ? AND epoch <> ?", (log, identity.epoch)
    )
    connection.executemany(
        "DELETE FROM checkpoints WHERE log = ? AND key = ?", [(log, key) for key in removed]
    )
    connection.executemany(_UPSERT, [(log, *each) for each in values])


def _is_of(log: LogIdentity, epoch: int, created_at: int, cwd: bytes | None) -> bool:
    recorded = None if log.cwd is None else to_octets(log.cwd)
    return (log.epoch, log.created_at, recorded) == (epoch, created_at, cwd)


def _marks(values: Collection[object]) -> str:
    return ",".join("?" * len(values))
