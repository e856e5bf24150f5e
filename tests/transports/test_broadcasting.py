"""Broadcasts: whoever takes part is given everything behind its place, once and in order."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import pytest
from structlog.testing import capture_logs

from server.broadcasting import Broadcasts
from tests.transports.stage import run, until

KEPT = 16


class GrowingLog:
    """Numbers that come one after the other; the last few are kept."""

    def __init__(self) -> None:
        self.last = -1
        self._news = asyncio.Event()

    def grow(self, count: int = 1) -> None:
        self.last += count
        self.wake()

    def wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def news(self) -> asyncio.Event:
        return self._news

    def after(self, place: int, /) -> list[tuple[int, int]] | None:
        if place < self.last - KEPT:
            return None
        return [(number, number) for number in range(place + 1, self.last + 1)]


@dataclass
class Follower:
    """A follower, what it was pushed, and whether it can take more."""

    log: GrowingLog
    place: int = -1
    wrapping: Hashable = "plain"
    open: bool = True
    pushed: list[bytes] = field(default_factory=list)

    @property
    def end(self) -> GrowingLog | None:
        return self.log if self.place == self.log.last else None

    def wrap(self, frames: Sequence[bytes], /) -> bytes:
        return b"".join(b"<%s %b>" % (str(self.wrapping).encode(), each) for each in frames)

    def push(self, message: bytes, /) -> bool:
        if self.open:
            self.pushed.append(message)
        return self.open


def wrapped(first: int, last: int, wrapping: str = "plain") -> bytes:
    return "".join(f"<{wrapping} {number}>" for number in range(first, last + 1)).encode()


class Maker:
    """Makes frames, counts them, and fails when it is told to."""

    def __init__(self) -> None:
        self.made: list[int] = []
        self.failing = False

    async def make(self, number: int) -> bytes:
        await asyncio.sleep(0)
        if self.failing:
            raise RuntimeError("no frame can be made")
        self.made.append(number)
        return str(number).encode()


def taking_part(
    broadcasts: Broadcasts, maker: Maker, followers: Sequence[Follower]
) -> list[asyncio.Task[None]]:
    return [asyncio.create_task(broadcasts.take_part(each, each, maker.make)) for each in followers]


async def cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Leave; nothing but the scenario and who waits for it goes on."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    await until(lambda: len(asyncio.all_tasks()) == 2)


def test_a_frame_is_made_once_and_wrapped_once_for_each_wrapping() -> None:
    async def scenario() -> None:
        log, maker, broadcasts = GrowingLog(), Maker(), Broadcasts()
        followers = [Follower(log, wrapping=name) for name in ("a", "b") for _ in range(100)]
        tasks = taking_part(broadcasts, maker, followers)
        await asyncio.sleep(0)
        log.grow()
        await until(lambda: all(each.place == 0 or each.pushed for each in followers))
        assert maker.made == [0]
        assert followers[0].pushed == [wrapped(0, 0, "a")]
        assert followers[-1].pushed == [wrapped(0, 0, "b")]
        assert all(each.pushed[0] is followers[0].pushed[0] for each in followers[:100])
        await cancel(tasks)
        assert {each.place for each in followers} == {0}

    run(scenario())


def test_what_has_come_at_once_is_pushed_together() -> None:
    async def scenario() -> None:
        log, maker, broadcasts = GrowingLog(), Maker(), Broadcasts()
        followers = [Follower(log) for _ in range(3)]
        tasks = taking_part(broadcasts, maker, followers)
        await asyncio.sleep(0)
        log.grow(5)
        await until(lambda: all(each.pushed for each in followers))
        assert [each.pushed for each in followers] == [[wrapped(0, 4)]] * 3
        await cancel(tasks)

    run(scenario())


def test_who_is_behind_does_not_take_part() -> None:
    async def scenario() -> None:
        log, broadcasts = GrowingLog(), Broadcasts()
        log.grow(3)
        follower = Follower(log, place=1)
        await broadcasts.take_part(follower, follower, Maker().make)
        assert (follower.place, follower.pushed) == (1, [])

    run(scenario())


def test_who_cannot_take_a_frame_goes_its_own_way_from_its_place() -> None:
    async def scenario() -> None:
        log, maker, broadcasts = GrowingLog(), Maker(), Broadcasts()
        slow, quick = Follower(log), Follower(log)
        tasks = taking_part(broadcasts, maker, [slow, quick])
        await asyncio.sleep(0)
        log.grow()
        await until(lambda: slow.pushed and quick.pushed)
        slow.open = False
        log.grow()
        await tasks[0]
        assert slow.place == 0
        await until(lambda: len(quick.pushed) == 2)
        await cancel(tasks[1:])
        assert quick.place == 1

    run(scenario())


def test_news_that_is_no_event_releases_everybody() -> None:
    async def scenario() -> None:
        log, broadcasts = GrowingLog(), Broadcasts()
        tasks = taking_part(broadcasts, Maker(), [Follower(log) for _ in range(3)])
        await asyncio.sleep(0)
        log.wake()
        await asyncio.gather(*tasks)

    run(scenario())


def test_a_log_that_ran_ahead_of_what_is_kept_releases_everybody() -> None:
    async def scenario() -> None:
        log, maker, broadcasts = GrowingLog(), Maker(), Broadcasts()
        followers = [Follower(log) for _ in range(3)]
        tasks = taking_part(broadcasts, maker, followers)
        await asyncio.sleep(0)
        log.grow(KEPT + 2)
        await asyncio.gather(*tasks)
        assert {each.place for each in followers} == {-1}
        assert maker.made == []

    run(scenario())


def test_a_failure_releases_everybody_and_is_logged() -> None:
    async def scenario() -> None:
        log, maker, broadcasts = GrowingLog(), Maker(), Broadcasts()
        maker.failing = True
        tasks = taking_part(broadcasts, maker, [Follower(log) for _ in range(3)])
        await asyncio.sleep(0)
        log.grow()
        with capture_logs() as logs:
            await asyncio.gather(*tasks)
        assert [each["event"] for each in logs] == [
            "a broadcast failed: its members go on one by one"
        ]

    run(scenario())


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_everybody_gets_everything_once_and_in_order(seed: int) -> None:
    """Followers that come and go, clog up and clear, beside a log that grows in fits."""

    async def scenario() -> None:
        chance = random.Random(seed)
        log, maker, broadcasts = GrowingLog(), Maker(), Broadcasts()
        got: list[list[int]] = []
        finished = asyncio.Event()

        async def follow(place: int) -> None:
            follower = Follower(log, place=place)
            numbers: list[int] = []
            got.append(numbers)
            while not (finished.is_set() and follower.place == log.last):
                if follower.place < log.last:  # its own way
                    await asyncio.sleep(0)
                    follower.place += 1
                    numbers.append(follower.place)
                else:
                    follower.open = chance.random() < 0.8
                    await broadcasts.take_part(follower, follower, maker.make)
                    for message in follower.pushed:
                        numbers.extend(map(int, re.findall(rb"[0-9]+", message)))
                    follower.pushed.clear()

        tasks = []
        for _ in range(60):
            if chance.random() < 0.4:
                tasks.append((log.last, asyncio.create_task(follow(log.last))))
            log.grow(chance.choice([1, 1, 1, 2, 5, KEPT + 3]))
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)
        finished.set()
        log.wake()
        while not all(task.done() for _, task in tasks):
            await asyncio.sleep(0.001)
            log.wake()
        for (start, task), numbers in zip(tasks, got, strict=True):
            await task
            assert numbers == list(range(start + 1, log.last + 1))

    run(scenario())
