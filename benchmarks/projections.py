"""Projections: what driving them costs an event, what a cold value and a list of them cost.

Driving is measured as the fold of one session's cells, event by event: the part of following a log
that grows with the number of units. A cold snapshot begins at its checkpoint, whatever lies before:
the long session stands beside a short one with the same tail. What subscribers get is measured in
:mod:`benchmarks.projection_pushes`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from benchmarks import projection_pushes
from benchmarks.conversations import BEGINNING_MS, Conversation
from benchmarks.figures import Figure, Limit, Sample
from benchmarks.measuring import Run, alternating, in_fresh_process
from benchmarks.scale import Scale
from benchmarks.stores import (
    create_session,
    header_of,
    many_at_once,
    opened,
    prompt,
    write_session,
)
from providers.recordings.discovery import find_recordings
from providers.recordings.dsh import DshReader
from providers.sqlite.checkpoints import SqliteCheckpointStore
from providers.sqlite.log_store import SqliteLogStore
from server.samples import sample_sessions
from sessiongraph.event import Entry, Seq, SessionEvent
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.ports import StoredSession
from sessiongraph.projections.cells import SessionCells
from sessiongraph.projections.ladder import Ladder
from sessiongraph.projections.registry import Registry
from sessiongraph.projections.routes import Routes
from sessiongraph.projections.service import Projections
from sessiongraph.projections.units import FIRST_PARTY
from sessiongraph.surface import Surface

AREA: Final = "projections"

UNITS: Final = FIRST_PARTY[:10]
SESSIONS: Final = 1_000
KEYS: Final = ("title", "todos", "sessionStats")
TAIL: Final = 20
_UNIT: Final = "µs"
_IDLE_EVENTS: Final = 20_000
_ROUTES: Final = Routes(UNITS)


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Driving, cold snapshots, stored views of a list, and the way to subscribers."""
    path = folder / "projected.db"
    in_fresh_process(build, path, {"short": scale.few_events, "long": scale.many_events})
    figures = [_idle(scale), _recorded(scale)]
    figures += asyncio.run(_reads(scale, path))
    return [*figures, *projection_pushes.measure(scale, folder)]


def _idle(scale: Scale) -> Figure:
    """Events that concern nobody."""
    events = [SessionEvent(seq, "custom/thing", seq, b"{}") for seq in range(_IDLE_EVENTS)]
    taken = [_fold_us([events]) for _ in range(scale.rounds)]
    return Figure(
        AREA,
        f"driving {len(UNITS)} units, an event that concerns none",
        Sample.of(taken, _UNIT),
        limit=Limit(5, _UNIT),
    )


def _recorded(scale: Scale) -> Figure:
    """Every event of the bundled sample sessions, as a recorder wrote them."""
    with sample_sessions() as folder:
        reader = DshReader()
        logs = [
            [recorded.entry for recorded in reader.open(path, None).entries()]
            for path, _ in find_recordings([folder], [reader])
        ]
    taken = [_fold_us(logs) for _ in range(scale.rounds)]
    return Figure(
        AREA,
        f"driving {len(UNITS)} units, an event of a recorded log",
        Sample.of(taken, _UNIT),
        limit=Limit(15, _UNIT),
        note="views that changed are made, checked and handed out; payloads are decoded",
    )


def _fold_us(logs: Sequence[Sequence[Entry]]) -> float:
    """Microseconds an event, somebody watching every session."""
    fresh = [[_undecoded(entry) for entry in log] for log in logs]
    begun = time.perf_counter()
    for log in fresh:
        cells = SessionCells("a", _ROUTES)
        for entry in log:
            cells.fold(entry, [])
    taken = time.perf_counter() - begun
    return taken * 1e6 / sum(log[-1].last_seq + 1 for log in logs if log)


def _undecoded(entry: Entry) -> Entry:
    """An event as it comes from the store, its payload not looked into yet."""
    if not isinstance(entry, SessionEvent):
        return entry
    return SessionEvent(
        entry.seq,
        entry.type,
        entry.time,
        entry.payload,
        entry.surface_op,
        entry.source_event_seqs,
        entry.ignorable,
    )


