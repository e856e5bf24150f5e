"""A server without its HTTP: the schema over a real store, sessions that live, streams that follow.

A test is a coroutine that takes the server, wrapped in :func:`in_server`. Time is counted: each
look at the clock is a millisecond later. The disk can be told to refuse.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from providers.recordings.discovery import find_recordings
from providers.recordings.dsh import DshReader
from providers.sqlite.checkpoints import SqliteCheckpointStore
from providers.sqlite.log_store import SqliteLogStore
from providers.tantivy.index import TantivyIndex
from resolvers.context import Services
from schema.response import encode_response
from schema.served import build_schema
from sessiongraph.corpus import Corpus
from sessiongraph.corpus_changes import BACKLOG, CorpusChanges
from sessiongraph.cursor import CursorCodec
from sessiongraph.errors import PersistenceFailed
from sessiongraph.following import RING_EVENTS, Following
from sessiongraph.import_jobs import ImportJobs
from sessiongraph.import_report import ImportReport
from sessiongraph.importing import Importer
from sessiongraph.live_sessions import LiveLimits, LiveSessions
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.ports import Position
from sessiongraph.projections.service import Projections
from sessiongraph.projections.units import first_party_registry
from sessiongraph.query import SessionQuery
from sessiongraph.recent_events import RecentEvents
from sessiongraph.search.indexing import Indexing
from sessiongraph.search.service import Search, SearchLimits
from sessiongraph.search.walks import Walks
from sessiongraph.writing import SessionWriting
from tests.schema.asking import Answer
from tests.strategies import user_message

SCHEMA = build_schema()
BEGINNING = 1_790_000_000_000

PATIENCE_S = 20
"""How long something may take that happens at once unless something is wrong."""


class Disk(SqliteLogStore):
    """A real store whose disk can refuse."""

    refuses = False

    async def create(self, header: Any, entries: Sequence[PlacedEntry] = ()) -> int:
        self._ask()
        return await super().create(header, entries)

    async def append(self, session_id: str, epoch: int, entries: Sequence[PlacedEntry]) -> Position:
        self._ask()
        return await super().append(session_id, epoch, entries)

    async def delete(self, session_id: str) -> bool:
        self._ask()
        return await super().delete(session_id)

    def _ask(self) -> None:
        if self.refuses:
            raise PersistenceFailed("the disk is full")


async def answered(services: Services, document: str, variables: dict[str, Any]) -> Answer:
    """What an operation over some services is answered."""
    result = await SCHEMA.execute(document, variable_values=variables, context_value=services)
    return _answer(result)


def _answer(result: Any) -> Answer:
    body: dict[str, Any] = {"data": result.data}
    if result.errors:
        body["errors"] = [error.formatted for error in result.errors]
    return Answer(encode_response(body))


class Stream:
    """The frames of one subscription, taken one by one."""

    def __init__(self, results: Any) -> None:
        self._results = results

    async def next(self) -> Answer:
        """The next frame; there must be one soon."""
        return _answer(await asyncio.wait_for(anext(self._results), PATIENCE_S))

    async def take(self, count: int) -> list[Any]:
        """What the root field of the next frames holds."""
        return [next(iter((await self.next()).data.values())) for _ in range(count)]

    async def rest(self) -> list[Answer]:
        """Every frame until the stream ends."""
        frames = []
        while True:
            try:
                frames.append(await self.next())
            except StopAsyncIteration:
                return frames

    async def close(self) -> None:
        await self._results.aclose()


class Server:
    """The services over one file, and whoever asks them."""

    def __init__(
        self, path: Path, *, ring_events: int, backlog: int, write_delay_ms: int, search: bool
    ) -> None:
        ticks = itertools.count(BEGINNING)
        self.path = path
        self.store = Disk.open(path / "log.db")
        cursors = CursorCodec(b"k" * 32)
        self.changes = CorpusChanges(cursors, backlog)
        limits = LiveLimits(write_delay_ms=write_delay_ms, write_retry_ms=10)
        recent = RecentEvents()
        self.live = LiveSessions(self.store, limits, self.changes.closed, recent)
        corpus = Corpus(self.store, self.live)
        self.writing = SessionWriting(
            self.store, corpus, self.live, lambda: next(ticks), self.changes
        )
        self.following = Following(self.store, self.store, self.changes.commit, ring_events)
        self.checkpoints = SqliteCheckpointStore(self.store)
        self.projections = Projections(
            first_party_registry(), self.store, self.store, self.checkpoints, recent=recent
        )
        self.index: TantivyIndex | None = None
        self.search: Search | None = None
        if search:
            self.index = TantivyIndex.open(path / "index", 16 << 20)
            walks = Walks(300, 64, 100_000)
            indexing = Indexing(
                self.store, self.store, self.index, on_commit=walks.commit, recent=recent
            )
            settle = self.live.commit_accepted
            self.search = Search(indexing, walks, cursors, SearchLimits(), settle)
        self.imports = ImportJobs(
            Importer(self.store, lambda: BEGINNING),
            lambda paths: list(find_recordings(paths, [DshReader()])),
        )
        self.services = Services(
            SessionQuery(corpus, cursors),
            "1",
            self.writing,
            self.following,
            self.changes,
            projections=self.projections,
            search=self.search,
            imports=self.imports,
        )
        self._streams: list[Stream] = []

    async def ask(self, document: str, **variables: Any) -> Answer:
        """Execute one operation."""
        return await answered(self.services, document, variables)

    async def follow(self, document: str, **variables: Any) -> Stream:
        """Begin a subscription."""
        stream = Stream(
            await SCHEMA.subscribe(document, variable_values=variables, context_value=self.services)
        )
        self._streams.append(stream)
        return stream

    async def create(self, session_id: str, **members: Any) -> None:
        """A live session."""
        document = """mutation($input: CreateSessionInput!) {
            createSession(input: $input) { session { id } } }"""
        (await self.ask(document, input={"id": session_id, **members})).data  # noqa: B018

    async def append(self, session_id: str, *events: Any, **members: Any) -> Answer:
        """Append events; texts stand for prompts."""
        document = """mutation($input: AppendEventsInput!) { appendEvents(input: $input) {
            session { id live persisted lastSeq title } events { seq type surface time data } } }"""
        given = [prompt(each) if isinstance(each, str) else each for each in events]
        return await self.ask(document, input={"sessionId": session_id, "events": given, **members})

    async def session(self, session_id: str) -> Any:
        """What reading shows of a session."""
        document = """query($id: ID!) { session(id: $id) { id live persisted lastSeq title
            header { version createdAt cwd parentSession seedLength origin delegationDepth
                agentPreset source { kind path notes } }
            events(first: 200) { nodes { seq type surface time data } } } }"""
        return (await self.ask(document, id=session_id)).data["session"]

    async def take_in(self, *paths: Path, **options: Any) -> ImportReport:
        """Import recorders' files."""
        importer = Importer(self.store, lambda: BEGINNING)
        return await importer.run(find_recordings(paths, [DshReader()]), **options)

    async def stop(self) -> None:
        """End as a server does."""
        self.following.stop()
        self.changes.stop()
        self.projections.stop()
        async with self.imports.running():
            self.imports.stop()
        await self.services.writes.finished()
        await self.writing.close_all()

    async def close_streams(self) -> None:
        for stream in self._streams:
            await stream.close()


