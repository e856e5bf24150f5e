"""Large work that nobody sees until it is published: staged logs, growth and forks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.errors import LogConflict
from sessiongraph.event import (
    Entry,
    SessionEvent,
)
from sessiongraph.ports import (
    ChildLink,
    CorpusCounts,
)
from tests.contracts.log_stage import (
    Stores,
    answers,
    answers_now,
    append,
    conversation,
    ids_in_order,
    publish,
    stored,
    write,
)
from tests.plain_store import prefix_of, run
from tests.strategies import (
    delta_run,
    event,
    header,
    logs,
    message,
    placed,
    prompt,
    splits,
)


class StagingContract:
    """Needs the fixture ``stores``; see :mod:`tests.contracts.log_store`."""

    # Staging

    @given(log=logs(min_size=1), data=st.data())
    def test_a_staged_log_is_invisible_until_it_is_published(
        self, stores: Stores, log: list[Entry], data: st.DataObject
    ) -> None:
        batches = data.draw(splits(log))

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await store.create(header("parent"))
                child = header("a", parent_session="parent")
                staged = await store.stage(child)
                entries = iter(placed(log))
                for batch in batches:
                    await staged.append([next(entries) for _ in batch])
                    async with store.observe() as reader:
                        assert await reader.find(["a"]) == {}
                        assert await ids_in_order(reader) == ["parent"]
                        assert await reader.descendants("parent") == []
                        assert await reader.counts() == CorpusCounts(sessions=1, events=0)
                await staged.publish(child)
                await write(plain, child, log)
                assert await answers_now(store, "a") == await answers_now(plain, "a")
                async with store.observe() as reader:
                    assert await reader.descendants("parent") == [
                        ChildLink("a", "parent", child.created_at)
                    ]

        run(scenario())

    def test_payloads_of_staged_events_and_of_those_before_them_can_be_read(
        self, stores: Stores
    ) -> None:
        attempt = event(3, "assistant/attempt", {"stream": ["a", "b"], "z": 1})
        log = [*conversation(3), attempt, delta_run(4, ["x", "y"]), *conversation(7)[6:]]
        expected = {entry.seq: entry.payload for entry in log if isinstance(entry, SessionEvent)}

        async def scenario() -> None:
            async with stores.new() as store:
                staged = await store.stage(header("a"))
                await staged.append(placed(log)[:2])
                await staged.append(placed(log)[2:4])
                for seq in range(4):
                    assert await staged.payload(seq) == expected[seq]
                await staged.publish(header("a"))
                growth = await store.stage_growth(await stored(store, "a"))
                await growth.append(placed(log)[4:])
                assert {seq: await growth.payload(seq) for seq in expected} == expected
                await growth.abandon()

        run(scenario())

    def test_the_header_given_at_publishing_is_the_one_that_stands(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                staged = await store.stage(header("a"))
                await staged.append(placed(conversation(2)))
                final = header("a", seed_length=1, extra={"noted": "at the end"})
                await staged.publish(final)
                assert (await stored(store, "a")).header == final

        run(scenario())

    def test_an_abandoned_log_leaves_nothing_and_its_id_is_free(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                staged = await store.stage(header("a"))
                await staged.append(placed(conversation(3)))
                await staged.abandon()
                async with store.observe() as reader:
                    assert await reader.counts() == CorpusCounts(sessions=0, events=0)
                await write(store, header("a"), conversation(2))
                await write(plain, header("a"), conversation(2))
                assert await answers_now(store, "a") == await answers_now(plain, "a")

        run(scenario())

    @given(old=logs(max_size=6), new=logs(max_size=6))
    def test_a_staged_log_takes_the_place_of_a_stored_one_under_a_new_epoch(
        self, stores: Stores, old: list[Entry], new: list[Entry]
    ) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), old)
                before = await stored(store, "a")
                as_before = await answers_now(store, "a")
                staged = await store.stage(header("a", created_at=5))
                await staged.append(placed(new))
                async with store.observe() as reader:
                    assert await answers(reader, "a") == as_before
                    await staged.publish(header("a", created_at=5))
                    assert await answers(reader, "a") == as_before
                await write(plain, header("a", created_at=5), new)
                assert await answers_now(store, "a") == await answers_now(plain, "a")
                after = await stored(store, "a")
                assert after.epoch != before.epoch
                async with store.observe() as reader:
                    events = sum(entry.last_seq - entry.seq + 1 for entry in new)
                    assert await reader.counts() == CorpusCounts(sessions=1, events=events)

        run(scenario())

    def test_a_replaced_log_takes_no_appends_under_its_old_epoch(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(2))
                old = await stored(store, "a")
                await publish(store, header("a"), conversation(2))
                with pytest.raises(LogConflict):
                    await store.append("a", old.epoch, placed(conversation(3))[2:])
                assert (await stored(store, "a")).last_seq == 1

        run(scenario())

    @given(batches=logs(min_size=2).flatmap(splits), base=st.integers(0, 3))
    def test_growth_is_invisible_until_published_though_it_replaces_older_nodes(
        self, stores: Stores, batches: list[list[Entry]], base: int
    ) -> None:
        log = [entry for batch in batches for entry in batch]
        start = sum(len(batch) for batch in batches[:base])

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log[:start])
                before, as_before = await stored(store, "a"), await answers_now(store, "a")
                growth = await store.stage_growth(before)
                entries = iter(placed(log)[start:])
                for batch in batches[base:]:
                    await growth.append([next(entries) for _ in batch])
                    assert await answers_now(store, "a") == as_before
                noted = header("a", extra={"grew": True})
                await growth.publish(noted)
                await write(plain, noted, log)
                assert await answers_now(store, "a") == await answers_now(plain, "a")
                assert (await stored(store, "a")).epoch == before.epoch

        run(scenario())

    def test_abandoned_growth_leaves_the_log_as_it_was_and_open_to_appends(
        self, stores: Stores
    ) -> None:
        log = [*conversation(3), message(3, replaces=(0, 1), sources=[0, 1])]
        other = [*conversation(3), message(3, replaces=(1, 2), sources=[1, 2])]

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log[:3])
                before = await answers_now(store, "a")
                growth = await store.stage_growth(await stored(store, "a"))
                await growth.append(placed(log)[3:])
                await growth.abandon()
                assert await answers_now(store, "a") == before
                await append(store, "a", [placed(other)[3:]])
                await write(plain, header("a"), other)
                assert await answers_now(store, "a") == await answers_now(plain, "a")

        run(scenario())

    @pytest.mark.parametrize("meanwhile", ["append", "replace", "delete", "grow"])
    def test_growth_of_a_log_that_changed_meanwhile_is_a_conflict(
        self, stores: Stores, meanwhile: str
    ) -> None:
        log = [*conversation(3), message(3, replaces=(0, 1), sources=[0, 1])]
        other = [*conversation(3), message(3, replaces=(1, 2), sources=[1, 2])]

        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), log[:3])
                base = await stored(store, "a")
                growth = await store.stage_growth(base)
                await growth.append(placed(log)[3:])
                if meanwhile == "append":
                    await append(store, "a", [placed(other)[3:]])
                elif meanwhile == "replace":
                    await publish(store, header("a"), log[:3])
                elif meanwhile == "delete":
                    await store.delete("a")
                else:
                    rival = await store.stage_growth(base)
                    await rival.append(placed(other)[3:])
                    await rival.publish(header("a"))
                async with store.observe() as reader:
                    position, counts = reader.position, await reader.counts()
                    before = None if meanwhile == "delete" else await answers(reader, "a")
                with pytest.raises(LogConflict):
                    await growth.publish(header("a", extra={"must": "not show"}))
                await growth.abandon()
                async with store.observe() as reader:
                    assert (reader.position, await reader.counts()) == (position, counts)
                    if before is not None:
                        assert await answers(reader, "a") == before

        run(scenario())

    # Forking

    @given(log=logs(min_size=1), data=st.data())
    def test_a_fork_begins_with_the_events_up_to_the_boundary_and_goes_on_by_itself(
        self, stores: Stores, log: list[Entry], data: st.DataObject
    ) -> None:
        last = log[-1].last_seq
        boundary = data.draw(st.just(last) | st.integers(0, last))
        child = header("child", parent_session="a", seed_length=boundary + 1)
        prefix = prefix_of(log, boundary)
        own: list[Entry] = [event(boundary + 1, "session/end-seed"), prompt(boundary + 2, "own")]
        step = placed([*prefix, *own])[len(prefix) :]

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log)
                source, before = await stored(store, "a"), await answers_now(store, "a")
                fork = await store.fork(source, boundary, child)
                await fork.append(step[:1])
                async with store.observe() as reader:
                    assert await reader.find(["child"]) == {}
                    assert await ids_in_order(reader) == ["a"]
                await fork.publish(child)
                await append(store, "child", [step[1:]])
                await write(plain, child, [*prefix, *own])
                assert await answers_now(store, "child") == await answers_now(plain, "child")
                assert await answers_now(store, "a") == before
                async with store.observe() as reader:
                    counts = CorpusCounts(sessions=2, events=last + 1 + boundary + 3)
                    assert await reader.counts() == counts

        run(scenario())

    def test_a_fork_of_a_fork_outlives_both_its_ancestors(self, stores: Stores) -> None:
        log = [*conversation(3), message(3, replaces=(0, 1), sources=[0, 1]), prompt(4, "end")]

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log)
                for parent, child, boundary in [("a", "b", 3), ("b", "c", 2)]:
                    new = header(child, parent_session=parent)
                    fork = await store.fork(await stored(store, parent), boundary, new)
                    await fork.publish(new)
                await store.delete("a")
                await store.delete("b")
                await write(plain, header("c", parent_session="b"), log[:3])
                assert await answers_now(store, "c") == await answers_now(plain, "c")

        run(scenario())

    def test_a_fork_whose_id_is_taken_meanwhile_is_a_conflict(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(3))
                fork = await store.fork(await stored(store, "a"), 1, header("b"))
                await write(store, header("b"), conversation(1))
                before = await answers_now(store, "b")
                with pytest.raises(LogConflict):
                    await fork.publish(header("b"))
                await fork.abandon()
                assert await answers_now(store, "b") == before

        run(scenario())

    def test_an_abandoned_fork_leaves_nothing(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(3))
                before = await answers_now(store, "a")
                fork = await store.fork(await stored(store, "a"), 1, header("b"))
                await fork.abandon()
                async with store.observe() as reader:
                    assert await ids_in_order(reader) == ["a"]
                    assert await reader.counts() == CorpusCounts(sessions=1, events=3)
                    assert await answers(reader, "a") == before

        run(scenario())

    @pytest.mark.parametrize("meanwhile", ["replace", "delete"])
    def test_a_fork_of_a_log_that_is_gone_is_whole_or_a_conflict(
        self, stores: Stores, meanwhile: str
    ) -> None:
        log = conversation(40)

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log)
                await write(plain, header("b"), log[:30])
                source = await stored(store, "a")
                if meanwhile == "replace":
                    await publish(store, header("a"), conversation(2))
                else:
                    await store.delete("a")
                try:
                    fork = await store.fork(source, 29, header("b"))
                    await fork.publish(header("b"))
                except LogConflict:
                    async with store.observe() as reader:
                        assert await reader.find(["b"]) == {}
                else:
                    assert await answers_now(store, "b") == await answers_now(plain, "b")

        run(scenario())
