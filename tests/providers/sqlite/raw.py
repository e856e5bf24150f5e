"""A store's file looked at and tampered with by plain SQL, without the store."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from providers.sqlite import covers, directories
from providers.sqlite.log_store import SqliteLogStore

Rows = list[tuple[Any, ...]]

_SWEEPS_AT_MOST = 2_000

_LOGS = """
    SELECT id, version, created_at, cwd, parent, seed_length, origin, delegation_depth,
        agent_preset, source_kind, source_path, imported_at, notes, extra, last_seq,
        title, title_folded, title_seq, prompted_at, prompted_seq
    FROM logs WHERE state = 1 ORDER BY id
    """
_OF_LOGS = {
    "events": """
        SELECT logs.id, events.id & 0xffffffff, types.name, lane & 3, events.time, flags, members,
            place & 0xffffffff, replaced_by & 0xffffffff, op_start, op_end, sources, payload, stream
        FROM logs
        JOIN events ON events.id BETWEEN logs.log << 32 AND logs.log << 32 | logs.last_seq
        JOIN types ON types.type = lane >> 2 & 0xfffff
        WHERE state = 1 ORDER BY logs.id, events.id
        """,
    "citers": """
        SELECT id, node & 0xfffffffff, citer FROM logs JOIN citers ON node >> 36 = log
        WHERE state = 1 AND citer <= last_seq ORDER BY id, node, citer
        """,
    "citations": """
        SELECT id, seq, ordinal, target, label, captured_through_seq
        FROM logs JOIN citations USING (log)
        WHERE state = 1 AND seq <= last_seq ORDER BY id, seq, ordinal
        """,
    "covers": "SELECT id, newest, cwd, line FROM covers ORDER BY id",
    "directories": "SELECT directory, since, session FROM directories ORDER BY 1, 2, 3",
    "carried": """
        SELECT logs.id, carried.id & 0xffffffff, octets, checkpoint FROM logs
        JOIN carried ON carried.id BETWEEN logs.log << 32 AND logs.log << 32 | logs.last_seq
        WHERE state = 1 ORDER BY logs.id, carried.id
        """,
    "carried_sums": """
        SELECT id, block, messages, octets, checkpoints FROM logs JOIN carried_sums USING (log)
        WHERE state = 1 AND staged_by IS NULL AND messages <> 0 ORDER BY id, block
        """,
}
_ALONE = {
    "recordings": "SELECT * FROM recordings ORDER BY path",
    "tombstones": "SELECT * FROM tombstones ORDER BY id",
    "totals": "SELECT sessions, events FROM totals",
}
_STRAYS = {
    "logs": "SELECT log FROM logs WHERE state <> 1 OR staged_by IS NOT NULL",
    "events": """
        SELECT events.id FROM events LEFT JOIN logs ON log = events.id >> 32 AND state = 1
        WHERE log IS NULL OR events.id & 0xffffffff > last_seq
        """,
    "citers": """
        SELECT node FROM citers LEFT JOIN logs ON log = node >> 36 AND state = 1
        WHERE log IS NULL OR citer > last_seq
        """,
    "citations": """
        SELECT log FROM citations LEFT JOIN logs USING (log)
        WHERE state IS NOT 1 OR seq > last_seq
        """,
    "carried": """
        SELECT carried.id FROM carried LEFT JOIN events USING (id) WHERE events.id IS NULL
        """,
    "covers": "SELECT log FROM covers LEFT JOIN logs USING (log) WHERE state IS NOT 1",
    "directories": "SELECT log FROM directories LEFT JOIN logs USING (log) WHERE state IS NOT 1",
    "carried_sums": """
        SELECT log FROM carried_sums LEFT JOIN logs USING (log) WHERE state IS NOT 1
        """,
    "spans": "SELECT log FROM spans LEFT JOIN logs USING (log) WHERE state IS NOT 1",
    "checkpoints": """
        SELECT log FROM checkpoints LEFT JOIN logs USING (log)
        WHERE logs.state IS NOT 1 OR checkpoints.epoch <> logs.epoch OR seq > last_seq
        """,
}


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of our own; what it wrote is committed at the end."""
    with closing(sqlite3.connect(path)) as connection, connection:
        covers.teach(connection)
        directories.teach(connection)
        yield connection


def change(path: Path, sql: str, *values: Any) -> int:
    """Execute one statement in a closed store's file and say how many rows it changed."""
    with connected(path) as connection:
        return connection.execute(sql, values).rowcount


def rows(path: Path, sql: str, *values: Any) -> Rows:
    with connected(path) as connection:
        return connection.execute(sql, values).fetchall()


def dump(path: Path) -> list[str]:
    """The whole content of a file as statements."""
    with connected(path) as connection:
        return list(connection.iterdump())


def logical(path: Path) -> dict[str, Rows]:
    """What the visible logs say, without what depends on the order of commits.

    Nor with what lies behind a visible end and is not swept yet. Spans are left out: they may be
    too wide after rows were removed.
    """
    with connected(path) as connection:
        found = {"logs": connection.execute(_LOGS).fetchall()}
        for name, sql in (_OF_LOGS | _ALONE).items():
            found[name] = connection.execute(sql).fetchall()
        return found


def strays(path: Path) -> dict[str, Rows]:
    """Rows that belong to no visible part of a log; empty when everything was swept."""
    with connected(path) as connection:
        found = {name: connection.execute(sql).fetchall() for name, sql in _STRAYS.items()}
        return {name: left for name, left in found.items() if left}


async def settled(store: SqliteLogStore) -> None:
    """Wait until nothing is left to sweep, by queueing behind the sweeps."""
    unsettled = "SELECT log, state, staged_by FROM logs WHERE state <> 1 OR staged_by IS NOT NULL"
    for _ in range(_SWEEPS_AT_MOST):
        if not (left := await queued(store, unsettled)):
            return
    raise AssertionError(f"never swept: {left}")


async def queued(store: SqliteLogStore, sql: str) -> Rows:
    """Rows as the writer sees them once the large work that waits now has had its turn."""
    writer = store._write()
    job = writer.submit(lambda connection: connection.execute(sql).fetchall(), bulk=True)
    return await asyncio.wrap_future(job)


@contextmanager
def read_statements(store: SqliteLogStore) -> Iterator[list[str]]:
    """Every statement that is read with, as long as the block lasts."""
    statements: list[str] = []
    readers, borrow = store.readers, store.readers.borrow

    def traced() -> sqlite3.Connection:
        connection = borrow()
        connection.set_trace_callback(statements.append)
        return connection

    readers.borrow = traced  # type: ignore[method-assign]
    try:
        yield statements
    finally:
        readers.borrow = borrow  # type: ignore[method-assign]
        for connection in (*readers._idle, *readers._idle_spare):
            connection.set_trace_callback(None)
