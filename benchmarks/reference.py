"""The three shapes that the reference implementation was measured on, with its own figures."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from benchmarks.figures import Figure, Sample
from benchmarks.http_load import Target, answer_of, request_times, sessiongraph_server
from benchmarks.measuring import Run, alternating, in_fresh_process
from benchmarks.scale import Scale
from benchmarks.stores import BUSHY, build_reference_shapes, opened, query_over
from sessiongraph.filters import ALL_EVENTS
from sessiongraph.paging import PageRequest
from sessiongraph.query import SessionQuery

AREA: Final = "reference"

SESSIONS, EVENTS_EACH, LONG_EVENTS = 2_000, 100, 100_000

_THEIRS: Final = {
    "events of a 100-event session among 2,000": 427,
    "one event of a 100,000-event session": 435,
    "a lineage of 2,000": 1_050,
}
_EVENTS: Final = """
    query ($id: ID!) { session(id: $id) { events(first: 100) { nodes {
      seq type time surface sourceEventSeqs replacedBy data
    } } } }
"""
_EVENT: Final = """
    query ($id: ID!, $seq: Int!) { session(id: $id) { event(seq: $seq) { target {
      seq type time surface sourceEventSeqs replacedBy data
    } } } }
"""
_LINEAGE: Final = """
    query ($id: ID!) { session(id: $id) { lineage { complete ancestors { id }
      descendants { totalCount nodes { parentId depth session { id title lastSeq } } }
    } } }
"""


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Each shape in the engine, and as one request over HTTP."""
    data_dir = folder / "reference"
    data_dir.mkdir()
    path = data_dir / "log.db"
    in_fresh_process(build_reference_shapes, path, SESSIONS, EVENTS_EACH, LONG_EVENTS)
    engine = asyncio.run(_in_the_engine(scale, path))
    requests = asyncio.run(_over_http(scale, data_dir))
    return [
        Figure(
            AREA,
            f"{name}, {way}",
            sample,
            "the reference, as published",
            Sample.of([_THEIRS[name]]),
        )
        for way, samples in (("in the engine", engine), ("over HTTP", requests))
        for name, sample in samples.items()
    ]


async def _in_the_engine(scale: Scale, path: Path) -> dict[str, Sample]:
    async with opened(path) as store:
        query = query_over(store)
        runs = (_events(query), _event(query), _lineage(query))
        return await alternating(scale.rounds, dict(zip(_THEIRS, runs, strict=True)))


async def _over_http(scale: Scale, data_dir: Path) -> dict[str, Sample]:
    async with sessiongraph_server(data_dir) as url:
        targets = (
            Target.of_query(url, _EVENTS, id=_session_in_the_middle()),
            Target.of_query(url, _EVENT, id="long", seq=LONG_EVENTS // 2),
            Target.of_query(url, _LINEAGE, id=f"{BUSHY}-0"),
        )
        samples = {}
        for name, target in zip(_THEIRS, targets, strict=True):
            await answer_of(target)
            samples[name] = await request_times(scale.rounds, target)
        return samples


def _session_in_the_middle() -> str:
    return f"{BUSHY}-{SESSIONS // 2}"


def _events(query: SessionQuery) -> Run:
    async def run(turn: int) -> None:
        session_id = f"{BUSHY}-{(turn * 37) % SESSIONS}"
        async with query.observe() as observation:
            session = (await observation.find([session_id]))[session_id]
            await observation.list_events(session, ALL_EVENTS, PageRequest(first=100))

    return run


def _event(query: SessionQuery) -> Run:
    async def run(turn: int) -> None:
        async with query.observe() as observation:
            session = (await observation.find(["long"]))["long"]
            await observation.event_window(session, (turn * 2371) % LONG_EVENTS, 0, 0)

    return run


def _lineage(query: SessionQuery) -> Run:
    async def run(_: int) -> None:
        async with query.observe() as observation:
            root_id = f"{BUSHY}-0"
            session = (await observation.find([root_id]))[root_id]
            await observation.lineages([session])
            await observation.list_descendants(session, PageRequest(first=2000))

    return run
