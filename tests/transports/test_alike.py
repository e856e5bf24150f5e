"""What every transport does alike: the same requests over HTTP, WebSocket and SSE."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from tests.transports.clients import SINGLE, STREAMING, Response, Transport
from tests.transports.stage import Stage, run, staged, until

every_transport = pytest.mark.parametrize(
    "transport", [*SINGLE.values(), *STREAMING.values()], ids=[*SINGLE, *STREAMING]
)
streaming = pytest.mark.parametrize("transport", STREAMING.values(), ids=list(STREAMING))


async def all_of(responses: AsyncGenerator[Response, None]) -> list[Response]:
    return [response async for response in responses]


async def ask(transport: Transport, stage: Stage, query: str, **more: Any) -> list[Response]:
    return await all_of(transport.responses(stage, {"query": query, **more}))


@every_transport
def test_a_query_is_answered_once(transport: Transport) -> None:
    async def scenario() -> None:
        async with staged() as stage:
            assert await ask(transport, stage, "{ echo }") == [{"data": {"echo": "hello"}}]

    run(scenario())


@every_transport
def test_variables_and_the_operation_name_are_heeded(transport: Transport) -> None:
    async def scenario() -> None:
        query = "query A($t: String!) { echo(text: $t) } query B { echo }"
        async with staged() as stage:
            (answer,) = await ask(
                transport, stage, query, variables={"t": "你好 🚀"}, operationName="A"
            )
            assert answer == {"data": {"echo": "你好 🚀"}}

    run(scenario())


@every_transport
def test_mutations_run_in_order(transport: Transport) -> None:
    async def scenario() -> None:
        async with staged() as stage:
            query = "mutation { a: add(number: 1) b: add(number: 10) }"
            assert await ask(transport, stage, query) == [{"data": {"a": 1, "b": 11}}]

    run(scenario())


@every_transport
def test_an_expected_failure_has_its_code_and_leaves_its_siblings(transport: Transport) -> None:
    async def scenario() -> None:
        async with staged() as stage:
            (answer,) = await ask(transport, stage, "{ refused echo }")
            assert answer["data"] == {"refused": None, "echo": "hello"}
            (error,) = answer["errors"]
            assert error["extensions"]["code"] == "SESSION_QUERY_SESSION_NOT_FOUND"

    run(scenario())


@every_transport
def test_an_unexpected_failure_shows_a_reference_and_nothing_else(transport: Transport) -> None:
    async def scenario() -> None:
        async with staged() as stage:
            (answer,) = await ask(transport, stage, "{ broken }")
            (error,) = answer["errors"]
            assert error["extensions"]["code"] == "INTERNAL_SERVER_ERROR"
            assert error["extensions"]["reference"] in error["message"]
            assert "secret" not in str(answer)

    run(scenario())


@every_transport
@pytest.mark.parametrize(
    "query",
    [
        "{ nothing }",
        "{",
        "{ echo ",
        "{ itself { " * 9 + "echo" + " } }" * 9,
        "query A { echo } query B { echo }",
    ],
    ids=["unknown field", "syntax", "unfinished", "too deep", "ambiguous"],
)
def test_what_cannot_be_run_is_bad_user_input(transport: Transport, query: str) -> None:
    async def scenario() -> None:
        async with staged() as stage:
            (answer,) = await ask(transport, stage, query)
            assert answer["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT"

    run(scenario())


@streaming
def test_a_subscription_gives_every_value_and_completes(transport: Transport) -> None:
    async def scenario() -> None:
        async with staged() as stage:
            answers = await ask(transport, stage, "subscription { countdown(start: 3) }")
            assert [answer["data"]["countdown"] for answer in answers] == [3, 2, 1]

    run(scenario())


@streaming
def test_a_subscription_that_cannot_begin_says_why(transport: Transport) -> None:
    async def scenario() -> None:
        async with staged() as stage:
            (answer,) = await ask(transport, stage, "subscription { unfollowable }")
            (error,) = answer["errors"]
            assert error["extensions"]["code"] == "SESSION_QUERY_SESSION_NOT_FOUND"

    run(scenario())


@streaming
def test_a_subscription_that_fails_later_ends_with_its_code(transport: Transport) -> None:
    async def scenario() -> None:
        async with staged() as stage:
            first, last = await ask(transport, stage, "subscription { replaced }")
            assert first == {"data": {"replaced": 1}}
            assert last["errors"][0]["extensions"]["code"] == "SESSION_LOG_REPLACED"

    run(scenario())


@streaming
def test_a_subscription_that_breaks_is_masked(transport: Transport) -> None:
    async def scenario() -> None:
        async with staged() as stage:
            _, last = await ask(transport, stage, "subscription { broken }")
            assert last["errors"][0]["extensions"]["code"] == "INTERNAL_SERVER_ERROR"
            assert "secret" not in str(last)

    run(scenario())


@streaming
def test_events_come_in_order_while_they_are_made(transport: Transport) -> None:
    async def scenario() -> None:
        query = {"query": "subscription { entries { number text } }"}
        async with staged() as stage, aclosing(transport.responses(stage, query)) as answers:
            stage.world.log.append("a", "b")
            seen = [await anext(answers), await anext(answers)]
            stage.world.log.append("c")
            seen.append(await anext(answers))
            stage.world.log.end()
            with pytest.raises(StopAsyncIteration):
                await anext(answers)
            assert [answer["data"]["entries"]["text"] for answer in seen] == ["a", "b", "c"]

    run(scenario())


@streaming
def test_a_client_that_leaves_ends_its_subscription(transport: Transport) -> None:
    async def scenario() -> None:
        query = {"query": "subscription { entries { number } }"}
        async with staged() as stage:
            async with aclosing(transport.responses(stage, query)) as answers:
                stage.world.log.append("a")
                await anext(answers)
                assert stage.world.log.followers == 1
            await until(lambda: stage.world.log.followers == 0)

    run(scenario())


@streaming
def test_the_same_frame_is_executed_once_for_all_who_follow(transport: Transport) -> None:
    async def scenario() -> None:
        query = {"query": "subscription { entries { number executions } }"}
        async with staged() as stage:
            many = [transport.responses(stage, query) for _ in range(20)]
            waiting = [anext(answers) for answers in many]
            tasks = [asyncio.ensure_future(each) for each in waiting]
            await until(lambda: stage.world.log.followers == len(many))
            stage.world.log.append("a")
            answers = await asyncio.gather(*tasks)
            assert {answer["data"]["entries"]["executions"] for answer in answers} == {1}
            for each in many:
                await each.aclose()

    run(scenario())
