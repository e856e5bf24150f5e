"""Durable appends: batches and single events, beside a bare loop of inserts into the same tables.

The peer writes the very rows that our store wrote, into a table and indexes made by the same
statements, in WAL mode with ``synchronous=FULL``, one commit for each batch. It checks nothing,
derives nothing and encodes nothing, so the ratio is the price of everything else that an append is.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from benchmarks.conversations import BEGINNING_MS, Conversation
from benchmarks.figures import Figure, Limit, Sample
from benchmarks.scale import Scale
from benchmarks.stores import batches, create_session, header_of, opened, placed, prompt
from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.corpus import Corpus
from sessiongraph.live_sessions import Durability, LiveLimits, LiveSessions
from sessiongraph.new_event import NewEvent
from sessiongraph.new_session import NewSession
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.writing import SessionWriting

AREA: Final = "appending"

BATCH: Final = 100
WRITERS: Final = 64
_UNIT: Final = "events/s"
_SINGLES_PER_RUN: Final = 400


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Batches of a hundred, single events, and many writers of single events."""
    return asyncio.run(_measure(scale, folder))


async def _measure(scale: Scale, folder: Path) -> list[Figure]:
    path = folder / "appending.db"
    log = list(placed(Conversation(3).entries(scale.appended)))
    ours: dict[int, list[float]] = {BATCH: [], 1: []}
    peer: dict[int, list[float]] = {BATCH: [], 1: []}
    groups: dict[tuple[int, int], list[float]] = {
        (1, 1): [],
        (WRITERS, 1): [],
        (WRITERS, WRITERS): [],
    }
    async with opened(path) as store:
        await _append(store, "warm-up", log[: BATCH * 5], BATCH)
        schema, rows = written_rows(path)
        for turn in range(scale.long_rounds):
            for size, entries in ((BATCH, log), (1, log[:_SINGLES_PER_RUN])):
                ours[size].append(await _append(store, f"{size}-{turn}", entries, size))
                if size == BATCH and turn == 0:
                    schema, rows = written_rows(path)
                plain = folder / f"plain-{size}-{turn}.db"
                peer[size].append(insert_plainly(plain, schema, rows[: len(entries)], size))
            for writers, sessions in groups:
                rate = await _concurrently(store, writers, sessions, turn)
                groups[writers, sessions].append(rate)
    bare = "bare executemany, a commit for each"
    return [
        Figure(
            AREA,
            "batches of 100 events",
            Sample.of(ours[BATCH], _UNIT),
            f"{bare} 100",
            Sample.of(peer[BATCH], _UNIT),
            ratio_limit=Limit(0.35, "×", least=True),
        ),
        Figure(
            AREA,
            "single events, one writer",
            Sample.of(ours[1], _UNIT),
            f"{bare} one",
            Sample.of(peer[1], _UNIT),
        ),
        *(
            Figure(
                AREA,
                f"single events, {WRITERS} writers at once, {of}",
                Sample.of(groups[WRITERS, sessions], _UNIT),
                "one writer",
                Sample.of(groups[1, 1], _UNIT),
                ratio_limit=Limit(10, "×", least=True),
                note="group commit: those who wait together share one wait for the disk",
            )
            for of, sessions in (("one session", 1), ("a session each", WRITERS))
        ),
    ]


async def _append(
    store: SqliteLogStore, session_id: str, entries: Sequence[PlacedEntry], size: int
) -> float:
    """Events a second into a new session, ``size`` in each append."""
    epoch = await create_session(store, header_of(session_id, 0))
    begun = time.perf_counter()
    for batch in batches(entries, size):
        await store.append(session_id, epoch, batch)
    return len(entries) / (time.perf_counter() - begun)


async def _concurrently(store: SqliteLogStore, writers: int, sessions: int, turn: int) -> float:
    """Events a second of writers that each append single durable events to a live session."""
    each = _SINGLES_PER_RUN // 4 if writers > 1 else _SINGLES_PER_RUN
    live = LiveSessions(store, LiveLimits())
    writing = SessionWriting(store, Corpus(store, live), live, lambda: BEGINNING_MS)
    names = [f"{writers} in {sessions}, {turn}: {number}" for number in range(sessions)]
    for name in names:
        await writing.create(NewSession(session_id=name), Durability.DURABLE)
    begun = time.perf_counter()
    await asyncio.gather(
        *(_write_singles(writing, names[number % sessions], each) for number in range(writers))
    )
    taken = time.perf_counter() - begun
    for name in names:
        await writing.close(name)
    return writers * each / taken


async def _write_singles(writing: SessionWriting, session_id: str, count: int) -> None:
    data = prompt(0, BEGINNING_MS, "one of many writers 写入 一个 事件").data
    event = NewEvent.of("user/message", data)
    for _ in range(count):
        await writing.append(session_id, [event], None, Durability.DURABLE)


def written_rows(path: Path) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The statements that made the table of events, and the rows of the newest session."""
    with closing(sqlite3.connect(path)) as connection:
        schema = connection.execute(
            "SELECT sql FROM sqlite_schema WHERE tbl_name = 'events' AND sql IS NOT NULL"
        ).fetchall()
        (log,) = connection.execute("SELECT max(log) FROM logs").fetchone()
        rows = connection.execute(
            "SELECT * FROM events WHERE id >= ? ORDER BY id", (log << 32,)
        ).fetchall()
    return [statement for (statement,) in schema], rows


def insert_plainly(path: Path, schema: list[str], rows: list[tuple[Any, ...]], size: int) -> float:
    """Events a second of nothing but inserts and commits."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        for statement in schema:
            connection.execute(statement)
        sql = f"INSERT INTO events VALUES ({','.join('?' * len(rows[0]))})"
        begun = time.perf_counter()
        for batch in batches(rows, size):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(sql, batch)
            connection.execute("COMMIT")
        return len(rows) / (time.perf_counter() - begun)
