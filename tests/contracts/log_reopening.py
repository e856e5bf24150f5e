"""What is there when a store is opened again."""

from __future__ import annotations

from hypothesis import given

from sessiongraph.event import (
    Entry,
)
from sessiongraph.ports import (
    CommitKind,
    CorpusCounts,
)
from sessiongraph.recordings import RecordingState
from tests.contracts.log_stage import (
    Stores,
    answers_now,
    append,
    commits_through,
    conversation,
    position_of,
    publish,
    stored,
    told_commit,
    write,
)
from tests.plain_store import PlainLogStore, run
from tests.strategies import (
    header,
    logs,
    message,
    placed,
)


class ReopeningContract:
    """Needs the fixture ``stores``; see :mod:`tests.contracts.log_store`."""

    # Opening again

    @given(log=logs())
    def test_everything_is_there_when_the_store_is_opened_again(
        self, durable_stores: Stores, log: list[Entry]
    ) -> None:
        recording = RecordingState("/log", "staged", 1, 2, 3, 4, 5, "f")

        async def scenario() -> None:
            path = durable_stores.new_path()
            async with durable_stores.at(path) as store:
                await write(store, header("a"), log, batches=2)
                await publish(store, header("staged"), log, recording)
                await store.create(header("gone"))
                await store.delete("gone")
                before = [await answers_now(store, each) for each in ("a", "staged")]
                session = await stored(store, "a")
                async with store.observe() as reader:
                    position, counts = reader.position, await reader.counts()
            async with durable_stores.at(path) as store:
                assert [await answers_now(store, each) for each in ("a", "staged")] == before
                assert (await stored(store, "a")).epoch == session.epoch
                async with store.observe() as reader:
                    assert (reader.position, await reader.counts()) == (position, counts)
                    assert await reader.recording("/log") == recording
                    assert await reader.tombstones(["gone", "a"]) == {"gone"}

        run(scenario())

    def test_a_log_goes_on_where_it_was_when_the_store_is_opened_again(
        self, durable_stores: Stores
    ) -> None:
        log = [*conversation(3), message(3, replaces=(0, 1), sources=[0, 1])]

        async def scenario() -> None:
            path = durable_stores.new_path()
            async with durable_stores.at(path) as store:
                await write(store, header("a"), log[:3])
            async with durable_stores.at(path) as store:
                await append(store, "a", [placed(log)[3:]])
                plain = PlainLogStore()
                await write(plain, header("a"), log)
                assert await answers_now(store, "a") == await answers_now(plain, "a")

        run(scenario())

    def test_what_was_staged_and_not_published_is_gone_when_the_store_is_opened_again(
        self, durable_stores: Stores
    ) -> None:
        log = [*conversation(3), message(3, replaces=(0, 1), sources=[0, 1])]

        async def scenario() -> None:
            path = durable_stores.new_path()
            async with durable_stores.at(path) as store:
                await write(store, header("a"), log[:3])
                before = await answers_now(store, "a")
                growth = await store.stage_growth(await stored(store, "a"))
                await growth.append(placed(log)[3:])
                staged = await store.stage(header("b"))
                await staged.append(placed(conversation(2)))
            async with durable_stores.at(path) as store:
                assert await answers_now(store, "a") == before
                async with store.observe() as reader:
                    assert await reader.find(["b"]) == {}
                    assert await reader.counts() == CorpusCounts(sessions=1, events=3)
                await append(store, "a", [placed(log)[3:]])
                assert (await stored(store, "a")).last_seq == 3

        run(scenario())

    def test_the_feed_goes_on_where_it_was_when_the_store_is_opened_again(
        self, durable_stores: Stores
    ) -> None:
        async def scenario() -> None:
            path = durable_stores.new_path()
            async with durable_stores.at(path) as store:
                await write(store, header("a"), conversation(2))
                before = await commits_through(store, await position_of(store))
            async with durable_stores.at(path) as store:
                await store.delete("a")
                again = await commits_through(store, before[-1].position)
                assert again[: len(before)] == before
                (deletion,) = await commits_through(
                    store, await position_of(store), before[-1].position
                )
                assert told_commit(deletion) == (CommitKind.DELETED, "a", 0, 1, False, None)

        run(scenario())

    def test_epochs_and_positions_never_repeat_across_openings(
        self, durable_stores: Stores
    ) -> None:
        async def scenario() -> None:
            path = durable_stores.new_path()
            epochs, positions = [], []
            for _ in range(3):
                async with durable_stores.at(path) as store:
                    epochs.append(await store.create(header("a")))
                    positions.append(await position_of(store))
                    await store.delete("a")
            assert len(set(epochs)) == 3
            assert positions == sorted(set(positions))

        run(scenario())
