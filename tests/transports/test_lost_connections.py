"""Clients that go away without a word: nothing of theirs stays behind in a server that goes on."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from contextlib import AsyncExitStack

import pytest

from server import listening
from tests.transports.clients import connected, greeted, heard, raw_stream, reset, subscribe
from tests.transports.stage import Stage, nothing_stays, run, staged, until

ENTRIES = "subscription { entries { number } }"


async def followed_by(stage: Stage, followers: int) -> None:
    await until(lambda: stage.world.log.followers == followers)


def test_a_websocket_that_is_reset_ends_all_of_its_operations() -> None:
    async def scenario() -> None:
        async with staged() as stage, nothing_stays(stage), greeted(stage) as client:
            for number in range(20):
                await subscribe(client, f"s{number}", ENTRIES)
                await subscribe(client, f"q{number}", "{ waiting }")
            await followed_by(stage, 20)
            await until(lambda: stage.world.waiters.begun == 20)
            reset(client.transport)
            await until(lambda: stage.world.waiters.cancelled == 20)

    run(scenario())


def test_a_stream_of_events_that_is_reset_ends_its_operation() -> None:
    async def scenario() -> None:
        query = {"query": ENTRIES}
        async with (
            staged() as stage,
            nothing_stays(stage),
            raw_stream(stage, query) as (_, writer),
        ):
            await followed_by(stage, 1)
            reset(writer.transport)
            await followed_by(stage, 0)

    run(scenario())


def test_a_query_is_cancelled_when_its_stream_of_events_is_reset() -> None:
    async def scenario() -> None:
        async with staged() as stage:
            query = {"query": "{ waiting }"}
            async with nothing_stays(stage), raw_stream(stage, query) as (_, writer):
                await until(lambda: stage.world.waiters.begun)
                reset(writer.transport)
                await until(lambda: stage.world.waiters.cancelled)

    run(scenario())


def test_clients_that_leave_while_events_pour_down_on_them_leave_nothing() -> None:
    async def scenario() -> None:
        async with staged() as stage, nothing_stays(stage), AsyncExitStack() as clients:
            sockets = [await clients.enter_async_context(greeted(stage)) for _ in range(20)]
            for client in sockets:
                await subscribe(client, "1", "subscription { entries { number text } }")
            await followed_by(stage, 20)
            for client in sockets:
                stage.world.log.append(*["x" * 1000] * 20)
                await heard(client)
                reset(client.transport)
            await followed_by(stage, 0)

    run(scenario())


def test_a_client_that_takes_nothing_and_is_reset_leaves_nothing() -> None:
    async def scenario() -> None:
        query = "subscription { entries { text } }"
        async with (
            staged() as stage,
            nothing_stays(stage),
            greeted(stage) as client,
            raw_stream(stage, {"query": query}) as (_, writer),
        ):
            stage.world.log.append(*["x" * 60_000] * 400)
            client.transport.pause_reading()
            writer.transport.pause_reading()
            await subscribe(client, "1", query)
            await followed_by(stage, 2)
            await until(lambda: min(stage.world.log.given) > 1)
            reset(client.transport)
            reset(writer.transport)

    run(scenario())


@pytest.mark.parametrize("said", ["", "GET /graphql HTTP/1.1\r\nHost: localhost\r\nUpg"])
def test_who_hangs_up_before_the_handshake_leaves_nothing(said: str) -> None:
    async def scenario() -> None:
        async with staged() as stage, nothing_stays(stage):
            _, writer = await asyncio.open_connection("127.0.0.1", stage.port)
            writer.write(said.encode())
            reset(writer.transport)

    run(scenario())


def test_who_hangs_up_before_the_introduction_leaves_nothing() -> None:
    async def scenario() -> None:
        async with staged() as stage, nothing_stays(stage), connected(stage) as client:
            reset(client.transport)

    run(scenario())


KILLED = """
import json, sys
from websockets.sync.client import connect
socket = connect(sys.argv[1], subprotocols=["graphql-transport-ws"], proxy=None)
socket.send(json.dumps({"type": "connection_init"}))
query = "subscription { entries { number } }"
socket.send(json.dumps({"type": "subscribe", "id": "1", "payload": {"query": query}}))
for message in socket:
    print(message, flush=True)
"""


def test_a_client_that_is_killed_leaves_nothing() -> None:
    async def scenario() -> None:
        async with staged() as stage, nothing_stays(stage):
            client = await asyncio.create_subprocess_exec(
                sys.executable, "-c", KILLED, stage.ws_url, stdout=subprocess.PIPE
            )
            await followed_by(stage, 1)
            stage.world.log.append("a")
            assert client.stdout is not None
            while b'"next"' not in await client.stdout.readline():
                pass
            client.send_signal(signal.SIGKILL)
            await client.wait()

    run(scenario())


def test_a_client_that_answers_no_pings_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "PING_EVERY_S", 0.05)
    monkeypatch.setattr(listening, "PONG_WITHIN_S", 0.05)

    async def scenario() -> None:
        async with staged() as stage, nothing_stays(stage), greeted(stage) as client:
            await subscribe(client, "1", ENTRIES)
            await followed_by(stage, 1)
            client.transport.pause_reading()
            await followed_by(stage, 0)
            client.transport.abort()

    run(scenario())


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the system cannot do it")
def test_a_client_that_takes_nothing_for_long_is_given_up() -> None:
    async def scenario() -> None:
        async with staged(settings={"stalled_client_ms": 200}) as stage:
            stage.world.log.append(*["x" * 60_000] * 400)
            query = {"query": "subscription { entries { text } }"}
            async with greeted(stage) as client, raw_stream(stage, query) as (_, writer):
                client.transport.pause_reading()
                writer.transport.pause_reading()
                await subscribe(client, "1", query["query"])
                await followed_by(stage, 2)
                await followed_by(stage, 0)
                client.transport.abort()

    run(scenario())
