"""Importing recorders' files: how fast, beside bare JSON decoding of the same bytes; how much
memory; and who waits meanwhile.

Four kinds of file: plain rows, rows with packed deltas, the plain rows compressed, and tool results
of a quarter of a megabyte. Everything runs through the importer and ends up durable in a new store.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from benchmarks.conversations import BEGINNING_MS, Habits
from benchmarks.dsh_files import json_lines, write_file
from benchmarks.figures import Figure, Limit, Sample
from benchmarks.measuring import LoopPauses, alternating, in_fresh_process
from benchmarks.scale import Scale
from benchmarks.single_imports import import_into, memory_of_imports, opened_for_once
from benchmarks.stores import create_session, header_of, prompt
from providers.recordings.reading_apart import ReadingApart
from providers.sqlite.log_store import SqliteLogStore
from providers.sqlite.preparing import prepare_entry
from sessiongraph.filters import ALL_SESSIONS
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.ports import SessionOrder
from sessiongraph.surface import Surface

AREA: Final = "importing"

_TARGET_MB_S: Final = 30
_TARGET_EVENTS_S: Final = 30_000
_TARGET_DELTAS_S: Final = 60_000
_ENOUGH: Final = Limit(1, "×", least=True)
_SLOW_WAIT: Final = Limit(100)
_LONGEST_PAUSE: Final = Limit(10)
_BETWEEN_APPENDS_S: Final = 0.005
_QUIET_AT_MOST_S: Final = 3
_SWEPT_EVENTS_A_SECOND: Final = 60_000


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of file, and what its import is measured by, besides 30 MB/s of JSON."""

    name: str
    file: str
    habits: Habits
    events_a_second: int = _TARGET_EVENTS_S


