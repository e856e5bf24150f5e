"""Making logs and appending to them."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given

from sessiongraph.errors import LogConflict
from sessiongraph.event import (
    Entry,
    Seq,
)
from sessiongraph.filters import ALL_EVENTS
from sessiongraph.header import SessionHeader
from sessiongraph.ports import (
    CorpusCounts,
    WindowRequest,
)
from tests.contracts.log_stage import (
    EVERYTHING,
    Stores,
    all_entries,
    answers_now,
    append,
    conversation,
    one,
    position_of,
    stored,
    told_session,
    write,
)
from tests.plain_store import run
from tests.strategies import (
    header,
    headers,
    logs,
    placed,
    prompt,
)


class AppendsContract:
    """Needs the fixture ``stores``; see :mod:`tests.contracts.log_store`."""

    # Creating and appending

    def test_a_new_log_is_empty(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(header("a"))
                session = await stored(store, "a")
                assert told_session(session) == (header("a"), -1, None, None)
                async with store.observe() as reader:
                    assert await reader.events(session, ALL_EVENTS, EVERYTHING) == []
                    assert await reader.surface(session, EVERYTHING) == []
                    assert await all_entries(reader, session) == []
                    assert await reader.counts() == CorpusCounts(sessions=1, events=0)

        run(scenario())

    @given(new=headers())
    def test_a_header_comes_back_as_it_was_given(self, stores: Stores, new: SessionHeader) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(new)
                assert (await stored(store, new.session_id)).header == new

        run(scenario())

    @given(log=logs())
    def test_a_log_can_be_created_with_its_first_entries(
        self, stores: Stores, log: list[Entry]
    ) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                epoch = await store.create(header("a"), placed(log))
                await write(plain, header("a"), log)
                assert (await stored(store, "a")).epoch == epoch
                assert await answers_now(store, "a") == await answers_now(plain, "a")
                async with store.observe() as reader, plain.observe() as model:
                    assert await reader.counts() == await model.counts()

        run(scenario())

    def test_an_id_that_is_taken_is_a_conflict(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation())
                before = await answers_now(store, "a")
                with pytest.raises(LogConflict):
                    await store.create(header("a", created_at=7), placed(conversation(2)))
                assert await answers_now(store, "a") == before

        run(scenario())

    def test_positions_grow_with_every_commit(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                positions = [await position_of(store)]
                epoch = await store.create(header("a"))
                positions.append(await position_of(store))
                log = placed(conversation(3))
                positions += [await store.append("a", epoch, [entry]) for entry in log]
                staged = await store.stage(header("c"))
                await staged.append(placed(conversation(2)))
                positions.append(await staged.publish(header("c")))
                assert await position_of(store) >= positions[-1]
                positions.append(await store.detach("a", epoch, []))
                await store.delete("a")
                positions.append(await position_of(store))
                assert positions == sorted(set(positions))

        run(scenario())

    @pytest.mark.parametrize("first", [0, 2, 4, 5])
    def test_an_append_at_the_wrong_seq_is_refused_and_changes_nothing(
        self, stores: Stores, first: Seq
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(3))
                before = await answers_now(store, "a")
                wrong = placed(conversation(7))[first:]
                with pytest.raises(LogConflict):
                    await append(store, "a", [wrong])
                assert await answers_now(store, "a") == before

        run(scenario())

    @pytest.mark.parametrize("limit", [4, 200])
    def test_a_read_that_is_ended_by_who_weighs_it_leaves_nothing_behind(
        self, stores: Stores, limit: int
    ) -> None:
        """What is read afterwards is of its own moment."""
        told: list[int] = []

        def refuse_the_third(size: int) -> None:
            told.append(size)
            if len(told) == 3:
                raise LookupError

        window = WindowRequest(limit, take=refuse_the_third)
        messages = ALL_EVENTS.narrowed(types=["user/message", "assistant/message"])

        async def scenario() -> None:
            log = placed(conversation(20))
            async with stores.new() as store:
                await store.create(header("a"), log[:10])
                for count in range(10, 20):
                    for read in (
                        lambda reader, session: reader.events(session, ALL_EVENTS, window),
                        lambda reader, session: reader.events(session, messages, window),
                        lambda reader, session: reader.surface(session, window),
                    ):
                        told.clear()
                        async with store.observe() as reader:
                            session = await one(reader, "a")
                            assert session.last_seq == count - 1
                            with pytest.raises(LookupError):
                                await read(reader, session)
                        assert len(told) == 3
                    await append(store, "a", [log[count : count + 1]])

        run(scenario())

    def test_an_append_under_another_epoch_is_refused_and_changes_nothing(
        self, stores: Stores
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(3))
                before = await stored(store, "a")
                with pytest.raises(LogConflict):
                    await store.append("a", before.epoch + 1, placed(conversation(4))[3:])
                assert told_session(await stored(store, "a")) == told_session(before)

        run(scenario())

    def test_an_append_to_an_unknown_log_is_a_conflict(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                with pytest.raises(LogConflict):
                    await store.append("nobody", 1, placed(conversation(1)))

        run(scenario())

    def test_an_append_can_be_repeated_at_the_right_seq_after_a_conflict(
        self, stores: Stores
    ) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                entries = placed(conversation(5))
                await store.create(header("a"))
                epoch = (await stored(store, "a")).epoch
                await store.append("a", epoch, entries[:2])
                with pytest.raises(LogConflict):
                    await store.append("a", epoch, entries[3:])
                await store.append("a", epoch, entries[2:])
                await write(plain, header("a"), conversation(5))
                assert await answers_now(store, "a") == await answers_now(plain, "a")

        run(scenario())

    def test_appends_to_many_logs_at_once_all_arrive(self, stores: Stores) -> None:
        async def scenario() -> None:
            ids = [f"session {number}" for number in range(12)]
            async with stores.twins() as (store, plain):
                work = [write(store, header(each), conversation(6), batches=3) for each in ids]
                await asyncio.gather(*work)
                await write(plain, header(ids[0]), conversation(6))
                expected = (await answers_now(plain, ids[0]))["payloads"]
                for each in ids:
                    assert (await answers_now(store, each))["payloads"] == expected

        run(scenario())

    def test_of_many_appends_at_one_seq_exactly_one_wins(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(header("a"))
                epoch = (await stored(store, "a")).epoch
                rivals = [placed([prompt(0, f"rival {number}")]) for number in range(6)]
                work = (store.append("a", epoch, rival) for rival in rivals)
                results = await asyncio.gather(*work, return_exceptions=True)
                won = [
                    rival for rival, end in zip(rivals, results, strict=True) if end in range(99)
                ]
                assert sum(isinstance(end, LogConflict) for end in results) == len(rivals) - 1
                payloads = (await answers_now(store, "a"))["payloads"]
                assert payloads == {0: won[0][0].entry.payload}  # type: ignore[union-attr]

        run(scenario())
