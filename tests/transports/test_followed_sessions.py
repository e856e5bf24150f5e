"""Many followers of one session over real sockets, each of whom gets every event in order."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from websockets.asyncio.client import ClientConnection, connect

from tests.schema.living import prompt
from tests.server.processes import RunningServer, serving
from tests.transports.clients import SUBPROTOCOL, heard, say
from tests.transports.stage import run

_FOLLOWERS = 60
_ONE_BY_ONE = 60
_AT_ONCE = 40
_LAST = _ONE_BY_ONE + 5 * _AT_ONCE - 1
_SUBSCRIPTION = """subscription {
    sessionEvents(sessionId: "s") { seq ... on UserMessageEvent { text } } }"""
_CREATE = 'mutation { createSession(input: {id: "s"}) { session { id } } }'
_DELETE = 'mutation { deleteSession(id: "s") { deletedId } }'
_APPEND = """mutation ($events: [EventInput!]!) {
    appendEvents(input: {sessionId: "s", events: $events}) { session { lastSeq } } }"""


async def _follow(stack: AsyncExitStack, server: RunningServer, name: str) -> ClientConnection:
    url = f"ws{server.url.removeprefix('http')}/graphql"
    socket = await stack.enter_async_context(
        connect(url, subprotocols=[SUBPROTOCOL], compression=None, proxy=None)  # type: ignore[list-item]
    )
    await say(socket, type="connection_init", payload=server.credentials)
    assert (await heard(socket))["type"] == "connection_ack"
    await say(socket, type="subscribe", id=name, payload={"query": _SUBSCRIPTION})
    return socket


async def _read(socket: ClientConnection, name: str, last: int) -> None:
    """Every seq, from the first one through ``last``."""
    for seq in range(last + 1):
        message = await heard(socket)
        assert (message["type"], message["id"]) == ("next", name)
        assert message["payload"]["data"]["sessionEvents"]["seq"] == seq


def test_everybody_gets_everything_in_order_also_who_is_slow_or_late(tmp_path: Path) -> None:
    async def scenario(server: RunningServer) -> None:
        async def append(texts: list[str]) -> None:
            answer = await asyncio.to_thread(
                server.ask, _APPEND, events=[prompt(text) for text in texts]
            )
            assert "errors" not in answer, answer

        await asyncio.to_thread(server.ask, _CREATE)
        async with AsyncExitStack() as stack:
            names = [str(number % 3) for number in range(_FOLLOWERS)]
            sockets = [await _follow(stack, server, name) for name in names]
            sockets[0].transport.pause_reading()
            readers = [
                asyncio.create_task(_read(socket, name, _LAST))
                for socket, name in zip(sockets, names, strict=True)
            ]
            for number in range(_ONE_BY_ONE):
                await append([f"short {number}"])
            sockets.append(await _follow(stack, server, "late"))
            names.append("late")
            readers.append(asyncio.create_task(_read(sockets[-1], "late", _LAST)))
            for _ in range(_ONE_BY_ONE, _LAST + 1, _AT_ONCE):
                await append(["long " * 4_000] * _AT_ONCE)
            await asyncio.gather(*readers[1:])
            assert not readers[0].done()
            sockets[0].transport.resume_reading()
            await readers[0]
            await asyncio.to_thread(server.ask, _DELETE)
            for socket, name in zip(sockets, names, strict=True):
                assert await heard(socket) == {"type": "complete", "id": name}

    with serving(tmp_path) as server:
        run(scenario(server))
