"""A real server, those who mean it ill, and one client that only wants an answer now and then."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import resource
import struct
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.server.processes import RunningServer

TIMEOUT_S = 30
MOST_RSS = 600 << 20
"""What the server may ever hold in memory while it is being attacked (bytes)."""

GOOD = "{ sessions(first: 10) { nodes { id title lastSeq } } }"

Answer = tuple[int, dict[str, str], bytes]


def run(scenario: Coroutine[Any, Any, None]) -> None:
    """Run a scenario; it fails when it hangs. At its end all that it has opened is closed."""

    async def whole() -> None:
        try:
            await asyncio.wait_for(scenario, TIMEOUT_S)
        finally:
            while _OPEN:
                _OPEN.pop().transport.abort()
            await asyncio.sleep(0.01)

    asyncio.run(whole())


_OPEN: list[asyncio.StreamWriter] = []
"""Every connection of the scenario that runs."""


def allow_files(count: int) -> None:
    """Let this process open so many sockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Target:
    """The server as an attacker sees it, and its process as the system sees it."""

    def __init__(self, server: RunningServer) -> None:
        self.server = server
        address = urlsplit(server.url)
        self.host, self.port = str(address.hostname), int(address.port or 0)

    def _status(self, name: str) -> int:
        for line in Path(f"/proc/{self.server.process.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1])
        raise LookupError(name)

    @property
    def rss(self) -> int:
        """Memory at the moment (bytes)."""
        return self._status("VmRSS") * 1024

    @property
    def most_rss(self) -> int:
        """The most memory since the process began, or since :meth:`forget` (bytes)."""
        return self._status("VmHWM") * 1024

    def forget(self) -> None:
        """Begin to look anew at the most memory that is held."""
        Path(f"/proc/{self.server.process.pid}/clear_refs").write_text("5")

    @property
    def files(self) -> int:
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))  # noqa: PTH208

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(self.host, self.port, limit=1 << 24)
        _OPEN.append(writer)
        return reader, writer

    def head(self, *lines: str, method: str = "POST", path: str = "/graphql") -> bytes:
        return "\r\n".join(
            [
                f"{method} {path} HTTP/1.1",
                f"Host: {self.host}:{self.port}",
                *(f"{name}: {value}" for name, value in self.server.credentials.items()),
                *lines,
                "",
                "",
            ]
        ).encode("ascii")

    async def post(self, body: bytes, *lines: str) -> Answer:
        """One request over a connection of its own."""
        reader, writer = await self.connect()
        try:
            length = f"Content-Length: {len(body)}"
            head = self.head("Content-Type: application/json", "Connection: close", length, *lines)
            writer.write(head + body)
            return await read_answer(reader)
        finally:
            writer.transport.abort()

    async def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        """The answer to one operation, whatever it is."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        _, _, text = await self.post(body)
        answer: dict[str, Any] = json.loads(text)
        return answer

    async def code(self, query: str, **variables: Any) -> str:
        """The code with which an operation is refused."""
        answer = await self.ask(query, **variables)
        return str(answer["errors"][0]["extensions"]["code"])

    async def websocket(self) -> WebSocket:
        """A WebSocket that has been accepted, or refused."""
        reader, writer = await self.connect()
        key = base64.b64encode(os.urandom(16)).decode()
        writer.write(
            self.head(
                "Upgrade: websocket",
                "Connection: Upgrade",
                f"Sec-WebSocket-Key: {key}",
                "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Protocol: graphql-transport-ws",
                method="GET",
            )
        )
        head = await reader.readuntil(b"\r\n\r\n")
        return WebSocket(reader, writer, int(head.split()[1]))


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    """Status, headers in lower case, body."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in head[1:])
        if name
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return int(head[0].split()[1]), headers, body


class WebSocket:
    """A client that frames for itself, so that it can do it wrongly."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, status: int
    ) -> None:
        self.reader, self.writer, self.status = reader, writer, status

    def say(self, *messages: dict[str, Any]) -> None:
        self.writer.write(b"".join(frame(json.dumps(each).encode()) for each in messages))

    async def greeted(self) -> WebSocket:
        self.say({"type": "connection_init"})
        assert (await self.heard())["type"] == "connection_ack"
        return self

    async def heard(self) -> dict[str, Any]:
        """The next message; a close frame is ``{"close": code}``, the end of it all ``{}``."""
        try:
            first, size = await self.reader.readexactly(2)
            if size == 126:
                (size,) = struct.unpack("!H", await self.reader.readexactly(2))
            elif size == 127:
                (size,) = struct.unpack("!Q", await self.reader.readexactly(8))
            payload = await self.reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            return {}
        if first & 15 == 8:
            return {"close": struct.unpack("!H", payload[:2])[0]}
        if first & 15 == 9:
            return await self.heard()
        message: dict[str, Any] = json.loads(payload)
        return message

    def leave(self) -> None:
        self.writer.transport.abort()


def frame(payload: bytes, *, opcode: int = 1, said: int | None = None) -> bytes:
    """A masked frame, whose mask is nothing; ``said`` is the length that it claims."""
    size = len(payload) if said is None else said
    if size < 126:
        head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
    return head + bytes(4) + payload


class GoodClient:
    """Asks the same small thing again and again over one connection."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.took_s: list[float] = []

    async def ask_for_ever(self) -> None:
        reader, writer = await self._target.connect()
        body = json.dumps({"query": GOOD}).encode()
        length = f"Content-Length: {len(body)}"
        request = self._target.head("Content-Type: application/json", length) + body
        try:
            while True:
                begun = time.perf_counter()
                writer.write(request)
                status, _, text = await read_answer(reader)
                self.took_s.append(time.perf_counter() - begun)
                assert status == 200, text
                assert json.loads(text)["data"]["sessions"]["nodes"], text
                await asyncio.sleep(0.02)
        finally:
            writer.transport.abort()

    async def answered(self, times: int, asking: asyncio.Task[None]) -> None:
        """Wait until it has so many answers more; fails when it has failed."""
        enough = len(self.took_s) + times
        while len(self.took_s) < enough:
            if asking.done():
                asking.result()
            await asyncio.sleep(0.01)

    def p99_ms(self) -> float:
        ordered = sorted(self.took_s)
        return 1000 * ordered[max(0, int(len(ordered) * 0.99) - 1)]


@asynccontextmanager
async def besieged(target: Target, name: str = "") -> AsyncIterator[GoodClient]:
    """An attack: a good client is answered all the while, and the server stays within its memory.

    ``SESSIONGRAPH_TEST_PROFILE=long`` prints what was measured; nothing is asserted about times.
    """
    good = GoodClient(target)
    asking = asyncio.create_task(good.ask_for_ever())
    try:
        await good.answered(1, asking)
        target.forget()
        yield good
        await good.answered(3, asking)
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    if os.environ.get("SESSIONGRAPH_TEST_PROFILE") == "long":
        print(  # noqa: T201
            f"\n{name}: p99 {good.p99_ms():.0f} ms of {len(good.took_s)}, "
            f"most {target.most_rss >> 20} MiB"
        )
    assert target.most_rss < MOST_RSS
