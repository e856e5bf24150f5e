"""Following: a thousand subscribers of one session over WebSocket, beside a plain broadcast.

The peer is Starlette and nothing else: it sends texts that it is given to every socket, one after
the other, with the WebSocket implementation and the settings that our server uses; the texts are
the very messages that our server has sent. What is counted are deliveries, messages that have come
to a subscriber, from the first append (or the request to broadcast) to the last delivery. Appends
over GraphQL are durable and part of our time; of the peer's, reading the texts is.

The clients are this process: raw sockets that count frames and keep their bytes, so that after each
run it is checked that every subscriber has got every event, in order. ``python -m
benchmarks.following`` is the peer.
"""

from __future__ import annotations

import asyncio
import base64
import os
import resource
import socket
import struct
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from benchmarks.figures import Figure, Limit, Sample
from benchmarks.http_load import APPEND, CREATE, Connection, Target, answer_of, running_server
from benchmarks.http_load import sessiongraph_server as our_server
from benchmarks.scale import Scale

AREA: Final = "following"

FOLLOWERS: Final = 1_000
EVENTS: Final = 40
WRITERS: Final = 4
_UNIT: Final = "deliveries/s"
_LIMIT: Final = Limit(0.6, "×", least=True)
_SESSION: Final = "followed"
_SUBSCRIPTION: Final = """
    subscription ($id: ID!, $after: Int!) {
      sessionEvents(sessionId: $id, afterSeq: $after) { seq type time surface data }
    }
"""
_TEXT: Final = "What a follower is told of an event is about as long as what an agent says. " * 3


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Events that come one by one, of one writer and of several, and all at once."""
    allow_sockets(4 * FOLLOWERS)
    return asyncio.run(_measure(scale, folder))


def allow_sockets(needed: int) -> None:
    """Let this process, and those that it begins, have so many open, if the system lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(needed, hard), hard))


async def _measure(scale: Scale, folder: Path) -> list[Figure]:
    data_dir = folder / "followed"
    data_dir.mkdir()
    async with our_server(data_dir) as url, running_server("benchmarks.following") as peer_url:
        await answer_of(Target.of_query(url, CREATE, id=_SESSION))
        ours, peer = Ours(url), Peer(peer_url)
        async with _following(url, 1) as first:
            await ours.deliver(first, 1, EVENTS, 1)
        async with (
            _following(url, FOLLOWERS) as followers,
            connected(peer_url, FOLLOWERS) as listeners,
        ):
            return [
                await _compare(scale, ours, followers, peer, listeners, name, at_once, writers)
                for name, at_once, writers in (
                    ("one by one", 1, 1),
                    (f"one by one of {WRITERS} writers", 1, WRITERS),
                    (f"{EVENTS} at once", EVENTS, 1),
                )
            ]


async def _compare(
    scale: Scale,
    ours: Ours,
    followers: Sequence[Follower],
    peer: Peer,
    listeners: Sequence[Follower],
    name: str,
    at_once: int,
    writers: int,
) -> Figure:
    rates: dict[str, list[float]] = {"ours": [], "peer": []}
    for turn in range(-1, scale.long_rounds):
        mine, messages = await ours.deliver(followers, EVENTS, at_once, writers)
        theirs = await peer.deliver(listeners, messages)
        if turn >= 0:
            rates["ours"].append(len(followers) * EVENTS / mine)
            rates["peer"].append(len(listeners) * EVENTS / theirs)
    return Figure(
        AREA,
        f"{FOLLOWERS:,} followers of one session, events {name}",
        Sample.of(rates["ours"], _UNIT),
        "Starlette, a plain broadcast of the same bytes",
        Sample.of(rates["peer"], _UNIT),
        ratio_limit=_LIMIT,
    )


async def _post_all(connection: Connection, targets: Sequence[Target]) -> None:
    for target in targets:
        await connection.post(target)


