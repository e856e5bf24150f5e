"""Forking and deleting a long session: how long a fork takes, and who waits meanwhile."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Final

from benchmarks.conversations import BEGINNING_MS
from benchmarks.figures import Figure, Sample
from benchmarks.measuring import in_fresh_process
from benchmarks.scale import Scale
from benchmarks.stores import build_long_sessions, opened
from benchmarks.waits import Felt, felt_of, waits_of
from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.corpus import Corpus
from sessiongraph.live_sessions import LiveLimits, LiveSessions
from sessiongraph.writing import SessionWriting

AREA: Final = "forking"

_SOURCE: Final = "long"
_CHILD: Final = "child"
_BETWEEN_LOOKS_S: Final = 0.1


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """A long session is forked and its child deleted, a few times over."""
    path = folder / "forking.db"
    events = scale.many_events
    in_fresh_process(build_long_sessions, path, {_SOURCE: events}, frozenset())
    runs = [in_fresh_process(_feel_fork_and_deletion, path) for _ in range(scale.long_rounds)]
    rates = Sample.of((events / seconds for seconds, _, _ in runs), "events/s")
    return [
        Figure(AREA, f"a fork of {events:,} events, beside appends", rates),
        *waits_of(AREA, f"while {events:,} events are forked", [fork for _, fork, _ in runs]),
        *waits_of(
            AREA, f"while the rows of {events:,} deleted events go", [gone for _, _, gone in runs]
        ),
    ]


def _feel_fork_and_deletion(
    path: Path,
) -> tuple[float, tuple[Felt, Felt], tuple[Felt, Felt]]:
    """Seconds that a fork takes; what is felt of it, and of the deletion of the child."""

    async def run() -> tuple[float, tuple[Felt, Felt], tuple[Felt, Felt]]:
        async with opened(path) as store:
            live = LiveSessions(store, LiveLimits())
            writing = SessionWriting(store, Corpus(store, live), live, lambda: BEGINNING_MS)
            seconds = 0.0

            async def fork() -> None:
                nonlocal seconds
                begun = time.perf_counter()
                await writing.fork(_SOURCE, None, _CHILD)
                seconds = time.perf_counter() - begun

            async def delete() -> None:
                await writing.delete(_CHILD)
                await _rows_gone(store)

            forked = await felt_of(store, fork)
            return seconds, forked, await felt_of(store, delete)

    return asyncio.run(run())


async def _rows_gone(store: SqliteLogStore) -> None:
    """Wait until nothing is left of deleted sessions."""
    connection = store.readers.borrow()
    try:
        while connection.execute("SELECT 1 FROM logs WHERE state <> 1").fetchone():  # noqa: ASYNC110
            await asyncio.sleep(_BETWEEN_LOOKS_S)
    finally:
        store.readers.give_back(connection)
