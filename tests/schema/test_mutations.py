"""Mutations: what each does, how it refuses, and that a lost answer can be asked for again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from resolvers.context import RequestContext
from sessiongraph.live_tail import TailedLog
from sessiongraph.query import Observation
from tests.providers.recordings import dsh_writing as dsh
from tests.schema.living import (
    BEGINNING,
    Server,
    eventually,
    in_server,
    log_only,
    prompt,
    server_over,
    turn,
)

CREATE = """mutation($input: CreateSessionInput!) { createSession(input: $input) {
    session { id live persisted lastSeq header { version createdAt cwd parentSession origin
        delegationDepth agentPreset seedLength source { kind path } } } } }"""
RESUME = "mutation($id: ID!) { resumeSession(id: $id) { session { id live lastSeq } } }"
RENAME = """mutation($id: ID!, $title: String!) { renameSession(id: $id, title: $title) {
    session { title live lastSeq } } }"""
FLUSH = "mutation($id: ID!) { flushSession(id: $id) { session { live persisted lastSeq } } }"
CLOSE = "mutation($id: ID!) { closeSession(id: $id) { session { live persisted lastSeq } } }"
DELETE = "mutation($id: ID!) { deleteSession(id: $id) { deletedId } }"

IMPORTED_LOG = [
    dsh.header_row(id="old", cwd="/work"),
    dsh.row(0, "turn/start", {"turn": 1}),
    dsh.row(1, "user/message", prompt("from a file")["data"], surfaceOp="append"),
    dsh.row(2, "tool/call", {"turn": 1, "step": 1, "callId": "c", "name": "x", "arguments": ""}),
]


def recorded(path: Path, rows: list[Any] = IMPORTED_LOG) -> Path:
    """A recorder's file; its last turn is open."""
    folder = path / "recorded"
    folder.mkdir(exist_ok=True)
    return dsh.write(folder / "session.jsonl", rows)


# Creating


@in_server()
async def test_a_session_is_made_with_the_header_that_was_asked_for(server: Server) -> None:
    asked = {
        "id": "s",
        "version": 3,
        "cwd": "/work",
        "createdAt": 1234,
        "parentSession": "nobody",
        "origin": "subagent",
        "delegationDepth": 2,
        "agentPreset": "careful",
    }
    made = (await server.ask(CREATE, input=asked)).data["createSession"]["session"]
    assert made.pop("header") == {
        "version": 3,
        "createdAt": 1234,
        "cwd": "/work",
        "parentSession": "nobody",
        "origin": "subagent",
        "delegationDepth": 2,
        "agentPreset": "careful",
        "seedLength": None,
        "source": {"kind": "API", "path": None},
    }
    assert made == {"id": "s", "live": True, "persisted": True, "lastSeq": -1}


@in_server()
async def test_what_is_left_out_or_null_has_its_default(server: Server) -> None:
    for given in ({}, {"version": None, "delegationDepth": None, "durability": None, "id": None}):
        made = (await server.ask(CREATE, input=given)).data["createSession"]["session"]
        header = made["header"]
        assert made["id"]
        assert (made["live"], made["persisted"]) == (True, True)
        assert (header["version"], header["delegationDepth"], header["cwd"]) == (4, 0, None)
        assert header["createdAt"] >= BEGINNING


@in_server()
async def test_an_accepted_session_is_live_at_once_and_persisted_soon(server: Server) -> None:
    asked = {"id": "s", "durability": "ACCEPTED"}
    made = (await server.ask(CREATE, input=asked)).data["createSession"]["session"]
    assert (made["live"], made["persisted"]) == (True, False)

    async def persisted() -> bool:
        return bool((await server.session("s"))["persisted"])

    await eventually(persisted)


@in_server()
async def test_the_same_creation_again_finds_the_session(server: Server) -> None:
    first = await server.ask(CREATE, input={"id": "s", "cwd": "/a"})
    assert (await server.ask(CREATE, input={"id": "s", "cwd": "/a"})).data == first.data