def prompt(text: str) -> dict[str, Any]:
    """A message by a person, as an input."""
    return {"type": "user/message", "data": user_message(text)}


def log_only(event_type: str, **data: Any) -> dict[str, Any]:
    """An event that the model does not see, as an input."""
    return {"type": event_type, "data": data}


def turn(number: int, text: str = "Go on.") -> list[dict[str, Any]]:
    """A turn that begins and ends."""
    return [
        log_only("turn/start", turn=number),
        prompt(text),
        log_only("turn/end", turn=number, reason={"kind": "completed"}),
    ]


@asynccontextmanager
async def server_over(
    path: Path,
    *,
    ring_events: int = RING_EVENTS,
    backlog: int = BACKLOG,
    write_delay_ms: int = 1,
    search: bool = False,
) -> AsyncIterator[Server]:
    """A server that runs; it leaves no task behind."""
    before = asyncio.all_tasks()
    server = Server(
        path,
        ring_events=ring_events,
        backlog=backlog,
        write_delay_ms=write_delay_ms,
        search=search,
    )
    tasks = [asyncio.create_task(server.following.run())]
    folding = asyncio.create_task(server.projections.run())
    if server.search is not None:
        tasks.append(asyncio.create_task(server.search.indexing.run()))
    await asyncio.sleep(0)
    try:
        yield server
    finally:
        server.store.refuses = False
        await server.close_streams()
        await server.stop()
        folding.cancel()
        await asyncio.wait([folding])
        await server.projections.aclose()
        await server.store.close()
        await asyncio.gather(*tasks)
        if server.index is not None:
            await server.index.close()
    left = asyncio.all_tasks() - before
    assert not left, f"tasks left behind: {left}"


def in_server(**options: Any) -> Callable[[Callable[..., Coroutine[Any, Any, None]]], Any]:
    """Run a test, whose first parameter is the server, over a store of its own."""

    def wrap(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
        async def run(tmp_path: Path, given: dict[str, Any]) -> None:
            async with server_over(tmp_path, **options) as server:
                await test(server, **given)

        @functools.wraps(test)
        def wrapped(tmp_path: Path, **given: Any) -> None:
            asyncio.run(asyncio.wait_for(run(tmp_path, given), 3 * PATIENCE_S))

        first, *others = inspect.signature(test).parameters.values()
        path = inspect.Parameter("tmp_path", inspect.Parameter.KEYWORD_ONLY)
        others = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in others]
        wrapped.__signature__ = inspect.Signature([path, *others])  # type: ignore[attr-defined]
        assert first.name == "server"
        return wrapped

    return wrap


async def eventually(holds: Callable[[], Coroutine[Any, Any, bool]]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not await holds():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.005)
