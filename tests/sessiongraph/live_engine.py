"""The live engine put together as the server does it, over a real file, and words to drive it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.corpus import Corpus, LogicalSession
from sessiongraph.cursor import KEY_BYTES, CursorCodec
from sessiongraph.event import PlacedEvent, Seq, SessionEvent
from sessiongraph.filters import ALL_EVENTS
from sessiongraph.live_sessions import Durability, LiveLimits, LiveSessions
from sessiongraph.new_event import NewEvent
from sessiongraph.new_session import NewSession
from sessiongraph.ports import LogStore, WindowRequest
from sessiongraph.query import SessionQuery
from sessiongraph.writing import Lifecycle, SessionWriting
from tests.plain_store import PlainLogStore
from tests.strategies import user_message

DURABLE, ACCEPTED = Durability.DURABLE, Durability.ACCEPTED
EVERYTHING = WindowRequest(limit=1_000_000)
NEVER_MS = 86_400_000
BEGINNING_MS = 1_780_000_000_000

_files_are_made_anew = [
    HealthCheck.function_scoped_fixture,
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
]
many_examples = settings(suppress_health_check=_files_are_made_anew)
"""For examples that make their file anew, if they need one."""

each_in_a_file_of_its_own = settings(
    suppress_health_check=_files_are_made_anew,
    max_examples=settings.default.max_examples // 2,
)
"""For examples that all need one: it takes longer than anything that is done with it."""

PROMPT = LiveLimits(write_delay_ms=1, write_retry_ms=1)
"""Accepted events are written at once, failed writes tried again at once."""

LAZY = LiveLimits(write_delay_ms=NEVER_MS, write_retry_ms=1)
"""Accepted events stay in memory until somebody asks for the disk."""


@dataclass(frozen=True)
class Engine:
    """Everything that the server puts together for writing and reading."""

    store: LogStore
    live: LiveSessions
    corpus: Corpus
    writing: SessionWriting
    query: SessionQuery

    async def begin(self, session_id: str = "a", durability: Durability = DURABLE) -> None:
        """A new live session."""
        await self.writing.create(NewSession(session_id=session_id), durability)

    async def say(
        self,
        *texts: str,
        to: str = "a",
        at: Seq | None = None,
        durability: Durability = DURABLE,
    ) -> list[Seq]:
        """Append prompts; answers their seqs."""
        events = await self.writing.append(to, [said(text) for text in texts], at, durability)
        return [event.seq for event in events]

    async def accept(self, *texts: str, to: str = "a", at: Seq | None = None) -> list[Seq]:
        """Append prompts that need not be on disk when this returns."""
        return await self.say(*texts, to=to, at=at, durability=ACCEPTED)

    async def look(self, session_id: str = "a") -> LogicalSession | None:
        """The session as an exact read sees it; its log cannot be asked any more."""
        async with self.corpus.observe() as view:
            return (await view.find([session_id])).get(session_id)

    async def events(self, session_id: str = "a") -> list[PlacedEvent]:
        """The whole log as an exact read sees it."""
        async with self.corpus.observe() as view:
            session = (await view.find([session_id]))[session_id]
            return await session.log.events(ALL_EVENTS, EVERYTHING)

    async def heard(self, session_id: str = "a") -> list[str]:
        """The texts of a log as an exact read sees them, in order; seqs have no gap."""
        events = await self.events(session_id)
        assert [placed.seq for placed in events] == list(range(len(events)))
        return [text_of(placed.event) for placed in events]

    async def written(self, session_id: str = "a") -> list[str]:
        """The texts that are in the store, live or not."""
        async with self.store.observe() as reader:
            session = (await reader.find([session_id])).get(session_id)
            if session is None:
                return []
            events = await reader.events(session, ALL_EVENTS, EVERYTHING)
            return [text_of(placed.event) for placed in events]

    async def crash(self) -> None:
        """Lose everything that is only in memory."""
        for session in self.live.all():
            self.live.discard(session.session_id)
        await soon()


def said(text: str, **members: Any) -> NewEvent:
    """A prompt to append."""
    return NewEvent.of("user/message", user_message(text), **members)


def again(event: SessionEvent) -> NewEvent:
    """A logged event to be appended elsewhere."""
    return NewEvent(
        event.type,
        event.payload,
        event.time,
        event.surface_op,
        event.source_event_seqs,
        event.ignorable,
    )


def text_of(event: SessionEvent) -> str:
    """The text of a prompt; of another event its type."""
    data = json.loads(event.payload)
    if event.type != "user/message":
        return event.type
    text: str = data["content"][0]["text"]
    return text


def built(
    store: LogStore, limits: LiveLimits = PROMPT, lifecycle: Lifecycle | None = None
) -> Engine:
    """An engine over a store; its clock grows by a millisecond whenever it is read."""
    clock = count(BEGINNING_MS)
    live = LiveSessions(store, limits)
    corpus = Corpus(store, live)
    writing = SessionWriting(store, corpus, live, lambda: next(clock), lifecycle)
    return Engine(store, live, corpus, writing, SessionQuery(corpus, CursorCodec(b"k" * KEY_BYTES)))


@asynccontextmanager
async def running(
    store: LogStore, limits: LiveLimits = PROMPT, lifecycle: Lifecycle | None = None
) -> AsyncIterator[Engine]:
    """An engine over a store; what is only in memory at the end is lost, and no task is left."""
    others = asyncio.all_tasks()
    engine = built(store, limits, lifecycle)
    try:
        yield engine
    finally:
        await engine.crash()
        left = asyncio.all_tasks() - others - {asyncio.current_task()}
        assert not left, left


@asynccontextmanager
async def opened(
    path: Path, limits: LiveLimits = PROMPT, lifecycle: Lifecycle | None = None
) -> AsyncIterator[Engine]:
    """An engine over a file; at the end the file must be sound."""
    store = SqliteLogStore.open(path)
    try:
        async with running(store, limits, lifecycle) as engine:
            yield engine
        assert await store.check() == []
    finally:
        await store.close()


@asynccontextmanager
async def a_store(kind: str, folder: Path) -> AsyncIterator[LogStore]:
    """A new store: ``plain``, or ``sqlite`` with a file of its own."""
    store = PlainLogStore() if kind == "plain" else SqliteLogStore.open(fresh(folder))
    try:
        yield store
    finally:
        await store.close()


store_kinds = st.sampled_from(("plain", "plain", "plain", "sqlite"))
"""What holds for the contract of a store can mostly be tried on the quick one."""


def fresh(folder: Path) -> Path:
    """A file that is not there yet, whatever the last example left."""
    for left in folder.glob("log.db*"):
        left.unlink()
    return folder / "log.db"


async def soon(turns: int = 5) -> None:
    """Let everything that is ready on the loop have its turn."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def all_of(*work: Any) -> Sequence[Any]:
    """Everything at once, to the end, failures among the answers."""
    return await asyncio.gather(*work, return_exceptions=True)