@pytest.mark.parametrize("changed", [{"cwd": "/b"}, {"version": 3}, {"origin": "subagent"}])
@in_server()
async def test_a_taken_id_is_a_conflict(server: Server, changed: dict[str, Any]) -> None:
    await server.create("s", cwd="/a")
    answer = await server.ask(CREATE, input={"id": "s", "cwd": "/a", **changed})
    assert answer.body["data"] == {"createSession": None}
    assert answer.codes == ["SESSION_LOG_CONFLICT"]


@in_server()
async def test_a_session_that_has_events_is_not_made_again(server: Server) -> None:
    await server.create("s")
    await server.append("s", "hello")
    assert (await server.ask(CREATE, input={"id": "s"})).codes == ["SESSION_LOG_CONFLICT"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"id": ""}, "empty"),
        ({"version": 5}, "0 to 4"),
        ({"version": -1}, "0 to 4"),
        ({"delegationDepth": -1}, "negative"),
        ({"id": "\ud800"}, "input.id: lone surrogates"),
        ({"cwd": "/\udfff"}, "input.cwd: lone surrogates"),
        ({"durability": "MAYBE"}, "MAYBE"),
        ({"createdAt": 2**53}, "2^53"),
        ({"createdAt": 1.5}, "1.5"),
        ({"colour": "red"}, "colour"),
    ],
)
@in_server()
async def test_a_header_that_makes_no_sense_is_bad_input(
    server: Server, given: dict[str, Any], said: str
) -> None:
    answer = await server.ask(CREATE, input=given)
    assert answer.codes == ["BAD_USER_INPUT"]
    assert said in answer.errors[0]["message"]


# Appending


@in_server()
async def test_events_are_appended_and_read_back_with_their_places(server: Server) -> None:
    await server.create("s")
    replacing = {
        **prompt("one and two"),
        "surfaceOp": {"replace": {"start": 0, "end": 1}},
        "sourceEventSeqs": [0, 1],
    }
    (await server.append("s", "one", "two")).data  # noqa: B018
    answer = await server.append("s", replacing, log_only("custom/thing", a=1))
    appended = answer.data["appendEvents"]
    assert appended["session"]["lastSeq"] == 3
    assert [(each["seq"], each["surface"]) for each in appended["events"]] == [
        (2, "CURRENT"),
        (3, "LOG_ONLY"),
    ]
    nodes = (await server.session("s"))["events"]["nodes"]
    assert [each["surface"] for each in nodes] == ["SHADOWED", "SHADOWED", "CURRENT", "LOG_ONLY"]


@in_server()
async def test_every_member_of_an_event_is_kept(server: Server) -> None:
    await server.create("s")
    given = {
        "type": "assistant/message",
        "data": {"b": 1, "a": [1.5, None, True, "超时"]},
        "time": 77,
        "surfaceOp": {"append": True},
        "sourceEventSeqs": [],
        "ignorable": True,
    }
    document = """mutation($input: AppendEventsInput!) { appendEvents(input: $input) { events {
        __typename type time data ignorable sourceEventSeqs replacedBy surfaceOp { op start end }
    } } }"""
    answer = await server.ask(document, input={"sessionId": "s", "events": [given]})
    (event,) = answer.data["appendEvents"]["events"]
    assert event == {
        "__typename": "GenericEvent",
        "type": "assistant/message",
        "time": 77,
        "data": given["data"],
        "ignorable": True,
        "sourceEventSeqs": [],
        "replacedBy": None,
        "surfaceOp": {"op": "APPEND", "start": None, "end": None},
    }
    assert list(event["data"]) == ["b", "a"]


@in_server(write_delay_ms=60_000)
async def test_accepted_events_are_shown_at_once_and_persisted_after_a_flush(
    server: Server,
) -> None:
    await server.create("s", durability="ACCEPTED")
    answer = await server.append("s", "one", durability="ACCEPTED")
    appended = answer.data["appendEvents"]
    assert appended["session"] == {
        "id": "s",
        "live": True,
        "persisted": False,
        "lastSeq": 0,
        "title": None,
    }
    assert [each["surface"] for each in appended["events"]] == ["CURRENT"]
    flushed = (await server.ask(FLUSH, id="s")).data["flushSession"]["session"]
    assert flushed == {"live": True, "persisted": True, "lastSeq": 0}


