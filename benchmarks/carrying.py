"""References: a keystroke in a mention among many sessions, and snapshots of long sessions.

A mention is typed letter by letter, so what counts is the slowest of many different parts: common
and rare ones, of one letter and of many, in Latin and in Chinese, some that occur nowhere. Three
sessions are referenced at once, beside three short ones; the long ones have far more than the
budget holds.
"""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from pathlib import Path
from typing import Final

from benchmarks.figures import Figure, Limit, Sample, slowest_of_hundred
from benchmarks.measuring import Run, alternating, in_fresh_process
from benchmarks.scale import Scale
from benchmarks.stores import build_corpus, build_long_sessions, opened, query_over
from sessiongraph.filters import ALL_SESSIONS
from sessiongraph.paging import PageRequest
from sessiongraph.ports import SessionOrder
from sessiongraph.query import SessionQuery
from sessiongraph.references.candidates import candidates
from sessiongraph.references.limits import ReferenceLimits
from sessiongraph.references.mention import ReferenceInput
from sessiongraph.references.prepare import ReferenceService

AREA: Final = "references"

_TYPED: Final = (
    "retry ledger", "修复 retry", "part 4711", "session-0042", "/projects/7", "zzz", "复 r",
    "ger, p", "99999", "Q", "漢字",
)  # fmt: skip
"""Typed letter by letter."""

_PARTS: Final = [typed[:length] for typed in _TYPED for length in range(1, len(typed) + 1)]

_KEYSTROKE: Final = Limit(20)
_PREPARED: Final = Limit(50)
_MEMORY: Final = Limit(20, "MB")
_MOST_TIMES: Final = Limit(3, "×")
_SOURCES: Final = 3


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Keystrokes among many sessions; three references to long sessions and to short ones."""
    small, large, logs = (folder / f"{name}.db" for name in ("small", "large", "logs"))
    in_fresh_process(build_corpus, small, scale.few_sessions, scale.events_each)
    in_fresh_process(build_corpus, large, scale.many_sessions, scale.events_each)
    lengths = {
        **{f"long {number}": scale.many_events for number in range(_SOURCES)},
        **{f"short {number}": scale.few_events for number in range(_SOURCES)},
        "asking": 10,
    }
    in_fresh_process(build_long_sessions, logs, lengths, frozenset())
    return [
        *asyncio.run(_measure_candidates(scale, small, large)),
        *asyncio.run(_measure_snapshots(scale, logs)),
    ]


async def _measure_candidates(scale: Scale, small: Path, large: Path) -> list[Figure]:
    """Every keystroke in both corpora, one after the other."""
    slowest: dict[str, float] = {}
    taken: dict[Path, list[float]] = {small: [], large: []}
    async with opened(small) as few, opened(large) as many:
        queries = {small: query_over(few), large: query_over(many)}
        asking = {path: await _newest(query) for path, query in queries.items()}
        for turn in range(-1, scale.long_rounds):
            for part in _PARTS:
                for path, query in queries.items():
                    begun = time.perf_counter()
                    async with query.observe() as observation:
                        await candidates(observation, ReferenceLimits(), asking[path], part)
                    if turn >= 0:
                        taken[path].append((time.perf_counter() - begun) * 1e3)
                if turn >= 0:
                    slowest[part] = max(slowest.get(part, 0.0), taken[large][-1])
    part = max(slowest, key=lambda each: slowest[each])
    name = f"a keystroke among {scale.many_sessions:,} sessions"
    return [
        Figure(
            AREA,
            name,
            Sample.of(taken[large]),
            f"{scale.few_sessions:,} sessions",
            Sample.of(taken[small]),
            _KEYSTROKE,
            _MOST_TIMES,
        ),
        Figure(
            AREA,
            f"{name}, 99 of 100",
            Sample.of([slowest_of_hundred(taken[large])]),
            limit=_KEYSTROKE,
            note=f"the slowest part is {part!r} with {slowest[part]:.1f} ms",
        ),
    ]


async def _newest(query: SessionQuery) -> str:
    async with query.observe() as observation:
        page = await observation.list_sessions(
            ALL_SESSIONS, SessionOrder.CREATED, PageRequest(first=1)
        )
    return page.items[0].session_id


async def _measure_snapshots(scale: Scale, path: Path) -> list[Figure]:
    async with opened(path) as store:
        query = query_over(store)
        samples = await alternating(
            scale.rounds, {kind: _preparing(query, kind) for kind in ("long", "short")}
        )
        tracemalloc.start()
        await _preparing(query, "long")(0)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
    name = f"preparing {_SOURCES} references to sessions of {scale.many_events:,} events"
    return [
        Figure(
            AREA,
            name,
            samples["long"],
            f"of {scale.few_events:,} events",
            samples["short"],
            _PREPARED,
            _MOST_TIMES,
        ),
        Figure(AREA, f"{name}: memory", Sample.of([peak], "MB"), limit=_MEMORY),
    ]


def _preparing(query: SessionQuery, kind: str) -> Run:
    service = ReferenceService(query)
    references = [ReferenceInput(f"{kind} {number}") for number in range(_SOURCES)]

    async def run(_: int) -> None:
        prepared = await service.prepare("asking", "as in those", references)
        assert prepared.context is not None

    return run
