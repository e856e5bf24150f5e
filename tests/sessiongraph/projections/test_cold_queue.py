"""Sessions wait once each; those that are written to come first."""

from __future__ import annotations

import asyncio

from sessiongraph.projections.cold_queue import ColdQueue
from tests.plain_store import run


def test_sessions_are_taken_in_order_and_once_each() -> None:
    async def scenario() -> None:
        queue = ColdQueue()
        for session_id in "abcab":
            queue.put(session_id, first=False)
        assert [await queue.take() for _ in range(3)] == ["a", "b", "c"]
        assert len(queue) == 0

    run(scenario())


def test_what_is_written_to_comes_first() -> None:
    async def scenario() -> None:
        queue = ColdQueue()
        for session_id in "abc":
            queue.put(session_id, first=False)
        queue.put("c", first=True)
        assert [await queue.take() for _ in range(3)] == ["c", "a", "b"]

    run(scenario())


def test_what_is_discarded_is_not_taken() -> None:
    async def scenario() -> None:
        queue = ColdQueue()
        queue.put("a", first=False)
        queue.put("b", first=False)
        queue.discard("a")
        queue.discard("nobody")
        assert await queue.take() == "b"

    run(scenario())


def test_one_that_takes_waits_for_the_next() -> None:
    async def scenario() -> None:
        queue = ColdQueue()
        taking = asyncio.ensure_future(queue.take())
        await asyncio.sleep(0)
        queue.put("a", first=False)
        assert await taking == "a"

    run(scenario())


def test_one_that_puts_much_can_wait_until_little_is_left() -> None:
    async def scenario() -> None:
        queue = ColdQueue()
        for session_id in "abc":
            queue.put(session_id, first=False)
        waiting = asyncio.ensure_future(queue.shorter_than(2))
        await queue.take()
        await asyncio.sleep(0)
        assert not waiting.done()
        await queue.take()
        await waiting

    run(scenario())
