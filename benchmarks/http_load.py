"""A server in a process of its own, and clients that ask it as fast as it answers.

The client is a bare HTTP/1.1 exchange over kept connections: what a general client library costs
for each request would be a good part of what is measured.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from benchmarks.figures import Sample

CONNECTIONS: Final = 4
RATE: Final = "requests/s"
CREATE: Final = "mutation ($id: ID!) { createSession(input: {id: $id}) { session { id } } }"
APPEND: Final = """
    mutation ($id: ID!, $events: [EventInput!]!) {
      appendEvents(input: {sessionId: $id, events: $events}) { session { lastSeq } }
    }
"""
_TEXT: Final = "What an agent says while others write too. 写入 一个 事件 " * 3
_READY: Final = "listening on "
_STARTS_WITHIN_S: Final = 30
_INDEXES_WITHIN_S: Final = 600
_RESTS_WITHIN_S: Final = 600
_LOOKED_EVERY_S: Final = 0.5
_AT_REST: Final = 0.05
"""Of one processor."""
_PROCESSOR: Final = b"process_cpu_seconds_total "


@dataclass(frozen=True, slots=True)
class Target:
    """One request: where, and the body that is posted there."""

    url: str
    body: bytes

    @classmethod
    def of_query(cls, url: str, query: str, **variables: Any) -> Target:
        """A GraphQL operation."""
        body = msgspec.json.encode({"query": query, "variables": variables})
        return cls(f"{url}/graphql", body)

    @classmethod
    def of_append(cls, url: str, session_id: str, count: int) -> Target:
        """An append of so many events, as an agent makes them."""
        content = [{"type": "text", "text": _TEXT}]
        data = {"turn": 0, "step": 0, "content": content}
        events = [{"type": "assistant/message", "data": data}] * count
        return cls.of_query(url, APPEND, id=session_id, events=events)


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that listens at ``url``."""

    url: str
    process: asyncio.subprocess.Process

    async def kill(self) -> None:
        """End it where it stands, as a crash does."""
        self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def running_server(*arguments: str) -> AsyncIterator[str]:
    """The address of a server started as ``python -m ARGUMENTS``; it is stopped afterwards."""
    async with server_process(*arguments) as server:
        yield server.url


@asynccontextmanager
async def server_process(*arguments: str) -> AsyncIterator[RunningServer]:
    """A server started as ``python -m ARGUMENTS``; it is stopped afterwards, if it still runs."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    complaints = asyncio.create_task(process.stderr.read())
    try:
        line = (await asyncio.wait_for(process.stdout.readline(), _STARTS_WITHIN_S)).decode()
        if not line.startswith(_READY):
            said = (await complaints).decode(errors="replace")
            raise RuntimeError(f"{' '.join(arguments)} did not start: {said[-2000:]}")
        yield RunningServer(line.removeprefix(_READY).strip(), process)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        await complaints


@asynccontextmanager
async def sessiongraph_server(data_dir: Path) -> AsyncIterator[str]:
    """The address of our own server over a data directory; its peers ask for no token either.

    It has indexed what was there: an index is built once, beside everything else, and nobody's
    answers are measured meanwhile.
    """
    async with running_server(*serving_arguments(data_dir)) as url:
        async with asyncio.timeout(_INDEXES_WITHIN_S):
            while not await is_ready(url):  # noqa: ASYNC110 - nobody announces it
                await asyncio.sleep(0.1)
        yield url


def serving_arguments(data_dir: Path) -> tuple[str, ...]:
    """How our own server is started."""
    return ("server.cli", "serve", "--data-dir", str(data_dir), "--port", "0", "--auth", "off")


async def is_ready(url: str) -> bool:
    """Whether a server of ours is ready, its index complete."""
    status, body = await _page(url, "/readyz")
    return status == b"200" and msgspec.json.decode(body).get("indexLag", 0) == 0


async def at_rest(url: str) -> None:
    """Wait until a server of ours does nothing by itself.

    It looks once at sessions that it has never seen before, beside everything else.
    """
    async with asyncio.timeout(_RESTS_WITHIN_S):
        before, after = -_LOOKED_EVERY_S, 0.0
        while after - before > _AT_REST * _LOOKED_EVERY_S:
            await asyncio.sleep(_LOOKED_EVERY_S)
            before, after = after, await _processor_seconds(url)


async def _processor_seconds(url: str) -> float:
    """What a server has taken of the processors; 0 where the system does not tell."""
    _, body = await _page(url, "/metrics")
    values = [line.split()[1] for line in body.splitlines() if line.startswith(_PROCESSOR)]
    return float(values[0]) if values else 0.0


async def _page(url: str, path: str) -> tuple[bytes, bytes]:
    """Status and body of a page of a server."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        head = f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        answer = await reader.read()
    finally:
        writer.close()
    return answer.split(maxsplit=2)[1], answer.partition(b"\r\n\r\n")[2]


class Connection:
    """One kept connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    @asynccontextmanager
    async def to(cls, url: str) -> AsyncIterator[Connection]:
        """A connection to the host of ``url``."""
        place = urlsplit(url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=1 << 24)
        try:
            yield cls(reader, writer)
        finally:
            writer.close()
            await writer.wait_closed()

    async def post(self, target: Target) -> bytes:
        """The body of the answer.

        Raises:
            RuntimeError: the answer is not 200.
        """
        place = urlsplit(target.url)
        head = (
            f"POST {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(target.body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + target.body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(answer.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        body = await self._reader.readexactly(length)
        if not answer.startswith(b"http/1.1 200"):
            raise RuntimeError(f"{target.url} answered {answer[:30]!r}: {body[:500]!r}")
        return body


async def answer_of(target: Target) -> Any:
    """The answer, decoded; errors in a GraphQL answer are failures of the measurement.

    Raises:
        RuntimeError: the answer is not 200, or has errors.
    """
    async with Connection.to(target.url) as connection:
        answer = msgspec.json.decode(await connection.post(target))
    if isinstance(answer, dict) and answer.get("errors"):
        raise RuntimeError(f"{target.url} answered with errors: {answer['errors'][:2]}")
    return answer


async def request_times(rounds: int, target: Target) -> Sample:
    """Milliseconds of single requests on one connection, the next when the last is answered."""
    taken = []
    async with Connection.to(target.url) as connection:
        for turn in range(-2, rounds):
            begun = time.perf_counter()
            await connection.post(target)
            if turn >= 0:
                taken.append((time.perf_counter() - begun) * 1e3)
    return Sample.of(taken)


async def request_rates(
    rounds: int, seconds: float, targets: Mapping[str, Target]
) -> dict[str, Sample]:
    """Requests a second over a few connections, the targets in turn."""
    rates: dict[str, list[float]] = {name: [] for name in targets}
    for turn in range(-1, rounds):
        names = list(targets)[:: 1 if turn % 2 else -1]
        for name in names:
            rate = await _rate(targets[name], seconds if turn >= 0 else seconds / 4)
            if turn >= 0:
                rates[name].append(rate)
    return {name: Sample.of(values, RATE) for name, values in rates.items()}


async def _rate(target: Target, seconds: float) -> float:
    begun = time.perf_counter()
    counts = await asyncio.gather(
        *(_ask_until(target, begun + seconds) for _ in range(CONNECTIONS))
    )
    return sum(counts) / (time.perf_counter() - begun)


async def _ask_until(target: Target, end: float) -> int:
    count = 0
    async with Connection.to(target.url) as connection:
        while time.perf_counter() < end:
            await connection.post(target)
            count += 1
    return count
