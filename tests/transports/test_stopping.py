"""What a server that stops does to those who are connected: it says so, and leaves nothing open."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from tests.transports.clients import (
    closing_of,
    connected,
    events,
    greeted,
    heard,
    raw_stream,
    subscribe,
)
from tests.transports.stage import Stage, run, staged, until

ENTRIES = "subscription { entries { number } }"
GOING_AWAY = (1001, "the server is stopping")


def test_subscriptions_over_websocket_are_not_completed_when_the_socket_says_goodbye() -> None:
    """A client takes ``complete`` for the end of what it asked for, and does not ask again."""

    async def scenario() -> None:
        async with AsyncExitStack() as clients:
            async with staged() as stage:
                client = await clients.enter_async_context(greeted(stage))
                for operation_id in ("1", "2"):
                    await subscribe(client, operation_id, ENTRIES)
                await until(lambda: stage.world.log.followers == 2)
            with pytest.raises(ConnectionClosed):
                await heard(client)
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


def test_a_stream_of_events_ends_without_being_complete() -> None:
    async def scenario() -> None:
        async with staged() as stage:
            reading = asyncio.create_task(_all_events(stage, {"query": ENTRIES}))
            await until(lambda: stage.world.log.followers == 1)
        assert await reading == []

    run(scenario())


def test_a_query_over_a_stream_of_events_is_answered_first() -> None:
    async def scenario() -> None:
        async with staged() as stage:
            reading = asyncio.create_task(_all_events(stage, {"query": "{ waiting }"}))
            await until(lambda: stage.world.waiters.begun)
            asyncio.get_running_loop().call_later(0.2, stage.world.waiters.let_go.set)
        assert await reading == [
            ("next", '{"data":{"waiting":"let go"}}'),
            ("complete", ""),
        ]

    run(scenario())


def test_clients_that_read_nothing_are_cut_off_when_the_time_is_up() -> None:
    async def scenario() -> None:
        query = "subscription { entries { text } }"
        async with AsyncExitStack() as clients:
            async with staged(grace_s=1.0) as stage:
                stage.world.log.append(*["x" * 60_000] * 400)
                client = await clients.enter_async_context(greeted(stage))
                client.transport.pause_reading()
                await subscribe(client, "1", query)
                _, writer = await clients.enter_async_context(raw_stream(stage, {"query": query}))
                writer.transport.pause_reading()
                await until(lambda: len(stage.world.log.given) == 2)
                await until(lambda: min(stage.world.log.given) > 1)
                gone = asyncio.create_task(_gone_when_cut_off(stage, client, writer))
            await gone

    run(scenario())


async def _all_events(stage: Stage, request: dict[str, Any]) -> list[tuple[str, str]]:
    async with events(stage, request) as received:
        return [each async for each in received]


async def _gone_when_cut_off(
    stage: Stage, client: ClientConnection, writer: asyncio.StreamWriter
) -> None:
    """Close our ends, which do not read and so do not notice, once the server has given them up."""
    await stage.stopped.wait()
    client.transport.abort()
    writer.transport.abort()
