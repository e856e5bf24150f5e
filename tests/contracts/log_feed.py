"""The feed of commits, and deletion."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.errors import LogConflict
from sessiongraph.event import (
    Entry,
)
from sessiongraph.header import SessionSource, SourceKind
from sessiongraph.ports import (
    Commit,
    CommitKind,
    CorpusCounts,
    LogStore,
)
from tests.contracts.log_stage import (
    EVERYTHING,
    Stores,
    append,
    commits_through,
    conversation,
    feed_of,
    ids_in_order,
    one,
    position_of,
    publish,
    stored,
    told_commit,
    told_session,
    write,
)
from tests.plain_store import run
from tests.strategies import (
    header,
    logs,
    placed,
)


class FeedContract:
    """Needs the fixture ``stores``; see :mod:`tests.contracts.log_store`."""

    # The feed of commits

    @given(log=logs(min_size=1), data=st.data())
    def test_the_feed_tells_what_was_done_in_the_order_in_which_it_was_done(
        self, stores: Stores, log: list[Entry], data: st.DataObject
    ) -> None:
        cut = data.draw(st.integers(0, len(log)))
        file = SessionSource(SourceKind.DSH, "/log", 5)

        async def act(store: LogStore) -> list[int]:
            """Everything that commits; answers the epochs of ``a`` in the order it had them."""
            epochs = [await store.create(header("a"), placed(log)[:cut])]
            if cut < len(log):
                await append(store, "a", [placed(log)[cut:]])
            fork = await store.fork(await stored(store, "a"), 0, header("child"))
            await fork.publish(header("child"))
            await publish(store, header("a", source=file), conversation(2))
            epochs.append((await stored(store, "a")).epoch)
            growth = await store.stage_growth(await stored(store, "a"))
            await growth.append(placed(conversation(3))[2:])
            await growth.publish(header("a", source=file))
            await store.detach("a", epochs[-1], [])
            await store.delete("a")
            await store.delete("a")
            abandoned = await store.stage(header("b"))
            await abandoned.abandon()
            await publish(store, header("c"), conversation(1))
            return epochs

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                epochs, _ = await act(store), await act(plain)
                commits = await commits_through(store, await position_of(store))
                model = await commits_through(plain, await position_of(plain))
                assert [told_commit(each) for each in commits] == [told_commit(e) for e in model]
                positions = [each.position for each in commits]
                assert positions == sorted(set(positions))
                of_a = [each for each in commits if each.session_id == "a"]
                begins = [each.kind is CommitKind.REPLACED for each in of_a].index(True)
                assert {each.epoch for each in of_a[:begins]} == {epochs[0]}
                assert {each.epoch for each in of_a[begins:]} == {epochs[1]}

        run(scenario())

    def test_the_feed_can_be_followed_from_any_position_and_while_it_grows(
        self, stores: Stores
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                epoch = await store.create(header("a"))
                log = placed(conversation(12))
                for entry in log[:6]:
                    await store.append("a", epoch, [entry])
                middle = await position_of(store)
                known = await commits_through(store, middle)
                starts = [0, *(each.position for each in known)]

                async def follow(after: int) -> list[Commit]:
                    found: list[Commit] = []
                    async for commits in feed_of(store).follow(after):
                        found += commits
                        if any(each.session_id == "the end" for each in commits):
                            break
                    return found

                following = [asyncio.create_task(follow(start)) for start in starts]
                for entry in log[6:]:
                    await store.append("a", epoch, [entry])
                    await asyncio.sleep(0)
                await store.create(header("the end"))
                everything = await commits_through(store, await position_of(store))
                for start, follower in zip(starts, following, strict=True):
                    expected = [each for each in everything if each.position > start]
                    assert await follower == expected

        run(scenario())

    def test_following_ends_with_the_store(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(header("a"))
                following = asyncio.create_task(commits_through(store, 10**9))
                await asyncio.sleep(0)
            assert [each.kind for each in await following] == [CommitKind.CREATED]
            assert await commits_through(store, 10**9) == []

        run(scenario())

    # Deleting

    def test_a_deleted_log_is_gone_and_leaves_a_tombstone(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(3))
                await write(store, header("b", parent_session="a"), conversation(2))
                epoch = (await stored(store, "a")).epoch
                assert await store.delete("a") is True
                async with store.observe() as reader:
                    assert set(await reader.find(["a", "b"])) == {"b"}
                    assert await ids_in_order(reader) == ["b"]
                    assert await reader.counts() == CorpusCounts(sessions=1, events=2)
                    assert await reader.tombstones(["a", "b", "c"]) == {"a"}
                    assert (await reader.ancestors(["b"])).get("b", []) == []
                    assert [link.session_id for link in await reader.descendants("a")] == ["b"]
                with pytest.raises(LogConflict):
                    await store.append("a", epoch, placed(conversation(4))[3:])

        run(scenario())

    def test_deleting_what_is_not_there_says_so(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(header("a"))
                assert await store.delete("b") is False
                assert await store.delete("a") is True
                assert await store.delete("a") is False
                async with store.observe() as reader:
                    assert await reader.tombstones(["a", "b"]) == {"a"}

        run(scenario())

    def test_an_id_that_is_created_again_has_another_epoch_and_an_empty_log(
        self, stores: Stores
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                epochs = []
                for _ in range(3):
                    await write(store, header("a"), conversation(2))
                    epochs.append((await stored(store, "a")).epoch)
                    await store.delete("a")
                await store.create(header("a"))
                last = await stored(store, "a")
                assert len({*epochs, last.epoch}) == 4
                assert told_session(last) == (header("a"), -1, None, None)
                async with store.observe() as reader:
                    assert await reader.surface(last, EVERYTHING) == []
                    assert await reader.citers(last, 0) == []

        run(scenario())

    def test_creating_a_deleted_id_takes_the_tombstone_away(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(header("a"))
                await store.delete("a")
                await store.create(header("a"))
                async with store.observe() as reader:
                    assert await reader.tombstones(["a"]) == set()

        run(scenario())

    def test_publishing_a_deleted_id_takes_the_tombstone_away(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(2))
                await store.delete("a")
                await publish(store, header("a"), conversation(1))
                async with store.observe() as reader:
                    assert await reader.tombstones(["a"]) == set()
                    assert (await one(reader, "a")).last_seq == 0

        run(scenario())
