"""graphql-transport-ws, message by message, as its specification has it."""

from __future__ import annotations

import asyncio
import json

import pytest
from websockets.exceptions import InvalidStatus

from tests.transports.clients import closing_of, connected, greeted, heard, say, subscribe
from tests.transports.stage import run, staged, until


@pytest.mark.parametrize("subprotocols", [["graphql-ws"], None], ids=["legacy", "none"])
def test_another_subprotocol_is_refused(subprotocols: list[str] | None) -> None:
    async def scenario() -> None:
        async with staged() as stage:
            try:
                async with connected(stage, subprotocols=subprotocols) as socket:
                    assert (await closing_of(socket))[0] == 4406
            except InvalidStatus as refusal:
                assert refusal.response.status_code in (400, 403)

    run(scenario())


def test_who_never_introduces_itself_is_closed() -> None:
    async def scenario() -> None:
        async with staged(init_timeout_s=0.01) as stage, connected(stage) as socket:
            assert (await closing_of(socket))[0] == 4408

    run(scenario())


def test_a_second_introduction_closes() -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as socket:
            await say(socket, type="connection_init")
            assert (await closing_of(socket))[0] == 4429

    run(scenario())


def test_to_subscribe_before_the_introduction_closes() -> None:
    async def scenario() -> None:
        async with staged() as stage, connected(stage) as socket:
            await subscribe(socket, "1", "{ echo }")
            assert (await closing_of(socket))[0] == 4401

    run(scenario())


def test_an_id_that_is_in_use_closes() -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as socket:
            await subscribe(socket, "1", "subscription { entries { number } }")
            await until(lambda: stage.world.log.followers == 1)
            await subscribe(socket, "1", "{ echo }")
            assert (await closing_of(socket))[0] == 4409

    run(scenario())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        "1",
        '{"type":"nothing"}',
        '{"id":"1"}',
        '{"type":"subscribe","id":"1"}',
    ],
)
def test_what_is_no_message_closes_with_a_reason(text: str) -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as socket:
            await socket.send(text)
            code, reason = await closing_of(socket)
            assert code == 4400
            assert reason

    run(scenario())


def test_a_ping_is_answered_with_its_payload() -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as socket:
            await say(socket, type="ping", payload={"at": 1})
            answer = await heard(socket)
            assert answer["type"] == "pong"

    run(scenario())


def test_complete_cancels_just_that_operation() -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as socket:
            for operation_id in ("1", "2"):
                await subscribe(socket, operation_id, "subscription { entries { number } }")
            await until(lambda: stage.world.log.followers == 2)
            await say(socket, type="complete", id="1")
            await until(lambda: stage.world.log.followers == 1)
            stage.world.log.append("a")
            assert (await heard(socket))["id"] == "2"

    run(scenario())


def test_many_operations_run_at_once() -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as socket:
            for number in range(10):
                await subscribe(socket, f"w{number}", "{ waiting }")
            await until(lambda: stage.world.waiters.begun == 10)
            await subscribe(socket, "quick", "{ echo }")
            assert (await heard(socket))["id"] == "quick"

    run(scenario())


def test_a_connection_that_is_torn_down_cancels_its_operations() -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as socket:
            await subscribe(socket, "1", "{ waiting }")
            await subscribe(socket, "2", "subscription { entries { number } }")
            await until(lambda: stage.world.waiters.begun and stage.world.log.followers)
            socket.transport.abort()
            await until(lambda: stage.world.waiters.cancelled == 1)
            await until(lambda: stage.world.log.followers == 0)

    run(scenario())


def test_who_does_not_read_holds_up_nobody_and_misses_nothing() -> None:
    async def scenario() -> None:
        events, text = 300, "x" * 50_000
        query = "subscription { entries { number text } }"
        async with staged() as stage, greeted(stage) as slow, greeted(stage) as quick:
            slow.transport.pause_reading()
            await subscribe(slow, "s", query)
            await subscribe(quick, "q", query)
            stage.world.log.append(*[text] * events)
            for number in range(events):
                message = await heard(quick)
                assert message["payload"]["data"]["entries"]["number"] == number
            # The slow one was given what fits between it and the server, and no more.
            assert stage.world.log.given < 2 * events
            slow.transport.resume_reading()
            for number in range(events):
                message = await heard(slow)
                assert message["payload"]["data"]["entries"]["number"] == number

    run(scenario())


def test_messages_are_json_objects_of_the_protocol_alone() -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as socket:
            await subscribe(socket, 'odd "id" \\ 你', "{ echo }")
            first = json.loads(await socket.recv())
            last = json.loads(await asyncio.wait_for(socket.recv(), 10))
            assert first == {
                "id": 'odd "id" \\ 你',
                "type": "next",
                "payload": {"data": {"echo": "hello"}},
            }
            assert last == {"id": 'odd "id" \\ 你', "type": "complete"}

    run(scenario())


def test_a_server_that_stops_says_that_it_goes_away() -> None:
    async def scenario() -> None:
        async with staged(grace_s=1.0) as stage:
            connecting = greeted(stage)
            socket = await connecting.__aenter__()
            await subscribe(socket, "1", "subscription { entries { number } }")
            await until(lambda: stage.world.log.followers == 1)
        assert (await closing_of(socket))[0] in (1001, 1012)
        await connecting.__aexit__(None, None, None)

    run(scenario())
