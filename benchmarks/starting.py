"""Starting: the command line's help, and a server until it is ready, over nothing and over much.

A server is ready when ``/readyz`` says so and its index has everything, counted from when its
process was asked for. The large store was served once before, so that its index is complete.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Final

from benchmarks.figures import Figure, Limit, Sample
from benchmarks.http_load import is_ready, running_server, serving_arguments, sessiongraph_server
from benchmarks.measuring import alternating, in_fresh_process
from benchmarks.scale import Scale
from benchmarks.stores import build_long_sessions

AREA: Final = "starting"

_HELP: Final = Limit(300)
_EMPTY: Final = Limit(1000)
_FULL: Final = Limit(2000)
_LOOKED_EVERY_S: Final = 0.002


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Help beside the interpreter alone; readiness over a large store beside that over none."""
    full = folder / "full"
    full.mkdir()
    in_fresh_process(build_long_sessions, full / "log.db", {"long": scale.many_events}, frozenset())
    return asyncio.run(_measure(scale, folder, full))


async def _measure(scale: Scale, folder: Path, full: Path) -> list[Figure]:
    async with sessiongraph_server(full):
        pass
    rounds = 2 * scale.long_rounds
    commands = await alternating(
        rounds,
        {
            "help": lambda _: _run("-m", "server.cli", "--help"),
            "nothing": lambda _: _run("-c", "pass"),
        },
        warm_up=1,
    )
    empty, filled = [], []
    for turn in range(rounds):
        empty.append(await _ready_after(folder / f"empty {turn}"))
        filled.append(await _ready_after(full))
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
        while not await is_ready(url):  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(_LOOKED_EVERY_S)
        return (time.perf_counter() - begun) * 1e3
