"""Guessing ids across a prefix: what is elsewhere answers as what is not there, on every way in.

Operations are prepared as the transports prepare them, with the grant of a token.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any, Final

import pytest

from schema.operation import one_observation
from schema.planned_lists import PlannedLists
from schema.served import build_schema
from server.documents import Documents
from server.graphql_request import GraphQLRequest
from server.limits import DocumentLimits
from server.operations import Operations
from server.refusals import OperationFailed
from sessiongraph.access import EVERYTHING, Grant, Scope
from sessiongraph.errors import Forbidden
from sessiongraph.header import SessionSource, SourceKind
from tests.contracts.log_stage import publish
from tests.schema.asking import Asked
from tests.schema.living import Server, eventually, in_server
from tests.strategies import header, prompt, user_message

ANN: Final = Grant(Scope.ADMIN, ("/home/ann",))
BOB: Final = Grant(Scope.ADMIN, ("/home/bob",))

READS: Final = {
    "session": "session(id: $id) { id lineage { complete } }",
    "observed": """observeSessions(ids: [$id]) { ... on SessionRecord { id }
        ... on ObservationFailure { sessionId code message } }""",
    "listed": "sessions(filters: [{id: [$id]}]) { nodes { id } pageInfo { hasNextPage } }",
    "children": "sessions(filters: [{parent: [$id]}]) { nodes { id } }",
    "search": 'searchEvents(sessionId: $id, query: "words") { nodes { seq } }',
    "found": """searchSessions(query: "words", sessionFilters: [{id: [$id]}]) {
        nodes { session { id } } }""",
    "candidates": "referenceCandidates(sessionId: $id) { sessionId }",
    "named": 'referenceCandidates(sessionId: "ann-one", query: $id) { sessionId }',
    "prepared": 'prepareMessage(sessionId: $id, text: "hello") { text }',
    "cited": """prepareMessage(sessionId: "ann-one", text: "hello",
        references: [{sessionId: $id}]) { text }""",
}
WRITES: Final = {
    "append": """appendEvents(input: {sessionId: $id, events: [{type: "x", data: {}}]}) {
        session { id } }""",
    "post": 'postMessage(input: {sessionId: $id, text: "x"}) { session { id } }',
    "cite": """postMessage(input: {sessionId: "ann-one", text: "x",
        references: [{sessionId: $id}]}) { session { id } }""",
    "fork": "forkSession(input: {sourceId: $id}) { session { id } }",
    "rename": 'renameSession(id: $id, title: "x") { session { id } }',
    "flush": "flushSession(id: $id) { session { id } }",
    "resume": "resumeSession(id: $id) { session { id } }",
    "close": "closeSession(id: $id) { session { id } }",
    "delete": "deleteSession(id: $id) { deletedId }",
}
FOLLOWS: Final = {
    "events": "sessionEvents(sessionId: $id) { seq }",
    "views": "projections(sessionId: $id) { ... on ProjectionSnapshot { asOfSeq } }",
}
OPERATIONS: Final = {
    **{name: f"query($id: ID!) {{ {field} }}" for name, field in READS.items()},
    **{name: f"mutation($id: ID!) {{ {field} }}" for name, field in WRITES.items()},
    **{name: f"subscription($id: ID!) {{ {field} }}" for name, field in FOLLOWS.items()},
}
OPERATIONS["named"] = OPERATIONS["named"].replace("$id: ID!", "$id: String!")
CHANGES: Final = "subscription { corpus { kind sessionId cursor } }"


def operations_of(server: Server) -> Operations:
    documents = Documents(DocumentLimits(tokens=2000, depth=20, aliases=20))
    schema = build_schema(PlannedLists)
    return Operations(schema, server.services, documents, context=one_observation)


async def asked(operations: Operations, grant: Grant, document: str, **variables: Any) -> Any:
    """The first response, or the errors instead of one."""
    try:
        operation = await operations.prepare(GraphQLRequest(document, variables), grant)
        async with aclosing(operation.frames()) as frames:
            return json.loads(await anext(frames))
    except (OperationFailed, Forbidden) as refusal:
        failed = OperationFailed.of(refusal)
        return {"errors": [error.formatted for error in failed.errors]}


class FollowedList:
    """The followed list of sessions, as somebody is told of it; it waits from the beginning."""

    def __init__(self, frames: AsyncGenerator[bytes, None]) -> None:
        self._frames = frames
        self._coming = asyncio.ensure_future(anext(frames))

    async def next(self) -> dict[str, Any]:
        """The next change."""
        frame = await self._coming
        self._coming = asyncio.ensure_future(anext(self._frames))
        change: dict[str, Any] = json.loads(frame)["data"]["corpus"]
        return change

    async def leave(self) -> None:
        self._coming.cancel()
        await asyncio.wait({self._coming})
        await self._frames.aclose()


@asynccontextmanager
async def followed(
    operations: Operations, grant: Grant, document: str = CHANGES
) -> AsyncIterator[FollowedList]:
    """Follow while the block lasts; what happens in it is told."""
    changes = FollowedList((await operations.prepare(GraphQLRequest(document), grant)).frames())
    for _ in range(50):
        await asyncio.sleep(0)
    try:
        yield changes
    finally:
        await changes.leave()


async def settle(server: Server) -> None:
    """One session of each, with words in them."""
    for session_id, cwd in (("ann-one", "/home/ann/work"), ("bob-one", "/home/bob")):
        await server.create(session_id, cwd=cwd)
        await server.append(session_id, "words of mine")
    await server.create("bob-two", cwd="/home/anna")
    await server.append("bob-two", "more words")


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_guessed_id_is_answered_as_one_that_is_not_there(name: str, tmp_path: Any) -> None:
    @in_server(search=True)
    async def check(server: Server) -> None:
        await settle(server)
        operations = operations_of(server)
        told = []
        for session_id in ("nobody1", "bob-one", "bob-two"):
            answer = await asked(operations, ANN, OPERATIONS[name], id=session_id)
            told.append(json.dumps(answer).replace(session_id, "ID"))
        assert told == told[:1] * 3
        # And it is there for whoever may see it, or the guess would prove nothing.
        seen = await asked(operations, BOB, OPERATIONS[name], id="bob-one")
        assert json.dumps(seen).replace("bob-one", "ID") != told[0] or name in (
            "children",  # there are none
            "delete",  # says the same of everything
        )

    check(tmp_path=tmp_path)


@in_server()
async def test_frames_are_shared_by_those_alone_who_see_the_same(server: Server) -> None:
    operations = operations_of(server)
    grants = (EVERYTHING, ANN, replace(ANN, cwd_prefixes=("/home/x/../ann/",)), BOB)
    told: list[list[str]] = []
    async with AsyncExitStack() as following:
        lists = [
            await following.enter_async_context(followed(operations, grant)) for grant in grants
        ]
        await server.create("bob-one", cwd="/home/bob")
        await server.create("nowhere")
        await server.create("ann-one", cwd="/home/ann")
        for changes in lists:
            ids = [(await changes.next())["sessionId"]]
            while ids[-1] != "ann-one" and "bob-one" not in ids:
                ids.append((await changes.next())["sessionId"])
            told.append(ids)
    assert told == [["bob-one"], ["ann-one"], ["ann-one"], ["bob-one"]]


@in_server(search=True)
async def test_a_search_goes_on_when_something_elsewhere_is_deleted(server: Server) -> None:
    for name in ("one", "two", "three"):
        await server.create(f"ann-{name}", cwd="/home/ann")
        await server.append(f"ann-{name}", "words")
    await server.create("bob-one", cwd="/home/bob")
    await server.append("bob-one", "words")
    operations = operations_of(server)
    document = """query($after: Cursor) { searchSessions(query: "words", first: 1, after: $after) {
        nodes { session { id } } pageInfo { endCursor } } }"""
    for gone, goes_on in (("bob-one", True), ("ann-one", False)):
        first = await asked(operations, ANN, document)
        theirs = await asked(operations, EVERYTHING, document)
        await server.ask(f'mutation {{ deleteSession(id: "{gone}") {{ deletedId }} }}')

        async def ended(theirs: Any = theirs) -> bool:
            cursor = theirs["data"]["searchSessions"]["pageInfo"]["endCursor"]
            answer = await asked(operations, EVERYTHING, document, after=cursor)
            return "errors" in answer

        await eventually(ended)
        cursor = first["data"]["searchSessions"]["pageInfo"]["endCursor"]
        again = await asked(operations, ANN, document, after=cursor)
        assert ("errors" not in again) is goes_on


@in_server()
async def test_a_session_is_made_inside_of_the_prefixes_or_not_at_all(server: Server) -> None:
    operations = operations_of(server)
    create = """mutation($input: CreateSessionInput!) {
        createSession(input: $input) { session { id } } }"""
    for cwd in (None, "/home/anna", "/home/ann/..", "home/ann", "/"):
        answer = await asked(operations, ANN, create, input={"id": "new", "cwd": cwd})
        (error,) = answer["errors"]
        assert error["extensions"]["code"] == "FORBIDDEN"
    assert (await server.session("new")) is None
    answer = await asked(operations, ANN, create, input={"id": "new", "cwd": "/home/ann/./x"})
    assert "errors" not in answer


@in_server()
async def test_imports_are_not_for_those_who_are_confined(server: Server) -> None:
    operations = operations_of(server)
    begin = 'mutation { importRecordings(input: {paths: ["/nowhere"]}) { id } }'
    follow = 'subscription { importProgress(id: "1") { done } }'
    for document in (begin, follow):
        answer = await asked(operations, ANN, document)
        (error,) = answer["errors"]
        assert error["extensions"]["code"] == "FORBIDDEN"


@pytest.mark.parametrize("name", ["session", "observed", "candidates", "prepared", "cited"])
def test_looking_for_what_is_elsewhere_takes_as_many_steps_as_for_what_is_not_there(
    name: str,
) -> None:
    server = Asked()
    server.add("ann-one", [prompt(0, "words")], cwd="/home/ann")
    server.add("bob-one", [prompt(0, "words")], cwd="/home/bob", parent_session="ann-one")
    server.services = replace(server.services, grant=ANN)
    steps = []
    for session_id in ("nobody1", "bob-one"):
        server.store.calls = Counter()
        server.ask(OPERATIONS[name], id=session_id)
        steps.append(server.store.calls)
    assert steps[0] == steps[1]
    assert steps[0]


@in_server()
async def test_a_log_that_is_read_anew_elsewhere_is_gone_and_the_other_way_round(
    server: Server,
) -> None:
    """What came from elsewhere was imported; what went there was deleted."""
    told = []
    async with followed(operations_of(server), ANN) as changes:
        for cwd, is_told in (
            ("/home/bob", False),
            ("/home/ann", True),
            ("/home/ann/x", True),
            ("/home/bob", True),
            ("/home/bob/x", False),
        ):
            await publish(server.store, header("a", cwd=cwd), [prompt(0, "words")])
            if is_told:
                told.append((await changes.next())["kind"])
        await server.create("the last", cwd="/home/ann")
        assert (await changes.next())["sessionId"] == "the last"
    assert told == ["IMPORTED", "REPLACED", "DELETED"]


@in_server()
async def test_what_was_told_of_an_earlier_life_elsewhere_is_not_told_again(
    server: Server,
) -> None:
    operations = operations_of(server)
    async with followed(operations, ANN) as changes:
        await server.create("first", cwd="/home/ann")
        cursor = (await changes.next())["cursor"]
    await server.create("moving", cwd="/home/bob")
    await server.append("moving", "hidden words")
    await server.ask('mutation { deleteSession(id: "moving") { deletedId } }')
    await server.create("moving", cwd="/home/ann")
    again = CHANGES.replace("corpus", f'corpus(after: "{cursor}")', 1)
    await server.create("last", cwd="/home/ann")
    told = []
    async with followed(operations, ANN, again) as changes:
        while (change := await changes.next())["sessionId"] != "last":
            if change["sessionId"] == "moving":
                told.append(change["kind"])
    assert told.count("CREATED") == 1


@in_server()
async def test_a_repeated_call_does_not_say_whether_the_parent_was_guessed(server: Server) -> None:
    operations = operations_of(server)
    for session_id, cwd, parent in (
        ("bob-one", "/home/bob", None),
        ("ann-child", "/home/ann", "bob-one"),
    ):
        await server.store.create(header(session_id, cwd=cwd, parent_session=parent))
    document = """mutation ($parent: ID!) { createSession(input: {id: "ann-child",
        cwd: "/home/ann", createdAt: 1, parentSession: $parent}) { session { id } } }"""
    told = []
    for guess in ("bob-one", "nobody1"):
        answer = await asked(operations, ANN, document, parent=guess)
        told.append(json.dumps(answer).replace(guess, "ID"))
    assert told[0] == told[1]
    assert "SESSION_NOT_FOUND" in told[0]


HEADERS: Final = """{ sessions { nodes { id header { parentSession source { path notes } }
    lineage { complete ancestors { id }
        ... on PartialLineage { unresolvedParentId }
        ... on CompleteLineage { root { id } }
        descendants { totalCount nodes { session { id } parentId } } } } } }"""


@in_server()
async def test_a_parent_that_is_not_seen_is_marked_and_not_named(server: Server) -> None:
    """Be it elsewhere or nowhere; neither is the file, whose name would name it too."""
    source = SessionSource(SourceKind.CLAUDE_CODE, "/r/bob-one/a.jsonl", 1, ("In /r/bob-one.", "!"))
    for session_id, cwd, parent in (
        ("ann-root", "/home/ann", None),
        ("ann-child", "/home/ann", "ann-root"),
        ("bob-one", "/home/bob", "ann-root"),
        ("below-bob", "/home/ann/x", "bob-one"),
        ("below-that", "/home/ann/x", "below-bob"),
        ("of-nobody", "/home/ann", "nobody"),
    ):
        made = header(session_id, cwd=cwd, parent_session=parent, source=source)
        await server.store.create(made)
    answer = await asked(operations_of(server), ANN, HEADERS)
    assert "bob" not in json.dumps(answer).replace("below-bob", "")
    nodes = {each["id"]: each for each in answer["data"]["sessions"]["nodes"]}
    assert {each: node["header"]["parentSession"] for each, node in nodes.items()} == {
        "ann-root": None,
        "ann-child": "ann-root",
        "below-bob": "",
        "below-that": "below-bob",
        "of-nobody": "",
    }
    assert all(
        node["header"]["source"] == {"path": None, "notes": ["!"]} for node in nodes.values()
    )
    lineages = {each: node["lineage"] for each, node in nodes.items()}
    assert lineages["ann-root"]["descendants"] == {
        "totalCount": 1,
        "nodes": [{"session": {"id": "ann-child"}, "parentId": "ann-root"}],
    }
    assert lineages["of-nobody"]["unresolvedParentId"] == ""
    assert lineages["below-that"]["unresolvedParentId"] == ""
    assert lineages["below-that"]["ancestors"] == [{"id": "below-bob"}]
    assert lineages["ann-child"]["root"] == {"id": "ann-root"}


@pytest.mark.parametrize("elsewhere", ["alpha", "beta"])
def test_what_is_said_elsewhere_has_no_say_in_the_order_of_hits(
    elsewhere: str, tmp_path: Any
) -> None:
    """Or whoever can write could find out, word by word, what is said there."""

    @in_server(search=True)
    async def check(server: Server) -> None:
        for session_id, text, time in (("ann-a", "alpha", 2000), ("ann-b", "beta", 1000)):
            await server.create(session_id, cwd="/home/ann")
            said = {"type": "user/message", "data": user_message(text), "time": time}
            await server.append(session_id, said)
        await server.create("bob-one", cwd="/home/bob")
        await server.append("bob-one", *[elsewhere] * 30)
        operations = operations_of(server)
        document = """{ searchSessions(query: "alpha beta", match: ANY) {
            nodes { session { id } } } }"""
        # Words are weighed by what the index has on disk.
        async with server.store.observe() as reader:
            position = reader.position

        async def is_on_disk() -> bool:
            assert server.index is not None
            watermark = server.index.watermark
            return watermark is not None and watermark.position >= position

        await asked(operations, ANN, document)
        await eventually(is_on_disk)
        answer = await asked(operations, ANN, document)
        found = [each["session"]["id"] for each in answer["data"]["searchSessions"]["nodes"]]
        assert found == ["ann-a", "ann-b"]
        whole = await asked(operations, EVERYTHING, document)
        assert len(whole["data"]["searchSessions"]["nodes"]) == 3

    check(tmp_path=tmp_path)
