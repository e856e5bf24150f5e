"""Batches: one call for all keys of a turn, each key's failure its own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from resolvers.loaders import BatchLoader
from sessiongraph.errors import CorruptSession, SessionGraphError


class Doubles:
    """Doubles numbers; negative ones have no answer, 13 fails, 99 fails the whole call."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.asked = asyncio.Event()
        self.release = asyncio.Event()
        self.release.set()

    async def __call__(self, keys: Sequence[int]) -> Mapping[int, int | SessionGraphError]:
        self.calls.append(list(keys))
        self.asked.set()
        await self.release.wait()
        if 99 in keys:
            raise CorruptSession("all of them")
        answers: dict[int, int | SessionGraphError] = {key: 2 * key for key in keys if key >= 0}
        if 13 in keys:
            answers[13] = CorruptSession("thirteen")
        return answers


def test_keys_of_one_turn_are_asked_for_in_one_call() -> None:
    async def run() -> None:
        doubles = Doubles()
        loader = BatchLoader(doubles)
        found = await asyncio.gather(*(loader.load(key) for key in (3, 1, 2, 1)))
        assert found == [6, 2, 4, 2]
        assert doubles.calls == [[3, 1, 2]]

    asyncio.run(run())


def test_a_key_is_loaded_once_and_remembered() -> None:
    async def run() -> None:
        doubles = Doubles()
        loader = BatchLoader(doubles)
        assert [await loader.load(1), await loader.load(2), await loader.load(1)] == [2, 4, 2]
        assert doubles.calls == [[1], [2]]

    asyncio.run(run())


def test_keys_that_come_while_a_batch_is_on_its_way_make_the_next_one() -> None:
    async def run() -> None:
        doubles = Doubles()
        doubles.release.clear()
        loader = BatchLoader(doubles)
        first = asyncio.create_task(loader.load(1))
        await doubles.asked.wait()
        second = [asyncio.create_task(loader.load(key)) for key in (2, 1)]
        await asyncio.sleep(0)
        doubles.release.set()
        assert [await first, await second[0], await second[1]] == [2, 4, 2]
        assert doubles.calls == [[1], [2]]

    asyncio.run(run())


def test_a_key_without_an_answer_is_none() -> None:
    async def run() -> None:
        assert await BatchLoader(Doubles()).load(-1) is None

    asyncio.run(run())


def test_a_failed_key_leaves_the_others_alone() -> None:
    async def run() -> None:
        loader = BatchLoader(Doubles())
        one, thirteen = await asyncio.gather(
            loader.load(1), loader.load(13), return_exceptions=True
        )
        assert one == 2
        assert isinstance(thirteen, CorruptSession)
        with pytest.raises(CorruptSession, match="thirteen"):
            await loader.load(13)

    asyncio.run(run())


def test_the_failure_of_the_call_is_everybodys() -> None:
    async def run() -> None:
        loader = BatchLoader(Doubles())
        found = await asyncio.gather(loader.load(1), loader.load(99), return_exceptions=True)
        assert [str(each) for each in found] == ["all of them", "all of them"]

    asyncio.run(run())


def test_whoever_stops_waiting_does_not_stop_the_batch_for_the_others() -> None:
    async def run() -> None:
        doubles = Doubles()
        doubles.release.clear()
        loader = BatchLoader(doubles)
        leaving, staying = (asyncio.create_task(loader.load(1)) for _ in range(2))
        await doubles.asked.wait()
        leaving.cancel()
        await asyncio.sleep(0)
        doubles.release.set()
        assert await staying == 2
        assert leaving.cancelled()

    asyncio.run(run())


def test_closing_stops_what_is_on_its_way_and_leaves_no_task() -> None:
    async def run() -> None:
        doubles = Doubles()
        doubles.release.clear()
        loader = BatchLoader(doubles)
        waiting = asyncio.create_task(loader.load(1))
        await doubles.asked.wait()
        await loader.aclose()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


def test_closing_swallows_failures_that_nobody_waited_for() -> None:
    async def run() -> None:
        loader = BatchLoader(Doubles())
        waiting = asyncio.create_task(loader.load(99))
        await asyncio.sleep(0)
        waiting.cancel()
        for _ in range(3):
            await asyncio.sleep(0)
        await loader.aclose()

    asyncio.run(run())
