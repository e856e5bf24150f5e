"""Forks: what a child holds, where it may begin, and whose ids it may take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.providers.recordings import dsh_writing as dsh
from tests.schema.living import BEGINNING, Server, in_server, log_only, prompt, turn

FORK = """mutation($input: ForkSessionInput!) { forkSession(input: $input) {
    session { id live persisted lastSeq } } }"""


async def fork(server: Server, source: str, session_id: str | None = None, **more: Any) -> Any:
    answer = await server.ask(FORK, input={"sourceId": source, "id": session_id, **more})
    return answer.data["forkSession"]["session"]


@in_server()
async def test_a_child_holds_the_events_of_its_parent_and_marks_where_its_own_begin(
    server: Server,
) -> None:
    await server.create("parent", cwd="/work", delegationDepth=1, origin="subagent", version=3)
    await server.append("parent", *turn(0), *turn(1))
    made = await fork(server, "parent", "child", boundary=2)
    assert made == {"id": "child", "live": True, "persisted": True, "lastSeq": 3}
    child, parent = await server.session("child"), await server.session("parent")
    assert child["events"]["nodes"][:3] == parent["events"]["nodes"][:3]
    marker = child["events"]["nodes"][3]
    assert marker["type"] == "session/end-seed"
    assert marker["data"] == {"inherited": True}
    assert marker["time"] == child["header"]["createdAt"] > BEGINNING
    assert child["header"] == {
        "version": 3,
        "createdAt": child["header"]["createdAt"],
        "cwd": "/work",
        "parentSession": "parent",
        "seedLength": 3,
        "origin": None,
        "delegationDepth": 1,
        "agentPreset": None,
        "source": {"kind": "API", "path": None, "notes": []},
    }


@in_server()
async def test_a_fork_without_a_boundary_begins_at_the_last_event_and_is_given_an_id(
    server: Server,
) -> None:
    await server.create("parent")
    await server.append("parent", "one", "two")
    made = await fork(server, "parent")
    assert made["id"] not in ("", "parent")
    assert (await server.session(made["id"]))["header"]["seedLength"] == 2


@in_server()
async def test_parent_and_child_go_on_apart(server: Server) -> None:
    await server.create("parent")
    await server.append("parent", "one")
    await fork(server, "parent", "child")
    replacing = {
        **prompt("instead"),
        "surfaceOp": {"replace": {"start": 0, "end": 0}},
        "sourceEventSeqs": [0],
    }
    (await server.append("child", replacing)).data  # noqa: B018
    (await server.append("parent", "two")).data  # noqa: B018
    surfaces = {
        session_id: [
            each["surface"] for each in (await server.session(session_id))["events"]["nodes"]
        ]
        for session_id in ("parent", "child")
    }
    assert surfaces == {
        "parent": ["CURRENT", "CURRENT"],
        "child": ["SHADOWED", "LOG_ONLY", "CURRENT"],
    }
    assert await server.store.check() == []


@pytest.mark.parametrize("version", [0, 1])
@in_server()
async def test_in_the_first_generations_a_fork_that_ends_in_a_marker_gets_no_second_one(
    server: Server, version: int
) -> None:
    await server.create("parent", version=version)
    await server.append("parent", "one")
    await fork(server, "parent", "child")
    nodes = (await server.session("child"))["events"]["nodes"]
    assert [(each["type"], each["data"]) for each in nodes[1:]] == [("session/end-seed", {})]
    again = await fork(server, "child", "grandchild")
    assert again["lastSeq"] == 1


@in_server()
async def test_from_generation_two_on_every_fork_gets_its_marker(server: Server) -> None:
    await server.create("parent", version=2)
    await server.append("parent", "one")
    await fork(server, "parent", "child")
    await fork(server, "child", "grandchild")
    nodes = (await server.session("grandchild"))["events"]["nodes"]
    assert [each["data"] for each in nodes[1:]] == [{"inherited": True}] * 2


@pytest.mark.parametrize("boundary", [0, 1, 4, None])
@in_server()
async def test_a_boundary_inside_an_open_turn_is_refused(
    server: Server, boundary: int | None
) -> None:
    await server.create("parent")
    await server.append("parent", *turn(0), log_only("turn/start", turn=1), "go")
    answer = await server.ask(FORK, input={"sourceId": "parent", "boundary": boundary})
    assert answer.body["data"] == {"forkSession": None}
    assert answer.codes == ["SESSION_LOG_OPEN_TURN"]
    assert (await fork(server, "parent", boundary=2))["lastSeq"] == 3


@pytest.mark.parametrize("boundary", [-1, 3])
@in_server()
async def test_a_boundary_outside_the_log_is_not_found(server: Server, boundary: int) -> None:
    await server.create("parent")
    await server.append("parent", *turn(0))
    answer = await server.ask(FORK, input={"sourceId": "parent", "boundary": boundary})
    assert answer.codes == ["SESSION_QUERY_EVENT_NOT_FOUND"]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"sourceId": "nobody"}, "SESSION_QUERY_SESSION_NOT_FOUND"),
        ({"sourceId": "parent", "id": ""}, "BAD_USER_INPUT"),
        ({"sourceId": "parent", "id": "\ud800"}, "BAD_USER_INPUT"),
        ({"sourceId": "parent", "id": "parent"}, "SESSION_LOG_CONFLICT"),
        ({"sourceId": "parent", "id": "other"}, "SESSION_LOG_CONFLICT"),
    ],
)
@in_server()
async def test_a_fork_needs_a_source_and_a_free_id(
    server: Server, given: dict[str, Any], code: str
) -> None:
    await server.create("parent")
    await server.create("other")
    await server.append("parent", "one")
    assert (await server.ask(FORK, input=given)).codes == [code]


@in_server()
async def test_the_same_fork_again_finds_the_child_until_it_has_gone_on(server: Server) -> None:
    await server.create("parent")
    await server.append("parent", "one", "two")
    first = await fork(server, "parent", "child", boundary=0)
    assert await fork(server, "parent", "child", boundary=0) == first
    elsewhere = await server.ask(FORK, input={"sourceId": "parent", "id": "child", "boundary": 1})
    assert elsewhere.codes == ["SESSION_LOG_CONFLICT"]
    await server.append("child", "on")
    later = await server.ask(FORK, input={"sourceId": "parent", "id": "child", "boundary": 0})
    assert later.codes == ["SESSION_LOG_CONFLICT"]


@in_server(write_delay_ms=60_000)
async def test_what_the_source_has_only_accepted_is_written_first_and_inherited(
    server: Server,
) -> None:
    await server.create("parent", durability="ACCEPTED")
    await server.append("parent", "one", "two", durability="ACCEPTED")
    assert (await fork(server, "parent", "child"))["lastSeq"] == 2
    assert (await server.session("parent"))["persisted"] is True


@in_server()
async def test_a_cold_and_an_imported_session_can_be_forked(server: Server) -> None:
    folder = server.path / "recorded"
    folder.mkdir()
    rows = [dsh.header_row(id="old", cwd="/old"), dsh.row(0, "custom/thing", {"a": 1})]
    await server.take_in(dsh.write(Path(folder / "session.jsonl"), rows))
    made = await fork(server, "old", "child")
    assert made["live"] is True
    assert (await server.session("old"))["live"] is False
    assert (await server.session("child"))["header"]["source"]["kind"] == "API"
    assert (await server.append("child", "on")).data["appendEvents"]["session"]["lastSeq"] == 2
