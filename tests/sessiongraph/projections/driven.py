"""Projections put together as a server does it, over plain stores, and words to drive them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

from sessiongraph.event import Entry, Seq, SessionEvent
from sessiongraph.ports import LogStore
from sessiongraph.projections import Projection
from sessiongraph.projections.checkpointing import CheckpointLimits
from sessiongraph.projections.driving import ProjectionLimits
from sessiongraph.projections.ports import LogIdentity
from sessiongraph.projections.registry import Registry
from sessiongraph.projections.service import Projections
from sessiongraph.projections.views import Change, Snapshot
from tests.sessiongraph.projections.fed_store import FedStore, begin, extend, stored_of
from tests.sessiongraph.projections.plain_checkpoints import PlainCheckpointStore
from tests.strategies import event

NEVER_MS = 86_400_000


class Server:
    """Everything of one server that has to do with projections.

    logs: what each session holds, as the test wrote it.
    """

    def __init__(
        self,
        units: Iterable[Projection[Any]],
        store: FedStore,
        checkpoints: PlainCheckpointStore,
        limits: ProjectionLimits,
    ) -> None:
        self.registry = Registry(units)
        self.store = store
        self.checkpoints = checkpoints
        self.logs: dict[str, list[Entry]] = {}
        feed: Any = store
        logs: LogStore = store
        self.projections = Projections(self.registry, logs, feed, checkpoints, limits)

    async def begin(self, entries: Sequence[Entry] = (), session_id: str = "a") -> None:
        """A new log with these entries."""
        self.logs[session_id] = list(entries)
        await begin(self.store, entries, session_id)

    async def append(self, *entries: Entry, to: str = "a") -> None:
        """Append entries in one commit."""
        await extend(self.store, self.logs[to], entries, to)
        self.logs[to] += entries

    async def say(self, *types: str, to: str = "a") -> None:
        """Append empty events of these types, a commit each."""
        for each in types:
            log = self.logs[to]
            await self.append(event(log[-1].last_seq + 1 if log else 0, each), to=to)

    async def rows(self, session_id: str = "a") -> dict[str, Seq]:
        """The watermark of every row of a session."""
        log = LogIdentity.of(await stored_of(self.store, session_id))
        keys = [each.key for each in self.registry.routes.units]
        return {
            row.key: row.seq
            for row in (await self.checkpoints.rows([log], keys)).get(session_id, [])
        }


class Subscriber:
    """Reads a subscription to its end in a task of its own."""

    def __init__(self, server: Server, session_id: str = "a", keys: Any = None) -> None:
        self.frames: list[Snapshot | Change] = []
        self.error: Exception | None = None
        self._stream = server.projections.subscribe(session_id, keys)
        self._task = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        try:
            async with aclosing(self._stream) as frames:  # type: ignore[type-var]
                async for frame in frames:
                    self.frames.append(frame)
        except Exception as error:  # noqa: BLE001 - what it was is what is tested
            self.error = error

    @property
    def ended(self) -> bool:
        return self._task.done()

    @property
    def snapshot(self) -> Snapshot:
        first = self.frames[0]
        assert isinstance(first, Snapshot)
        return first

    @property
    def changes(self) -> list[tuple[Seq, str, Any]]:
        """Seq, key and value of every change."""
        found = []
        for frame in self.frames[1:]:
            assert isinstance(frame, Change)
            found.append((frame.view.seq, frame.view.key, frame.view.value))
        return found

    async def leave(self) -> None:
        """Stop reading."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


@asynccontextmanager
async def serving(
    *units: Projection[Any],
    store: FedStore | None = None,
    checkpoints: PlainCheckpointStore | None = None,
    sessions: int = 500,
    events: int = 1000,
    ms: int = NEVER_MS,
) -> AsyncIterator[Server]:
    """A running server; at its end nothing is left behind."""
    others = asyncio.all_tasks()
    server = Server(
        units,
        store or FedStore(),
        checkpoints or PlainCheckpointStore(),
        ProjectionLimits(sessions, CheckpointLimits(events, ms)),
    )
    running = asyncio.ensure_future(server.projections.run())
    await asyncio.sleep(0)
    try:
        yield server
    finally:
        server.projections.stop()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        await server.projections.aclose()
        await soon()
        left = asyncio.all_tasks() - others - {asyncio.current_task()}
        assert not left, left


async def soon(turns: int = 20) -> None:
    """Let everything that is ready have its turn."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def until(holds: Callable[[], bool], tries: int = 2000) -> None:
    """Wait until something holds that is bound to."""
    for attempt in range(tries):
        if holds():
            return
        await asyncio.sleep(0 if attempt < 200 else 0.001)
    raise AssertionError("it never came to hold")


def numbered(*types: str) -> list[SessionEvent]:
    """Empty events of these types, from 0 on."""
    return [event(seq, each) for seq, each in enumerate(types)]
