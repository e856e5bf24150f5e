"""The head of an answer leaves with its body, and waits for nothing else."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from server.head_with_body import HeadWithBody

_HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


class Other:
    """The client's end of a connection."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def received(self) -> bytes:
        """What has come, in one piece; nothing where nothing has."""
        try:
            return self._end.recv(1 << 20)
        except BlockingIOError:
            return b""

    async def all(self) -> bytes:
        """What comes until the connection ends."""
        loop, parts = asyncio.get_running_loop(), []
        while part := await loop.sock_recv(self._end, 1 << 16):
            parts.append(part)
        return b"".join(parts)


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[HeadWithBody, Other]]:
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.setblocking(False)
        transport, _ = await asyncio.get_running_loop().create_connection(
            asyncio.Protocol, sock=ours
        )
        try:
            yield HeadWithBody(transport), Other(theirs)
        finally:
            transport.close()


def test_a_head_leaves_in_one_piece_with_its_body() -> None:
    async def scenario() -> None:
        async with connected() as (answer, client):
            answer.write(_HEAD)
            assert client.received() == b""
            answer.write(b"body")
            assert client.received() == _HEAD + b"body"
            answer.write(b"more")
            assert client.received() == b"more"
            await asyncio.sleep(0)
            assert client.received() == b""

    asyncio.run(scenario())


def test_a_head_does_not_wait_for_a_body_that_comes_later() -> None:
    async def scenario() -> None:
        async with connected() as (answer, client):
            answer.write(_HEAD)
            await asyncio.sleep(0)
            assert client.received() == _HEAD
            answer.write(b"body")
            assert client.received() == b"body"

    asyncio.run(scenario())


def test_a_large_body_comes_behind_its_head() -> None:
    async def scenario() -> None:
        async with connected() as (answer, client):
            body = b"x" * 1_000_000
            answer.write(_HEAD)
            answer.write(body)
            answer.close()
            assert await client.all() == _HEAD + body

    asyncio.run(scenario())


def test_a_head_without_a_body_is_sent_before_the_connection_closes() -> None:
    async def scenario() -> None:
        async with connected() as (answer, client):
            answer.write(_HEAD)
            answer.close()
            assert answer.is_closing()
            assert await client.all() == _HEAD

    asyncio.run(scenario())
