"""GraphQL over SSE, byte by byte: the mode of distinct connections, as curl sees it."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess

import httpx
import pytest

from tests.transports.clients import events, raw_stream
from tests.transports.stage import Stage, nothing_stays, run, staged, until

COUNTDOWN = {"query": "subscription { countdown(start: 2) }"}


async def body_of(stage: Stage, request: dict[str, object]) -> str:
    headers = {"accept": "text/event-stream"}
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(f"{stage.url}/graphql", json=request, headers=headers)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    return answer.text


def test_every_result_is_a_next_event_and_the_end_is_a_complete_event() -> None:
    async def scenario() -> None:
        async with staged() as stage:
            assert await body_of(stage, COUNTDOWN) == (
                'event: next\ndata: {"data":{"countdown":2}}\n\n'
                'event: next\ndata: {"data":{"countdown":1}}\n\n'
                "event: complete\ndata:\n\n"
            )

    run(scenario())


def test_errors_before_the_execution_are_an_event_too() -> None:
    async def scenario() -> None:
        async with staged() as stage, events(stage, {"query": "{ nothing }"}) as received:
            name, data = await anext(received)
            assert (name, list(json.loads(data))) == ("next", ["errors"])
            assert await anext(received) == ("complete", "")

    run(scenario())


@pytest.mark.parametrize(
    ("content", "content_type", "status"),
    [
        (b"{", "application/json", 400),
        (b"{}", "application/json", 400),
        (b'{"query": 5}', "application/json", 400),
        (b'{"query": "{ echo }"}', "text/plain", 415),
        (b" " * 64_001, "application/json", 413),
    ],
)
def test_what_is_no_request_is_refused_before_a_stream_begins(
    content: bytes, content_type: str, status: int
) -> None:
    async def scenario() -> None:
        headers = {"accept": "text/event-stream", "content-type": content_type}
        async with staged() as stage, httpx.AsyncClient(trust_env=False) as client:
            answer = await client.post(f"{stage.url}/graphql", content=content, headers=headers)
            assert answer.status_code == status
            assert answer.json()["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT"

    run(scenario())


def test_a_quiet_stream_shows_that_it_lives() -> None:
    async def scenario() -> None:
        query = {"query": "subscription { entries { number } }"}
        async with (
            staged(keep_alive_s=0.01) as stage,
            nothing_stays(stage),
            raw_stream(stage, query) as (reader, _),
        ):
            await reader.readuntil(b":\n\n")
            await reader.readuntil(b":\n\n")
            stage.world.log.append("a")
            await reader.readuntil(b'event: next\ndata: {"data":{"entries":{"number":0}}}\n\n')

    run(scenario())


def test_a_response_with_line_breaks_is_still_one_event() -> None:
    from server.graphql_sse import next_event

    assert next_event(b'{"data":{"json":{\n"a":1,\r\n"b":2\r}}}') == (
        b'event: next\ndata: {"data":{"json":{\ndata: "a":1,\ndata: "b":2\ndata: }}}\n\n'
    )


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_curl_can_follow_a_subscription() -> None:
    async def scenario() -> None:
        async with staged() as stage, nothing_stays(stage):
            curl = await asyncio.create_subprocess_exec(
                *("curl", "--silent", "--no-buffer", "--noproxy", "*", f"{stage.url}/graphql"),
                *("-H", "content-type: application/json", "-H", "accept: text/event-stream"),
                *("-d", json.dumps({"query": "subscription { entries { text } }"})),
                stdout=subprocess.PIPE,
            )
            assert curl.stdout is not None
            for text in ("one", "two"):
                stage.world.log.append(text)
                assert await curl.stdout.readline() == b"event: next\n"
                assert json.loads((await curl.stdout.readline()).removeprefix(b"data: ")) == {
                    "data": {"entries": {"text": text}}
                }
                assert await curl.stdout.readline() == b"\n"
            stage.world.log.end()
            assert await curl.stdout.read() == b"event: complete\ndata:\n\n"
            assert await curl.wait() == 0

    run(scenario())


def test_a_client_that_likes_everything_gets_a_stream_for_a_subscription_only() -> None:
    async def scenario() -> None:
        accept = "application/graphql-response+json, application/json, text/event-stream"
        async with staged() as stage, httpx.AsyncClient(trust_env=False) as client:
            for request, media_type in (
                ({"query": "{ echo }"}, "application/graphql-response+json"),
                (COUNTDOWN, "text/event-stream"),
            ):
                answer = await client.post(
                    f"{stage.url}/graphql", json=request, headers={"accept": accept}
                )
                assert answer.headers["content-type"].startswith(media_type)

    run(scenario())


def test_the_stream_ends_at_once_when_its_source_does() -> None:
    async def scenario() -> None:
        query = {"query": "subscription { entries { number } }"}
        async with staged() as stage, events(stage, query) as received:
            await until(lambda: stage.world.log.followers == 1)
            stage.world.log.end()
            assert await anext(received) == ("complete", "")

    run(scenario())
