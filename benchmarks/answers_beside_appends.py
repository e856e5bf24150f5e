"""What those feel who ask over HTTP while others append: a list of sessions and an event window.

Two connections ask without a pause, one for each, while many clients append single events, each to
a session of its own. Those appended to are the newest, so they are on the page that is asked for.
The appending clients are a process of their own: in the one that asks, answers would wait for their
turn.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import cycle
from typing import Final

from benchmarks.appending import WRITERS
from benchmarks.figures import Figure, Limit, Sample, slowest_of_hundred
from benchmarks.http_load import CREATE, Connection, Target, answer_of, is_ready
from benchmarks.measuring import in_fresh_process
from benchmarks.scale import Scale

_LIMIT: Final = Limit(50)
_PAGE: Final = 50
_NEIGHBOURS: Final = 10
_STRIDE: Final = 37
_LOOKED_EVERY_S: Final = 0.02
_LIST: Final = f"""
    {{ sessions(first: {_PAGE}) {{ nodes {{ id header {{ createdAt cwd }} title lastSeq }} }} }}
"""
_WINDOW: Final = f"""
    query ($id: ID!, $seq: Int!) {{
      session(id: $id) {{
        event(seq: $seq, before: {_NEIGHBOURS}, after: {_NEIGHBOURS}) {{
          startSeq endSeq events {{ seq type time surface data }}
        }}
      }}
    }}
"""


@dataclass(frozen=True, slots=True)
class _Question:
    """What one connection asks, again and again; targets: in turn."""

    name: str
    targets: Sequence[Target]


async def measure_answers(
    area: str, scale: Scale, url: str, session_id: str, events: int
) -> list[Figure]:
    """The slowest of a hundred answers while many append to a server, and while nobody does.

    session_id: one of its sessions, whose first ``events`` events are asked for.
    """
    seconds = 2 * scale.load_s
    windows = [
        Target.of_query(url, _WINDOW, id=session_id, seq=seq) for seq in range(0, events, _STRIDE)
    ]
    questions = [
        _Question(f"lists of {_PAGE} sessions", [Target.of_query(url, _LIST)]),
        _Question(f"windows of {2 * _NEIGHBOURS + 1} events", windows),
    ]
    for question in questions:
        await answer_of(question.targets[0])
    busy, quiet = [], []
    for turn in range(scale.long_rounds):
        busy.append(await _busy(url, questions, f"asked beside, {turn}", seconds))
        while not await is_ready(url):  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(_LOOKED_EVERY_S)
        # Answers come so much sooner then that there are enough.
        quiet.append(await _quiet(questions, seconds / 2))
    return [
        Figure(
            area,
            f"the slowest of a hundred {question.name} while {WRITERS} clients append",
            Sample.of(slowest[place] for slowest in busy),
            "while nobody appends",
            Sample.of(slowest[place] for slowest in quiet),
            _LIMIT,
            note="a quick run has about thirty answers a round: its slowest of all",
        )
        for place, question in enumerate(questions)
    ]


async def _busy(url: str, questions: Sequence[_Question], name: str, seconds: float) -> list[float]:
    """For each question the slowest of a hundred answers while many append."""
    appending = asyncio.create_task(
        asyncio.to_thread(in_fresh_process, _append_for, url, name, seconds)
    )
    asked = await asyncio.gather(*(_ask(each, lambda: appending.done()) for each in questions))
    begun, ended = await appending
    return [
        _slowest([done - at for at, done in answers if begun <= at and done <= ended])
        for answers in asked
    ]


async def _quiet(questions: Sequence[_Question], seconds: float) -> list[float]:
    """For each question the slowest of a hundred answers while nobody appends."""
    end = time.monotonic() + seconds
    asked = await asyncio.gather(
        *(_ask(each, lambda: time.monotonic() > end) for each in questions)
    )
    return [_slowest([done - at for at, done in answers]) for answers in asked]


async def _ask(question: _Question, ended: Callable[[], bool]) -> list[tuple[float, float]]:
    """When each question was asked and when it was answered, one after the other."""
    asked = []
    async with Connection.to(question.targets[0].url) as connection:
        for target in cycle(question.targets):
            if ended():
                break
            begun = time.monotonic()
            answer = await connection.post(target)
            asked.append((begun, time.monotonic()))
            if b'"errors"' in answer:
                raise RuntimeError(f"{question.name} were refused: {answer!r}")
    return asked


def _slowest(seconds: Sequence[float]) -> float:
    """The 99th percentile, in milliseconds."""
    return slowest_of_hundred(seconds) * 1e3


def _append_for(url: str, name: str, seconds: float) -> tuple[float, float]:
    """Append by many clients; from when to when, by the clock that all processes share."""
    return asyncio.run(_append(url, [f"{name}: {number}" for number in range(WRITERS)], seconds))


async def _append(url: str, sessions: Sequence[str], seconds: float) -> tuple[float, float]:
    async with AsyncExitStack() as stack:
        await asyncio.gather(
            *(answer_of(Target.of_query(url, CREATE, id=session_id)) for session_id in sessions)
        )
        connections = [await stack.enter_async_context(Connection.to(url)) for _ in sessions]
        begun = time.monotonic()
        end = begun + seconds
        await asyncio.gather(
            *(
                _append_until(end, connection, Target.of_append(url, session_id, 1))
                for connection, session_id in zip(connections, sessions, strict=True)
            )
        )
        return begun, end


async def _append_until(end: float, connection: Connection, target: Target) -> None:
    while time.monotonic() < end:
        answer = await connection.post(target)
        if b"errors" in answer:
            raise RuntimeError(f"an append was refused: {answer!r}")
