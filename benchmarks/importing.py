"""Importing recorders' files: how fast, beside bare JSON decoding of the same bytes; how much
memory; and who waits meanwhile.

Four kinds of file: plain rows, rows with packed deltas, the plain rows compressed, and tool results
of a quarter of a megabyte. Everything runs through the importer and ends up durable in a new store.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.conversations import Habits
from benchmarks.dsh_files import json_lines, write_file
from benchmarks.figures import Figure, Limit, Sample
from benchmarks.measuring import Run, alternating, in_fresh_process
from benchmarks.scale import Scale
from benchmarks.single_imports import import_into, memory_of_imports, opened_for_once
from benchmarks.waits import Felt, felt_of, waits_of
from providers.recordings.reading_apart import ReadingApart
from providers.sqlite.preparing import prepare_entry

try:
    import orjson
except ImportError:
    _PEERS: dict[str, Callable[[bytes], object]] = {}
else:
    _PEERS = {"orjson.loads": orjson.loads}
_PEERS |= {"json.loads": json.loads, "msgspec.json.decode": msgspec.json.decode}

AREA: Final = "importing"

_TARGET_MB_S: Final = 30
_TARGET_EVENTS_S: Final = 30_000
_TARGET_DELTAS_S: Final = 60_000
_ENOUGH: Final = Limit(1, "×", least=True)


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

        def decoding(decode: Callable[[bytes], object]) -> Run:
            return lambda _: _decode(lines, decode)

        with ReadingApart(prepare=prepare_entry) as reading:
            return await alternating(
                scale.long_rounds,
                {
                    "ours": ours,
                    **{name: decoding(decode) for name, decode in _PEERS.items()},
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
        *(Figure(AREA, f"{kind.name}: JSON", rates["ours"], peer, rates[peer]) for peer in _PEERS),
    ]


def _waits(scale: Scale, folder: Path) -> list[Figure]:
    """What an append to another session, and the event loop, feel of an import."""
    figures = []
    for kind in KINDS:
        path = folder / kind.file
        felt = [
            in_fresh_process(_feel_import, path, folder / f"{kind.file}-{turn}.db")
            for turn in range(scale.long_rounds)
        ]
        figures += waits_of(AREA, f"while {kind.name} are imported", felt)
    return figures


def _feel_import(path: Path, store_path: Path) -> tuple[Felt, Felt]:
    """What is felt of an import, and in as long a time without one."""

    async def run() -> tuple[Felt, Felt]:
        with ReadingApart(prepare=prepare_entry) as reading:
            async with opened_for_once(store_path) as store:
                return await felt_of(store, lambda: import_into(store, path, reading))

    return asyncio.run(run())


async def _decode(lines: list[bytes], decode: Callable[[bytes], object]) -> None:
    for line in lines:
        decode(line)


def _per_second(taken: Sample, amount: float, unit: str) -> Sample:
    """Rates of runs; their processor time stays that of whole runs."""
    rates = (amount / (value / 1e3) for value in taken.values)
    return Sample(tuple(rates), unit, taken.cpu_ms)
