"""Appends through GraphQL: one client with batches beside a bare loop of inserts, many beside one.

Clients wait for the answer to one append, which asks for ``lastSeq``, before they send the next.
The bare loop is that of :mod:`benchmarks.appending`, with the rows that our server has written.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from benchmarks.answers_beside_appends import measure_answers
from benchmarks.appending import BATCH, WRITERS, insert_plainly, written_rows
from benchmarks.figures import Figure, Limit, Sample
from benchmarks.http_load import CREATE, Connection, Target, answer_of, sessiongraph_server
from benchmarks.scale import Scale

AREA: Final = "http appends"

_UNIT: Final = "events/s"
_BATCHES: Final = 40
_SINGLES: Final = 400


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Batches of a hundred by one client; single events by one and by many; who asks meanwhile."""
    return asyncio.run(_measure(scale, folder))


async def _measure(scale: Scale, folder: Path) -> list[Figure]:
    data_dir = folder / "appended"
    data_dir.mkdir()
    ours: list[float] = []
    peer: list[float] = []
    singles: dict[int, list[float]] = {1: [], WRITERS: []}
    async with sessiongraph_server(data_dir) as url:
        for turn in range(-1, scale.long_rounds):
            batches = await _append(url, [f"batches {turn}"], _BATCHES, BATCH)
            schema, rows = await asyncio.to_thread(written_rows, data_dir / "log.db")
            plain = folder / f"plain {turn}.db"
            bare = await asyncio.to_thread(insert_plainly, plain, schema, rows, BATCH)
            rates = {
                writers: await _append(
                    url,
                    [f"{writers} writers {turn}: {number}" for number in range(writers)],
                    max(_SINGLES // writers, 20),
                    1,
                )
                for writers in singles
            }
            if turn >= 0:
                ours.append(batches)
                peer.append(bare)
                for writers, rate in rates.items():
                    singles[writers].append(rate)
        answers = await measure_answers(AREA, scale, url, "batches 0", _BATCHES * BATCH)
    return [
        Figure(
            AREA,
            f"batches of {BATCH} events, one client",
            Sample.of(ours, _UNIT),
            f"bare executemany, a commit for each {BATCH}",
            Sample.of(peer, _UNIT),
            ratio_limit=Limit(0.1, "×", least=True),
        ),
        Figure(
            AREA,
            f"single events, {WRITERS} clients at once",
            Sample.of(singles[WRITERS], _UNIT),
            "one client",
            Sample.of(singles[1], _UNIT),
            ratio_limit=Limit(1.3, "×", least=True),
        ),
        *answers,
    ]


async def _append(url: str, sessions: Sequence[str], appends: int, size: int) -> float:
    """Events a second of clients that each append to a session of their own."""
    async with AsyncExitStack() as stack:
        connections = []
        for session_id in sessions:
            await answer_of(Target.of_query(url, CREATE, id=session_id))
            connections.append(await stack.enter_async_context(Connection.to(url)))
        begun = time.perf_counter()
        await asyncio.gather(
            *(
                _write(
                    connection,
                    Target.of_append(url, session_id, size),
                    appends,
                )
                for connection, session_id in zip(connections, sessions, strict=True)
            )
        )
        return len(sessions) * appends * size / (time.perf_counter() - begun)


async def _write(connection: Connection, target: Target, appends: int) -> None:
    for _ in range(appends):
        answer = await connection.post(target)
        if b"errors" in answer:
            raise RuntimeError(f"an append was refused: {answer!r}")
