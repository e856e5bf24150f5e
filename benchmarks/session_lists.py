"""Lists of sessions: a page of fifty from a large corpus, beside the same page from a small one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from benchmarks.conversations import BEGINNING_MS
from benchmarks.figures import Figure, Limit
from benchmarks.measuring import Run, alternating, in_fresh_process
from benchmarks.scale import Scale
from benchmarks.stores import build_corpus, opened, query_over
from sessiongraph.filters import ALL_SESSIONS, Range, SessionSelection
from sessiongraph.paging import PageRequest
from sessiongraph.ports import SessionOrder
from sessiongraph.query import SessionQuery

AREA: Final = "sessions"

_MOST_TIMES: Final = Limit(2, "×")
_MOST_MS: Final = Limit(10)
_FIFTY: Final = PageRequest(first=50)
_DAY_MS: Final = 86_400_000


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Each order and each indexed filter, and the scan of titles, which no index answers."""
    small, large = folder / "small.db", folder / "large.db"
    in_fresh_process(build_corpus, small, scale.few_sessions, scale.events_each)
    in_fresh_process(build_corpus, large, scale.many_sessions, scale.events_each)
    return asyncio.run(_measure(scale, small, large))


async def _measure(scale: Scale, small: Path, large: Path) -> list[Figure]:
    figures = []
    peer = f"{scale.few_sessions:,} sessions"
    async with opened(small) as few, opened(large) as many:
        queries = {"small": query_over(few), "large": query_over(many)}
        for name, (selection, order) in lists().items():
            samples = await alternating(
                scale.rounds,
                {size: listing_of(query, selection, order) for size, query in queries.items()},
            )
            figures.append(
                Figure(
                    AREA,
                    f"sessions(first: 50), {name}",
                    samples["large"],
                    peer,
                    samples["small"],
                    _MOST_MS,
                    _MOST_TIMES,
                )
            )
        samples = await alternating(
            scale.rounds, {size: _paging(query) for size, query in queries.items()}
        )
        figures.append(
            Figure(
                AREA,
                "sessions(first: 50, after), the fifth page",
                samples["large"],
                peer,
                samples["small"],
                _MOST_MS,
                _MOST_TIMES,
                note="a walk of five pages, shown whole; the limits are those of five pages",
            )
        )
    return figures


def listing_of(query: SessionQuery, selection: SessionSelection, order: SessionOrder) -> Run:
    """The first page of fifty."""

    async def run(_: int) -> None:
        async with query.observe() as observation:
            await observation.list_sessions(selection, order, _FIFTY)

    return run


def _paging(query: SessionQuery) -> Run:
    async def run(_: int) -> None:
        async with query.observe() as observation:
            request = _FIFTY
            for _page in range(5):
                page = await observation.list_sessions(ALL_SESSIONS, SessionOrder.CREATED, request)
                request = PageRequest(first=50, after=page.end_cursor)

    return run


def lists() -> dict[str, tuple[SessionSelection, SessionOrder]]:
    """What is listed, and in which order."""
    created, active = SessionOrder.CREATED, SessionOrder.ACTIVE
    one_cwd = ALL_SESSIONS.narrowed(cwds=["/projects/3"])
    children = ALL_SESSIONS.narrowed(parents=[f"parent-{number}" for number in range(10)])
    spring = Range(BEGINNING_MS - 300 * _DAY_MS, BEGINNING_MS - 200 * _DAY_MS)
    return {
        "by creation": (ALL_SESSIONS, created),
        "by activity": (ALL_SESSIONS, active),
        "of one cwd": (one_cwd, created),
        "of one cwd, by activity": (one_cwd, active),
        "of ten parents": (children, created),
        "without a parent": (ALL_SESSIONS.narrowed(parents=[None]), created),
        "without an origin": (ALL_SESSIONS.narrowed(origins=[None]), created),
        "created in a range": (ALL_SESSIONS.narrowed(created_at=spring), created),
        "of one cwd, created in a range": (one_cwd.narrowed(created_at=spring), created),
    }
