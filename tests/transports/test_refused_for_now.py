"""Operations that take too long, and more of them than there are places for."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from server.occupancy import Occupancy
from tests.transports.clients import OverHTTP, OverSSE, OverWebSocket, greeted, heard, subscribe
from tests.transports.stage import Stage, nothing_stays, run, staged, until

TRANSPORTS = [OverHTTP("application/json"), OverSSE(), OverWebSocket()]
WAITING = {"query": "{ waiting }"}


async def only_answer(transport: Any, stage: Stage, request: dict[str, Any]) -> dict[str, Any]:
    (answer,) = [each async for each in transport.responses(stage, request)]
    return answer


@pytest.mark.parametrize("transport", TRANSPORTS, ids=lambda each: type(each).__name__)
def test_a_query_that_takes_too_long_is_aborted_and_its_work_stops(transport: Any) -> None:
    async def scenario() -> None:
        async with staged(timeout_s=0.05) as stage, nothing_stays(stage):
            answer = await only_answer(transport, stage, WAITING)
            (error,) = answer["errors"]
            assert error["extensions"] == {"code": "SESSION_QUERY_ABORTED", "retriable": True}
            assert "operation_timeout_ms" in error["message"]
            assert stage.world.waiters.cancelled == 1

    run(scenario())


def test_a_mutation_is_finished_however_long_it_takes() -> None:
    async def scenario() -> None:
        async with staged(timeout_s=0.01) as stage:
            asking = asyncio.create_task(
                only_answer(TRANSPORTS[0], stage, {"query": "mutation { wait }"})
            )
            await until(lambda: stage.world.waiters.begun)
            await asyncio.sleep(0.05)
            stage.world.waiters.let_go.set()
            assert (await asking)["data"] == {"wait": "let go"}

    run(scenario())


async def posted(stage: Stage, request: dict[str, Any], accept: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, timeout=None) as client:
        headers = {"accept": accept}
        return await client.post(f"{stage.url}/graphql", json=request, headers=headers)


@pytest.mark.parametrize(
    "accept", ["application/json", "application/graphql-response+json", "text/event-stream"]
)
def test_one_operation_too_many_is_a_429_over_http(accept: str) -> None:
    async def scenario() -> None:
        async with staged(occupancy=Occupancy(max_operations=1)) as stage:
            first = asyncio.create_task(posted(stage, WAITING, "application/json"))
            await until(lambda: stage.world.waiters.begun)
            second = await posted(stage, {"query": "{ echo }"}, accept)
            assert (second.status_code, second.headers["retry-after"]) == (429, "1")
            (error,) = second.json()["errors"]
            assert error["extensions"] == {"code": "TOO_MANY_REQUESTS", "retriable": True}
            assert "max_operations" in error["message"]
            stage.world.waiters.let_go.set()
            assert (await first).status_code == 200
            assert (await posted(stage, {"query": "{ echo }"}, accept)).status_code == 200

    run(scenario())


def test_one_operation_too_many_fails_alone_on_its_websocket() -> None:
    async def scenario() -> None:
        occupancy = Occupancy(max_operations=1, max_subscriptions=1)
        async with staged(occupancy=occupancy) as stage, greeted(stage) as client:
            await subscribe(client, "1", "subscription { entries { number } }")
            await until(lambda: stage.world.log.followers == 1)
            await subscribe(client, "2", "subscription { entries { text } }")
            refused = await heard(client)
            assert (refused["id"], refused["type"]) == ("2", "error")
            assert refused["payload"][0]["extensions"]["code"] == "TOO_MANY_REQUESTS"
            stage.world.log.append("a")
            assert (await heard(client))["payload"] == {"data": {"entries": {"number": 0}}}
            await subscribe(client, "3", "{ echo }")
            assert (await heard(client))["payload"] == {"data": {"echo": "hello"}}

    run(scenario())


def test_one_websocket_too_many_is_refused_at_its_handshake() -> None:
    async def scenario() -> None:
        async with staged(occupancy=Occupancy(max_websockets=1)) as stage:
            async with greeted(stage):
                with pytest.raises(InvalidStatus) as refusal:
                    async with greeted(stage):
                        pass
                response = refusal.value.response
                assert (response.status_code, response.headers["retry-after"]) == (429, "1")
                assert b"max_websockets" in (response.body or b"")
            async with greeted(stage):
                pass

    run(scenario())


def test_a_connection_too_many_is_answered_with_503() -> None:
    async def scenario() -> None:
        async with staged(settings={"max_connections": 10}) as stage:
            held = [await asyncio.open_connection("127.0.0.1", stage.port) for _ in range(10)]
            reader, writer = await asyncio.open_connection("127.0.0.1", stage.port)
            answer = await reader.read()
            assert answer.startswith(b"HTTP/1.1 503 ")
            error = json.loads(answer.partition(b"\r\n\r\n")[2])["errors"][0]
            assert error["extensions"]["code"] == "TOO_MANY_REQUESTS"
            for _, each in [*held, (reader, writer)]:
                each.close()
                await each.wait_closed()

    run(scenario())


def test_a_body_that_comes_too_slowly_is_a_408() -> None:
    async def scenario() -> None:
        async with staged(body_timeout_s=0.05) as stage:
            reader, writer = await asyncio.open_connection("127.0.0.1", stage.port)
            writer.write(
                b"POST /graphql HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
            )
            assert b" 408 " in await reader.readline()
            assert b"request_body_timeout_ms" in await reader.readuntil(b"}]}")
            writer.close()
            await writer.wait_closed()

    run(scenario())
