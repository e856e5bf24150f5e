"""Following a log: every committed event, once, in order, however slow the follower is."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.errors import LogConflict, LogReplaced, PersistenceFailed, SessionNotFound
from sessiongraph.event import PlacedEvent
from sessiongraph.following import Following
from sessiongraph.ports import Commit, CommitKind
from tests.contracts.log_stage import conversation, publish, stored
from tests.plain_store import run
from tests.providers.recordings.dsh_writing import header_row
from tests.providers.recordings.dsh_writing import write as write_file
from tests.providers.sqlite.imports import prompts, take
from tests.sessiongraph.live_engine import (
    ACCEPTED,
    DURABLE,
    LAZY,
    Engine,
    opened,
    soon,
    text_of,
)
from tests.sessiongraph.stopped_store import StoppedStore
from tests.strategies import header, placed


class Served(list[Commit]):
    """The commits that were handed on."""

    def __init__(self) -> None:
        super().__init__()
        self._news = asyncio.Event()

    def take(self, commit: Commit) -> None:
        self.append(commit)
        self._news.set()

    async def through(self, position: int) -> None:
        """Return when the commit with this position was handed on."""
        while not self or self[-1].position < position:
            self._news.clear()
            await self._news.wait()


@asynccontextmanager
async def followed(
    path: Path, ring_events: int = 1024, *, begin: bool = True
) -> AsyncIterator[tuple[Engine, Following, Served]]:
    """An engine with a live session ``a``, followers of it, and the commits that were served."""
    async with opened(path / "log.db") as engine:
        assert isinstance(engine.store, SqliteLogStore)
        if begin:
            await engine.begin()
        served = Served()
        following = Following(engine.store, engine.store, served.take, ring_events)
        serving = asyncio.create_task(following.run())
        await soon()
        try:
            yield engine, following, served
        finally:
            following.stop()
            serving.cancel()
            await asyncio.wait([serving])
            assert serving.cancelled() or serving.exception() is None
            assert following._rings == {}


async def collect(
    events: AsyncIterator[PlacedEvent], count: int | None = None, into: list[Any] | None = None
) -> list[tuple[int, str]]:
    """So many events, or all until the end."""
    found: list[tuple[int, str]] = [] if into is None else into
    async with aclosing(events) as following:  # type: ignore[type-var]
        if count == 0:
            return found
        async for placed in following:
            found.append((placed.seq, text_of(placed.event)))
            if len(found) == count:
                break
    return found


def numbered(first: int, count: int) -> list[tuple[int, str]]:
    return [(n, f"{n}") for n in range(first, first + count)]


async def say_numbered(engine: Engine, count: int, *, step: int = 1) -> None:
    """Prompts that say their own seqs."""
    first = engine.live.all()[0].planned_seq + 1
    for start in range(first, first + count, step):
        await engine.say(*(f"{n}" for n in range(start, min(start + step, first + count))))


# No gap, no repeat


def test_stored_events_come_first_and_then_new_ones_as_they_are_committed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with followed(tmp_path) as (engine, following, _):
            await say_numbered(engine, 5)
            whole = asyncio.create_task(collect(following.events("a", -1), 12))
            rest = asyncio.create_task(collect(following.events("a", 2), 9))
            await soon()
            await say_numbered(engine, 7)
            assert await whole == numbered(0, 12)
            assert await rest == numbered(3, 9)

    run(scenario())


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_missed_or_repeated_when_commits_race_the_start(
    tmp_path: Path, seed: int
) -> None:
    dice = random.Random(seed)

    async def scenario() -> None:
        async with followed(tmp_path, dice.choice((1, 3, 1024))) as (engine, following, _):
            total = 80

            async def write() -> None:
                while (last := engine.live.all()[0].planned_seq) < total - 1:
                    size = min(dice.randint(1, 7), total - 1 - last)
                    texts = [f"{n}" for n in range(last + 1, last + 1 + size)]
                    await engine.say(*texts, durability=dice.choice((DURABLE, ACCEPTED)))
                    await soon(dice.randint(0, 4))

            async def start_late() -> tuple[int, list[tuple[int, str]]]:
                await soon(dice.randint(0, 200))
                after = dice.randint(-1, (await stored(engine.store, "a")).last_seq)
                return after, await collect(following.events("a", after), total - 1 - after)

            starts = [start_late() for _ in range(12)]
            _, *answers = await asyncio.gather(write(), *starts)
            for after, found in answers:
                assert found == numbered(after + 1, total - 1 - after)

    run(scenario())


def test_a_follower_that_is_slower_than_the_ring_is_fed_from_the_store(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with followed(tmp_path, ring_events=4) as (engine, following, _):
            slow: list[tuple[int, str]] = []
            async with aclosing(following.events("a", -1)) as events:  # type: ignore[type-var]
                await say_numbered(engine, 1)
                async for placed in events:
                    slow.append((placed.seq, text_of(placed.event)))
                    if placed.seq == 29:
                        break
                    if placed.seq % 7 == 0:
                        await say_numbered(engine, 10, step=3)
                        await soon(20)
                ring = following._rings["a"]
                assert len(ring._events) == 4
            assert slow == numbered(0, 30)

    run(scenario())


def test_being_fed_again_is_counted_and_reading_what_was_there_before_is_not(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with followed(tmp_path, ring_events=4) as (engine, following, _):
            await say_numbered(engine, 10, step=1)
            async with aclosing(following.events("a", -1)) as events:  # type: ignore[type-var]
                given = [(await anext(events)).seq for _ in range(10)]
                waiting = asyncio.ensure_future(anext(events))
                await soon()
                assert following.refeeds == 0
                await say_numbered(engine, 1)
                assert (await waiting).seq == 10
                assert following.refeeds == 0
                await say_numbered(engine, 10, step=1)
                await soon(20)
                given += [(await anext(events)).seq for _ in range(10)]
                assert given == [*range(10), *range(11, 21)]
                assert following.refeeds == 1

    run(scenario())


def test_a_ring_is_bounded_in_bytes_and_events_larger_than_it_are_followed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessiongraph.following.RING_OCTETS", 2000)
    texts = [f"{n}" * size for n, size in enumerate([1, 900, 900, 900, 5000, 5000, 1, 900])]

    async def scenario() -> None:
        async with followed(tmp_path) as (engine, following, _):
            collecting = asyncio.create_task(collect(following.events("a", -1), len(texts)))
            slow = following.events("a", -1)
            waiting = asyncio.ensure_future(anext(slow))
            await soon()
            for text in texts:
                await engine.say(text)
                await soon(20)
                kept = [len(each.event.payload) for each in following._rings["a"]._events]
                assert sum(kept) == following._rings["a"]._octets <= 2000
            expected = list(enumerate(texts))
            assert await collecting == expected
            assert (await waiting).seq == 0
            assert await collect(slow, len(texts) - 1) == expected[1:]

    run(scenario())


def test_followers_share_one_ring_and_have_no_queue(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with followed(tmp_path) as (engine, following, _):
            followers = [following.events("a", -1) for _ in range(3)]
            first = [asyncio.ensure_future(anext(each)) for each in followers]
            await soon()
            await say_numbered(engine, 50)
            assert [(await each).seq for each in first] == [0, 0, 0]
            assert len(following._rings) == 1
            assert following._rings["a"].followers == 3
            for each in followers:
                await each.aclose()  # type: ignore[attr-defined]
            assert following._rings == {}

    run(scenario())


def test_two_hundred_followers_get_every_event(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with followed(tmp_path, ring_events=16) as (engine, following, _):
            followers = [
                asyncio.create_task(collect(following.events("a", -1), 60)) for _ in range(200)
            ]
            await soon()
            await say_numbered(engine, 60, step=5)
            for found in await asyncio.gather(*followers):
                assert found == numbered(0, 60)

    run(scenario())


def test_only_committed_events_are_followed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db", LAZY) as engine:
            assert isinstance(engine.store, SqliteLogStore)
            following = Following(engine.store, engine.store)
            serving = asyncio.create_task(following.run())
            await engine.begin()
            await engine.say("0")
            found: list[tuple[int, str]] = []
            collecting = asyncio.create_task(collect(following.events("a", -1), 3, found))
            await soon(20)
            await engine.accept("1")
            await soon(20)
            assert await engine.heard() == ["0", "1"]
            assert found == numbered(0, 1)
            await engine.say("2")
            assert await collecting == numbered(0, 3)
            following.stop()
            serving.cancel()
            await asyncio.wait([serving])

    run(scenario())


def test_an_event_is_placed_as_it_was_when_it_was_committed_or_later(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with followed(tmp_path) as (engine, following, _):
            await say_numbered(engine, 3)
            async with aclosing(following.events("a", -1)) as events:  # type: ignore[type-var]
                found = [await anext(events) for _ in range(3)]
            assert [each.placement.position for each in found] == [0, 1, 2]
            assert {each.session_id for each in found} == {"a"}

    run(scenario())


# Where to begin


def test_following_begins_only_where_the_log_has_come_to(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with followed(tmp_path) as (engine, following, _):
            await say_numbered(engine, 2)
            with pytest.raises(LogConflict):
                await collect(following.events("a", 2))
            with pytest.raises(SessionNotFound):
                await collect(following.events("nobody", -1))
            assert following._rings == {}
            at_the_end = asyncio.create_task(collect(following.events("a", 1), 1))
            await soon()
            await say_numbered(engine, 1)
            assert await at_the_end == numbered(2, 1)

    run(scenario())


def test_followers_who_come_before_the_service_runs_miss_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            assert isinstance(engine.store, SqliteLogStore)
            await engine.begin()
            following = Following(engine.store, engine.store)
            early = asyncio.create_task(collect(following.events("a", -1), 2))
            later = asyncio.create_task(collect(following.events("a", -1), 4))
            await soon()
            await say_numbered(engine, 2)
            serving = asyncio.create_task(following.run())
            assert await early == numbered(0, 2)
            await say_numbered(engine, 2)
            assert await later == numbered(0, 4)
            following.stop()
            serving.cancel()
            await asyncio.wait([serving])

    run(scenario())


# Sessions that close, grow, are replaced, and go


def test_closing_and_resuming_end_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with followed(tmp_path) as (engine, following, _):
            collecting = asyncio.create_task(collect(following.events("a", -1), 4))
            await say_numbered(engine, 2)
            await engine.writing.close("a")
            await engine.writing.resume("a")
            await say_numbered(engine, 2)
            assert await collecting == numbered(0, 4)

    run(scenario())


def test_growth_of_an_imported_log_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"

    async def scenario() -> None:
        async with followed(tmp_path, begin=False) as (engine, following, _):
            write_file(path, [header_row(id="s"), *prompts(2)])
            await take(engine.store, path)
            collecting = asyncio.create_task(collect(following.events("s", -1), 5))
            await soon()
            write_file(path, [header_row(id="s"), *prompts(5)])
            await take(engine.store, path)
            assert await collecting == [(n, f"question {n}") for n in range(5)]

    run(scenario())


@pytest.mark.parametrize("behind", [False, True])
def test_a_deletion_ends_its_followers_cleanly(tmp_path: Path, behind: bool) -> None:
    async def scenario() -> None:
        async with followed(tmp_path, ring_events=2) as (engine, following, _):
            await say_numbered(engine, 5)
            events = following.events("a", -1)
            assert (await anext(events)).seq == 0
            if not behind:
                for _ in range(4):
                    await anext(events)
            await engine.writing.delete("a")
            rest = await collect(events)
            assert rest in (numbered(1, 4)[:length] for length in range(5))
            with pytest.raises(SessionNotFound):
                await collect(following.events("a", -1))

    run(scenario())


def test_a_log_that_is_read_anew_tells_its_followers(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with followed(tmp_path, begin=False) as (engine, following, _):
            await publish(engine.store, header("a"), conversation(3))
            events = following.events("a", -1)
            for seq in range(3):
                assert (await anext(events)).seq == seq
            waiting = asyncio.ensure_future(anext(events))
            await soon()
            await publish(engine.store, header("a"), conversation(5))
            with pytest.raises(LogReplaced) as caught:
                await waiting
            assert caught.value.retriable
            again = await collect(following.events("a", -1), 5)
            assert [seq for seq, _ in again] == [0, 1, 2, 3, 4]

    run(scenario())


@pytest.mark.parametrize("change", ["deleted and made again", "replaced"])
def test_followers_of_an_old_and_of_a_new_log_under_one_id_are_never_mixed_up(
    tmp_path: Path, change: str
) -> None:
    """All of it happens before the service looks at the feed again."""

    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            store = engine.store
            assert isinstance(store, SqliteLogStore)
            feed = StoppedFeed(store)
            following = Following(store, feed)
            await publish(store, header("a"), conversation(3))
            serving = asyncio.create_task(following.run())
            await soon()
            old_events = following.events("a", -1)
            for _ in range(3):
                await anext(old_events)
            old = asyncio.create_task(collect(old_events))
            await soon()
            feed.hold()
            if change == "replaced":
                await publish(store, header("a"), conversation(4))
            else:
                await store.delete("a")
                epoch = await store.create(header("a"))
                await store.append("a", epoch, placed(conversation(4)))
            new = asyncio.create_task(collect(following.events("a", 1), 5))
            await soon(20)
            feed.let()
            if change == "replaced":
                with pytest.raises(LogReplaced):
                    await old
            else:
                assert await old == []
            epoch = (await stored(store, "a")).epoch
            await store.append("a", epoch, placed(conversation(7))[4:])
            assert [seq for seq, _ in await new] == [2, 3, 4, 5, 6]
            following.stop()
            serving.cancel()
            await asyncio.wait([serving])

    run(scenario())


class StoppedFeed:
    """A feed that can be held; what came meanwhile then comes at once."""

    def __init__(self, store: SqliteLogStore) -> None:
        self._store = store
        self._open = asyncio.Event()
        self._open.set()

    def hold(self) -> None:
        self._open.clear()

    def let(self) -> None:
        self._open.set()

    async def follow(self, after: int) -> AsyncIterator[list[Commit]]:
        while True:
            async with aclosing(self._store.follow(after)) as batches:  # type: ignore[type-var]
                async for commits in batches:
                    if not self._open.is_set():
                        break
                    yield commits
                    after = commits[-1].position
                else:
                    return
            await self._open.wait()


def test_a_clean_stop_ends_followers_and_takes_no_new_ones(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with followed(tmp_path) as (engine, following, _):
            await say_numbered(engine, 2)
            collecting = asyncio.create_task(collect(following.events("a", -1)))
            await soon(20)
            following.stop()
            assert await collecting == numbered(0, 2)
            assert await collect(following.events("a", -1)) == numbered(0, 2)

    run(scenario())


# The service itself


def test_every_commit_is_handed_on_once_and_in_order(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with followed(tmp_path) as (engine, following, served):
            collecting = asyncio.create_task(collect(following.events("a", -1), 6))
            for session_id in "bc":
                await engine.begin(session_id)
            await say_numbered(engine, 6)
            await engine.writing.delete("b")
            await collecting
            async with engine.store.observe() as reader:
                last = reader.position
            await served.through(last)
            positions = [commit.position for commit in served]
            assert positions == list(range(positions[0], last + 1))
            assert served[-1].kind is CommitKind.DELETED

    run(scenario())


def test_a_store_that_cannot_be_read_for_a_while_is_read_again_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessiongraph.following._RETRY_S", 0)

    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            assert isinstance(engine.store, SqliteLogStore)
            store = StoppedStore(engine.store)
            served: list[Commit] = []
            following = Following(store, engine.store, served.append)
            store.blind = True
            serving = asyncio.create_task(following.run())
            await soon()
            store.blind = False
            await soon()
            await engine.begin()
            collecting = asyncio.create_task(collect(following.events("a", -1), 2))
            await soon()
            store.blind = True
            await say_numbered(engine, 2)
            await soon(20)
            store.blind = False
            assert await collecting == numbered(0, 2)
            with pytest.raises(PersistenceFailed):
                store.blind = True
                await collect(following.events("a", -1))
            store.blind = False
            following.stop()
            serving.cancel()
            await asyncio.wait([serving])
            positions = [commit.position for commit in served]
            assert positions == sorted(set(positions))

    run(scenario())


def test_whoever_asks_for_news_after_the_end_of_a_log_does_not_wait_for_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with followed(tmp_path) as (engine, following, served):
            await say_numbered(engine, 1)
            async with aclosing(following.events("a", -1)) as events:
                assert (await anext(events)).seq == 0
                await say_numbered(engine, 1)
                assert (await anext(events)).seq == 1
                while (end := events.end) is None:
                    await soon()  # the store may have given it before the feed told of it
                await say_numbered(engine, 1)
                assert await engine.store.delete("a")
                while not served or served[-1].kind is not CommitKind.DELETED:
                    await soon()
                news = end.news()
                assert [place for place, _ in end.after(1) or ()] == [2]
                assert news.is_set()
                assert end.after(2) == []
                assert [placed.seq async for placed in events] == [2]

    run(scenario())
