"""Links between events of one log: what replaced what, and who cites whom."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from providers.sqlite.appending import blocks_of
from providers.sqlite.codec import from_octets
from providers.sqlite.numbering import LOW_32, NODE_SHIFT, SEQ_SHIFT
from providers.sqlite.reading import batches, marks
from sessiongraph.event import Seq
from sessiongraph.ports import StoredSession

_CHAIN: Final = """
    WITH RECURSIVE chain (id) AS (
        SELECT replaced_by FROM events WHERE id = ? AND replaced_by IS NOT NULL
        UNION ALL
        SELECT events.replaced_by FROM chain JOIN events ON events.id = chain.id
        WHERE events.replaced_by IS NOT NULL
    )
    SELECT id FROM chain
    """

_REWRITTEN: Final = f"""
    WITH RECURSIVE rewritten (log) AS (
        SELECT min(replaced_by) >> {SEQ_SHIFT} FROM events WHERE replaced_by IS NOT NULL
        UNION ALL
        SELECT (
            SELECT min(replaced_by) >> {SEQ_SHIFT} FROM events
            WHERE replaced_by >= (rewritten.log + 1) << {SEQ_SHIFT}
        ) FROM rewritten WHERE rewritten.log IS NOT NULL
    )
    SELECT logs.id FROM rewritten JOIN logs ON logs.log = rewritten.log
    WHERE logs.state = 1 LIMIT ?
    """


def replaced_by(connection: sqlite3.Connection, session: StoredSession, seq: Seq) -> list[Seq]:
    """The nodes that an event removed itself, in model order."""
    if not 0 <= seq <= session.last_seq:
        return []
    rows = connection.execute(
        "SELECT id FROM events WHERE replaced_by = ? ORDER BY place",
        (session.log << SEQ_SHIFT | seq,),
    )
    return [row[0] & LOW_32 for row in rows]


def each_replacer(
    connection: sqlite3.Connection, wanted: Sequence[tuple[StoredSession, Seq]]
) -> list[Seq | None]:
    """What removed each of some events of any logs, None for one that is not shadowed."""
    ids = [
        session.log << SEQ_SHIFT | seq if 0 <= seq <= session.last_seq else -1
        for session, seq in wanted
    ]
    found: dict[int, Seq] = {}
    for batch in batches(ids):
        sql = (
            f"SELECT id, replaced_by FROM events WHERE id IN ({marks(batch)}) "
            "AND replaced_by IS NOT NULL"
        )
        for event_id, by in connection.execute(sql, batch):
            found[event_id] = by & LOW_32
    return [found.get(event_id) for event_id in ids]


def rewritten(connection: sqlite3.Connection, limit: int) -> list[str]:
    """Sessions that have shadowed events: one step along an index for each log that has any."""
    return [from_octets(octets) for (octets,) in connection.execute(_REWRITTEN, (limit,))]


def replacement_chain(
    connection: sqlite3.Connection, session: StoredSession, seq: Seq
) -> list[Seq]:
    """From the direct replacer to the one that stands now."""
    if not 0 <= seq <= session.last_seq:
        return []
    rows = connection.execute(_CHAIN, (session.log << SEQ_SHIFT | seq,))
    return [row[0] & LOW_32 for row in rows]


def citers(connection: sqlite3.Connection, session: StoredSession, seq: Seq) -> list[Seq]:
    """Later events whose sources include this one, in log order."""
    prefix = session.log << NODE_SHIFT
    nodes = [prefix | node for node in blocks_of(seq, session.last_seq)]
    rows = connection.execute(
        f"SELECT DISTINCT citer FROM citers WHERE node IN ({marks(nodes)}) "
        "AND citer <= ? ORDER BY citer",
        (*nodes, session.last_seq),
    )
    return [row[0] for row in rows]