async def _reads(scale: Scale, path: Path) -> list[Figure]:
    async with opened(path) as store:
        checkpoints = SqliteCheckpointStore(store)
        ladder = Ladder(store, checkpoints)
        routes = Registry(FIRST_PARTY).routes
        cold = await alternating(
            scale.rounds, {name: _opening(ladder, routes, name) for name in ("short", "long")}
        )
        projections = Projections(Registry(FIRST_PARTY), store, store, checkpoints)
        async with store.observe() as reader:
            names = [f"listed-{number}" for number in range(SESSIONS)]
            sessions = list((await reader.find(names)).values())
            alone = await reader.find(["short", "long"])

        async def list_views(_: int) -> None:
            found = await projections.stored(sessions, KEYS)
            if sum(len(each.views) for each in found.values()) != SESSIONS * len(KEYS):
                raise RuntimeError("a stored view is missing")

        def view_one(session: StoredSession) -> Run:
            async def run(_: int) -> None:
                (found,) = (await projections.stored([session], KEYS)).values()
                if len(found.views) != len(KEYS):
                    raise RuntimeError("a stored view is missing")

            return run

        listed = await alternating(scale.rounds, {"stored": list_views})
        stored = await alternating(
            scale.rounds, {name: view_one(session) for name, session in alone.items()}
        )
    return [
        Figure(
            AREA,
            f"a cold snapshot of {scale.many_events:,} events, {TAIL} past its checkpoint",
            cold["long"],
            f"{scale.few_events:,} events",
            cold["short"],
            ratio_limit=Limit(2, "×"),
        ),
        Figure(
            AREA,
            f"stored views, {len(KEYS)} keys of {SESSIONS:,} sessions",
            listed["stored"],
            limit=Limit(30),
        ),
        Figure(
            AREA,
            f"stored views, {len(KEYS)} keys of a session of {scale.many_events:,} events",
            stored["long"],
            f"{scale.few_events:,} events",
            stored["short"],
            ratio_limit=Limit(2, "×"),
        ),
    ]


def _opening(ladder: Ladder, routes: Routes, session_id: str) -> Run:
    async def run(_: int) -> None:
        opened_log = await ladder.open(session_id, routes)
        opened_log.cells.snapshot()
        if not opened_log.is_behind:
            raise RuntimeError("there was no tail to fold")

    return run


def build(path: Path, events: dict[str, int]) -> None:
    """Sessions of some lengths with a checkpoint before their tail, and many short ones with one
    at their end.
    """

    async def write() -> None:
        async with opened(path) as store:
            for seed, (name, count) in enumerate(events.items()):
                log = Conversation(seed).entries(count)
                await write_session(store, header_of(name, 0), log)
            await many_at_once(
                create_session(store, header_of(f"listed-{number}", number), _talk(number))
                for number in range(SESSIONS)
            )
            await _checkpoint(store, [*events, *(f"listed-{number}" for number in range(SESSIONS))])
            for name in events:
                await _append_tail(store, name)

    asyncio.run(write())


async def _checkpoint(store: SqliteLogStore, names: Sequence[str]) -> None:
    projections = Projections(Registry(FIRST_PARTY), store, store, SqliteCheckpointStore(store))
    for name in names:
        await projections.save(name)
    await projections.aclose()


async def _append_tail(store: SqliteLogStore, name: str) -> None:
    async with store.observe() as reader:
        stored = (await reader.find([name]))[name]
        surface = await reader.surface_nodes(stored)
    tail = [prompt(stored.last_seq + 1 + place, BEGINNING_MS, "go on") for place in range(TAIL)]
    transitions = Surface(_nothing_is_asked, surface, stored.last_seq + 1)
    entries = [PlacedEntry(event, transitions.advance(event)) for event in tail]
    await store.append(name, stored.epoch, entries)


def _nothing_is_asked(seq: Seq) -> NoReturn:
    raise AssertionError(f"the tail replaces nothing, yet {seq} was asked for")


def _talk(number: int) -> list[Entry]:
    return list(Conversation(number).entries(60))
