"""A small schema behind the real transports, on a real socket, and what tests see of the inside."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Hashable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import strawberry
from starlette.applications import Starlette
from starlette.routing import Route, WebSocketRoute

from resolvers.turns import Turns
from schema.errors import PublicErrors
from schema.request import decode_request
from server.access import Access
from server.documents import Documents
from server.endpoint import GraphQLEndpoint
from server.execution import ContextMaker
from server.frames import SharedFrames
from server.graphql_ws import GraphQLWebSocket
from server.limits import DocumentLimits
from server.listening import bound_socket, listening, url_of
from server.occupancy import Occupancy
from server.operations import Operations
from server.refusals import fault
from server.settings import Settings
from server.trusted_documents import TrustedDocuments
from sessiongraph.errors import LogReplaced, SessionNotFound

TIMEOUT_S = 30
LIMITS = DocumentLimits(tokens=200, depth=8, aliases=5)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    """Run a test's scenario; it fails when it hangs."""
    asyncio.run(asyncio.wait_for(scenario, TIMEOUT_S))


async def until(condition: Callable[[], object]) -> None:
    """Wait for something that nobody announces. The test's own timeout is the limit."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.002)


@dataclass
class Entry:
    """One event of a log. Frames of it are shared when it has a key."""

    number: int
    text: str
    frame_key: Hashable | None = None


class Log:
    """A log that grows, and those who follow it; the counterpart of the real one."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.ended = False
        self.failure: Exception | None = None
        self.followers = 0
        self.given: list[int] = []
        """How many entries each follower was given, in the order in which they came."""
        self._news = asyncio.Event()

    def append(self, *texts: str, shared: bool = True) -> None:
        for text in texts:
            number = len(self.entries)
            self.entries.append(Entry(number, text, ("entry", number) if shared else None))
        self._wake()

    def end(self, failure: Exception | None = None) -> None:
        self.ended, self.failure = True, failure
        self._wake()

    async def follow(self, after: int) -> AsyncGenerator[Entry, None]:
        self.followers += 1
        place = len(self.given)
        self.given.append(0)
        try:
            while True:
                news = self._news
                if after + 1 < len(self.entries):
                    after += 1
                    self.given[place] += 1
                    yield self.entries[after]
                elif self.ended:
                    if self.failure is not None:
                        raise self.failure
                    return
                else:
                    await news.wait()
        finally:
            self.followers -= 1

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


@dataclass
class Waiters:
    """Fields that wait until they are let go, and how that ended."""

    begun: int = 0
    cancelled: int = 0
    let_go: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self) -> str:
        self.begun += 1
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return "let go"


@dataclass
class World:
    """What the resolvers of the small schema share; the context value of its operations."""

    log: Log = field(default_factory=Log)
    waiters: Waiters = field(default_factory=Waiters)
    executed: int = 0
    total: int = 0
    deadline: float | None = None
    turns: Turns = field(default_factory=Turns)


Info = strawberry.Info[World, None]


@strawberry.type
class Shown:
    """An entry of the log."""

    number: int
    text: str

    @strawberry.field
    def executions(self, info: Info) -> int:
        """Counts how often a selection with this field is executed."""
        info.context.executed += 1
        return info.context.executed

    @strawberry.field
    def broken(self) -> str | None:
        raise RuntimeError("the secret inside")


@strawberry.type
class Query:
    """One field for everything that can become of an operation."""

    @strawberry.field
    def echo(self, text: str = "hello", times: int = 1) -> str:
        return text * times

    @strawberry.field
    def refused(self) -> str | None:
        raise SessionNotFound("no session has this id")

    @strawberry.field
    def broken(self) -> str | None:
        raise RuntimeError("the secret inside")

    @strawberry.field
    async def waiting(self, info: Info) -> str:
        return await info.context.waiters.wait()

    @strawberry.field
    def itself(self) -> Query:
        return Query()


@strawberry.type
class Mutation:
    """Something to change."""

    @strawberry.mutation
    async def wait(self, info: Info) -> str:
        return await info.context.waiters.wait()

    @strawberry.mutation
    def add(self, info: Info, number: int) -> int:
        info.context.total += number
        return info.context.total


