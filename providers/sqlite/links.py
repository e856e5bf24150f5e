"""Links between events of one log: what replaced what, and who cites whom."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from typing import Final

from providers.sqlite.appending import blocks_of
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


def replaced_by(connection: sqlite3.Connection, session: StoredSession, seq: Seq) -> list[Seq]:
    """The nodes that an event removed itself, in model order."""
    if not 0 <= seq <= session.last_seq:
        return []
    rows = connection.execute(
        "SELECT id FROM events WHERE replaced_by = ? ORDER BY place",
        (session.log << SEQ_SHIFT | seq,),
    )
    return [row[0] & LOW_32 for row in rows]


def replacers(
    connection: sqlite3.Connection, session: StoredSession, seqs: Collection[Seq]
) -> dict[Seq, Seq]:
    """For those of ``seqs`` that are shadowed, the event that removed each."""
    base = session.log << SEQ_SHIFT
    found = {}
    for batch in batches([base | seq for seq in seqs if 0 <= seq <= session.last_seq]):
        sql = (
            f"SELECT id, replaced_by FROM events WHERE id IN ({marks(batch)}) "
            "AND replaced_by IS NOT NULL"
        )
        for event_id, by in connection.execute(sql, batch):
            found[event_id & LOW_32] = by & LOW_32
    return found


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
