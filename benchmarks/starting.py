"""Starting: the command line's help, and a server until it is ready, over nothing and over much.

A server is ready when ``/readyz`` says so and its index has everything, counted from when its
process was asked for. The large store was served once before, so that its index is complete.
Now and then its server is killed while a few clients append, and started again.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from benchmarks.figures import Figure, Limit, Sample
from benchmarks.http_load import (
    CONNECTIONS,
    CREATE,
    Connection,
    RunningServer,
    Target,
    answer_of,
    is_ready,
    running_server,
    server_process,
    serving_arguments,
    sessiongraph_server,
)
from benchmarks.measuring import alternating, in_fresh_process
from benchmarks.scale import Scale
from benchmarks.stores import build_long_sessions

AREA: Final = "starting"

_HELP: Final = Limit(300)
_EMPTY: Final = Limit(1000)
_FULL: Final = Limit(2000)
_LOOKED_EVERY_S: Final = 0.002
_KILLED_EVERY: Final = 3
_APPENDED_FOR_S: Final = 0.3
_APPENDED_AT_ONCE: Final = 10
_LAST_SEQ: Final = "query ($id: ID!) { session(id: $id) { lastSeq } }"


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Help beside the interpreter alone; readiness over a large store beside that over none.

    And that after a kill beside that after a clean stop.
    """
    full = folder / "full"
    full.mkdir()
    in_fresh_process(build_long_sessions, full / "log.db", {"long": scale.many_events}, frozenset())
    return asyncio.run(_measure(scale, folder, full))


async def _measure(scale: Scale, folder: Path, full: Path) -> list[Figure]:
    async with sessiongraph_server(full):
        pass
    rounds = scale.long_rounds + 1
    commands = await alternating(
        rounds,
        {
            "help": lambda _: _run("-m", "server.cli", "--help"),
            "nothing": lambda _: _run("-c", "pass"),
        },
        warm_up=1,
    )
    empty, filled, killed, stopped = [], [], [], []
    for turn in range(rounds):
        empty.append(await _ready_after(folder / f"empty {turn}"))
        if (turn + 1) % _KILLED_EVERY:
            filled.append(await _ready_after(full))
        else:
            after_stop, after_kill = await _ready_after_stop_and_kill(full, turn)
            filled.append(after_stop)
            stopped.append(after_stop)
            killed.append(after_kill)
    over_nothing = Sample.of(empty)
    return [
        Figure(
            AREA,
            "sessiongraph --help",
            Sample.of(commands["help"].values),
            "the interpreter alone",
            Sample.of(commands["nothing"].values),
            _HELP,
        ),
        Figure(AREA, "a server over an empty store, until it is ready", over_nothing, limit=_EMPTY),
        Figure(
            AREA,
            f"a server over {scale.many_events:,} events and a full index, until it is ready",
            Sample.of(filled),
            "an empty store",
            over_nothing,
            _FULL,
        ),
        Figure(
            AREA,
            f"a server over {scale.many_events:,} events, killed amid appends, until it is ready",
            Sample.of(killed),
            "after a clean stop",
            Sample.of(stopped),
            _FULL,
            note=f"{CONNECTIONS} clients append {_APPENDED_AT_ONCE} events at a time over HTTP for "
            f"{_APPENDED_FOR_S} s, then SIGKILL; everything acknowledged is there afterwards, and "
            "the index has it when the server is ready",
        ),
    ]


async def _run(*arguments: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=asyncio.subprocess.DEVNULL
    )
    if await process.wait() != 0:
        raise RuntimeError(f"{' '.join(arguments)} failed")


async def _ready_after(data_dir: Path) -> float:
    """Milliseconds until a server over a data directory is ready."""
    begun = time.perf_counter()
    async with running_server(*serving_arguments(data_dir)) as url:
        return await _ready_since(begun, url)


async def _ready_since(begun: float, url: str) -> float:
    while not await is_ready(url):  # noqa: ASYNC110 - nobody announces it
        await asyncio.sleep(_LOOKED_EVERY_S)
    return (time.perf_counter() - begun) * 1e3


async def _ready_after_stop_and_kill(data_dir: Path, turn: int) -> tuple[float, float]:
    """Milliseconds until a server is ready, and until the next one is after its kill amid appends.

    Raises:
        RuntimeError: an event is missing that was acknowledged.
    """
    begun = time.perf_counter()
    async with server_process(*serving_arguments(data_dir)) as server:
        after_stop = await _ready_since(begun, server.url)
        acknowledged = await _kill_amid_appends(server, turn)
    begun = time.perf_counter()
    async with running_server(*serving_arguments(data_dir)) as url:
        after_kill = await _ready_since(begun, url)
        for session_id, count in acknowledged.items():
            answer = await answer_of(Target.of_query(url, _LAST_SEQ, id=session_id))
            kept = answer["data"]["session"]["lastSeq"] + 1
            if not 0 < count <= kept:
                raise RuntimeError(f"{session_id!r} has {kept} of {count} events after the kill")
    return after_stop, after_kill


async def _kill_amid_appends(server: RunningServer, turn: int) -> Mapping[str, int]:
    """How many events of each session the server had acknowledged when it was killed."""
    sessions = [f"killed {turn}: {number}" for number in range(CONNECTIONS)]
    for session_id in sessions:
        await answer_of(Target.of_query(server.url, CREATE, id=session_id))
    appending = [
        asyncio.create_task(_append_until_gone(server.url, session_id)) for session_id in sessions
    ]
    await asyncio.sleep(_APPENDED_FOR_S)
    await server.kill()
    return dict(zip(sessions, await asyncio.gather(*appending), strict=True))


async def _append_until_gone(url: str, session_id: str) -> int:
    """Append until the server is gone; how many events it has acknowledged."""
    acknowledged = 0
    target = Target.of_append(url, session_id, _APPENDED_AT_ONCE)
    with suppress(ConnectionError, EOFError):
        async with Connection.to(url) as connection:
            while True:
                answer = await connection.post(target)
                if b"errors" in answer:
                    raise RuntimeError(f"an append was refused: {answer!r}")
                acknowledged += _APPENDED_AT_ONCE
    return acknowledged
