"""The plain log store with a look at what is read of it, and doors for what a test lets happen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

from sessiongraph.errors import PersistenceFailed
from sessiongraph.event import Entry, Seq
from sessiongraph.ports import Commit, Position, StoredSession
from tests.plain_store import PlainLogStore, PlainReader, prefix_of
from tests.strategies import header, placed


class FedReader(PlainReader):
    """One observation that tells its store what was read through it."""

    store: FedStore

    async def entries(
        self, session: StoredSession, first: Seq = 0, last: Seq | None = None
    ) -> AsyncIterator[list[Entry]]:
        async for page in super().entries(session, first, last):
            self.store.read_seqs += [entry.seq for entry in page]
            await self.store.pause()
            yield page


class FedStore(PlainLogStore):
    """A plain log store that can be watched.

    read_seqs: of every entry that was read as part of a log, in order.
    observations: how often the store was observed.
    paused: awaited between pages and at the beginning of an observation, to let others in.
    sick: observing it fails.
    telling: cleared, the feed keeps commits back until it is set again.
    """

    def __init__(self) -> None:
        super().__init__()
        self.read_seqs: list[Seq] = []
        self.observations = 0
        self.paused: Callable[[], Awaitable[None]] | None = None
        self.sick = False
        self.telling = asyncio.Event()
        self.telling.set()

    async def follow(self, after: Position) -> AsyncIterator[list[Commit]]:
        async with aclosing(super().follow(after)) as batches:  # type: ignore[type-var]
            async for commits in batches:
                await self.telling.wait()
                yield commits

    @asynccontextmanager
    async def observe(self) -> AsyncIterator[PlainReader]:
        self.observations += 1
        await self.pause()
        if self.sick:
            raise PersistenceFailed("the disk is sick")
        reader = FedReader(
            len(self._commits), dict(self._logs), dict(self._recordings), set(self._tombstones)
        )
        reader.store = self
        yield reader

    async def pause(self) -> None:
        if self.paused is not None:
            await self.paused()

    def cut(self, session_id: str, last_seq: Seq) -> None:
        """Shorten a log as a restored backup does: nobody is told, the epoch stays."""
        log = self._logs[session_id]
        self._logs[session_id] = replace(log, entries=tuple(prefix_of(log.entries, last_seq)))

    def lose(self, session_id: str, seq: Seq) -> None:
        """Make the log of a session lack an event."""
        log = self._logs[session_id]
        kept = tuple(entry for entry in log.entries if entry.seq != seq)
        self._logs[session_id] = replace(log, entries=kept)


async def begin(store: PlainLogStore, entries: Sequence[Entry], session_id: str = "a") -> int:
    """A new log with these entries; answers its epoch."""
    return await store.create(header(session_id), placed(entries))


async def extend(
    store: PlainLogStore, entries: Sequence[Entry], more: Iterable[Entry], session_id: str = "a"
) -> None:
    """Append more to a log that holds these entries."""
    added = list(more)
    async with store.observe() as reader:
        epoch = (await reader.find([session_id]))[session_id].epoch
    await store.append(session_id, epoch, placed([*entries, *added])[len(entries) :])


async def stored_of(store: PlainLogStore, session_id: str = "a") -> StoredSession:
    """A session as the store has it now."""
    async with store.observe() as reader:
        return (await reader.find([session_id]))[session_id]


def last_seq_of(entries: Sequence[Entry]) -> Seq:
    """The last event of a log, -1 of an empty one."""
    return entries[-1].last_seq if entries else -1
