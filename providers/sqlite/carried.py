"""How much could be carried from a log's surface to another session, without reading it.

Whether something can be carried from an event follows from the event alone; whether it stands on
the surface changes with the log. So each message has a row with what it could give, and triggers
keep sums of what is current, for stretches of seqs. A log of a million events has 245 sums; where
they count no checkpoint, none is looked for, however many there were before.
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

SUMS: Final = """
    CREATE TABLE carried_sums (
        log INTEGER NOT NULL,
        block INTEGER NOT NULL,
        messages INTEGER NOT NULL,
        octets INTEGER NOT NULL,
        checkpoints INTEGER NOT NULL,
        PRIMARY KEY (log, block)
    ) STRICT, WITHOUT ROWID
    """

TRIGGERS: Final = {
    "carried_added": f"""
    AFTER INSERT ON carried WHEN {_IS_CURRENT.format("NEW.id")} BEGIN
        INSERT INTO carried_sums (log, block, messages, octets, checkpoints)
        SELECT NEW.id >> {SEQ_SHIFT}, (NEW.id & {LOW_32}) >> {BLOCK_SHIFT}, 0, 0, 0
        WHERE NOT EXISTS (SELECT 1 FROM carried_sums WHERE {_SUM_OF.format("NEW.id")});
        UPDATE carried_sums SET messages = messages + 1, octets = octets + NEW.octets,
            checkpoints = checkpoints + NEW.checkpoint
        WHERE {_SUM_OF.format("NEW.id")};
    END
    """,
    "carried_removed": f"""
    AFTER DELETE ON carried WHEN {_IS_CURRENT.format("OLD.id")} BEGIN
        UPDATE carried_sums SET messages = messages - 1, octets = octets - OLD.octets,
            checkpoints = checkpoints - OLD.checkpoint
        WHERE {_SUM_OF.format("OLD.id")};
    END
    """,
    "carried_shadowed": f"""
    AFTER UPDATE OF replaced_by ON events
    WHEN OLD.replaced_by IS NULL AND NEW.replaced_by IS NOT NULL BEGIN
        UPDATE carried_sums SET messages = messages - 1,
            octets = carried_sums.octets - gone.octets, checkpoints = checkpoints - gone.checkpoint
        FROM (SELECT octets, checkpoint FROM carried WHERE id = NEW.id) AS gone
        WHERE {_SUM_OF.format("NEW.id")};
    END
    """,
    "carried_restored": f"""
    AFTER UPDATE OF replaced_by ON events
    WHEN OLD.replaced_by IS NOT NULL AND NEW.replaced_by IS NULL BEGIN
        UPDATE carried_sums SET messages = messages + 1,
            octets = carried_sums.octets + back.octets, checkpoints = checkpoints + back.checkpoint
        FROM (SELECT octets, checkpoint FROM carried WHERE id = NEW.id) AS back
        WHERE {_SUM_OF.format("NEW.id")};
    END
    """,
}
"""By name, what keeps ``carried_sums`` equal to what is current of ``carried``.

An event is inserted before its row here and removed after it. The first is no upsert: that would
have each statement that fires it keep a journal of its own.
"""


_ADD_UP: Final = f"""
    INSERT INTO carried_sums (log, block, messages, octets, checkpoints)
    SELECT carried.id >> {SEQ_SHIFT}, (carried.id & {LOW_32}) >> {BLOCK_SHIFT},
        count(*), sum(octets), sum(checkpoint)
    FROM carried JOIN events USING (id) WHERE replaced_by IS NULL GROUP BY 1, 2
    """

_CHECKPOINTS: Final = f"""
    SELECT carried.id FROM carried_sums
    CROSS JOIN carried ON carried.checkpoint = 1 AND carried.id BETWEEN
        (log << {SEQ_SHIFT}) + (block << {BLOCK_SHIFT})
        AND (log << {SEQ_SHIFT}) + (block + 1 << {BLOCK_SHIFT}) - 1
    CROSS JOIN events ON events.id = carried.id
    WHERE log = :log AND checkpoints > 0 AND carried.id <= :last AND replaced_by IS NULL
    ORDER BY block, carried.id
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
    checkpoints = connection.execute(_CHECKPOINTS, {"log": log, "last": base + last_seq})
    return ConversationTotals(
        messages,
        octets,
        tuple(event_id & LOW_32 for (event_id,) in checkpoints),
    )


def begin_sums(connection: sqlite3.Connection) -> None:
    """Make the sums, of all that is stored; older ones go."""
    for name in TRIGGERS:
        connection.execute(f"DROP TRIGGER IF EXISTS {name}")
    connection.execute("DROP TABLE IF EXISTS carried_sums")
    connection.execute(SUMS)
    connection.execute(_ADD_UP)
    for name, words in TRIGGERS.items():
        connection.execute(f"CREATE TRIGGER {name} {words}")


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
