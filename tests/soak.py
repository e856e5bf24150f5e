"""Everything at once for a while, on a server over loopback, and what the server keeps of it.

Sessions are written, followed, searched, imported, forked and deleted again, so that the corpus has
the same size at the end as at the beginning and whatever grows is a leak. Clients come and go as
real ones do, half of them without a word. The server is watched through its own ``/metrics``.

``python -m tests.soak SECONDS`` runs it by hand and prints the figures.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
from prometheus_client.parser import text_string_to_metric_families
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from schema.errors import INTERNAL_CODE
from sessiongraph.errors import BadUserInput
from tests.providers.recordings.transcript_writing import as_lines, asked, replied, text
from tests.server.processes import serving

WATCHED: Final = {
    "memory": "process_resident_memory_bytes",
    "descriptors": "process_open_fds",
    "threads": "sessiongraph_threads",
    "tasks": "sessiongraph_tasks",
}

ENVIRONMENT: Final = {
    "SESSIONGRAPH_CURSOR_TTL_S": "5",
    "SESSIONGRAPH_PROJECTION_SESSIONS": "20",
    "SESSIONGRAPH_LOG_LEVEL": "warning",
}
"""Small, so that what is kept for a while has reached its size long before half of the time."""

CREATE: Final = "mutation ($id: ID!) { createSession(input: {id: $id}) { session { id } } }"
APPEND: Final = """mutation ($id: ID!, $text: String!, $durability: Durability) {
    postMessage(input: {sessionId: $id, text: $text, durability: $durability}) {
        session { lastSeq } } }"""
FORK: Final = """mutation ($id: ID!, $child: ID!) {
    forkSession(input: {sourceId: $id, id: $child}) { session { id } } }"""
RENAME: Final = """mutation ($id: ID!, $title: String!) {
    renameSession(id: $id, title: $title) { session { id } } }"""
DELETE: Final = "mutation ($id: ID!) { deleteSession(id: $id) { deletedId } }"
IMPORT: Final = "mutation ($paths: [String!]!) { importRecordings(input: {paths: $paths}) { id } }"
QUERIES: Final = (
    "{ sessions(first: 20) { nodes { id title projections { asOfSeq views { key value } } } } }",
    "{ server { sessions events indexLag } }",
    '{ searchSessions(query: "number", first: 2) { edges { cursor } nodes { session { id } } } }',
    "{ nothing }",
)
FOLLOW: Final = (
    'subscription { sessionEvents(sessionId: "ID") { seq type } }',
    'subscription { projections(sessionId: "ID") { ... on ProjectionSnapshot { asOfSeq } } }',
    "subscription { corpus { __typename } }",
)


@dataclass
class Soak:
    """One run.

    samples: what was watched, by name, evenly in time. done: how often each kind of work was done.
    """

    url: str
    credentials: dict[str, str]
    folder: Path
    seconds: float
    samples: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in WATCHED})
    done: Counter[str] = field(default_factory=Counter)
    alive: list[str] = field(default_factory=list)
    number: int = 0
    rest: dict[str, float] = field(default_factory=dict)

    async def run(self) -> None:
        """Work and watch until the time is up, then let everything come to rest."""
        async with httpx.AsyncClient(
            trust_env=False, timeout=60, headers=self.credentials
        ) as client:
            works: list[Callable[[httpx.AsyncClient], Awaitable[None]]] = [
                *(self.write,) * 3,
                *(self.ask,) * 2,
                *(self.follow,) * 3,
                self.stream,
                self.bring,
            ]
            until = asyncio.get_running_loop().time() + self.seconds
            async with asyncio.TaskGroup() as tasks:
                for work in works:
                    tasks.create_task(self.repeat(work, client, until))
                while asyncio.get_running_loop().time() < until:
                    await asyncio.sleep(self.seconds / 120)
                    await self.look(client)
            for _ in range(200):
                self.rest = await self.scrape(client)
                if not any(value for name, value in self.rest.items() if "connections" in name):
                    break
                await asyncio.sleep(0.05)

    async def repeat(
        self,
        work: Callable[[httpx.AsyncClient], Awaitable[None]],
        client: httpx.AsyncClient,
        until: float,
    ) -> None:
        while asyncio.get_running_loop().time() < until:
            await work(client)
            self.done[work.__name__] += 1

    async def graphql(self, client: httpx.AsyncClient, query: str, **variables: Any) -> Any:
        body = {"query": query, "variables": variables}
        answer = (await client.post(f"{self.url}/graphql", json=body)).json()
        for error in answer.get("errors", ()):
            code = error["extensions"]["code"]
            assert code != INTERNAL_CODE, error
            assert code != BadUserInput.code or "nothing" in query, error
        return answer.get("data")

    async def write(self, client: httpx.AsyncClient) -> None:
        """A session from its first event to its deletion, with a fork."""
        self.number += 1
        own = f"soak-{self.number}"
        await self.graphql(client, CREATE, id=own)
        self.alive.append(own)
        for number in range(20):
            durability = random.choice(("DURABLE", "ACCEPTED"))
            words = f"message number {number} of {own}"
            await self.graphql(client, APPEND, id=own, text=words, durability=durability)
        await self.graphql(client, RENAME, id=own, title=f"title of {own}")
        await self.graphql(client, FORK, id=own, child=f"{own}-fork")
        self.alive.remove(own)
        await self.graphql(client, DELETE, id=f"{own}-fork")
        await self.graphql(client, DELETE, id=own)

    async def ask(self, client: httpx.AsyncClient) -> None:
        await self.graphql(client, random.choice(QUERIES))

    async def follow(self, _: httpx.AsyncClient) -> None:
        """Several subscriptions over a socket that is closed, or just gone."""
        address = f"ws{self.url.removeprefix('http')}/graphql"
        with suppress(ConnectionClosed, TimeoutError):
            async with connect(
                address,
                subprotocols=["graphql-transport-ws"],
                additional_headers=self.credentials,
                proxy=None,
            ) as socket:  # type: ignore[list-item]
                await socket.send('{"type": "connection_init"}')
                for number, query in enumerate(FOLLOW):
                    query = query.replace("ID", random.choice(self.alive or ["nobody"]))
                    message = {"type": "subscribe", "id": str(number), "payload": {"query": query}}
                    await socket.send(json.dumps(message))
                async with asyncio.timeout(random.uniform(0.05, 1)):
                    for _ in range(30):
                        await socket.recv()
                if random.random() < 0.5:
                    socket.transport.abort()

    async def stream(self, client: httpx.AsyncClient) -> None:
        """A stream of events that its client leaves."""
        query = FOLLOW[0].replace("ID", random.choice(self.alive or ["nobody"]))
        headers = {"accept": "text/event-stream"}
        body = {"query": query}
        with suppress(TimeoutError):
            async with (
                asyncio.timeout(random.uniform(0.05, 1)),
                client.stream("POST", f"{self.url}/graphql", json=body, headers=headers) as answer,
            ):
                async for _ in answer.aiter_lines():
                    pass

    async def bring(self, client: httpx.AsyncClient) -> None:
        """A recording that is imported, grows, is imported again, and deleted."""
        self.number += 1
        own = f"00000000-0000-4000-8000-{self.number:012d}"
        path = self.folder / f"{own}.jsonl"
        for count in (2, 6):
            records = [asked(0, "a question", sessionId=own)]
            records += [
                replied(each, f"m{each}", text("an answer"), sessionId=own)
                for each in range(1, count)
            ]
            path.write_bytes(as_lines(records))
            before = (await self.scrape(client))["sessiongraph_imported_files_total"]
            await self.graphql(client, IMPORT, paths=[str(path)])
            for _ in range(1000):
                if (await self.scrape(client))["sessiongraph_imported_files_total"] > before:
                    break
                await asyncio.sleep(0.05)
        path.unlink()
        await self.graphql(client, DELETE, id=own)

    async def scrape(self, client: httpx.AsyncClient) -> dict[str, float]:
        content = (await client.get(f"{self.url}/metrics")).text
        return {
            f"{sample.name}{''.join(sample.labels.values())}": sample.value
            for family in text_string_to_metric_families(content)
            for sample in family.samples
        }

    async def look(self, client: httpx.AsyncClient) -> None:
        found = await self.scrape(client)
        for name, metric in WATCHED.items():
            self.samples[name].append(found[metric])

    def growth(self, name: str) -> float:
        """By how much it grew over the second half, by the line through all of its samples."""
        values = self.samples[name]
        values = values[len(values) // 2 :]
        slope, _ = statistics.linear_regression(range(len(values)), values)
        return slope * len(values)

    def figures(self) -> str:
        """What a person wants to see of it."""
        lines = [f"{self.seconds:g} s: {dict(self.done)}"]
        for name, values in self.samples.items():
            half = values[len(values) // 2 :]
            lines.append(
                f"{name}: first {values[0]:,.0f}, in the second half {min(half):,.0f} to "
                f"{max(half):,.0f}, growth {self.growth(name):+,.1f}"
            )
        return "\n".join(lines)


def soaked(seconds: float, folder: Path) -> Soak:
    """A run on a server of its own, which must stop cleanly and leave a sound store."""
    (folder / "recordings").mkdir()
    with serving(folder / "data", environment=ENVIRONMENT) as server:
        soak = Soak(server.url, server.credentials, folder / "recordings", seconds)
        asyncio.run(soak.run())
        code, _, errors = server.stop()
    assert code == 0, errors
    assert "Traceback" not in errors, errors
    return soak


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(soaked(float(sys.argv[1]), Path(place)).figures())  # noqa: T201