@strawberry.type
class Subscription:
    """Streams that end, fail, and go on."""

    @strawberry.subscription
    async def countdown(self, start: int) -> AsyncGenerator[int, None]:
        for number in range(start, 0, -1):
            yield number

    @strawberry.subscription
    async def entries(self, info: Info, after: int = -1) -> AsyncGenerator[Shown, None]:
        async for entry in info.context.log.follow(after):
            yield entry  # type: ignore[misc]

    @strawberry.subscription
    async def unfollowable(self) -> AsyncGenerator[int, None]:
        raise SessionNotFound("no session has this id")
        yield 0

    @strawberry.subscription
    async def replaced(self) -> AsyncGenerator[int, None]:
        yield 1
        raise LogReplaced("the log was read anew")

    @strawberry.subscription
    async def broken(self) -> AsyncGenerator[int, None]:
        yield 1
        raise RuntimeError("the secret inside")


@dataclass
class Stage:
    """A running server and its inside."""

    url: str
    port: int
    world: World
    frames: SharedFrames
    app: Starlette
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ws_url(self) -> str:
        return f"ws{self.url.removeprefix('http')}/graphql"


def application(
    world: World,
    frames: SharedFrames,
    *,
    context: ContextMaker = nullcontext,
    init_timeout_s: float = 10.0,
    keep_alive_s: float = 10.0,
    body_timeout_s: float = 10.0,
    occupancy: Occupancy | None = None,
    timeout_s: float | None = None,
    trusted: TrustedDocuments | None = None,
    access: Access | None = None,
) -> Starlette:
    access = access or Access.open()
    documents = Documents(LIMITS)
    schema = PublicErrors(Query, Mutation, Subscription)
    operations = Operations(
        schema,
        world,  # type: ignore[arg-type]
        documents,
        frames,
        context,
        occupancy=occupancy,
        timeout_s=timeout_s,
        trusted=trusted,
    )
    endpoint = GraphQLEndpoint(
        operations,
        access,
        max_request_bytes=64_000,
        body_timeout_s=body_timeout_s,
        keep_alive_s=keep_alive_s,
    )
    socket = GraphQLWebSocket(operations, access, init_timeout_s=init_timeout_s)
    return Starlette(
        routes=[Route("/graphql", endpoint, methods=["POST"]), WebSocketRoute("/graphql", socket)],
        exception_handlers={Exception: fault},
    )


@asynccontextmanager
async def staged(
    *, grace_s: float = 5.0, settings: dict[str, Any] | None = None, **how: Any
) -> AsyncIterator[Stage]:
    """A server over the small schema. At the end it has left nothing behind."""
    chosen = {"shutdown_grace_s": grace_s, "max_request_bytes": 64_000, **(settings or {})}
    world, frames = World(), SharedFrames()
    app = application(world, frames, **how)
    tasks, files = set(asyncio.all_tasks()), open_files()
    with bound_socket("127.0.0.1", 0) as bound:
        url, port = url_of(bound), bound.getsockname()[1]
        async with listening(app, bound, Settings(**chosen)):
            stage = Stage(url, port, world, frames, app)
            yield stage
    stage.stopped.set()
    await until(lambda: set(asyncio.all_tasks()) <= tasks)
    await until(lambda: open_files() <= files)
    assert world.log.followers == 0
    assert len(frames) == 0


@asynccontextmanager
async def nothing_stays(stage: Stage) -> AsyncIterator[None]:
    """What clients in the block have made the server begin is over soon after it."""
    tasks, files = len(asyncio.all_tasks()), open_files()
    yield
    await until(lambda: stage.world.log.followers == 0)
    await until(lambda: len(asyncio.all_tasks()) <= tasks)
    await until(lambda: open_files() <= files)


def open_files() -> int:
    """How many descriptors this process has open; 0 where the system does not say."""
    folder = Path("/proc/self/fd")
    return len(os.listdir(folder)) if folder.is_dir() else 0  # noqa: PTH208


def decoded(text: str | bytes) -> Any:
    """JSON as it was sent, lone surrogates and all."""
    return decode_request(text.encode("utf-8") if isinstance(text, str) else text)
