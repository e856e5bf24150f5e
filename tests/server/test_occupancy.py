"""What runs at once: places that are given back, and dear operations that wait for each other."""

from __future__ import annotations

import asyncio

import pytest

from server import occupancy
from server.occupancy import CHEAP, Places, RunningCost
from sessiongraph.errors import TooManyRequests


def test_places_are_given_back_whatever_happens() -> None:
    places = Places(2, "things", "max_things")
    with places.take(), places.take():
        with pytest.raises(TooManyRequests) as refusal, places.take():
            pass
        assert "more than 2 things at once (max_things)" in refusal.value.message
        assert refusal.value.retriable
    with pytest.raises(ZeroDivisionError), places.take():
        raise ZeroDivisionError
    assert places.taken == 0


async def _settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class _Work:
    """Operations that run until they are let go."""

    def __init__(self, most: int) -> None:
        self.cost = RunningCost(most)
        self.running: list[str] = []
        self.go_on: dict[str, asyncio.Event] = {}

    async def run(self, name: str, cost: int) -> None:
        self.go_on[name] = asyncio.Event()
        async with self.cost.share(cost):
            self.running.append(name)
            try:
                await self.go_on[name].wait()
            finally:
                self.running.remove(name)


def test_dear_operations_run_in_order_within_the_budget_and_cheap_ones_pass_by() -> None:
    async def scenario() -> None:
        work = _Work(10 * CHEAP)
        tasks = [
            asyncio.create_task(work.run(name, cost))
            for name, cost in (
                ("a", 6 * CHEAP),
                ("b", 5 * CHEAP),
                ("c", 2 * CHEAP),
                ("cheap", CHEAP),
                ("huge", 100 * CHEAP),
            )
        ]
        await _settled()
        assert work.running == ["a", "cheap"]  # c waits behind b, though there is room for it
        work.go_on["a"].set()
        await _settled()
        assert work.running == ["cheap", "b", "c"]
        work.go_on["b"].set()
        work.go_on["c"].set()
        await _settled()
        assert work.running == ["cheap", "huge"]
        work.go_on["cheap"].set()
        work.go_on["huge"].set()
        await asyncio.gather(*tasks)
        assert work.cost.running == 0

    asyncio.run(scenario())


def test_who_is_cancelled_while_waiting_leaves_its_turn_to_others() -> None:
    async def scenario() -> None:
        work = _Work(10 * CHEAP)
        first = asyncio.create_task(work.run("first", 9 * CHEAP))
        second = asyncio.create_task(work.run("second", 9 * CHEAP))
        third = asyncio.create_task(work.run("third", 1 * CHEAP + 1))
        await _settled()
        second.cancel()
        work.go_on["first"].set()
        await _settled()
        assert work.running == ["third"]
        third.cancel()
        await asyncio.gather(first, second, third, return_exceptions=True)
        assert work.cost.running == 0

    asyncio.run(scenario())


def test_who_is_cancelled_at_the_moment_of_its_turn_gives_it_back() -> None:
    async def scenario() -> None:
        work = _Work(10 * CHEAP)
        first = asyncio.create_task(work.run("first", 9 * CHEAP))
        second = asyncio.create_task(work.run("second", 9 * CHEAP))
        await _settled()
        first.cancel()
        await asyncio.sleep(0)
        second.cancel()  # it has its turn by now and has not run yet
        await asyncio.gather(first, second, return_exceptions=True)
        assert (work.running, work.cost.running) == ([], 0)
        async with work.cost.share(10 * CHEAP):
            pass

    asyncio.run(scenario())


def test_only_so_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occupancy, "WAITING", 1)

    async def scenario() -> None:
        work = _Work(10 * CHEAP)
        first = asyncio.create_task(work.run("first", 9 * CHEAP))
        second = asyncio.create_task(work.run("second", 9 * CHEAP))
        await _settled()
        with pytest.raises(TooManyRequests, match="max_running_cost"):
            await work.run("third", 9 * CHEAP)
        first.cancel()
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)

    asyncio.run(scenario())
