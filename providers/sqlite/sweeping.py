"""Removing rows that are invisible already, a bounded transaction at a time.

A deleted or replaced log is doomed in one small transaction and answers nothing from then on; its
rows, like those that a killed import left behind a visible end, are taken away by jobs that queue
themselves again until nothing is left. Closing the store just stops them: what remains is found by
its state at the next start.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from providers.sqlite.appending import covering_blocks
from providers.sqlite.codec import ascending_runs, decode_sources
from providers.sqlite.numbering import LOW_32, NODE_SHIFT, SEQ_SHIFT, VISIBLE
from providers.sqlite.writer import Writer
from sessiongraph.errors import PersistenceFailed
from sessiongraph.event import Seq

ROWS_PER_JOB: Final = 1000
BYTES_PER_JOB: Final = 2 << 20
"""What is removed in one transaction; about 20 ms, which an append may have to wait."""


def sweep_log(writer: Writer, log: int) -> Future[None]:
    """Remove a doomed log, its own row last; resolves when it is gone or the store closes."""

    def remove_some(connection: sqlite3.Connection) -> bool:
        if remove_rows(connection, log, 0, ROWS_PER_JOB):
            return True
        connection.execute("DELETE FROM spans WHERE log = ?", (log,))
        connection.execute("DELETE FROM checkpoints WHERE log = ?", (log,))
        connection.execute("DELETE FROM carried_sums WHERE log = ?", (log,))
        connection.execute("DELETE FROM logs WHERE log = ? AND state <> ?", (log, VISIBLE))
        return False

    return _Sweep(writer, remove_some).start()


def sweep_growth(writer: Writer, log: int, staged_by: int) -> Future[None]:
    """Remove what ``staged_by`` wrote behind the visible end of a log; resolves as above.

    Once somebody else has taken over the end of the log, there is nothing to remove.
    """

    def remove_some(connection: sqlite3.Connection) -> bool:
        row = connection.execute(
            "SELECT last_seq FROM logs WHERE log = ? AND staged_by = ?", (log, staged_by)
        ).fetchone()
        if row is None:
            return False
        if remove_rows(connection, log, row[0] + 1, ROWS_PER_JOB):
            return True
        connection.execute("UPDATE logs SET staged_by = NULL WHERE log = ?", (log,))
        return False

    return _Sweep(writer, remove_some).start()


def remove_rows(
    connection: sqlite3.Connection, log: int, first_seq: Seq, limit: int | None = None
) -> bool:
    """Remove events from a seq on, with what was derived from them; False when none was left.

    Spans stay: one that is too wide costs a look, one that is too narrow would hide an event.
    """
    base, prefix = log << SEQ_SHIFT, log << NODE_SHIFT
    rows: list[tuple[int, bytes | None]] = []
    octets = 0
    for event_id, sources, size in connection.execute(
        "SELECT id, sources, length(payload) + coalesce(length(stream), 0) FROM events "
        "WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
        (base + first_seq, base | LOW_32, -1 if limit is None else limit),
    ):
        rows.append((event_id, sources))
        octets += size
        if limit is not None and octets >= BYTES_PER_JOB:
            break
    if not rows:
        return False
    connection.executemany(
        "DELETE FROM citers WHERE node = ? AND citer = ?",
        (
            (prefix | node, event_id & LOW_32)
            for event_id, sources in rows
            for first, last in ascending_runs(decode_sources(sources) or ())
            for node in covering_blocks(first, last)
        ),
    )
    first_id, last_id = rows[0][0], rows[-1][0]
    connection.execute(
        "DELETE FROM citations WHERE log = ? AND seq BETWEEN ? AND ?",
        (log, first_id & LOW_32, last_id & LOW_32),
    )
    for table in ("carried", "events"):  # in this order, see the triggers of the first
        connection.execute(f"DELETE FROM {table} WHERE id BETWEEN ? AND ?", (first_id, last_id))
    return True


def unsettled(connection: sqlite3.Connection) -> tuple[list[int], list[tuple[int, int]]]:
    """What a crash left: logs to remove, and logs with whoever wrote behind their visible end."""
    doomed = [row[0] for row in connection.execute("SELECT log FROM logs WHERE state <> 1")]
    grown = connection.execute(
        "SELECT log, staged_by FROM logs WHERE state = 1 AND staged_by IS NOT NULL"
    ).fetchall()
    return doomed, grown


class _Sweep:
    """A job that queues itself again as long as it finds something to remove."""

    def __init__(self, writer: Writer, remove_some: Callable[[sqlite3.Connection], bool]) -> None:
        self._writer = writer
        self._remove_some = remove_some
        self._done: Future[None] = Future()

    def start(self) -> Future[None]:
        self._queue()
        return self._done

    def _queue(self) -> None:
        try:
            job = self._writer.submit(self._remove_some, bulk=True)
        except PersistenceFailed:
            self._done.set_result(None)
        else:
            job.add_done_callback(self._go_on)

    def _go_on(self, job: Future[bool]) -> None:
        error = job.exception()
        if error is not None:
            self._done.set_exception(error)
        elif job.result():
            self._queue()
        else:
            self._done.set_result(None)
