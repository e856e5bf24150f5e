"""graphql-transport-ws, message by message, as its specification has it."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.transports.clients import (
    SUBPROTOCOL,
    closing_of,
    connected,
    greeted,
    heard,
    say,
    subscribe,
)
from tests.transports.stage import run, staged, until


@pytest.mark.parametrize(
    "subprotocols", [["graphql-ws"], ["graphql-ws", "other"], None], ids=["legacy", "two", "none"]
)
def test_another_subprotocol_is_refused_with_its_code(subprotocols: list[str] | None) -> None:
    async def scenario() -> None:
        async with staged() as stage, connected(stage, subprotocols=subprotocols) as socket:
            assert socket.subprotocol is None
            code, reason = await closing_of(socket)
            assert (code, reason) == (
                4406,
                "only the subprotocol graphql-transport-ws is spoken here",
            )

    run(scenario())


def test_the_subprotocol_is_chosen_among_others() -> None:
    async def scenario() -> None:
        offered = ["graphql-ws", SUBPROTOCOL]
        async with staged() as stage, greeted(stage, subprotocols=offered) as socket:
            assert socket.subprotocol == SUBPROTOCOL

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
        '{"type":["subscribe"]}',
        '{"type":"next","id":"1","payload":{}}',
        '{"type":"subscribe","id":"1"}',
        '{"type":"subscribe","payload":{"query":"{ echo }"}}',
        '{"type":"subscribe","id":"","payload":{"query":"{ echo }"}}',
        '{"type":"subscribe","id":1,"payload":{"query":"{ echo }"}}',
        '{"type":"subscribe","id":"1","payload":[]}',
        '{"type":"subscribe","id":"1","payload":{}}',
        '{"type":"subscribe","id":"1","payload":{"query":""}}',
        '{"type":"subscribe","id":"1","payload":{"query":5}}',
        '{"type":"subscribe","id":"1","payload":{"query":"{ echo }","variables":[]}}',
        '{"type":"subscribe","id":"1","payload":{"query":"{ echo }","operationName":1}}',
        '{"type":"subscribe","id":"1","payload":{"query":"{ echo }","extensions":"x"}}',
        '{"type":"subscribe","type":"ping","id":"1"}',
        '{"type":"complete"}',
        '{"type":"ping","payload":1}',
        '{"type":"' + "long" * 100 + '"}',
        "[" * 30_000,
    ],
    ids=lambda text: text[:60],
)
def test_what_is_no_message_closes_with_a_reason(text: str) -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as socket:
            await socket.send(text)
            code, reason = await closing_of(socket)
            assert code == 4400
            assert reason

    run(scenario())


def test_bytes_are_no_message() -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as socket:
            await socket.send(b'{"type":"ping"}')
            assert await closing_of(socket) == (4400, "messages are text, not bytes")

    run(scenario())


def test_a_message_over_the_limit_closes_the_connection() -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as socket:
            await subscribe(socket, "1", "{ echo }", text="x" * 64_001)
            assert (await closing_of(socket))[0] == 1009

    run(scenario())


def test_a_violation_ends_the_operations_before_the_socket_closes() -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as socket:
            await subscribe(socket, "1", "{ waiting }")
            await until(lambda: stage.world.waiters.begun)
            await say(socket, type="connection_init")
            assert (await closing_of(socket))[0] == 4429
            assert stage.world.waiters.cancelled == 1

    run(scenario())


def test_an_id_is_free_again_when_its_operation_is_over() -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as socket:
            for _ in range(3):
                await subscribe(socket, "1", "{ echo }")
                assert (await heard(socket))["type"] == "next"
                assert (await heard(socket))["type"] == "complete"
            await subscribe(socket, "1", "{ nothing }")
            assert (await heard(socket))["type"] == "error"
            await subscribe(socket, "1", "subscription { entries { number } }")
            await until(lambda: stage.world.log.followers == 1)
            await say(socket, type="complete", id="1")
            await subscribe(socket, "1", "{ echo }")
            assert (await heard(socket))["payload"] == {"data": {"echo": "hello"}}

    run(scenario())


def test_to_complete_what_is_not_there_is_no_violation() -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as socket:
            await say(socket, type="complete", id="never was")
            await say(socket, type="ping")
            assert await heard(socket) == {"type": "pong"}

    run(scenario())


def test_a_completed_query_is_cancelled_and_says_nothing_more() -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as socket:
            await subscribe(socket, "1", "{ waiting }")
            await until(lambda: stage.world.waiters.begun)
            await say(socket, type="complete", id="1")
            await until(lambda: stage.world.waiters.cancelled)
            await say(socket, type="ping")
            assert await heard(socket) == {"type": "pong"}

    run(scenario())


def test_an_operation_that_does_not_exist_is_an_error_of_its_own() -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as socket:
            payload = {"query": "query A { echo }", "operationName": "B"}
            await say(socket, type="subscribe", id="1", payload=payload)
            message = await heard(socket)
            assert (message["type"], message["id"]) == ("error", "1")
            (error,) = message["payload"]
            assert error["extensions"]["code"] == "BAD_USER_INPUT"
            await subscribe(socket, "2", "{ echo }")
            assert (await heard(socket))["id"] == "2"

    run(scenario())


def test_a_ping_is_answered_with_its_payload() -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as socket:
            await say(socket, type="ping", payload={"at": 1})
            assert await heard(socket) == {"type": "pong", "payload": {"at": 1}}
            await say(socket, type="ping")
            assert await heard(socket) == {"type": "pong"}
            await say(socket, type="pong")
            await say(socket, type="ping")
            assert await heard(socket) == {"type": "pong"}

    run(scenario())


def test_a_ping_may_come_before_the_introduction_and_does_not_put_it_off() -> None:
    async def scenario() -> None:
        async with staged(init_timeout_s=0.3) as stage, connected(stage) as socket:
            await say(socket, type="ping")
            assert await heard(socket) == {"type": "pong"}
            assert await closing_of(socket) == (4408, "Connection initialisation timeout")

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
