"""Copying the beginning of a log to another, inside the database.

Rows are moved by arithmetic: every number that holds the log's own number is shifted by the
distance of the two. A node that was replaced behind the boundary is current again in the copy.
Payloads never pass through Python; only a run of deltas that the boundary cuts is taken apart.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from typing import Final

from providers.sqlite.numbering import LANE_SHIFT, NODE_SHIFT, SEQ_SHIFT, VISIBLE
from providers.sqlite.writer import Writer
from sessiongraph.errors import LogConflict
from sessiongraph.event import DeltaRun, PlacedEvent, Seq
from sessiongraph.filters import ALL_EVENTS
from sessiongraph.payloads import Shape, is_human_prompt, shape_of
from sessiongraph.ports import LogReader, StoredSession, WindowRequest

ROWS_PER_JOB: Final = 1000
BYTES_PER_JOB: Final = 2 << 20
"""What is copied in one transaction; about 20 ms, which an append may have to wait."""

_LOOK_BACK: Final = 16
"""Events read at a time when the latest of a type is looked for."""

_COPY_EVENTS: Final = f"""
    INSERT INTO events
        (id, lane, time, flags, members, place, replaced_by, op_start, op_end, sources,
         payload, stream)
    SELECT
        id + (:far << {SEQ_SHIFT}),
        lane + (:far << {LANE_SHIFT}) - (replaced_by IS NOT NULL AND replaced_by > :boundary),
        time, flags, members,
        place + (:far << {SEQ_SHIFT}),
        CASE WHEN replaced_by <= :boundary THEN replaced_by + (:far << {SEQ_SHIFT}) END,
        op_start, op_end, sources, payload, stream
    FROM events WHERE id BETWEEN :low AND :high
    """

_COPY_CARRIED: Final = f"""
    INSERT INTO carried (id, octets, checkpoint)
    SELECT id + (:far << {SEQ_SHIFT}), octets, checkpoint
    FROM carried WHERE id BETWEEN :low AND :high
    """

_COPY_SPANS: Final = """
    INSERT INTO spans (log, level, block, low, high)
    SELECT log + :far, level, block, low, high FROM spans WHERE log = :log
    """

_COPY_CITATIONS: Final = """
    INSERT INTO citations (log, seq, ordinal, target, label, captured_through_seq)
    SELECT log + :far, seq, ordinal, target, label, captured_through_seq
    FROM citations WHERE log = :log AND seq <= :boundary
    """


async def copy_prefix(
    writer: Writer,
    owned: Callable[[sqlite3.Connection], None],
    source: StoredSession,
    last_seq: Seq,
    target: int,
) -> None:
    """Copy the rows of ``source`` up to ``last_seq``, where a row ends, to an empty log.

    target: the number of the empty log.
    owned: checks, inside each transaction, that the target is still ours.

    Raises:
        LogConflict: it no longer is, or the source was changed or deleted meanwhile.
        PersistenceFailed: the disk refused.
    """
    copying = _Copy(owned, source, last_seq, target - source.log)
    for step in (copying.events, copying.citers, copying.rest):
        while await writer.run(step, bulk=True):
            pass


class _Copy:
    """One copy, a bounded transaction at a time; each step says whether it has more to do."""

    def __init__(
        self,
        owned: Callable[[sqlite3.Connection], None],
        source: StoredSession,
        last_seq: Seq,
        far: int,
    ) -> None:
        self._owned = owned
        self._source = source
        self._log = source.log
        self._base = source.log << SEQ_SHIFT
        self._boundary = self._base + last_seq
        self._last_seq = last_seq
        self._far = far
        self._next_id = self._base
        self._next_citer = (source.log << NODE_SHIFT, -1)

    def _check(self, connection: sqlite3.Connection) -> None:
        """Both logs must still be what they were when the copy began."""
        self._owned(connection)
        row = connection.execute(
            "SELECT epoch FROM logs WHERE log = ? AND state = ?", (self._log, VISIBLE)
        ).fetchone()
        if row != (self._source.epoch,):
            source_id = self._source.header.session_id
            raise LogConflict(f"{source_id!r} was replaced or deleted while it was being copied")

    def events(self, connection: sqlite3.Connection) -> bool:
        self._check(connection)
        if self._next_id > self._boundary:
            return False
        high = self._boundary
        octets = 0
        rows = connection.execute(
            "SELECT id, length(payload) + coalesce(length(stream), 0) FROM events "
            "WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
            (self._next_id, self._boundary, ROWS_PER_JOB),
        ).fetchall()
        for high, size in rows:  # noqa: B007 - the last one looked at
            octets += size
            if octets >= BYTES_PER_JOB:
                break
        values = {"far": self._far, "boundary": self._boundary, "low": self._next_id, "high": high}
        connection.execute(_COPY_EVENTS, values)
        connection.execute(_COPY_CARRIED, values)
        self._next_id = high + 1
        return True

    def citers(self, connection: sqlite3.Connection) -> bool:
        self._check(connection)
        rows = connection.execute(
            "SELECT node, citer FROM citers WHERE (node, citer) > (?, ?) AND node < ? "
            "ORDER BY node, citer LIMIT ?",
            (*self._next_citer, self._log + 1 << NODE_SHIFT, 2 * ROWS_PER_JOB),
        ).fetchall()
        if not rows:
            return False
        shift = self._far << NODE_SHIFT
        connection.executemany(
            "INSERT INTO citers (node, citer) VALUES (?, ?)",
            [(node + shift, citer) for node, citer in rows if citer <= self._last_seq],
        )
        self._next_citer = rows[-1]
        return True

    def rest(self, connection: sqlite3.Connection) -> bool:
        self._check(connection)
        values = {"far": self._far, "log": self._log, "boundary": self._last_seq}
        connection.execute(_COPY_SPANS, values)
        connection.execute(_COPY_CITATIONS, values)
        return False


def first_members(run: DeltaRun, count: int) -> DeltaRun:
    """The run of the first ``count`` members."""
    return DeltaRun(
        run.kind,
        run.seq,
        run.time,
        run.turn,
        run.step,
        run.index,
        run.gaps[: count - 1],
        run.texts[:count],
        run.call_id,
        run.name,
    )


async def latest(
    reader: LogReader, source: StoredSession, boundary: Seq, event_type: str
) -> AsyncIterator[PlacedEvent]:
    """The events of one type up to a boundary, newest first."""
    wanted = ALL_EVENTS.narrowed(types=[event_type])
    before = boundary + 1
    while page := await reader.events(
        source, wanted, WindowRequest(_LOOK_BACK, before=before, newest=True)
    ):
        for placed in reversed(page):
            yield placed
        before = page[0].seq


async def latest_title(
    reader: LogReader, source: StoredSession, boundary: Seq
) -> tuple[Seq, str] | None:
    """The latest title up to a boundary, with its seq."""
    async for placed in latest(reader, source, boundary, "session/title"):
        data = placed.event.data
        if shape_of(placed.type, data) is Shape.TITLE:
            return placed.seq, data["title"]
    return None


async def latest_prompt(
    reader: LogReader, source: StoredSession, boundary: Seq
) -> tuple[Seq, int] | None:
    """The latest message by a person up to a boundary, as seq and time."""
    async for placed in latest(reader, source, boundary, "user/message"):
        data = placed.event.data
        if shape_of(placed.type, data) is Shape.USER_MESSAGE and is_human_prompt(data):
            return placed.seq, placed.time
    return None
