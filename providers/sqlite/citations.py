"""Citations between sessions, read from either end along an index."""

from __future__ import annotations

import sqlite3
from typing import Final

from providers.sqlite import directories
from providers.sqlite.codec import from_octets, to_octets
from sessiongraph.citations import CitedKey, CitingKey, SessionCitation
from sessiongraph.ports import StoredSession, Within

_BEFORE_ALL: Final = -1

_IN_A_LOG: Final = """
    SELECT seq, ordinal, target, label, captured_through_seq FROM citations
    WHERE log = ? AND seq <= ? AND (seq, ordinal) > (?, ?) ORDER BY seq, ordinal LIMIT ?
    """
_OF_A_TARGET: Final = """
    SELECT id, log, seq, ordinal, label, captured_through_seq FROM citations JOIN logs USING (log)
    WHERE target = ? AND (log, seq, ordinal) > (?, ?, ?) AND state = 1 AND seq <= last_seq
        AND {inside}
    ORDER BY log, seq, ordinal LIMIT ?
    """


def citations_in(
    connection: sqlite3.Connection, session: StoredSession, limit: int, after: CitingKey | None
) -> list[SessionCitation]:
    """The next citations in a log."""
    key = (_BEFORE_ALL, _BEFORE_ALL) if after is None else after
    rows = connection.execute(_IN_A_LOG, (session.log, session.last_seq, *key, limit))
    return [
        SessionCitation(
            session.header.session_id,
            seq,
            ordinal,
            from_octets(target),
            from_octets(label),
            through,
            session.log,
        )
        for seq, ordinal, target, label, through in rows
    ]


def citations_of(
    connection: sqlite3.Connection,
    target_id: str,
    limit: int,
    after: CitedKey | None,
    within: Within,
) -> list[SessionCitation]:
    """The next citations of a session by stored logs."""
    key = (_BEFORE_ALL,) * 3 if after is None else after
    inside, places = "1", []
    if within is not None:
        inside, places = directories.is_within(within), directories.values_of(within)
    sql = _OF_A_TARGET.format(inside=inside)
    rows = connection.execute(sql, (to_octets(target_id), *key, *places, limit))
    return [
        SessionCitation(
            from_octets(session_id), seq, ordinal, target_id, from_octets(label), through, log
        )
        for session_id, log, seq, ordinal, label, through in rows
    ]
