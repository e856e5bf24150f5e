"""A compaction: one event that takes the place of very many, beside one of a tenth of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.conversations import BEGINNING_MS
from benchmarks.figures import Figure, Limit, Sample
from benchmarks.measuring import Run, alternating
from benchmarks.scale import Scale
from benchmarks.stores import create_session, header_of, opened, prompt, write_session
from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.event import Seq, SessionEvent, SurfaceOp
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.surface import Surface

AREA: Final = "replacing"

_TENFOLD: Final = Limit(10, "×", in_spread=True)


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Planning, applying and storing a replacement; and what one more append waits behind it."""
    return asyncio.run(_measure(scale, folder / "replacing.db"))


async def _measure(scale: Scale, path: Path) -> list[Figure]:
    sizes = {"large": scale.nodes, "small": scale.nodes // 10}
    rounds = max(5, scale.long_rounds)
    async with opened(path) as store:
        runs = {
            name: await _replacements(store, f"{name} {nodes}", nodes, rounds)
            for name, nodes in sizes.items()
        }
        samples = await alternating(rounds, runs, warm_up=1)
        waits = await _waiting(store, scale.nodes, rounds)
    return [
        Figure(
            AREA,
            f"a replacement of {scale.nodes:,} nodes, planned and durable",
            samples["large"],
            f"{scale.nodes // 10:,} nodes",
            samples["small"],
            ratio_limit=_TENFOLD,
            note="linear: ten times the nodes in at most ten times the time",
        ),
        Figure(
            AREA,
            f"an append to another session behind a replacement of {scale.nodes:,} nodes",
            Sample.of(waits),
        ),
    ]


async def _replacements(store: SqliteLogStore, name: str, nodes: int, rounds: int) -> Run:
    """Each round replaces all nodes of a session of its own; so does the round to warm up."""
    plans = [await _session(store, f"{name} {turn}", nodes) for turn in range(rounds + 1)]

    async def run(_: int) -> None:
        await _replace(store, *plans.pop())

    return run


async def _waiting(store: SqliteLogStore, nodes: int, rounds: int) -> list[float]:
    """Milliseconds that a small append takes when it comes just behind a large replacement."""
    loop = asyncio.get_running_loop()
    other = header_of("waiting", 0)
    epoch = await create_session(store, other)
    surface = Surface(_unused)
    waits = []
    for turn in range(rounds):
        plan = await _session(store, f"waited for {turn}", nodes)
        replacing = asyncio.create_task(_replace(store, *plan))
        await asyncio.sleep(0.02)
        event = prompt(turn, BEGINNING_MS, "another session")
        begun = loop.time()
        await store.append("waiting", epoch, [PlacedEntry(event, surface.advance(event))])
        waits.append((loop.time() - begun) * 1e3)
        await replacing
    return waits


async def _session(
    store: SqliteLogStore, session_id: str, nodes: int
) -> tuple[str, int, Surface, SessionEvent]:
    """A session of ``nodes`` messages, its surface, and the event that will replace them all."""
    log = list(_messages(nodes))
    await write_session(store, header_of(session_id, 0), log)
    surface = Surface(_unused)
    for event in log:
        surface.advance(event)
    async with store.observe() as reader:
        epoch = (await reader.find([session_id]))[session_id].epoch
    event = prompt(nodes, BEGINNING_MS + nodes, "what was said until now, in short")
    event.surface_op = SurfaceOp(0, nodes - 1)
    event.source_event_seqs = tuple(range(nodes))
    return session_id, epoch, surface, event


async def _replace(
    store: SqliteLogStore, session_id: str, epoch: int, surface: Surface, event: SessionEvent
) -> None:
    await store.append(session_id, epoch, [PlacedEntry(event, surface.advance(event))])


def _messages(count: int) -> Iterator[SessionEvent]:
    for seq in range(count):
        yield prompt(seq, BEGINNING_MS + seq, f"message {seq} about the ledger 连接超时")


def _unused(seq: Seq) -> dict[str, object]:
    raise AssertionError(f"no tool result is replaced here, yet {seq} was asked for")
