"""Pushed values over real connections to the real program: alike, to slow clients, to many."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from resolvers.context import RequestContext
from server.access import Access
from server.app import build_app
from server.data_directory import DataDirectory
from server.execution import Execution
from server.frames import SharedFrames
from server.hosts import own_hosts
from server.listening import bound_socket, listening, url_of
from server.settings import Settings
from server.wiring import open_for_serving
from sessiongraph.live_sessions import Durability
from sessiongraph.new_event import NewEvent
from sessiongraph.new_session import NewSession
from sessiongraph.writing import SessionWriting
from tests.transports.clients import STREAMING, Transport, greeted, heard, subscribe
from tests.transports.stage import Stage, World, run

each_transport = pytest.mark.parametrize("transport", STREAMING.values(), ids=list(STREAMING))
QUERY = """subscription ($id: ID!, $keys: [String!]) { projections(sessionId: $id, keys: $keys) {
    ... on ProjectionSnapshot { asOfSeq views { key value } }
    ... on ProjectionChange { view { seq value } } } }"""


def title(text: str) -> NewEvent:
    return NewEvent.of("session/title", {"title": text, "messageSeqs": []})


class Program:
    """The program in this process, and its address."""

    def __init__(self, writing: SessionWriting, stage: Stage) -> None:
        self.writing = writing
        self.stage = stage

    async def create(self, session_id: str = "s") -> None:
        await self.writing.create(NewSession(session_id=session_id), Durability.DURABLE)

    async def append(self, *events: NewEvent, to: str = "s") -> None:
        await self.writing.append(to, list(events), None, Durability.DURABLE)


@asynccontextmanager
async def program(path: Path) -> AsyncIterator[Program]:
    """Served as by ``sessiongraph serve``; at its end no task is left."""
    before = asyncio.all_tasks()
    directory = DataDirectory(path)
    directory.create()
    settings = Settings(data_dir=path, shutdown_grace_s=5)
    async with open_for_serving(settings, directory) as services:
        assert services.live is not None
        with bound_socket("127.0.0.1", 0) as bound:
            app: Any = build_app(services, Access.open(), own_hosts(bound, ()))
            url, port = url_of(bound), bound.getsockname()[1]
            async with listening(app, bound, settings):
                stage = Stage(url, port, World(), SharedFrames(), app)
                yield Program(services.live.writing, stage)
    left = asyncio.all_tasks() - before
    assert not left, left


def asked(session_id: str = "s", keys: list[str] | None = None) -> dict[str, Any]:
    return {"query": QUERY, "variables": {"id": session_id, "keys": keys or ["title"]}}


@each_transport
def test_values_are_pushed_as_they_change(tmp_path: Path, transport: Transport) -> None:
    async def scenario() -> None:
        async with program(tmp_path) as served:
            await served.create()
            await served.append(title("one"))
            async with aclosing(transport.responses(served.stage, asked())) as responses:
                first = (await anext(responses))["data"]["projections"]
                assert first == {"asOfSeq": 0, "views": [{"key": "title", "value": "one"}]}
                for seq, text in enumerate(["two", "three"], 1):
                    await served.append(title(text))
                    change = (await anext(responses))["data"]["projections"]
                    assert change == {"view": {"seq": seq, "value": text}}

    run(scenario())


@each_transport
def test_a_deletion_ends_the_stream_and_an_unknown_session_is_refused(
    tmp_path: Path, transport: Transport
) -> None:
    async def scenario() -> None:
        async with program(tmp_path) as served:
            await served.create()
            async with aclosing(transport.responses(served.stage, asked())) as responses:
                await anext(responses)
                await served.writing.delete("s")
                assert [each async for each in responses] == []
            async with aclosing(transport.responses(served.stage, asked("nobody"))) as responses:
                (refusal,) = [each async for each in responses]
            (error,) = refusal["errors"]
            assert error["extensions"]["code"] == "SESSION_QUERY_SESSION_NOT_FOUND"

    run(scenario())


@each_transport
def test_the_end_of_the_server_ends_the_stream_and_does_not_complete_it(
    tmp_path: Path, transport: Transport
) -> None:
    async def scenario() -> None:
        async def follow(stage: Stage, begun: asyncio.Event) -> None:
            async with aclosing(transport.responses(stage, asked())) as responses:
                async for response in responses:
                    assert "errors" not in response
                    begun.set()

        async with program(tmp_path) as served:
            await served.create()
            begun = asyncio.Event()
            following = asyncio.create_task(follow(served.stage, begun))
            await begun.wait()
        with pytest.raises((EOFError, ConnectionClosed)):
            await following

    run(scenario())


def test_a_change_is_executed_once_for_all_who_ask_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executed: list[str] = []
    plain = Execution.frame

    async def counted(self: Execution, event: object) -> Any:
        executed.append(type(event).__name__)
        return await plain(self, event)

    monkeypatch.setattr(Execution, "frame", counted)

    async def scenario() -> None:
        async with program(tmp_path) as served:
            await served.create()
            async with greeted(served.stage) as socket:
                alike = [f"a{number}" for number in range(8)]
                for name in alike:
                    await subscribe(socket, name, QUERY, id="s", keys=["title"])
                    await heard(socket)
                await subscribe(socket, "other", QUERY, id="s", keys=["title", "todos"])
                await heard(socket)
                executed.clear()
                for text in ("one", "two"):
                    await served.append(title(text))
                    told = [await heard(socket) for _ in range(len(alike) + 1)]
                    assert {each["id"] for each in told} == {*alike, "other"}
                    values = {
                        each["payload"]["data"]["projections"]["view"]["value"] for each in told
                    }
                    assert values == {text}
                assert executed == ["Change"] * 4

    run(scenario())


@pytest.mark.parametrize(
    "query",
    [QUERY, "subscription ($id: ID!) { sessionEvents(sessionId: $id) { seq } }"],
    ids=["projections", "sessionEvents"],
)
def test_those_who_are_served_together_are_told_the_end_however_close_it_is_to_the_last_event(
    tmp_path: Path, query: str
) -> None:
    """With as many as this, a broadcast waits a moment for more before it looks."""

    async def scenario() -> None:
        async with program(tmp_path) as served, greeted(served.stage) as socket:
            for turn in range(6):
                name = f"s{turn}"
                await served.create(name)
                await served.append(title("first"), to=name)
                alike = [f"{turn} {number}" for number in range(40)]
                for each in alike:
                    await subscribe(socket, each, query, id=name)
                    await heard(socket)
                await served.append(title("second"), to=name)
                for _ in alike:
                    await heard(socket)
                appending = asyncio.ensure_future(served.append(title("last"), to=name))
                await asyncio.sleep(0)
                await served.writing.delete(name)
                await asyncio.gather(appending, return_exceptions=True)
                told: dict[str, list[str]] = {each: [] for each in alike}
                while not all(each[-1:] == ["complete"] for each in told.values()):
                    message = await heard(socket)
                    told[message["id"]].append(message["type"])

    run(scenario())


def test_a_client_that_does_not_read_gets_the_latest_value_of_each_key_and_holds_up_nobody(
    tmp_path: Path,
) -> None:
    count, long = 1500, "x" * 20_000

    async def scenario() -> None:
        async with program(tmp_path) as served:
            await served.create()
            async with greeted(served.stage) as slow, greeted(served.stage) as quick:
                for socket in (slow, quick):
                    await subscribe(socket, "1", QUERY, id="s", keys=["title", "todos"])
                    await heard(socket)
                slow.transport.pause_reading()
                item = {"content": "only once", "status": "pending"}
                await served.append(NewEvent.of("todo/write", {"todos": [item]}))
                await heard(quick)
                for number in range(0, count, 50):
                    await served.append(*(title(f"{n} {long}") for n in range(number, number + 50)))
                    for _ in range(50):
                        await heard(quick)
                slow.transport.resume_reading()
                seen = [await view_of(slow)]
                while not str(seen[-1]["value"]).startswith(f"{count - 1} "):
                    seen.append(await view_of(slow))
                seqs = [view["seq"] for view in seen]
                assert seqs == sorted(set(seqs))
                assert len(seen) < count
                assert [item] in [view["value"] for view in seen]

    run(scenario())


async def view_of(socket: Any) -> dict[str, Any]:
    message = await heard(socket)
    view: dict[str, Any] = message["payload"]["data"]["projections"]["view"]
    return view


def test_many_subscribers_of_several_sessions_each_get_every_change_of_theirs(
    tmp_path: Path,
) -> None:
    sessions, each, changes = 10, 5, 30

    async def scenario() -> None:
        async with program(tmp_path) as served, greeted(served.stage) as socket:
            for number in range(sessions):
                await served.create(f"s{number}")
                for place in range(each):
                    name = f"s{number} {place}"
                    await subscribe(socket, name, QUERY, id=f"s{number}", keys=["title"])
                    await heard(socket)

            async def write(session_id: str) -> None:
                for number in range(changes):
                    await served.append(title(f"{session_id} {number}"), to=session_id)

            writing = asyncio.gather(*(write(f"s{number}") for number in range(sessions)))
            told: dict[str, list[str]] = {}
            for _ in range(sessions * each * changes):
                message = await heard(socket)
                view = message["payload"]["data"]["projections"]["view"]
                told.setdefault(message["id"], []).append(view["value"])
            await writing
            assert len(told) == sessions * each
            for name, values in told.items():
                assert values == [f"{name.split()[0]} {number}" for number in range(changes)]

    run(scenario())


def test_each_frame_has_a_context_of_its_own_that_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[RequestContext] = []
    ended: list[RequestContext] = []
    begin, end = RequestContext.__init__, RequestContext.aclose

    def beginning(self: RequestContext, services: Any) -> None:
        begun.append(self)
        begin(self, services)

    async def ending(self: RequestContext) -> None:
        ended.append(self)
        await end(self)

    async def scenario() -> None:
        async with program(tmp_path) as served:
            await served.create()
            async with greeted(served.stage) as socket:
                await subscribe(socket, "1", QUERY, id="s", keys=["title"])
                await heard(socket)
                monkeypatch.setattr(RequestContext, "__init__", beginning)
                monkeypatch.setattr(RequestContext, "aclose", ending)
                await served.append(*(title(f"{number}") for number in range(3)))
                for _ in range(3):
                    await heard(socket)
                assert len(begun) == 3
                assert begun == ended

    run(scenario())
