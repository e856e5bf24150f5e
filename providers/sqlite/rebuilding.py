"""Rebuilding what is derived from a log: everything but the events themselves.

The log is folded from scratch and every derived row is written anew by the transitions that write
it in the first place. One transaction a log, so that a log is never seen half rebuilt; it belongs
to ``check --repair``, which has the store to itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from providers.sqlite import commits
from providers.sqlite.appending import prepare, write_derived
from providers.sqlite.codec import ROW_COLUMNS, EventRow, event_of, run_of
from providers.sqlite.numbering import LOW_32, NODE_SHIFT, SEQ_SHIFT, VISIBLE
from providers.sqlite.types import TypeNames
from sessiongraph.event import Entry, Seq
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.surface import Surface

_ROWS: Final = 500


def rebuild_log(connection: sqlite3.Connection, types: TypeNames, log: int, last_seq: Seq) -> None:
    """Write everything anew that is derived from the events of one log.

    Raises:
        SurfaceRuleBroken, CorruptSession: the log itself is damaged; nothing is changed.
    """
    base, prefix = log << SEQ_SHIFT, log << NODE_SHIFT
    connection.execute(
        "DELETE FROM citers WHERE node BETWEEN ? AND ?", (prefix, prefix + (1 << NODE_SHIFT) - 1)
    )
    connection.execute("DELETE FROM spans WHERE log = ?", (log,))
    connection.execute("DELETE FROM citations WHERE log = ?", (log,))
    connection.execute("DELETE FROM carried WHERE id BETWEEN ? AND ?", (base, base + LOW_32))
    connection.execute("DELETE FROM carried_sums WHERE log = ?", (log,))
    connection.execute(
        "UPDATE logs SET title = NULL, title_folded = NULL, title_seq = -1, "
        "prompted_at = NULL, prompted_seq = -1 WHERE log = ?",
        (log,),
    )

    def data_of(seq: Seq) -> dict[str, Any]:
        row = connection.execute(
            f"SELECT {ROW_COLUMNS} FROM events WHERE id = ?", (base | seq,)
        ).fetchone()
        return event_of(row, "").data

    surface = Surface(data_of)
    entries = _entries(connection, types, base, last_seq)
    title = prompt = None
    while part := list(islice(entries, _ROWS)):
        placed = [PlacedEntry(entry, surface.advance(entry)) for entry in part]
        batch = prepare(log, placed, types.numbers())
        connection.executemany(
            "UPDATE events SET lane = ?, place = ?, replaced_by = ? WHERE id = ?",
            [(row[1], row[5], row[6], row[0]) for row in batch.rows],
        )
        write_derived(connection, [batch])
        title, prompt = batch.title or title, batch.prompt or prompt
    commits.advance(connection, log, last_seq, title, prompt)


def recount(connection: sqlite3.Connection) -> None:
    """Write the totals anew."""
    connection.execute(
        "INSERT OR REPLACE INTO totals "
        "SELECT 1, count(*), coalesce(sum(last_seq + 1), 0) FROM logs WHERE state = ?",
        (VISIBLE,),
    )


def _entries(
    connection: sqlite3.Connection, types: TypeNames, base: int, last_seq: Seq
) -> Iterator[Entry]:
    """The log in order, read in pages because rows change behind the reading."""
    low = base
    while low <= base + last_seq:
        rows: list[EventRow] = connection.execute(
            f"SELECT {ROW_COLUMNS} FROM events WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
            (low, base + last_seq, _ROWS),
        ).fetchall()
        if not rows:
            return
        for row in rows:
            if row[4] is not None:
                yield run_of(row)
            else:
                yield event_of(row, types.name_in(connection, row[1]))
        low = rows[-1][0] + 1
