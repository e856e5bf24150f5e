"""Walks along the lineage of stored sessions, each one statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from typing import Final

from providers.sqlite import directories, headers
from providers.sqlite.codec import from_octets, to_octets
from providers.sqlite.reading import batches, marks
from sessiongraph.lineage import known_ancestors
from sessiongraph.ports import ChildLink, StoredSession, Within

_ANCESTORS = f"""
    WITH RECURSIVE up (log, parent) AS (
        SELECT log, parent FROM logs WHERE state = 1 AND id IN (%s)
        UNION
        SELECT logs.log, logs.parent FROM up JOIN logs ON logs.id = up.parent AND logs.state = 1
    )
    SELECT {headers.COLUMNS} FROM logs WHERE log IN (SELECT log FROM up)
    """

_DESCENDANTS: Final = """
    WITH RECURSIVE down (log, id, parent, created_at) AS (
        SELECT log, id, parent, created_at FROM logs WHERE state = 1 AND parent = ? AND {inside}
        UNION
        SELECT logs.log, logs.id, logs.parent, logs.created_at
        FROM down JOIN logs ON logs.parent = down.id AND logs.state = 1 AND {inside}
    )
    SELECT id, parent, created_at FROM down WHERE id <> ?
    """


def ancestors(
    connection: sqlite3.Connection, ids: Collection[str]
) -> dict[str, list[StoredSession]]:
    """Known ancestors of each id, nearest first, up to the first that repeats."""
    known: dict[str, StoredSession] = {}
    for batch in batches([to_octets(session_id) for session_id in ids]):
        for row in connection.execute(_ANCESTORS % marks(batch), batch):
            session = headers.session_of(row)
            known[session.header.session_id] = session
    return {session_id: known_ancestors(session_id, known) for session_id in ids}


def descendants(connection: sqlite3.Connection, session_id: str, within: Within) -> list[ChildLink]:
    """Every edge below a session, along those within some places only."""
    octets, inside = to_octets(session_id), "1"
    places: list[bytes] = []
    if within is not None:
        inside, places = directories.is_within(within), directories.values_of(within)
    sql = _DESCENDANTS.format(inside=inside)
    rows = connection.execute(sql, (octets, *places, *places, octets))
    return [ChildLink(from_octets(i), from_octets(p), created) for i, p, created in rows]
