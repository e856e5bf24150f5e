"""The feed of commits: everything, once, in order, for whoever follows from wherever."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from providers.sqlite import feed
from providers.sqlite.commits import commits_after
from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.errors import PersistenceFailed
from sessiongraph.ports import Commit, CommitKind
from tests.contracts.log_stage import conversation, publish, stored, write
from tests.plain_store import run
from tests.providers.sqlite import raw
from tests.providers.sqlite.stores import sqlite_at
from tests.strategies import header, placed


def all_commits(path: Path) -> list[Commit]:
    """The whole feed as it lies in a file."""
    with raw.connected(path) as connection:
        return commits_after(connection, 0, 1_000_000)


async def take(feed: AsyncIterator[list[Commit]], until: int) -> list[Commit]:
    """Follow up to a position."""
    taken: list[Commit] = []
    async for commits in feed:
        taken += commits
        if taken[-1].position >= until:
            break
    return taken


async def take_through(feed: AsyncIterator[list[Commit]], session_id: str) -> list[Commit]:
    """Follow until something happens to a session."""
    taken: list[Commit] = []
    async for commits in feed:
        taken += commits
        if any(commit.session_id == session_id for commit in commits):
            break
    return taken


async def some_writing(store: SqliteLogStore, name: str, dice: random.Random) -> None:
    """Sessions that come, grow, are replaced and go."""
    for turn in range(6):
        session_id = f"{name}.{turn}"
        epoch = await store.create(header(session_id))
        for entry in placed(conversation(dice.randint(1, 5))):
            await store.append(session_id, epoch, [entry])
        if dice.random() < 0.4:
            await publish(store, header(session_id), conversation(2))
        if dice.random() < 0.4:
            await store.delete(session_id)


async def latest(store: SqliteLogStore) -> int:
    async with store.observe() as reader:
        return reader.position


def test_commits_say_what_happened_in_the_order_in_which_it_happened(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            epoch = await store.create(header("a"))
            await store.append("a", epoch, placed(conversation(3)))
            await publish(store, header("a"), conversation(2))
            again = (await stored(store, "a")).epoch
            await store.detach("a", again, [])
            await store.delete("a")
            fork = await publish(store, header("b"), conversation(1))
            assert fork is None
            commits = await take(store.follow(0), await latest(store))
            told = [(c.kind, c.session_id, c.epoch, c.first_seq, c.last_seq) for c in commits]
            assert told == [
                (CommitKind.CREATED, "a", epoch, 0, -1),
                (CommitKind.APPENDED, "a", epoch, 0, 2),
                (CommitKind.REPLACED, "a", again, 0, 1),
                (CommitKind.DETACHED, "a", again, 2, 1),
                (CommitKind.DELETED, "a", again, 0, 1),
                (CommitKind.IMPORTED, "b", (await stored(store, "b")).epoch, 0, 0),
            ]
            assert [c.relisted for c in commits] == [False, True, False, False, False, False]

    run(scenario())


@pytest.mark.parametrize("seed", range(4))
def test_followers_under_concurrent_writers_see_every_commit_once_and_in_order(
    tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "log.db"
    dice = random.Random(seed)

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            await some_writing(store, "before", dice)
            starts = [0, await latest(store), *(dice.randint(0, 20) for _ in range(4))]
            followers = [
                (start, asyncio.create_task(take_through(store.follow(start), "the end")))
                for start in starts
            ]
            writers = [asyncio.create_task(some_writing(store, f"{n}", dice)) for n in range(8)]
            while not all(writer.done() for writer in writers):
                start = await latest(store)
                follower = take_through(store.follow(start), "the end")
                followers.append((start, asyncio.create_task(follower)))
                await asyncio.wait(writers, timeout=0.02)
            await asyncio.gather(*writers)
            await store.create(header("the end"))
            taken = [(start, await follower) for start, follower in followers]
        commits = all_commits(path)
        assert [c.position for c in commits] == list(range(1, len(commits) + 1))
        for start, found in taken:
            assert found == [c for c in commits if c.position > start]

    run(scenario())


def test_a_slow_follower_misses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "COMMITS_AT_ONCE", 3)

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            epoch = await store.create(header("a"))
            taken: list[int] = []
            async with aclosing(store.follow(0)) as following:
                async for commits in following:
                    assert len(commits) <= 3
                    taken += [c.position for c in commits]
                    seq = len(taken)
                    if seq > 40:
                        break
                    size = (await stored(store, "a")).last_seq + 1
                    for entry in placed(conversation(size + 2))[size:]:
                        await store.append("a", epoch, [entry])
            assert taken == list(range(1, len(taken) + 1))

    run(scenario())


def test_a_follower_waits_for_the_next_commit(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            following = store.follow(0)
            first = asyncio.ensure_future(anext(following))
            await asyncio.sleep(0)
            assert not first.done()
            await store.create(header("a"))
            assert [c.kind for c in await first] == [CommitKind.CREATED]
            await following.aclose()  # type: ignore[attr-defined]
            assert store._feed._waiting == {}

    run(scenario())


def test_followers_end_with_the_store(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await store.create(header("a"))
            tasks = [asyncio.create_task(take(store.follow(0), 10**9)) for _ in range(3)]
            await asyncio.sleep(0)
        for task in tasks:
            assert [c.position for c in await task] == [1]
        assert store._feed._waiting == {}

    run(scenario())


def test_following_a_closed_store_ends_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await store.create(header("a"))
        assert await take(store.follow(0), 10**9) == []

    run(scenario())


def test_a_follower_whose_loop_has_gone_does_not_disturb_the_writer(tmp_path: Path) -> None:
    """A loop of another thread that ended without closing what it followed."""

    async def follow_and_go(store: SqliteLogStore, kept: list[Any]) -> None:
        following = store.follow(0)
        kept.append(following)
        waiting = asyncio.ensure_future(anext(following))
        await asyncio.sleep(0)
        waiting.cancel()
        store._feed._waiting[asyncio.get_running_loop()].add(asyncio.Event())

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            kept: list[Any] = []
            thread = threading.Thread(target=lambda: asyncio.run(follow_and_go(store, kept)))
            thread.start()
            thread.join()
            assert len(store._feed._waiting) == 1
            await write(store, header("a"), conversation(2))
            assert store._feed._waiting == {}
            assert len(await take(store.follow(0), 2)) == 2

    run(scenario())


def test_positions_never_repeat_across_openings(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        for turn in range(3):
            async with sqlite_at(path) as store:
                await store.create(header(f"{turn}"))
                await store.delete(f"{turn}")
        assert [c.position for c in all_commits(path)] == list(range(1, 7))

    run(scenario())


def test_a_feed_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            await store.create(header("a"))
            raw.change(path, "ALTER TABLE commits RENAME TO elsewhere")
            with pytest.raises(PersistenceFailed, match="feed"):
                await take(store.follow(0), 1)
            raw.change(path, "ALTER TABLE elsewhere RENAME TO commits")
            assert len(await take(store.follow(0), 1)) == 1

    run(scenario())
