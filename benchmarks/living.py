"""Live sessions: the memory that each costs that is held, beside the same ones closed again.

Every session is in the store with its events, is resumed, and is appended to once, durably, as in a
server that goes on with it. All are live together when memory is read, with everything on disk.
Projections and the index are left out: what they keep in memory has limits of its own, however many
sessions are live.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.conversations import BEGINNING_MS
from benchmarks.figures import Figure, Limit, Sample
from benchmarks.measuring import give_memory_back, in_fresh_process, resident_mb
from benchmarks.scale import Scale
from benchmarks.stores import batches, build_copies, opened, prompt
from providers.sqlite.connections import IDLE_READERS
from providers.sqlite.log_store import SqliteLogStore
from server.settings import Settings
from sessiongraph.corpus import Corpus
from sessiongraph.live_sessions import Durability, LiveLimits, LiveSessions
from sessiongraph.new_event import NewEvent
from sessiongraph.writing import SessionWriting

AREA: Final = "living"

_EVENTS: Final = 1_000
_PROMISED: Final = 10_000
_LIMIT: Final = Limit(30, "kB")
_LIMIT_OF_ALL: Final = Limit(300, "MB")
_WARM_UP: Final = 32
_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class _Grown:
    """Megabytes; in_all: since the store was opened. sessions: without SQLite's page caches."""

    in_all: float
    sessions: float


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Memory grown by live sessions; for each of them, and for all where there are enough."""
    path = folder / "living.db"
    names = [f"session {number}" for number in range(_WARM_UP + scale.live)]
    in_fresh_process(build_copies, path, names, _EVENTS)
    held = in_fresh_process(_grown, path, names, stay_live=True)
    closed = in_fresh_process(_grown, path, names, stay_live=False)
    return [
        Figure(
            AREA,
            f"memory grown by a live session of {_EVENTS:,} events",
            Sample.of([held.sessions * 1e3 / scale.live], "kB"),
            "closed again",
            Sample.of([closed.sessions * 1e3 / scale.live], "kB"),
            _LIMIT,
            note=f"{scale.live:,} sessions, copied in the store from a few logs of {_EVENTS:,} "
            "events, each resumed and appended to once, all live when memory is read; "
            f"{_WARM_UP} others were closed before; without SQLite's page caches, projections and "
            "index, whose memory does not grow with live sessions",
        ),
        Figure(
            AREA,
            f"memory grown by {scale.live:,} live sessions of {_EVENTS:,} events",
            Sample.of([held.in_all], "MB"),
            "closed again",
            Sample.of([closed.in_all], "MB"),
            _LIMIT_OF_ALL if scale.live >= _PROMISED else None,
            note="page caches included, since the store was opened; the limit is that of "
            f"{_PROMISED:,} sessions",
        ),
    ]


def _grown(path: Path, names: Sequence[str], *, stay_live: bool) -> _Grown:
    """How much resident memory has grown when all have been appended to.

    stay_live: they are held; otherwise each is closed once it was appended to.
    """

    async def run() -> _Grown:
        async with opened(path) as store:
            live = LiveSessions(store, LiveLimits())
            writing = SessionWriting(store, Corpus(store, live), live, lambda: BEGINNING_MS)
            begun = resident_mb()
            await _go_on_with(writing, names[:_WARM_UP], stay_live=False)
            before = await _emptied_mb(store)
            await _go_on_with(writing, names[_WARM_UP:], stay_live=stay_live)
            in_all = resident_mb() - begun
            sessions = await _emptied_mb(store) - before
            _require_live(live, len(names) - _WARM_UP if stay_live else 0)
            return _Grown(in_all, sessions)

    return asyncio.run(run())


async def _emptied_mb(store: SqliteLogStore) -> float:
    """Resident memory with empty page caches: their few megabytes would hide a few sessions."""
    readers = [store.readers.borrow() for _ in range(IDLE_READERS)]
    for connection in readers:
        _empty(connection)
        store.readers.give_back(connection)
    await store.writer.run(_empty)
    give_memory_back()
    return resident_mb()


def _empty(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA shrink_memory")


async def _go_on_with(writing: SessionWriting, names: Sequence[str], *, stay_live: bool) -> None:
    event = NewEvent.of("user/message", prompt(0, BEGINNING_MS, "go on with 重试 the ledger").data)

    async def go_on(session_id: str) -> None:
        await writing.resume(session_id)
        await writing.append(session_id, [event], None, Durability.DURABLE)
        if not stay_live:
            await writing.close(session_id)

    for batch in batches(names, _AT_ONCE):
        await asyncio.gather(*map(go_on, batch))


def _require_live(live: LiveSessions, count: int) -> None:
    """Refuse to call a session live that is not, or that a server would be about to close.

    Raises:
        RuntimeError: other sessions are live than were resumed, or not as they should be.
    """
    sessions = live.all()
    settled = [each for each in sessions if each.is_written and each.committed_seq >= _EVENTS]
    idle = live.idle(Settings().live_idle_close_s * 1000)
    if idle or not len(sessions) == len(settled) == count:
        raise RuntimeError(
            f"of {count} sessions {len(sessions)} are live, {len(settled)} on disk as a whole, "
            f"and {len(idle)} would be closed"
        )
