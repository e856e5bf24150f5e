"""Blocks with one timer between them end as blocks with a timer each do."""

from __future__ import annotations

import asyncio

import pytest

from server.time_limits import SharedTimer, TimeLimit


class Block:
    """Remembers when it was told."""

    def __init__(self) -> None:
        self.told: list[float] = []
        self.was_told = asyncio.Event()

    def lasts(self) -> None:
        self.told.append(asyncio.get_running_loop().time())
        self.was_told.set()


def test_each_block_is_told_once_and_not_before_its_time() -> None:
    async def scenario() -> None:
        timer = SharedTimer(0.02)
        loop = asyncio.get_running_loop()
        begun, blocks = [], [Block() for _ in range(5)]
        for block in blocks:
            begun.append(loop.time())
            timer.begin(block)
            await asyncio.sleep(0.005)
        for block in blocks:
            await asyncio.wait_for(block.was_told.wait(), 10)
        last = Block()
        timer.begin(last)
        await asyncio.wait_for(last.was_told.wait(), 10)
        for since, block in zip(begun, blocks, strict=True):
            (told,) = block.told
            assert told >= since + timer.after_s
        assert [block.told for block in blocks] == sorted(block.told for block in blocks)

    asyncio.run(scenario())


def test_a_block_that_has_ended_is_not_told() -> None:
    async def scenario() -> None:
        timer = SharedTimer(0.01)
        early, late = Block(), Block()
        timer.begin(early)
        timer.begin(late)
        timer.end(early)
        await asyncio.wait_for(late.was_told.wait(), 10)
        timer.end(late)
        assert early.told == []

    asyncio.run(scenario())


def test_a_block_that_takes_too_long_ends_with_a_timeout() -> None:
    async def scenario() -> None:
        limit = TimeLimit(0.01)
        with pytest.raises(TimeoutError), limit.block() as block:
            await asyncio.Event().wait()
        assert block.expired
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(0)

    asyncio.run(scenario())


def test_only_the_block_whose_time_is_over_ends() -> None:
    async def scenario() -> None:
        outer, inner = TimeLimit(60), TimeLimit(0.01)
        with outer.block() as around, pytest.raises(TimeoutError), inner.block():
            await asyncio.Event().wait()
        assert not around.expired

    asyncio.run(scenario())


def test_who_is_cancelled_by_others_passes_that_on() -> None:
    async def scenario() -> None:
        limit = TimeLimit(0.01)
        begun = asyncio.Event()

        async def work() -> None:
            with limit.block():
                begun.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    task = asyncio.current_task()
                    assert task is not None
                    task.cancel()

        task = asyncio.create_task(work())
        await begun.wait()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())


def test_an_error_within_a_block_stays_what_it_is() -> None:
    async def scenario() -> None:
        limit = TimeLimit(60)
        with pytest.raises(TimeoutError, match="from within"), limit.block() as block:
            raise TimeoutError("from within")
        assert not block.expired

    asyncio.run(scenario())