@in_server()
async def test_a_batch_with_one_bad_event_appends_nothing(server: Server) -> None:
    await server.create("s")
    bad = {**prompt("x"), "sourceEventSeqs": [7]}
    answer = await server.append("s", "one", bad, "three")
    assert answer.body["data"] == {"appendEvents": None}
    assert answer.codes == ["SESSION_LOG_INVALID_EVENT"]
    assert "cites 7" in answer.errors[0]["message"]
    assert (await server.session("s"))["lastSeq"] == -1
    again = await server.append("s", "one", expectedSeq=0)
    assert again.data["appendEvents"]["session"]["lastSeq"] == 0


@pytest.mark.parametrize("durability", ["DURABLE", "ACCEPTED"])
@in_server()
async def test_the_same_append_again_answers_as_the_first_time(
    server: Server, durability: str
) -> None:
    await server.create("s")
    asked: dict[str, Any] = {"expectedSeq": 0, "durability": durability}
    first = await server.append("s", "one", "two", **asked)
    again = await server.append("s", "one", "two", **asked)
    assert again.data["appendEvents"]["events"] == first.data["appendEvents"]["events"]
    (await server.append("s", "three")).data  # noqa: B018
    late = (await server.append("s", "one", "two", **asked)).data["appendEvents"]
    assert late["events"] == first.data["appendEvents"]["events"]
    assert late["session"]["lastSeq"] == 2


@pytest.mark.parametrize(
    ("texts", "expected"),
    [(["other"], 0), (["one", "two", "three"], 0), (["two"], 5), (["one"], -1), (["one"], 1)],
)
@in_server()
async def test_another_append_at_a_wrong_place_is_a_conflict(
    server: Server, texts: list[str], expected: int
) -> None:
    await server.create("s")
    await server.append("s", "one", "two")
    answer = await server.append("s", *texts, expectedSeq=expected)
    assert answer.codes == ["SESSION_LOG_CONFLICT"]
    assert answer.errors[0]["extensions"]["retriable"] is False
    assert (await server.session("s"))["lastSeq"] == 1


@in_server()
async def test_appending_nothing_is_bad_input(server: Server) -> None:
    await server.create("s")
    assert (await server.append("s")).codes == ["BAD_USER_INPUT"]


@in_server()
async def test_appending_to_a_session_that_is_not_there_or_cold_says_which(
    server: Server,
) -> None:
    await server.create("cold")
    await server.ask(CLOSE, id="cold")
    assert (await server.append("cold", "x")).codes == ["SESSION_LOG_NOT_LIVE"]
    assert (await server.append("gone", "x")).codes == ["SESSION_QUERY_SESSION_NOT_FOUND"]


