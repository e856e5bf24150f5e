"""How much could be carried from a log's surface to another session, without reading it.

Whether something can be carried from an event follows from the event alone; whether it stands on
the surface changes with the log. So each message has a row with what it could give, and triggers
keep sums of what is current, for stretches of seqs. A log of a million events has 245 sums.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from providers.sqlite.codec import ROW_COLUMNS, event_of
from providers.sqlite.many_rows import ManyRows
from providers.sqlite.numbering import LANE_SHIFT, LOW_32, SEQ_SHIFT, TYPE_SHIFT
from sessiongraph.carried import MESSAGE_TYPES, carried_in
from sessiongraph.errors import CorruptSession
from sessiongraph.event import Seq, SessionEvent
from sessiongraph.ports import ConversationTotals

BLOCK_SHIFT: Final = 12
"""A sum is of so many bits of seqs."""

_ROWS: Final = 500

INSERT: Final = ManyRows("INSERT OR FAIL INTO carried (id, octets, checkpoint) VALUES", "(?,?,?)")

_SUM_OF: Final = f"log = {{0}} >> {SEQ_SHIFT} AND block = ({{0}} & {LOW_32}) >> {BLOCK_SHIFT}"
_IS_CURRENT: Final = "(SELECT replaced_by FROM events WHERE id = {0}) IS NULL"

ADDED: Final = f"""
    CREATE TRIGGER carried_added AFTER INSERT ON carried WHEN {_IS_CURRENT.format("NEW.id")} BEGIN
        INSERT INTO carried_sums (log, block, messages, octets)
        SELECT NEW.id >> {SEQ_SHIFT}, (NEW.id & {LOW_32}) >> {BLOCK_SHIFT}, 0, 0
        WHERE NOT EXISTS (SELECT 1 FROM carried_sums WHERE {_SUM_OF.format("NEW.id")});
        UPDATE carried_sums SET messages = messages + 1, octets = octets + NEW.octets
        WHERE {_SUM_OF.format("NEW.id")};
    END
    """
"""Not an upsert: that would have each statement that fires it keep a journal of its own."""

TRIGGERS: Final = (
    ADDED,
    f"""
    CREATE TRIGGER carried_removed AFTER DELETE ON carried WHEN {_IS_CURRENT.format("OLD.id")} BEGIN
        UPDATE carried_sums SET messages = messages - 1, octets = octets - OLD.octets
        WHERE {_SUM_OF.format("OLD.id")};
    END
    """,
    f"""
    CREATE TRIGGER carried_shadowed AFTER UPDATE OF replaced_by ON events
    WHEN OLD.replaced_by IS NULL AND NEW.replaced_by IS NOT NULL BEGIN
        UPDATE carried_sums SET messages = messages - 1, octets = carried_sums.octets - gone.octets
        FROM (SELECT octets FROM carried WHERE id = NEW.id) AS gone
        WHERE {_SUM_OF.format("NEW.id")};
    END
    """,
    f"""
    CREATE TRIGGER carried_restored AFTER UPDATE OF replaced_by ON events
    WHEN OLD.replaced_by IS NOT NULL AND NEW.replaced_by IS NULL BEGIN
        UPDATE carried_sums SET messages = messages + 1, octets = carried_sums.octets + back.octets
        FROM (SELECT octets FROM carried WHERE id = NEW.id) AS back
        WHERE {_SUM_OF.format("NEW.id")};
    END
    """,
)
"""Keep ``carried_sums`` equal to what is current of ``carried``.

An event is inserted before its row here and removed after it.
"""


def row_of(event_id: int, event: SessionEvent) -> tuple[int, int, int] | None:
    """The row of an event, None when nothing can be carried from it."""
    found = carried_in(event)
    return None if found is None else (event_id, found.octets, int(found.checkpoint))


def totals(connection: sqlite3.Connection, log: int, last_seq: Seq) -> ConversationTotals:
    """The totals of a log's surface through ``last_seq``, the visible end of the log."""
    base = log << SEQ_SHIFT
    # Behind the end there is something only while somebody stages growth there.
    (staged,) = connection.execute(
        "SELECT staged_by IS NOT NULL FROM logs WHERE log = ?", (log,)
    ).fetchone()
    blocks = (last_seq + 1) >> BLOCK_SHIFT if staged else LOW_32
    messages, octets = connection.execute(
        "SELECT coalesce(sum(messages), 0), coalesce(sum(octets), 0) FROM carried_sums "
        "WHERE log = ? AND block < ?",
        (log, blocks),
    ).fetchone()
    if staged:
        rest = connection.execute(
            "SELECT count(*), coalesce(sum(octets), 0) FROM carried JOIN events USING (id) "
            "WHERE carried.id BETWEEN ? AND ? AND replaced_by IS NULL",
            (base + (blocks << BLOCK_SHIFT), base + last_seq),
        ).fetchone()
        messages, octets = messages + rest[0], octets + rest[1]
    checkpoints = connection.execute(
        "SELECT carried.id FROM carried JOIN events USING (id) "
        "WHERE checkpoint = 1 AND carried.id BETWEEN ? AND ? AND replaced_by IS NULL ORDER BY 1",
        (base, base + last_seq),
    )
    return ConversationTotals(
        messages,
        octets,
        tuple(event_id & LOW_32 for (event_id,) in checkpoints),
    )


def fill(connection: sqlite3.Connection) -> None:
    """Write the rows of every event that was stored before there was this table."""
    names = [name.encode("utf-8") for name in MESSAGE_TYPES]
    types = dict(
        connection.execute("SELECT type, name FROM types WHERE name IN (?, ?)", names).fetchall()
    )
    for (log,) in connection.execute("SELECT log FROM logs ORDER BY log").fetchall():
        for number, name in types.items():
            lane = log << LANE_SHIFT | number << TYPE_SHIFT
            _fill_lanes(connection, lane, name.decode("utf-8"))


def _fill_lanes(connection: sqlite3.Connection, first_lane: int, type_name: str) -> None:
    """The rows of the events of one type in one log, whatever their surface."""
    for lane in range(first_lane, first_lane + (1 << TYPE_SHIFT)):
        last_id = -1
        while rows := connection.execute(
            f"SELECT {ROW_COLUMNS} FROM events WHERE lane = ? AND id > ? ORDER BY id LIMIT ?",
            (lane, last_id, _ROWS),
        ).fetchall():
            last_id = rows[-1][0]
            carrying: list[tuple[int, int, int]] = []
            for row in rows:
                try:
                    found = row_of(row[0], event_of(row, type_name))
                except (CorruptSession, ValueError):
                    continue  # damaged rows are named by a check, not by opening the store
                if found is not None:
                    carrying.append(found)
            INSERT.execute(connection, carrying)
