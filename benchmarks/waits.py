"""What others feel of large work: an append to another session, and the event loop."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.conversations import BEGINNING_MS
from benchmarks.figures import Figure, Limit, Sample, slowest_of_hundred
from benchmarks.measuring import LoopPauses
from benchmarks.stores import create_session, header_of, prompt
from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.surface import Surface

_SLOW_WAIT: Final = Limit(100)
_LONGEST_WAIT: Final = Limit(50)
_LONGEST_PAUSE: Final = Limit(10)
_BETWEEN_APPENDS_S: Final = 0.005
_QUIET_AT_MOST_S: Final = 3


@dataclass(frozen=True, slots=True)
class Felt:
    """What others felt of one run, in milliseconds; slow_wait: the 99th percentile of appends."""

    usual_wait: float
    slow_wait: float
    longest_wait: float
    longest_pause: float


def waits_of(area: str, while_what: str, felt: list[tuple[Felt, Felt]]) -> list[Figure]:
    """A figure for each thing that others felt: of some work, and in as long a time without it."""
    nobody = "while nothing else runs"
    return [
        Figure(
            area,
            f"{name} {while_what}",
            Sample.of(getattr(busy, what) for busy, _ in felt),
            nobody,
            Sample.of(getattr(quiet, what) for _, quiet in felt),
            limit,
        )
        for name, what, limit in (
            ("an append", "usual_wait", None),
            ("the slowest of a hundred appends", "slow_wait", _SLOW_WAIT),
            ("the longest append", "longest_wait", _LONGEST_WAIT),
            ("the longest pause of the loop", "longest_pause", _LONGEST_PAUSE),
        )
    ]


async def felt_of(
    store: SqliteLogStore, work: Callable[[], Coroutine[None, None, None]]
) -> tuple[Felt, Felt]:
    """What is felt of some work, and in as long a time without it."""
    appender = await _Appender.of(store)
    await appender.until(asyncio.sleep(0.1))
    begun = time.perf_counter()
    busy = await appender.felt(work())
    length = time.perf_counter() - begun
    return busy, await appender.felt(asyncio.sleep(min(length, _QUIET_AT_MOST_S)))


class _Appender:
    """Appends one event after another to a session of its own, a few milliseconds apart."""

    def __init__(self, store: SqliteLogStore, session_id: str, epoch: int) -> None:
        self._store = store
        self._session_id = session_id
        self._epoch = epoch
        self._surface = Surface(lambda _: {})

    @classmethod
    async def of(cls, store: SqliteLogStore) -> _Appender:
        session_id = f"appender {uuid.uuid4()}"
        return cls(store, session_id, await create_session(store, header_of(session_id, 0)))

    async def felt(self, work: Coroutine[None, None, None]) -> Felt:
        """What is felt until some work is done."""
        async with LoopPauses() as pauses:
            waits = await self.until(work)
        slow = slowest_of_hundred(waits)
        return Felt(median(waits), slow, max(waits), pauses.longest_ms)

    async def until(self, work: Coroutine[None, None, None]) -> list[float]:
        """Milliseconds of every append until some work is done."""
        waits = []
        working = asyncio.create_task(work)
        while not working.done():
            seq = self._surface.next_seq
            event = prompt(seq, BEGINNING_MS + seq, "a small append beside large work")
            entry = PlacedEntry(event, self._surface.advance(event))
            begun = time.perf_counter()
            await self._store.append(self._session_id, self._epoch, [entry])
            waits.append((time.perf_counter() - begun) * 1e3)
            await asyncio.sleep(_BETWEEN_APPENDS_S)
        await working
        return waits
