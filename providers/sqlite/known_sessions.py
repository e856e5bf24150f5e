"""Sessions that were listed before, so that a page of them reads six columns instead of nineteen.

What a list shows of a session hardly ever changes, and taking its header out of its row costs more
than all the rest of a page. So sessions are kept by what of their rows does change: a row that
reads alike is the same session.

Always true: the columns in ``LISTED`` determine the session. A header changes only together with
its ``header_at``, the position of the commit that changed it, and an epoch is never used twice.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import islice
from threading import Lock
from typing import Final

from providers.sqlite.headers import COLUMNS, session_of
from providers.sqlite.reading import batches, marks
from sessiongraph.ports import StoredSession

LISTED: Final = "log, epoch, header_at, last_seq, title, prompted_at"

ListedRow = tuple[int, int, int, int, bytes | None, int | None]
"""A row of ``LISTED``."""

KEPT_SESSIONS: Final = 8192
"""Sessions that are kept, those that were read first are given up first; some 10 MB at most."""

_BIG_OCTETS: Final = 4096
"""Of a row beyond which its session is not kept: what a recorder wrote can be of any size."""


class KnownSessions:
    """The sessions that lists of one store have shown; shared by all threads."""

    def __init__(self) -> None:
        self._sessions: dict[ListedRow, StoredSession] = {}
        self._lock = Lock()

    def of(self, connection: sqlite3.Connection, rows: Sequence[ListedRow]) -> list[StoredSession]:
        """The sessions of rows, in the same order; those that are not known are read."""
        known = self._sessions
        found = [known.get(row) for row in rows]
        if None not in found:
            return found  # type: ignore[return-value]
        unknown = {row[0]: row for row, each in zip(rows, found, strict=True) if each is None}
        read = self._read(connection, unknown)
        return [
            read[row[0]] if each is None else each for row, each in zip(rows, found, strict=True)
        ]

    def _read(
        self, connection: sqlite3.Connection, unknown: dict[int, ListedRow]
    ) -> dict[int, StoredSession]:
        sessions: dict[int, StoredSession] = {}
        small: dict[ListedRow, StoredSession] = {}
        for batch in batches(list(unknown)):
            sql = f"SELECT {COLUMNS} FROM logs WHERE log IN ({marks(batch)})"
            for row in connection.execute(sql, batch):
                session = sessions[row[0]] = session_of(row)
                if sum(len(each) for each in row if isinstance(each, bytes)) <= _BIG_OCTETS:
                    small[unknown[row[0]]] = session
        with self._lock:
            self._sessions.update(small)
            beyond = len(self._sessions) - KEPT_SESSIONS
            if beyond > 0:
                for oldest in list(islice(self._sessions, beyond)):
                    del self._sessions[oldest]
        return sessions