@in_server()
async def test_what_nobody_asks_for_is_not_read_back(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await server.create("s")
    asked = []
    read_events = TailedLog.events

    async def watched(log: TailedLog, *arguments: Any) -> Any:
        asked.append(arguments)
        return await read_events(log, *arguments)

    monkeypatch.setattr(TailedLog, "events", watched)
    document = """mutation($input: AppendEventsInput!) {
        appendEvents(input: $input) { session { lastSeq } } }"""
    answer = await server.ask(document, input={"sessionId": "s", "events": [prompt("x")]})
    assert answer.data == {"appendEvents": {"session": {"lastSeq": 0}}}
    assert asked == []
    await server.append("s", "y")
    assert len(asked) == 1


@in_server()
async def test_more_events_than_a_page_holds_are_all_read_back(server: Server) -> None:
    await server.create("s")
    answer = await server.append("s", *(f"prompt {number}" for number in range(450)))
    assert [each["seq"] for each in answer.data["appendEvents"]["events"]] == list(range(450))


@in_server()
async def test_a_failing_disk_is_told_and_the_same_append_works_when_it_is_back(
    server: Server,
) -> None:
    await server.create("s")
    server.store.refuses = True
    failed = await server.append("s", "one", expectedSeq=0)
    assert failed.codes == ["SESSION_QUERY_PERSISTENCE_FAILED"]
    assert failed.errors[0]["extensions"]["retriable"] is True
    assert (await server.session("s"))["lastSeq"] == -1
    server.store.refuses = False
    again = await server.append("s", "one", expectedSeq=0)
    assert again.data["appendEvents"]["session"]["lastSeq"] == 0


# Cancelled, graphql-core leaves coroutines of fields behind that it had not begun to await.
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@in_server()
async def test_an_append_whose_client_leaves_is_in_the_log_all_the_same(server: Server) -> None:
    await server.create("s")
    leaving = asyncio.create_task(server.append("s", "one", expectedSeq=0))
    await asyncio.sleep(0)
    while not leaving.done() and (await server.session("s"))["lastSeq"] < 0:
        leaving.cancel()
        await asyncio.sleep(0)
    again = await server.append("s", "one", expectedSeq=0)
    assert again.data["appendEvents"]["session"]["lastSeq"] == 0


# Several in one document


@in_server()
async def test_mutations_of_one_document_run_in_order_and_each_sees_those_before_it(
    server: Server,
) -> None:
    event = """{type: "user/message", data: {id: "m", role: "user", source: {kind: "user"},
        content: [{type: "text", text: "hi"}]}}"""
    document = f"""mutation {{
        made: createSession(input: {{id: "s"}}) {{ session {{ lastSeq title }} }}
        one: appendEvents(input: {{sessionId: "s", events: [{event}, {event}]}}) {{
            session {{ lastSeq events {{ nodes {{ seq }} }} }} events {{ seq }} }}
        named: renameSession(id: "s", title: "A title") {{ session {{ lastSeq title }} }}
        two: appendEvents(input: {{sessionId: "s", events: [{event}], expectedSeq: 3}}) {{
            session {{ lastSeq title }} events {{ seq }} }}
        cold: closeSession(id: "s") {{ session {{ live lastSeq }} }}
        gone: deleteSession(id: "s") {{ deletedId }}
    }}"""
    assert (await server.ask(document)).data == {
        "made": {"session": {"lastSeq": -1, "title": None}},
        "one": {
            "session": {"lastSeq": 1, "events": {"nodes": [{"seq": 0}, {"seq": 1}]}},
            "events": [{"seq": 0}, {"seq": 1}],
        },
        "named": {"session": {"lastSeq": 2, "title": "A title"}},
        "two": {"session": {"lastSeq": 3, "title": "A title"}, "events": [{"seq": 3}]},
        "cold": {"session": {"live": False, "lastSeq": 3}},
        "gone": {"deletedId": "s"},
    }


@in_server()
async def test_a_mutation_that_fails_leaves_the_others_alone(server: Server) -> None:
    answer = await server.ask(
        """mutation { a: createSession(input: {id: "a"}) { session { id } }
            b: closeSession(id: "nobody") { session { id } }
            c: createSession(input: {id: "c"}) { session { id } } }"""
    )
    assert answer.body["data"] == {
        "a": {"session": {"id": "a"}},
        "b": None,
        "c": {"session": {"id": "c"}},
    }
    assert answer.codes == ["SESSION_QUERY_SESSION_NOT_FOUND"]
    assert answer.errors[0]["path"] == ["b"]


@in_server()
async def test_no_observation_is_held_while_a_mutation_waits_for_the_disk(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await server.create("s")
    observations, held = Counter[str](), []
    observe, append = server.store.observe, server.store.append

    @asynccontextmanager
    async def watched() -> AsyncIterator[Any]:
        async with observe() as reader:
            observations["open"] += 1
            yield reader
            observations["open"] -= 1

    async def watching(*arguments: Any) -> Any:
        held.append(observations["open"])
        return await append(*arguments)

    monkeypatch.setattr(server.store, "observe", watched)
    monkeypatch.setattr(server.store, "append", watching)
    event = '{type: "custom/x", data: {}}'
    fields = "".join(
        f'{name}: appendEvents(input: {{sessionId: "s", events: [{event}]}})'
        " { session { lastSeq } } "
        for name in "abc"
    )
    answer = await server.ask(f"mutation {{ {fields} }}")
    assert answer.data["c"] == {"session": {"lastSeq": 2}}
    assert (held, observations["open"]) == ([0, 0, 0], 0)


# Resuming and closing


@in_server()
async def test_a_closed_session_is_cold_and_resumed_it_is_live_again(server: Server) -> None:
    await server.create("s")
    await server.append("s", "one")
    closed = (await server.ask(CLOSE, id="s")).data["closeSession"]["session"]
    assert closed == {"live": False, "persisted": True, "lastSeq": 0}
    assert (await server.ask(CLOSE, id="s")).data["closeSession"]["session"] == closed
    resumed = {"id": "s", "live": True, "lastSeq": 0}
    for _ in range(2):
        assert (await server.ask(RESUME, id="s")).data["resumeSession"]["session"] == resumed
    assert (await server.append("s", "two")).data["appendEvents"]["session"]["lastSeq"] == 1


@pytest.mark.parametrize("document", [RESUME, CLOSE, FLUSH])
@in_server()
async def test_what_is_not_there_cannot_be_resumed_closed_or_flushed(
    server: Server, document: str
) -> None:
    answer = await server.ask(document, id="nobody")
    assert answer.codes == ["SESSION_QUERY_SESSION_NOT_FOUND"]


@in_server()
async def test_a_crashed_session_is_closed_by_repairs_when_it_is_resumed(server: Server) -> None:
    await server.create("s")
    call = log_only("tool/call", turn=1, step=1, callId="c", name="run", arguments="{}")
    await server.append(
        "s", log_only("turn/start", turn=1), log_only("step/start", turn=1, step=1), call
    )
    await server.ask(CLOSE, id="s")
    assert (await server.ask(RESUME, id="s")).data["resumeSession"]["session"]["lastSeq"] == 5
    nodes = (await server.session("s"))["events"]["nodes"]
    assert [each["type"] for each in nodes[3:]] == ["tool/result", "step/end", "turn/end"]
    assert nodes[5]["data"]["reason"] == {"kind": "interrupted"}
    assert {each["time"] for each in nodes[3:]} == {nodes[2]["time"]}


@in_server()
async def test_an_imported_session_takes_nothing_until_it_is_resumed_which_detaches_it(
    server: Server,
) -> None:
    file = recorded(server.path)
    assert (await server.take_in(file)).imported == 1
    refused = await server.append("old", "x")
    assert refused.codes == ["SESSION_LOG_READ_ONLY"]
    assert str(file) in refused.errors[0]["message"]
    assert (await server.ask(RENAME, id="old", title="New")).codes == ["SESSION_LOG_READ_ONLY"]
    resumed = (await server.ask(RESUME, id="old")).data["resumeSession"]["session"]
    assert resumed["live"] is True
    source = (await server.session("old"))["header"]["source"]
    assert source["kind"] == "DSH"
    assert source["path"] is None
    assert any("no longer followed" in note for note in source["notes"])
    nodes = (await server.session("old"))["events"]["nodes"]
    assert [each["type"] for each in nodes[3:]] == ["tool/result", "turn/end"]
    appended = await server.append("old", "x")
    assert appended.data["appendEvents"]["session"]["lastSeq"] == resumed["lastSeq"] + 1


# Renaming


@in_server()
async def test_a_live_and_a_cold_session_are_renamed_and_stay_what_they_were(
    server: Server,
) -> None:
    await server.create("s")
    live = (await server.ask(RENAME, id="s", title="One")).data["renameSession"]["session"]
    assert live == {"title": "One", "live": True, "lastSeq": 0}
    await server.ask(CLOSE, id="s")
    cold = (await server.ask(RENAME, id="s", title="二")).data["renameSession"]["session"]
    assert cold == {"title": "二", "live": False, "lastSeq": 1}
    titles = (await server.session("s"))["events"]["nodes"]
    assert [each["type"] for each in titles] == ["session/title"] * 2


@pytest.mark.parametrize(
    ("session_id", "title", "code"),
    [
        ("s", " \n", "BAD_USER_INPUT"),
        ("nobody", "A title", "SESSION_QUERY_SESSION_NOT_FOUND"),
        ("s", "\ud83d", "SESSION_LOG_INVALID_EVENT"),
    ],
)
@in_server()
async def test_a_title_must_be_one_and_somebodys(
    server: Server, session_id: str, title: str, code: str
) -> None:
    await server.create("s")
    assert (await server.ask(RENAME, id=session_id, title=title)).codes == [code]
    assert (await server.session("s"))["lastSeq"] == -1


# Deleting


@in_server()
async def test_a_deleted_session_is_gone_and_deleting_it_again_is_no_error(
    server: Server,
) -> None:
    await server.create("live")
    await server.create("cold")
    await server.append("live", "one")
    await server.ask(CLOSE, id="cold")
    for session_id in ("live", "cold", "live", "never"):
        answer = await server.ask(DELETE, id=session_id)
        assert answer.data == {"deleteSession": {"deletedId": session_id}}
        assert await server.session(session_id) is None
    assert (await server.append("live", "x")).codes == ["SESSION_QUERY_SESSION_NOT_FOUND"]


@in_server()
async def test_an_import_does_not_bring_a_deleted_session_back(server: Server) -> None:
    file = recorded(server.path)
    await server.take_in(file)
    await server.ask(DELETE, id="old")
    assert (await server.take_in(file)).imported == 0
    assert await server.session("old") is None
    assert (await server.take_in(file, restore_deleted=True)).imported == 1
    assert (await server.session("old"))["lastSeq"] == 2


@in_server()
async def test_a_deletion_that_the_disk_refuses_leaves_the_session_as_it_was(
    server: Server,
) -> None:
    await server.create("s")
    await server.append("s", "one")
    server.store.refuses = True
    answer = await server.ask(DELETE, id="s")
    assert answer.codes == ["SESSION_QUERY_PERSISTENCE_FAILED"]
    server.store.refuses = False
    assert (await server.append("s", "two")).data["appendEvents"]["session"]["lastSeq"] == 1


@in_server()
async def test_the_id_of_a_deleted_session_can_be_used_again(server: Server) -> None:
    await server.create("s", cwd="/a")
    await server.append("s", "one")
    await server.ask(DELETE, id="s")
    await server.create("s", cwd="/b")
    assert (await server.session("s"))["lastSeq"] == -1


# Whatever happens


@in_server()
async def test_a_session_that_is_deleted_before_it_is_shown_fails_its_mutation(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await server.create("s")
    renew = RequestContext.renew

    async def nobody_is_found(context: RequestContext) -> None:
        await renew(context)
        monkeypatch.setattr(Observation, "find", nothing)

    async def nothing(*_: Any) -> dict[str, Any]:
        return {}

    monkeypatch.setattr(RequestContext, "renew", nobody_is_found)
    answer = await server.ask(RENAME, id="s", title="T")
    assert answer.body["data"] == {"renameSession": None}
    assert answer.codes == ["SESSION_QUERY_SESSION_NOT_FOUND"]
    assert answer.errors[0]["path"] == ["renameSession", "session"]


def test_a_program_that_only_reads_refuses_to_write_and_to_follow(tmp_path: Path) -> None:
    async def run() -> None:
        async with server_over(tmp_path) as server:
            await server.create("s")
            whole = server.services
            server.services = type(whole)(whole.query, whole.version)
            for document in (
                'mutation { createSession(input: {id: "t"}) { session { id } } }',
                'mutation { deleteSession(id: "s") { deletedId } }',
            ):
                assert (await server.ask(document)).codes == ["SESSION_QUERY_PERSISTENCE_FAILED"]
            for document in (
                'subscription { sessionEvents(sessionId: "s") { seq } }',
                "subscription { corpus { kind } }",
            ):
                frame = await (await server.follow(document)).next()
                assert frame.codes == ["SESSION_QUERY_PERSISTENCE_FAILED"]

    asyncio.run(run())


@in_server()
async def test_a_whole_life_leaves_a_store_without_faults(server: Server) -> None:
    await server.create("s")
    for number in range(3):
        await server.append("s", *turn(number))
    await server.ask(CLOSE, id="s")
    await server.ask(RESUME, id="s")
    await server.append("s", *turn(3), durability="ACCEPTED")
    await server.ask(FLUSH, id="s")
    assert await server.store.check() == []
