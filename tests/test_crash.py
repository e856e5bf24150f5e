"""Killed at any moment under many writers, everything that was said to be on disk is there, and the
full-text index goes on from where it was.

The victim is the engine (:mod:`tests.crash_engine`) or a whole server over HTTP. Either says what
it was told; after the kill the store is opened again and asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from providers.sqlite.log_store import SqliteLogStore
from providers.tantivy.index import TantivyIndex
from sessiongraph.filters import ALL_EVENTS
from sessiongraph.ports import WindowRequest
from sessiongraph.search.indexing import Indexing
from sessiongraph.search.question import MatchMode
from tests.contracts.search_index import asking, found
from tests.crash_engine import index_of
from tests.plain_search import PlainIndex
from tests.plain_store import run
from tests.providers.sqlite import raw
from tests.server.processes import PROGRAM, ROOT, authorization_of, clean_environment
from tests.sessiongraph.live_engine import text_of
from tests.strategies import user_message

EVERYTHING = WindowRequest(limit=1_000_000)
EVERY_TEXT = asking("0 1 2 3 4", MatchMode.ANY)
"""Each text holds the number of its part, and no batch has more than five."""


@dataclass
class Promises:
    """What was acknowledged over all lives of a store.

    durable: texts by session and seq. children: forks that were made, deleted: those that are gone;
        those whose deletion was under way are in neither.
    """

    durable: defaultdict[str, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    children: dict[str, str] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)

    def take(self, lines: list[list[Any]]) -> None:
        """Take the acknowledgements of one life.

        What an acknowledged DURABLE event stands on is on disk with it.
        """
        accepted: defaultdict[str, dict[int, str]] = defaultdict(dict)
        last: dict[str, int] = {}
        for kind, *words in lines:
            if kind in ("durable", "accepted"):
                session_id, first, texts = words
                seqs = range(first, first + len(texts))
                accepted[session_id].update(zip(seqs, texts, strict=True))
                if kind == "durable":
                    last[session_id] = max(last.get(session_id, -1), seqs[-1])
            elif kind == "forked":
                source, child = words
                self.children[child] = source
            elif kind == "deleting":
                del self.children[words[0]]
            elif kind == "deleted":
                self.deleted.add(words[0])
        for session_id, seq in last.items():
            kept = {each: text for each, text in accepted[session_id].items() if each <= seq}
            self.durable[session_id].update(kept)


async def assert_kept(path: Path, index_path: Path, promises: Promises) -> None:
    """Open the store as the next start does, and look for everything that was promised."""
    store = SqliteLogStore.open(path)
    try:
        assert await store.check() == []
        ids = [*promises.durable, *promises.children, *promises.deleted]
        async with store.observe() as reader:
            found = await reader.find(ids)
            assert promises.deleted.isdisjoint(found)
            assert promises.children.keys() <= found.keys()
            for session_id, promised in promises.durable.items():
                session = found[session_id]
                events = await reader.events(session, ALL_EVENTS, EVERYTHING)
                assert [placed.seq for placed in events] == list(range(session.last_seq + 1))
                texts = [text_of(placed.event) for placed in events]
                assert {seq: texts[seq] for seq in promised if seq < len(texts)} == promised
                assert_no_half_batch(texts)
            for child in promises.children:
                events = await reader.events(found[child], ALL_EVENTS, EVERYTHING)
                assert events[-1].type == "session/end-seed"
                assert found[child].header.seed_length == len(events) - 1
                assert_no_half_batch([text_of(placed.event) for placed in events[:-1]])
        await assert_index_goes_on(store, index_path)
        await raw.settled(store)
    finally:
        await store.close()
    assert raw.strays(path) == {}


async def assert_index_goes_on(store: SqliteLogStore, path: Path) -> None:
    """From where the kill left it, the index becomes what one that is built anew is.

    It is tried on a copy, so that the next life has to do it by itself.
    """
    plain = PlainIndex()
    await Indexing(store, store, plain).catch_up()
    expected = {
        (each.header.session_id, each.epoch, each.event.seq) for each in plain.observe().taken
    }
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "index"
        with contextlib.suppress(FileNotFoundError):
            await asyncio.to_thread(shutil.copytree, path, copy)
        index = TantivyIndex.open(copy, 16 << 20)
        try:
            await Indexing(store, store, index).catch_up()
            assert await found(index.observe(), EVERY_TEXT) == expected
        finally:
            await index.close()


def assert_no_half_batch(texts: list[str]) -> None:
    """Every event stands among the others that were appended with it."""
    at = 0
    while at < len(texts):
        batch, part, size = texts[at].split("/")
        assert part == "0", texts[at]
        whole = [f"{batch}/{each}/{size}" for each in range(int(size))]
        assert texts[at : at + int(size)] == whole
        at += int(size)


# The engine


class EngineToKill:
    """A program that forks an engine for each life."""

    def __init__(self, program: subprocess.Popen[bytes]) -> None:
        self._program = program

    def live_and_die(self, path: Path, seed: int, acknowledgements: int) -> list[list[Any]]:
        """One life, ended by SIGKILL after so many lines; everything that it said."""
        assert self._program.stdin is not None
        self._program.stdin.write(json.dumps([str(path), seed]).encode() + b"\n")
        self._program.stdin.flush()
        ((_, pid),) = self._lines(1)
        said = self._lines(acknowledgements)
        os.kill(pid, signal.SIGKILL)
        return said + self._lines(None)

    def _lines(self, count: int | None) -> list[list[Any]]:
        """So many lines, or all until the life is over."""
        assert self._program.stdout is not None
        lines: list[list[Any]] = []
        while count is None or len(lines) < count:
            line = json.loads(self._program.stdout.readline())
            if line == ["over"]:
                assert count is None, "the engine ended by itself"
                break
            lines.append(line)
        return lines


@contextmanager
def engine_to_kill() -> Iterator[EngineToKill]:
    program = subprocess.Popen(
        [sys.executable, "-m", "tests.crash_engine"],
        env=clean_environment(),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield EngineToKill(program)
    finally:
        program.communicate(timeout=60)


def kill_the_engine(folder: Path, lives: int, seed: int) -> None:
    """Lives of a store, and now and then of a new one."""
    dice = random.Random(seed)
    path, promises = folder / "0.db", Promises()
    with engine_to_kill() as engine:
        for life in range(lives):
            if dice.random() < 0.15:
                path, promises = folder / f"{life}.db", Promises()
            lines = dice.choice((0, 1, dice.randint(2, 30), dice.randint(30, 250)))
            promises.take(engine.live_and_die(path, 1000 * seed + life, lines))
            run(assert_kept(path, index_of(path), promises))


def test_nothing_that_the_engine_acknowledged_is_lost_when_it_is_killed(tmp_path: Path) -> None:
    kill_the_engine(tmp_path, lives=32, seed=1)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(100, 110))
def test_nothing_that_the_engine_acknowledged_is_ever_lost(tmp_path: Path, seed: int) -> None:
    kill_the_engine(tmp_path, lives=40, seed=seed)


# The server

SESSIONS = ("a", "b", "c")
WRITERS = 32
CREATE = "mutation ($id: ID!) { createSession(input: {id: $id}) { session { id } } }"
RESUME = "mutation ($id: ID!) { resumeSession(id: $id) { session { id } } }"
APPEND = """
    mutation ($input: AppendEventsInput!) {
        appendEvents(input: $input) { session { lastSeq } events { seq } }
    }
    """


async def write_to_server(
    url: str, authorization: str, pid: int, seed: int, acknowledgements: int
) -> list[list[Any]]:
    """Many clients until the server is killed; everything that it answered."""
    dice = random.Random(seed)
    said: list[list[Any]] = []

    async def ask(client: httpx.AsyncClient, query: str, **variables: Any) -> dict[str, Any]:
        answer = await client.post("/graphql", json={"query": query, "variables": variables})
        body: dict[str, Any] = answer.json()
        return body

    async def writer(client: httpx.AsyncClient, name: int) -> None:
        for turn in range(1_000_000):
            size = dice.choice((1, 1, 1, 2, 5))
            texts = [f"{seed}.{name}.{turn}/{part}/{size}" for part in range(size)]
            events = [{"type": "user/message", "data": user_message(text)} for text in texts]
            session_id = dice.choice(SESSIONS)
            durability = dice.choice(("DURABLE", "ACCEPTED"))
            body = await ask(
                client,
                APPEND,
                input={"sessionId": session_id, "events": events, "durability": durability},
            )
            assert "errors" not in body, body
            first = body["data"]["appendEvents"]["events"][0]["seq"]
            said.append([durability.lower(), session_id, first, texts])
            if len(said) == acknowledgements:
                os.kill(pid, signal.SIGKILL)

    headers = {"authorization": authorization}
    async with httpx.AsyncClient(base_url=url, timeout=60, headers=headers) as client:
        for session_id in SESSIONS:
            body = await ask(client, RESUME, id=session_id)
            if "errors" in body:
                body = await ask(client, CREATE, id=session_id)
            assert "errors" not in body, body
        writers = (writer(client, name) for name in range(WRITERS))
        for outcome in await asyncio.gather(*writers, return_exceptions=True):
            assert isinstance(outcome, httpx.TransportError), outcome
    return said


@contextmanager
def server_to_kill(data_dir: Path) -> Iterator[tuple[str, int]]:
    """A server that listens, its url and pid."""
    with subprocess.Popen(
        [*PROGRAM, "serve", "--port", "0", "--data-dir", str(data_dir)],
        env=clean_environment(),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            yield line.removeprefix("listening on ").strip(), process.pid
        finally:
            process.kill()


def kill_the_server(folder: Path, lives: int, seed: int) -> None:
    dice = random.Random(seed)
    promises = Promises()
    for life in range(lives):
        with server_to_kill(folder) as (url, pid):
            authorization = authorization_of(folder)
            assert authorization is not None
            count = dice.randint(1, 200)
            writing = write_to_server(url, authorization, pid, 1000 * seed + life, count)
            promises.take(run(writing))
        run(assert_kept(folder / "log.db", folder / "index", promises))


def test_nothing_that_the_server_acknowledged_is_lost_when_it_is_killed(tmp_path: Path) -> None:
    kill_the_server(tmp_path, lives=3, seed=1)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_nothing_that_the_server_acknowledged_is_ever_lost(tmp_path: Path) -> None:
    kill_the_server(tmp_path, lives=100, seed=2)
