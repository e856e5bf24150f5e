"""Lineage: large families, deep and wide, in the engine; and what the event loop feels of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from benchmarks.figures import Figure, Limit
from benchmarks.measuring import Run, alternating, in_fresh_process, longest_pauses
from benchmarks.scale import Scale
from benchmarks.stores import DEEP, WIDE, build_families, opened, query_over
from sessiongraph.paging import PageRequest
from sessiongraph.query import SessionQuery

AREA: Final = "lineage"

_MOST_MS: Final = Limit(200)
_LONGEST_PAUSE: Final = Limit(10)
_PAGE: Final = 2000


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Ancestors of the deepest session, pages of descendants, and the longest pauses."""
    path = folder / "lineage.db"
    in_fresh_process(build_families, path, {DEEP: scale.lineage, WIDE: scale.lineage})
    return asyncio.run(_measure(scale, path))


async def _measure(scale: Scale, path: Path) -> list[Figure]:
    figures = []
    async with opened(path) as store:
        query = query_over(store)
        last = scale.lineage - 1
        runs = {
            f"{last:,} ancestors of the deepest": _ancestors(query, f"{DEEP}-{last}"),
            f"{_PAGE:,} of {last:,} descendants, deep": _descendants(query, f"{DEEP}-0", 1),
            f"{_PAGE:,} of {last:,} descendants, wide": _descendants(query, f"{WIDE}-0", 1),
        }
        samples = await alternating(max(5, scale.rounds // 3), runs)
        figures = [Figure(AREA, name, sample, limit=_MOST_MS) for name, sample in samples.items()]
        for name, run in runs.items():
            busy, idle = await longest_pauses(max(5, scale.rounds // 3), run)
            figures.append(
                Figure(
                    AREA,
                    f"longest pause of the loop: {name}",
                    busy,
                    "an idle loop",
                    idle,
                    _LONGEST_PAUSE,
                )
            )
        pages = -(-last // _PAGE)
        walk = {"walk": _descendants(query, f"{WIDE}-0", pages)}
        samples = await alternating(scale.long_rounds, walk, warm_up=1)
        name = f"{last:,} descendants, wide, in {pages} pages"
        figures.append(Figure(AREA, name, samples["walk"]))
    return figures


def _ancestors(query: SessionQuery, session_id: str) -> Run:
    async def run(_: int) -> None:
        async with query.observe() as observation:
            found = await observation.find([session_id])
            await observation.lineages([found[session_id]])

    return run


def _descendants(query: SessionQuery, session_id: str, pages: int) -> Run:
    async def run(_: int) -> None:
        async with query.observe() as observation:
            session = (await observation.find([session_id]))[session_id]
            request = PageRequest(first=_PAGE)
            for _page in range(pages):
                page = await observation.list_descendants(session, request)
                request = PageRequest(first=_PAGE, after=page.end_cursor)

    return run
