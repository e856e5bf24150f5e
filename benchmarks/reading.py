"""Reading a session: what a question costs on a long log, beside the same one on a short log.

Every run is a whole operation: an observation is opened, the session found, the question answered.
The two sessions take turns, and each round asks at another place of the log, the same share of the
way through both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from benchmarks.figures import Figure, Limit, Sample
from benchmarks.measuring import PeakMemory, Run, alternating, in_fresh_process
from benchmarks.scale import Scale
from benchmarks.stores import build_long_sessions, opened, query_over
from sessiongraph.corpus import LogicalSession
from sessiongraph.event import EventSurface
from sessiongraph.filters import ALL_EVENTS, EventSelection, Range
from sessiongraph.paging import PageRequest
from sessiongraph.query import Observation, SessionQuery

AREA: Final = "reading"

Question = Callable[[Observation, LogicalSession, float], Awaitable[object]]
"""A question about one session, at a place between 0 and 1 of its log."""

_MOST_TIMES: Final = Limit(3, "×")
_MOST_MS: Final = Limit(10)
_MOST_GROWN: Final = Limit(50, "MB")
_TRACE_ANYWHERE: Final = "trace(seq) anywhere"
_RANGE_MS: Final = 8_000
"""About four hundred events long, so that a page of a hundred of any kind fits in."""

_HALF: Final = ["turn/start", "user/message", "assistant/message", "tool/result"]
_FIRST, _LAST = PageRequest(first=100), PageRequest(last=100)


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Every question on the long session, and how far memory grew while all of them ran."""
    path = folder / "reading.db"
    lengths = {"short": scale.few_events, "long": scale.many_events}
    streamed = {f"{name} streamed": events for name, events in lengths.items()}
    in_fresh_process(build_long_sessions, path, lengths | streamed, frozenset(streamed))
    return asyncio.run(_measure(scale, path))


async def _measure(scale: Scale, path: Path) -> list[Figure]:
    figures = []
    peer = f"{scale.few_events:,} events"
    async with opened(path) as store:
        query = query_over(store)
        with PeakMemory() as memory:
            for name, (question, kind) in questions().items():
                samples = await alternating(
                    scale.rounds,
                    {
                        length: asking(query, f"{length}{kind}", question, scale.rounds)
                        for length in ("short", "long")
                    },
                )
                figures.append(_figure(name, samples["long"], peer, samples["short"]))
    grown = Sample.of([memory.grown_mb], "MB")
    name = f"memory grown while all of these ran on {scale.many_events:,} events"
    return [*figures, Figure(AREA, name, grown, limit=_MOST_GROWN)]


def _figure(name: str, ours: Sample, peer_name: str, peer: Sample) -> Figure:
    if name == _TRACE_ANYWHERE:
        note = "the answer itself is longer: the chain has a link for every later compaction"
        return Figure(AREA, name, ours, peer_name, peer, _MOST_MS, note=note)
    return Figure(AREA, name, ours, peer_name, peer, _MOST_MS, _MOST_TIMES)


def asking(query: SessionQuery, session_id: str, question: Question, rounds: int) -> Run:
    """One question about one session, in each of so many rounds at another place of its log."""

    async def run(turn: int) -> None:
        async with query.observe() as observation:
            session = (await observation.find([session_id]))[session_id]
            await question(observation, session, (turn + 1) / (rounds + 1))

    return run


def questions() -> dict[str, tuple[Question, str]]:
    """What is asked, and of which kind of session."""
    calls = ALL_EVENTS.narrowed(types=["tool/call", "user/message"])
    current = ALL_EVENTS.narrowed(surfaces=[EventSurface.CURRENT])
    shadowed = ALL_EVENTS.narrowed(surfaces=[EventSurface.SHADOWED])
    log_only = ALL_EVENTS.narrowed(surfaces=[EventSurface.LOG_ONLY])
    deltas = ALL_EVENTS.narrowed(types=["assistant/chunk"])
    return {
        "header, title and last seq": (_header, ""),
        "event(seq, 25, 25)": (_window, ""),
        "event(seq, 25, 25) among deltas": (_window, " streamed"),
        "trace(seq) in the newest 900 events": (_trace_recent, ""),
        _TRACE_ANYWHERE: (_trace, ""),
        "surface, first 50": (_surface(PageRequest(first=50)), ""),
        "surface, last 50": (_surface(PageRequest(last=50)), ""),
        "100 events, oldest": (_page(ALL_EVENTS, _FIRST), ""),
        "100 events, newest": (_page(ALL_EVENTS, _LAST), ""),
        "100 of two types, oldest": (_page(calls, _FIRST), ""),
        "100 of two types, newest": (_page(calls, _LAST), ""),
        "100 deltas, newest": (_page(deltas, _LAST), " streamed"),
        "100 log-only, oldest": (_page(log_only, _FIRST), ""),
        "100 log-only, newest": (_page(log_only, _LAST), ""),
        "100 current, oldest": (_page(current, _FIRST), ""),
        "100 current, newest": (_page(current, _LAST), ""),
        "100 shadowed, oldest": (_page(shadowed, _FIRST), ""),
        "100 shadowed, newest": (_page(shadowed, _LAST), ""),
        "100 of a time range, oldest": (_time_range(_FIRST), ""),
        "100 of a time range, newest": (_time_range(_LAST), ""),
        "100 of four types in a time range": (_time_range(_FIRST, _HALF), ""),
        "100 after a seq": (_after_seq, ""),
    }


async def _header(_: Observation, session: LogicalSession, __: float) -> None:
    if session.title is None:
        raise RuntimeError("a session without a title")


async def _window(observation: Observation, session: LogicalSession, place: float) -> None:
    await observation.event_window(session, int(session.last_seq * place), 25, 25)


async def _trace(observation: Observation, session: LogicalSession, place: float) -> None:
    await observation.trace(session, int(session.last_seq * place))


async def _trace_recent(observation: Observation, session: LogicalSession, place: float) -> None:
    await observation.trace(session, session.last_seq - int(900 * place))


async def _after_seq(observation: Observation, session: LogicalSession, place: float) -> None:
    seqs = Range(int(session.last_seq * place / 2), None)
    selection = ALL_EVENTS.narrowed(seqs=seqs, types=["assistant/message", "turn/end"])
    await observation.list_events(session, selection, _FIRST)


def _surface(request: PageRequest) -> Question:
    async def ask(observation: Observation, session: LogicalSession, _: float) -> None:
        await observation.list_surface(session, request)

    return ask


def _page(selection: EventSelection, request: PageRequest) -> Question:
    async def ask(observation: Observation, session: LogicalSession, _: float) -> None:
        await observation.list_events(session, selection, request)

    return ask


def _time_range(request: PageRequest, types: list[str] | None = None) -> Question:
    """A page of what was logged within some seconds, of any type or of half of the events."""
    selected = ALL_EVENTS if types is None else ALL_EVENTS.narrowed(types=types)

    async def ask(observation: Observation, session: LogicalSession, place: float) -> None:
        seq = int(session.last_seq * place / 2)
        begin = (await observation.event_window(session, seq, 0, 0)).target.time
        selection = selected.narrowed(times=Range(begin, begin + _RANGE_MS))
        await observation.list_events(session, selection, request)

    return ask