class Ours:
    """Our server, and the log that is followed."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._appended = 0

    async def deliver(
        self, followers: Sequence[Follower], count: int, at_once: int, writers: int
    ) -> tuple[float, list[bytes]]:
        """Append events: the seconds until all have come to every follower, and the messages.

        Each writer waits for the answer to its append before it sends the next one.
        """
        first = self._appended
        self._appended += count
        seqs = range(first, first + count)
        targets = [
            Target.of_query(
                self._url,
                APPEND,
                id=_SESSION,
                events=[_event(seq) for seq in seqs[start : start + at_once]],
            )
            for start in range(0, count, at_once)
        ]
        arrived = [follower.await_messages(count) for follower in followers]
        async with AsyncExitStack() as connections:
            opened = [
                await connections.enter_async_context(Connection.to(self._url))
                for _ in range(writers)
            ]
            begun = time.perf_counter()
            await asyncio.gather(
                *(_post_all(each, targets[place::writers]) for place, each in enumerate(opened)),
                *arrived,
            )
            taken = time.perf_counter() - begun
        messages = [follower.taken() for follower in followers]
        if any(other != messages[0] for other in messages):
            raise RuntimeError("the followers were not told the same")
        payloads = [msgspec.json.decode(message)["payload"]["data"] for message in messages[0]]
        if [payload["sessionEvents"]["seq"] for payload in payloads] != list(seqs):
            raise RuntimeError("the followers were not told everything in order")
        return taken, messages[0]


class Peer:
    """The plain server."""

    def __init__(self, url: str) -> None:
        self._target = f"{url}/broadcast"

    async def deliver(self, listeners: Sequence[Follower], messages: Sequence[bytes]) -> float:
        """Broadcast messages: the seconds until all have come to everybody."""
        body = msgspec.json.encode([message.decode("utf-8") for message in messages])
        arrived = [listener.await_messages(len(messages)) for listener in listeners]
        async with Connection.to(self._target) as connection:
            begun = time.perf_counter()
            await connection.post(Target(self._target, body))
            await asyncio.gather(*arrived)
            taken = time.perf_counter() - begun
        if any(listener.taken() != list(messages) for listener in listeners):
            raise RuntimeError("the plain server did not deliver everything in order")
        return taken


def _event(seq: int) -> dict[str, Any]:
    content = [{"type": "text", "text": _TEXT}]
    return {"type": "assistant/message", "data": {"turn": seq, "step": 0, "content": content}}


@asynccontextmanager
async def _following(url: str, count: int) -> AsyncIterator[list[Follower]]:
    """Subscribers that have been acknowledged, from the end of the log on."""
    query = '{ session(id: "followed") { lastSeq } }'
    answer = await answer_of(Target.of_query(url, query))
    variables = {"id": _SESSION, "after": answer["data"]["session"]["lastSeq"]}
    payload = {"query": _SUBSCRIPTION, "variables": variables}
    async with connected(url, count) as followers:
        for follower in followers:
            greeted = follower.await_messages(1)
            follower.say({"type": "connection_init"})
            await greeted
            follower.say({"type": "subscribe", "id": "1", "payload": payload})
            follower.say({"type": "ping"})
            await follower.await_messages(1)
        yield followers


@asynccontextmanager
async def connected(url: str, count: int) -> AsyncIterator[list[Follower]]:
    """So many WebSockets over which nothing was said yet."""
    place = urlsplit(url)
    loop = asyncio.get_running_loop()
    followers = []
    async with AsyncExitStack() as resources:
        for _ in range(count):
            _, protocol = await loop.create_connection(Follower, place.hostname, place.port)
            follower = cast("Follower", protocol)
            resources.callback(follower.leave)
            await follower.opened
            followers.append(follower)
        yield followers


class Follower(asyncio.Protocol):
    """The least of a WebSocket client: says what it is told to, and keeps the texts that come."""

    def __init__(self) -> None:
        self.opened = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        self._messages: list[bytes] = []
        self._wanted = 0
        self._arrived: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        host, port = transport.get_extra_info("peername")[:2]
        key = base64.b64encode(os.urandom(16)).decode("ascii")
        self._transport.write(
            (
                f"GET /graphql HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
                f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n"
            ).encode("ascii")
        )

    def await_messages(self, count: int) -> asyncio.Future[None]:
        """Done when so many messages have come since the last ones were asked for."""
        self._messages.clear()
        self._wanted = count
        self._arrived = asyncio.get_running_loop().create_future()
        return self._arrived

    def taken(self) -> list[bytes]:
        """The messages that have come."""
        return list(self._messages)

    def say(self, message: dict[str, Any]) -> None:
        """Send a message, masked with zeros."""
        assert self._transport is not None
        body = msgspec.json.encode(message)
        size = bytes([0x80 | len(body)]) if len(body) < 126 else struct.pack("!BH", 0xFE, len(body))
        self._transport.write(b"\x81" + size + bytes(4) + body)

    def leave(self) -> None:
        """Go away without a word."""
        if self._transport is not None:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._arrived is not None:
            self._arrived.set_exception(exc or EOFError("the server has closed the connection"))

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        place = 0
        if not self.opened.done():
            head, found, data = data.partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 101") or not found:
                raise RuntimeError(f"no WebSocket: {head!r}")
            self.opened.set_result(None)
        while len(data) >= place + 4:
            start, size = place + 2, data[place + 1]
            if size == 126:
                start, (size,) = place + 4, struct.unpack_from("!H", data, place + 2)
            if len(data) < start + size:
                break
            if data[place] == 0x81:
                self._messages.append(data[start : start + size])
            elif data[place] == 0x89 and self._transport is not None:
                pong = bytes((0x8A, 0x80 | size)) + bytes(4) + data[start : start + size]
                self._transport.write(pong)
            place = start + size
        self._rest = data[place:]
        if self._arrived is not None and len(self._messages) >= self._wanted:
            self._arrived.set_result(None)
            self._arrived = None


def _plain_app() -> Starlette:
    sockets: set[WebSocket] = set()

    async def listen(websocket: WebSocket) -> None:
        await websocket.accept("graphql-transport-ws")
        sockets.add(websocket)
        async for _ in websocket.iter_text():
            pass
        sockets.discard(websocket)

    async def broadcast(request: Request) -> Response:
        for text in msgspec.json.decode(await request.body()):
            for websocket in sockets:
                await websocket.send_text(text)
        return Response(b"{}")

    return Starlette(
        routes=[
            WebSocketRoute("/graphql", listen),
            Route("/broadcast", broadcast, methods=["POST"]),
        ]
    )


def main() -> None:
    """Run the plain server until it is terminated."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as bound:
        bound.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            _plain_app(),
            lifespan="off",
            ws="websockets-sansio",
            ws_per_message_deflate=False,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        bound.listen(2048)
        print(f"listening on http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
        uvicorn.Server(config).run(sockets=[bound])


if __name__ == "__main__":
    main()
