"""One file imported into one store, of whichever recorder: what its areas have in common."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from benchmarks.conversations import BEGINNING_MS
from benchmarks.figures import Figure, Limit, Sample
from benchmarks.measuring import PeakMemory, in_fresh_process
from benchmarks.stores import opened
from providers.recordings.discovery import find_recordings
from providers.recordings.reading_apart import ReadingApart
from providers.sqlite.log_store import SqliteLogStore
from providers.sqlite.preparing import prepare_entry
from server.wiring import READERS
from sessiongraph.importing import Importer

_CONSTANT: Final = Limit(2, "×")


@asynccontextmanager
async def opened_for_once(store_path: Path) -> AsyncIterator[SqliteLogStore]:
    """A new store, removed when it is closed."""
    async with opened(store_path) as store:
        yield store
    for left in store_path.parent.glob(f"{store_path.name}*"):
        left.unlink()


async def import_into(store: SqliteLogStore, path: Path, reading: ReadingApart) -> None:
    """Import a file of one session.

    reading: whose processes read it.

    Raises:
        RuntimeError: it was refused.
    """
    importer = Importer(store, lambda: BEGINNING_MS, open_recording=reading)
    report = await importer.run(find_recordings([path], READERS))
    if report.refused or report.imported != 1:
        raise RuntimeError(f"{path.name} was not imported: {report.refused}")


def memory_of_imports(
    area: str, folder: Path, octets: int, write: Callable[[Path, int], object]
) -> Figure:
    """How much an import grows the memory, beside one of an eighth of the file.

    write: makes a file of about so many octets.
    """
    grown = []
    for size in (octets // 8, octets):
        path = folder / f"memory-{size}.jsonl"
        write(path, size)
        grown.append(in_fresh_process(_grown_by_import, path))
        path.unlink()
    short, long = (Sample.of([value], "MB") for value in grown)
    megabytes = octets // 1_000_000
    return Figure(
        area,
        f"memory grown by the import of {megabytes:,} MB",
        long,
        f"of {megabytes // 8:,} MB",
        short,
        ratio_limit=_CONSTANT,
        note="constant memory: eight times the file in less than twice the memory; caches fill",
    )


def _grown_by_import(path: Path) -> float:
    async def run() -> None:
        async with opened_for_once(path.with_suffix(".db")) as store:
            with ReadingApart(prepare=prepare_entry) as reading:
                await import_into(store, path, reading)

    with PeakMemory() as memory:
        asyncio.run(run())
    return memory.grown_mb