KINDS: Final = (
    Kind("plain rows", "plain.jsonl", Habits()),
    Kind("packed rows", "packed.jsonl", Habits(streamed=True), _TARGET_DELTAS_S),
    Kind("plain rows, zstd", "frames.jsonl.zstd", Habits()),
    Kind("large tool results", "large.jsonl", Habits(result_bytes=250_000)),
)


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Rates of every kind, then memory, then the waits of others."""
    figures = []
    for kind in KINDS:
        path = folder / kind.file
        events = write_file(path, kind.name, 1, scale.import_bytes, kind.habits)
        figures += in_fresh_process(_rates, scale, kind, path, events)
    memory = memory_of_imports(
        AREA,
        folder,
        scale.long_import_bytes,
        lambda path, octets: write_file(path, path.stem, 2, octets, Habits(streamed=True)),
    )
    return [*figures, memory, *_waits(scale, folder)]


def _rates(scale: Scale, kind: Kind, path: Path, events: int) -> list[Figure]:
    lines = json_lines(path)
    size = sum(map(len, lines)) + len(lines)
    numbers = iter(range(1000))

    async def run() -> dict[str, Sample]:
        async def ours(_: int) -> None:
            async with opened_for_once(path.parent / f"{kind.file}-{next(numbers)}.db") as store:
                await import_into(store, path, reading)

        with ReadingApart(prepare=prepare_entry) as reading:
            return await alternating(
                scale.long_rounds,
                {
                    "ours": ours,
                    "json.loads": lambda _: _decode(lines, json.loads),
                    "msgspec.json.decode": lambda _: _decode(lines, msgspec.json.decode),
                },
                warm_up=1,
            )

    taken = asyncio.run(run())
    rates = {name: _per_second(sample, size / 1e6, "MB/s") for name, sample in taken.items()}
    event_rate = _per_second(taken["ours"], events, "events/s")
    reached = Sample.of(
        (
            max(mb / _TARGET_MB_S, events_s / kind.events_a_second)
            for mb, events_s in zip(rates["ours"].values, event_rate.values, strict=True)
        ),
        "×",
    )
    target = f"{_TARGET_MB_S} MB/s or {kind.events_a_second:,} events/s"
    return [
        Figure(AREA, f"{kind.name}: times {target}", reached, limit=_ENOUGH),
        Figure(
            AREA,
            f"{kind.name}: events",
            event_rate,
            note=f"CPU is of the whole import of {events:,} events",
        ),
        *(
            Figure(AREA, f"{kind.name}: JSON", rates["ours"], peer, rates[peer])
            for peer in ("json.loads", "msgspec.json.decode")
        ),
    ]


def _waits(scale: Scale, folder: Path) -> list[Figure]:
    """What an append to another session, and the event loop, feel of an import and a deletion."""
    figures = []
    for kind in KINDS:
        path = folder / kind.file
        felt = [
            in_fresh_process(_feel_import, path, folder / f"{kind.file}-{turn}.db")
            for turn in range(scale.long_rounds)
        ]
        figures += _felt(f"while {kind.name} are imported", felt)
    deleted = [
        in_fresh_process(_feel_deletion, folder / KINDS[0].file, folder / f"deleted-{turn}.db")
        for turn in range(scale.long_rounds)
    ]
    return figures + _felt("while the rows of a deleted session go", deleted)


def _felt(while_what: str, felt: list[tuple[Felt, Felt]]) -> list[Figure]:
    nobody = "while nothing else runs"
    return [
        Figure(
            AREA,
            f"{name} {while_what}",
            Sample.of(getattr(busy, what) for busy, _ in felt),
            nobody,
            Sample.of(getattr(quiet, what) for _, quiet in felt),
            limit,
        )
        for name, what, limit in (
            ("an append", "usual_wait", None),
            ("the slowest of a hundred appends", "slow_wait", _SLOW_WAIT),
            ("the longest append", "longest_wait", None),
            ("the longest pause of the loop", "longest_pause", _LONGEST_PAUSE),
        )
    ]


@dataclass(frozen=True, slots=True)
class Felt:
    """What others felt of one run, in milliseconds; slow_wait: the 99th percentile of appends."""

    usual_wait: float
    slow_wait: float
    longest_wait: float
    longest_pause: float


def _feel_import(path: Path, store_path: Path) -> tuple[Felt, Felt]:
    """What is felt of an import, and in as long a time without one."""

    async def run() -> tuple[Felt, Felt]:
        with ReadingApart(prepare=prepare_entry) as reading:
            async with opened_for_once(store_path) as store:
                return await _feel(store, lambda: import_into(store, path, reading))

    return asyncio.run(run())


def _feel_deletion(path: Path, store_path: Path) -> tuple[Felt, Felt]:
    """What is felt of a deletion, and in as long a time without one."""

    async def run() -> tuple[Felt, Felt]:
        async with opened_for_once(store_path) as store:
            with ReadingApart(prepare=prepare_entry) as reading:
                await import_into(store, path, reading)
            return await _feel(store, lambda: _delete_all(store))

    return asyncio.run(run())


async def _feel(
    store: SqliteLogStore, work: Callable[[], Coroutine[None, None, None]]
) -> tuple[Felt, Felt]:
    appender = await _Appender.of(store)
    await appender.until(asyncio.sleep(0.1))
    begun = time.perf_counter()
    busy = await appender.felt(work())
    length = time.perf_counter() - begun
    return busy, await appender.felt(asyncio.sleep(min(length, _QUIET_AT_MOST_S)))


class _Appender:
    """Appends one event after another to a session of its own, a few milliseconds apart."""

    def __init__(self, store: SqliteLogStore, epoch: int) -> None:
        self._store = store
        self._epoch = epoch
        self._surface = Surface(lambda _: {})

    @classmethod
    async def of(cls, store: SqliteLogStore) -> _Appender:
        return cls(store, await create_session(store, header_of("appender", 0)))

    async def felt(self, work: Coroutine[None, None, None]) -> Felt:
        """What is felt until some work is done."""
        async with LoopPauses() as pauses:
            waits = await self.until(work)
        slow = sorted(waits)[int(len(waits) * 0.99)]
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
            await self._store.append("appender", self._epoch, [entry])
            waits.append((time.perf_counter() - begun) * 1e3)
            await asyncio.sleep(_BETWEEN_APPENDS_S)
        await working
        return waits


async def _delete_all(store: SqliteLogStore) -> None:
    """Delete every imported session, and wait about as long as their rows take to go."""
    async with store.observe() as reader:
        before = (await reader.counts()).events
        sessions = await reader.sessions(ALL_SESSIONS, SessionOrder.CREATED, limit=10)
    for session in sessions:
        if session.header.session_id != "appender":
            await store.delete(session.header.session_id)
    await asyncio.sleep(before / _SWEPT_EVENTS_A_SECOND)


async def _decode(lines: list[bytes], decode: Callable[[bytes], object]) -> None:
    for line in lines:
        decode(line)


def _per_second(taken: Sample, amount: float, unit: str) -> Sample:
    """Rates of runs; their processor time stays that of whole runs."""
    rates = (amount / (value / 1e3) for value in taken.values)
    return Sample(tuple(rates), unit, taken.cpu_ms)
