"""One client for each transport, all alike to a test: a request in, responses out."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, Protocol

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.transports.stage import Stage, decoded

SUBPROTOCOL = "graphql-transport-ws"
Response = dict[str, Any]


class Transport(Protocol):
    """Sends one request and gives every response to it; closing it is leaving."""

    def responses(
        self, stage: Stage, request: dict[str, Any]
    ) -> AsyncGenerator[Response, None]: ...


class OverHTTP:
    """A POST that is answered with one response."""

    def __init__(self, accept: str) -> None:
        self.accept = accept

    async def responses(
        self, stage: Stage, request: dict[str, Any]
    ) -> AsyncGenerator[Response, None]:
        headers = {"accept": self.accept, "content-type": "application/json"}
        async with httpx.AsyncClient(trust_env=False, timeout=None) as client:
            answer = await client.post(
                f"{stage.url}/graphql", content=json.dumps(request), headers=headers
            )
        assert answer.headers["content-type"].partition(";")[0] == self.accept
        yield decoded(answer.content)


class OverSSE:
    """A POST that is answered with events."""

    async def responses(
        self, stage: Stage, request: dict[str, Any]
    ) -> AsyncGenerator[Response, None]:
        async with events(stage, request) as received:
            async for name, data in received:
                if name == "complete":
                    return
                assert name == "next"
                yield decoded(data)
        raise EOFError("the stream ended without being complete")


@asynccontextmanager
async def events(
    stage: Stage, request: dict[str, Any]
) -> AsyncIterator[AsyncGenerator[tuple[str, str], None]]:
    """The events that answer a request: name and data."""
    headers = {"accept": "text/event-stream"}
    async with (
        httpx.AsyncClient(trust_env=False, timeout=None) as client,
        client.stream("POST", f"{stage.url}/graphql", json=request, headers=headers) as answer,
    ):
        assert (answer.status_code, answer.headers["content-type"]) == (
            200,
            "text/event-stream; charset=utf-8",
        )
        async with aclosing(_parsed(answer.aiter_lines())) as parsed:
            yield parsed


async def _parsed(lines: AsyncIterator[str]) -> AsyncGenerator[tuple[str, str], None]:
    name, data = "", []
    async for line in lines:
        if not line and name:
            yield name, "\n".join(data)
            name, data = "", []
        elif line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        else:
            assert line in ("", ":"), line


class OverWebSocket:
    """One operation over a connection of its own."""

    async def responses(
        self, stage: Stage, request: dict[str, Any]
    ) -> AsyncGenerator[Response, None]:
        async with greeted(stage) as socket:
            await say(socket, type="subscribe", id="the one", payload=request)
            while True:
                message = await heard(socket)
                assert message["id"] == "the one"
                if message["type"] == "complete":
                    return
                if message["type"] == "error":
                    yield {"errors": message["payload"]}
                    return
                assert message["type"] == "next"
                yield message["payload"]


@asynccontextmanager
async def connected(stage: Stage, **options: Any) -> AsyncIterator[ClientConnection]:
    """A WebSocket that nobody has said anything over."""
    options = {"subprotocols": [SUBPROTOCOL], **options}
    async with connect(stage.ws_url, compression=None, proxy=None, **options) as socket:
        yield socket


@asynccontextmanager
async def greeted(stage: Stage, **options: Any) -> AsyncIterator[ClientConnection]:
    """A connection that the server has acknowledged."""
    async with connected(stage, **options) as socket:
        await say(socket, type="connection_init")
        assert await heard(socket) == {"type": "connection_ack"}
        yield socket


async def say(socket: ClientConnection, **message: Any) -> None:
    await socket.send(json.dumps(message))


async def heard(socket: ClientConnection) -> dict[str, Any]:
    """The next message of the server."""
    text = await socket.recv()
    assert isinstance(text, str)
    message: dict[str, Any] = decoded(text)
    return message


async def closing_of(socket: ClientConnection) -> tuple[int | None, str | None]:
    """Code and reason with which the server closes; messages before that are dropped."""
    try:
        async for _ in socket:
            pass
    except ConnectionClosed:
        return socket.close_code, socket.close_reason
    return socket.close_code, socket.close_reason


async def subscribe(
    socket: ClientConnection, operation_id: str, query: str, **variables: Any
) -> None:
    payload = {"query": query, "variables": variables}
    await say(socket, type="subscribe", id=operation_id, payload=payload)


SINGLE = {
    "json": OverHTTP("application/json"),
    "graphql-response": OverHTTP("application/graphql-response+json"),
}
STREAMING = {"websocket": OverWebSocket(), "sse": OverSSE()}


@asynccontextmanager
async def raw_stream(
    stage: Stage, request: dict[str, Any]
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection over which a stream of events was asked for, byte by byte."""
    reader, writer = await asyncio.open_connection("127.0.0.1", stage.port)
    body = json.dumps(request)
    writer.write(
        f"POST /graphql HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    )
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


def reset(transport: asyncio.BaseTransport) -> None:
    """Go away as a crashed machine's peer sees it: no farewell, what was under way is lost."""
    found = transport.get_extra_info("socket")
    found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert isinstance(transport, asyncio.Transport)
    transport.abort()
