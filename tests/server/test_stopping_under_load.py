"""A server that is told to stop while it is busy: what it began it answers, and it says goodbye."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.server.processes import RunningServer, run, serving

CREATE = 'mutation { createSession(input: {id: "s"}) { session { id } } }'
APPEND = """mutation ($text: String!) { postMessage(input: {sessionId: "s", text: $text}) {
    message { seq } } }"""
FOLLOW = 'subscription { sessionEvents(sessionId: "s") { seq } }'
WRITERS = 16


async def write_until_the_end(
    client: httpx.AsyncClient, url: str, name: str, answered: dict[int, str]
) -> list[Any]:
    """Append until the server is gone; what was not answered, or without success.

    A connection that the system had taken and the server had not is reset when it stops listening,
    so a request can be lost that never began. Nothing of it may be stored.
    """
    failures: list[Any] = []
    number = 0
    while True:
        number += 1
        words = f"{name} {number}"
        body = {"query": APPEND, "variables": {"text": words}}
        try:
            answer = (await client.post(f"{url}/graphql", json=body)).json()
        except httpx.TransportError:
            return [*failures, words]
        if answer.get("data") and answer["data"]["postMessage"]:
            answered[answer["data"]["postMessage"]["message"]["seq"]] = words
        else:
            failures.append(answer)


async def follow_until_the_end(
    server: RunningServer, begun: asyncio.Event
) -> tuple[list[str], int | None]:
    """The kinds of messages that a stock client hears, and how its socket is closed."""
    heard: list[str] = []
    address = f"ws{server.url.removeprefix('http')}/graphql"
    async with connect(
        address,
        subprotocols=["graphql-transport-ws"],  # type: ignore[list-item]
        additional_headers=server.credentials,
        proxy=None,
    ) as socket:
        await socket.send('{"type": "connection_init"}')
        await socket.send(
            json.dumps({"type": "subscribe", "id": "1", "payload": {"query": FOLLOW}})
        )
        try:
            while True:
                heard.append(json.loads(await socket.recv())["type"])
                if "next" in heard:
                    begun.set()
        except ConnectionClosed:
            return heard, socket.close_code


async def stopped_while_busy(
    server: RunningServer,
) -> tuple[dict[int, str], list[Any], list[str], int | None]:
    answered: dict[int, str] = {}
    begun = asyncio.Event()
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(
        trust_env=False, timeout=30, limits=limits, headers=server.credentials
    ) as client:
        await client.post(f"{server.url}/graphql", json={"query": CREATE})
        following = asyncio.create_task(follow_until_the_end(server, begun))
        writing = [
            asyncio.create_task(write_until_the_end(client, server.url, f"w{each}", answered))
            for each in range(WRITERS)
        ]
        await begun.wait()
        server.process.send_signal(signal.SIGTERM)
        failures = [failure for each in writing for failure in await each]
        heard, code = await following
    return answered, failures, heard, code


def test_what_was_begun_is_answered_and_what_was_answered_is_there(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with serving(data_dir) as server:
        answered, failures, heard, closed_with = asyncio.run(
            asyncio.wait_for(stopped_while_busy(server), 60)
        )
        _, errors = server.process.communicate(timeout=30)
    assert server.process.returncode == 0, errors
    assert "Traceback" not in errors
    assert (closed_with, "complete" in heard) == (1001, False)
    shown = run("show", "--raw", "--data-dir", data_dir, "s").stdout
    stored = {
        event["seq"]: event["data"]["content"][0]["text"]
        for event in map(json.loads, shown.splitlines())
        if event["type"] == "user/message"
    }
    assert len(answered) >= WRITERS
    assert answered.items() <= stored.items()
    assert all(isinstance(each, str) for each in failures), failures
    assert not set(failures) & set(stored.values())
