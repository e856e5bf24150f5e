"""What a server that stops does to those who are connected: it says so, and leaves nothing open."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from tests.transports.clients import (
    closing_of,
    connected,
    greeted,
    heard,
    subscribe,
)
from tests.transports.stage import run, staged, until

ENTRIES = "subscription { entries { number } }"
GOING_AWAY = (1001, "the server is stopping")


def test_subscriptions_over_websocket_are_completed_and_the_socket_says_goodbye() -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as clients:
            async with staged() as stage:
                client = await clients.enter_async_context(greeted(stage))
                for operation_id in ("1", "2"):
                    await subscribe(client, operation_id, ENTRIES)
                await until(lambda: stage.world.log.followers == 2)
            last = [await heard(client), await heard(client)]
            assert last == [{"id": each, "type": "complete"} for each in ("1", "2")]
            assert await closing_of(client) == GOING_AWAY

    run(scenario())


def test_a_query_over_websocket_is_answered_before_the_socket_closes() -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as clients:
            async with staged() as stage:
                client = await clients.enter_async_context(greeted(stage))
                await subscribe(client, "1", "{ waiting }")
                await until(lambda: stage.world.waiters.begun)
                asyncio.get_running_loop().call_later(0.2, stage.world.waiters.let_go.set)
            assert (await heard(client))["payload"] == {"data": {"waiting": "let go"}}
            assert (await heard(client))["type"] == "complete"
            assert await closing_of(client) == GOING_AWAY

    run(scenario())


def test_a_query_that_never_ends_is_cancelled_when_the_time_is_up() -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as clients:
            async with staged(grace_s=1.0) as stage:
                client = await clients.enter_async_context(greeted(stage))
                await subscribe(client, "1", "{ waiting }")
                await until(lambda: stage.world.waiters.begun)
            assert stage.world.waiters.cancelled == 1
            assert (await closing_of(client))[0] in (1012, 1006)

    run(scenario())


@pytest.mark.parametrize("greet", [False, True])
def test_a_quiet_socket_is_told_too(greet: bool) -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as clients:
            async with staged() as stage:
                client = await clients.enter_async_context((greeted if greet else connected)(stage))
            assert await closing_of(client) == GOING_AWAY

    run(scenario())
