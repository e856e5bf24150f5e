"""Turns on the event loop: many pieces do not keep others from theirs."""

from __future__ import annotations

import asyncio
import time

from resolvers.turns import PASS_S, Turns

PIECES = 20


def test_pieces_that_do_not_fit_into_a_pass_come_one_after_the_other_in_order() -> None:
    async def scenario() -> None:
        turns, done = Turns(), list[int]()
        passes = 0

        async def piece(number: int) -> None:
            await turns.take()
            time.sleep(PASS_S * 1.1)  # noqa: ASYNC251 - the work that it stands for
            done.append(number)

        pieces = [asyncio.create_task(piece(number)) for number in range(PIECES)]
        while not all(each.done() for each in pieces):
            before = len(done)
            await asyncio.sleep(0)
            passes += 1
            assert len(done) - before <= 1
        assert done == list(range(PIECES))
        assert passes >= PIECES

    asyncio.run(scenario())


def test_who_is_cancelled_gives_its_turn_to_the_next() -> None:
    async def scenario() -> None:
        turns = Turns()

        async def piece() -> None:
            await turns.take()
            time.sleep(PASS_S * 1.1)  # noqa: ASYNC251

        pieces = [asyncio.create_task(piece()) for _ in range(4)]
        await asyncio.sleep(0)
        for each in pieces[1:3]:
            each.cancel()
        await asyncio.gather(*pieces, return_exceptions=True)
        assert [each.cancelled() for each in pieces] == [False, True, True, False]
        await turns.take()

    asyncio.run(scenario())
