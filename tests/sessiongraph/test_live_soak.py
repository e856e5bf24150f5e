"""Everything at once for a while: imports, forks, deletions, appends, reads and followers."""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing, suppress
from pathlib import Path

import pytest

from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.corpus_changes import CorpusChanges
from sessiongraph.cursor import KEY_BYTES, CursorCodec
from sessiongraph.errors import (
    EventNotFound,
    LogConflict,
    LogReadOnly,
    LogReplaced,
    NotLive,
    SessionNotFound,
)
from sessiongraph.filters import ALL_EVENTS, ALL_SESSIONS
from sessiongraph.following import Following
from sessiongraph.new_session import NewSession
from sessiongraph.paging import PageRequest
from sessiongraph.ports import SessionOrder, WindowRequest
from tests.plain_store import run
from tests.providers.recordings.dsh_writing import header_row
from tests.providers.recordings.dsh_writing import write as write_file
from tests.providers.sqlite import raw
from tests.providers.sqlite.imports import prompts, take
from tests.sessiongraph.live_engine import ACCEPTED, DURABLE, PROMPT, Engine, opened

EXPECTED = (
    EventNotFound,
    LogConflict,
    LogReadOnly,
    LogReplaced,
    NotLive,
    SessionNotFound,
)
"""What may be said to somebody whose session was taken away by somebody else."""

NAMES = tuple("abcdefgh")


class Soak:
    """Actors that meet at few sessions until their turns are over."""

    def __init__(self, engine: Engine, following: Following, folder: Path, turns: int) -> None:
        self.engine = engine
        self.following = following
        self.folder = folder
        self.turns = turns

    async def actor(self, seed: int) -> int:
        """One after the other of whatever can be done; answers how much of it was."""
        dice = random.Random(seed)
        acts = [
            self.make, self.append, self.append, self.append, self.fork, self.close, self.rename,
            self.delete, self.bring_in, self.read, self.read_list,
        ]  # fmt: skip
        done = 0
        for _ in range(self.turns):
            try:
                await dice.choice(acts)(dice, dice.choice(NAMES))
            except EXPECTED:
                continue
            done += 1
        return done

    async def make(self, dice: random.Random, name: str) -> None:
        await self.engine.writing.create(NewSession(name), dice.choice((DURABLE, ACCEPTED)))

    async def append(self, dice: random.Random, name: str) -> None:
        try:
            texts = ["x" * dice.randint(1, 2000) for _ in range(dice.randint(1, 20))]
            await self.engine.say(*texts, to=name, durability=dice.choice((DURABLE, ACCEPTED)))
        except (NotLive, LogReadOnly):
            await self.engine.writing.resume(name)

    async def fork(self, dice: random.Random, name: str) -> None:
        await self.engine.writing.fork(name, None, dice.choice((None, *NAMES)))

    async def close(self, dice: random.Random, name: str) -> None:
        await self.engine.writing.close(name)

    async def rename(self, dice: random.Random, name: str) -> None:
        await self.engine.writing.rename(name, f"Title {dice.random()}")

    async def delete(self, dice: random.Random, name: str) -> None:
        await self.engine.writing.delete(name)

    async def bring_in(self, dice: random.Random, name: str) -> None:
        path = self.folder / f"{dice.choice(NAMES)}.jsonl"
        size = dice.randint(1, 300)
        await asyncio.to_thread(
            write_file, path, [header_row(id=name, createdAt=dice.randint(1, 3)), *prompts(size)]
        )
        await take(self.engine.store, path, restore_deleted=True)

    async def read(self, dice: random.Random, name: str) -> None:
        async with self.engine.query.observe() as observation:
            session = (await observation.find([name])).get(name)
            if session is None or session.conflict is not None:
                return
            events = await session.log.events(ALL_EVENTS, WindowRequest(100_000))
            assert [placed.seq for placed in events] == list(range(session.last_seq + 1))
            surface = await session.log.surface(WindowRequest(100_000))
            positions = [placed.placement.position for placed in surface]
            assert positions == sorted(set(positions), key=lambda each: each or 0)

    async def read_list(self, dice: random.Random, name: str) -> None:
        order = dice.choice(list(SessionOrder))
        async with self.engine.query.observe() as observation:
            page = await observation.list_sessions(ALL_SESSIONS, order, PageRequest(first=200))
            ids = [each.session_id for each in page.items]
            assert len(ids) == len(set(ids)) == (await observation.counts()).sessions

    async def follower(self, name: str) -> int:
        """Follow a session for ever; answers how many events came."""
        seen = 0
        while True:
            try:
                last = -1
                async with aclosing(self.following.events(name, -1)) as events:  # type: ignore[type-var]
                    async for placed in events:
                        assert placed.seq == last + 1
                        last = placed.seq
                        seen += 1
            except (SessionNotFound, LogReplaced):
                pass
            if self.following._stopped:
                return seen
            await asyncio.sleep(0.01)


async def soak(folder: Path, actors: int, turns: int, seed: int) -> None:
    path = folder / "log.db"
    changes = CorpusChanges(CursorCodec(b"k" * KEY_BYTES))
    async with opened(path, PROMPT, changes) as engine:
        store = engine.store
        assert isinstance(store, SqliteLogStore)
        following = Following(store, store, changes.commit, ring_events=50)
        serving = asyncio.create_task(following.run())
        everything = Soak(engine, following, folder, turns)
        followers = [asyncio.create_task(everything.follower(name)) for name in NAMES * 2]
        done = await asyncio.gather(*(everything.actor(seed + n) for n in range(actors)))
        assert sum(done) > actors * turns / 4
        with suppress(LogConflict):  # what an import took from a session that still held something
            await engine.writing.close_all()
        following.stop()
        assert sum(await asyncio.gather(*followers)) > 0
        serving.cancel()
        await asyncio.wait([serving])
        for session in engine.live.all():
            await engine.writing.close(session.session_id)
        assert engine.writing._turns._turns == {}
        assert await store.check() == []
        await raw.settled(store)
    assert raw.strays(path) == {}


def test_everything_at_once_for_a_moment(tmp_path: Path) -> None:
    run(soak(tmp_path, actors=8, turns=30, seed=1))


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(100, 1100, 100))
def test_everything_at_once_for_long(tmp_path: Path, seed: int) -> None:
    run(soak(tmp_path, actors=24, turns=400, seed=seed))
