"""Values of sessions as clients read and follow them, over a real store."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from sessiongraph.projections import Projection
from sessiongraph.projections.units import FIRST_PARTY
from tests.providers.sqlite.raw import read_statements
from tests.schema.living import (
    Server,
    eventually,
    in_server,
    log_only,
    prompt,
    server_over,
    turn,
)

CURRENT = """query ($id: ID!, $keys: [String!]) { session(id: $id) {
    projections(keys: $keys) { sessionId asOfSeq views { key seq value } } } }"""
STORED = CURRENT.replace("keys: $keys", "keys: $keys, freshness: STORED")
FOLLOW = """subscription ($id: ID!, $keys: [String!]) { projections(sessionId: $id, keys: $keys) {
    ... on ProjectionSnapshot { asOfSeq views { key seq value } }
    ... on ProjectionChange { view { key seq value } } } }"""
KEYS = [unit.key for unit in FIRST_PARTY]


def title(text: str) -> dict[str, Any]:
    return log_only("session/title", title=text, messageSeqs=[])


def todos(*items: str) -> dict[str, Any]:
    return log_only("todo/write", todos=[{"content": each, "status": "pending"} for each in items])


async def views(
    server: Server, query: str, session_id: str, keys: list[str] | None = None
) -> tuple[int, dict[str, Any]]:
    """What a session's snapshot reflects, and its values by key."""
    answer = await server.ask(query, id=session_id, keys=keys)
    snapshot = answer.data["session"]["projections"]
    assert snapshot["sessionId"] == session_id
    return snapshot["asOfSeq"], {view["key"]: view["value"] for view in snapshot["views"]}


async def stored_at(server: Server, session_id: str, seq: int) -> None:
    """Wait until the checkpoint of a session reflects an event."""

    async def reached() -> bool:
        return (await views(server, STORED, session_id))[0] >= seq

    await eventually(reached)


# Reading


@in_server()
async def test_a_current_value_reflects_what_was_acknowledged_a_moment_ago(server: Server) -> None:
    await server.create("s")
    for number in range(5):
        text = f"title {number}"
        await server.append("s", title(text), durability="ACCEPTED")
        assert await views(server, CURRENT, "s", ["title"]) == (number, {"title": text})


@in_server()
async def test_every_view_is_there_in_the_order_of_their_keys_and_unknown_keys_are_left_out(
    server: Server,
) -> None:
    await server.create("s")
    assert (await server.ask("{ server { projectionKeys } }")).data == {
        "server": {"projectionKeys": KEYS}
    }
    seq, values = await views(server, CURRENT, "s")
    assert (seq, list(values)) == (-1, KEYS)
    _, values = await views(server, CURRENT, "s", ["nobody", "todos", "title"])
    assert list(values) == ["title", "todos"]
    assert await views(server, CURRENT, "s", []) == (-1, {})


@in_server()
async def test_each_of_our_views_has_fields_of_its_own(server: Server) -> None:
    goal = {"id": "g", "revision": 1, "objective": "ship it", "phase": "active"}
    message = {
        "turn": 1,
        "step": 1,
        "message": {"role": "assistant", "content": [{"type": "text", "text": "It is done."}]},
        "usage": {"inputTokens": 7, "outputTokens": 3},
    }
    await server.create("s")
    await server.append(
        "s",
        title("a title"),
        log_only("turn/start", turn=1),
        prompt("What is left?\nSay it."),
        log_only("step/start", turn=1, step=1),
        {"type": "assistant/message", "data": message},
        todos("one", "two"),
        log_only("step/end", turn=1, step=1),
        log_only(
            "goal/change",
            version=1,
            operation="set",
            goal=goal,
            roundsStarted=2,
            createdAt=5,
            updatedAt=6,
        ),
        log_only("plan/mode", active=True),
        log_only("permission/preset", preset="standard"),
        log_only("request/context", contextWindow=1000),
    )
    query = """{ session(id: "s") { projections { views { __typename
        ... on TitleView { title }
        ... on TodosView { todos { content status } }
        ... on GoalView { objective phase roundsStarted }
        ... on PlanView { active pending }
        ... on PermissionsView { preset sandboxMode approvalPolicy }
        ... on SessionStatsView { counted: turns steps ttftSteps decodeTokens }
        ... on TokenUsageView { uncachedInputTokens outputTokens cacheReadTokens cacheWriteTokens }
        ... on ContextPressureView { pressureTokens contextWindow }
        ... on SubagentView { mode label descriptorSeq }
        ... on TurnOutlineView { turns { turn seq prompt response } }
        ... on ActivityView { prompts blank lastPromptAt } } } } }"""
    found = (await server.ask(query)).data["session"]["projections"]["views"]
    by_type = {view.pop("__typename"): view for view in found}
    assert by_type.pop("ActivityView")["prompts"] == 1
    assert by_type == {
        "TitleView": {"title": "a title"},
        "TodosView": {
            "todos": [
                {"content": "one", "status": "pending"},
                {"content": "two", "status": "pending"},
            ]
        },
        "GoalView": {"objective": "ship it", "phase": "active", "roundsStarted": 2},
        "PlanView": {"active": True, "pending": False},
        "PermissionsView": {"preset": "standard", "sandboxMode": None, "approvalPolicy": None},
        "SessionStatsView": {"counted": 1, "steps": 1, "ttftSteps": 0, "decodeTokens": 0},
        "TokenUsageView": {
            "uncachedInputTokens": 7,
            "outputTokens": 3,
            "cacheReadTokens": 0,
            "cacheWriteTokens": 0,
        },
        "ContextPressureView": {"pressureTokens": 7, "contextWindow": 1000},
        "SubagentView": {"mode": None, "label": None, "descriptorSeq": None},
        "TurnOutlineView": {
            "turns": [{"turn": 1, "seq": 2, "prompt": "What is left?", "response": "It is done."}]
        },
    }


@in_server()
async def test_a_view_of_a_package_is_shown_whole(server: Server) -> None:
    unit = Projection(
        "custom/words",
        1,
        init=lambda: 0,
        apply=lambda count, event: count + 1,
        view=lambda count: {"events": [count]},
        state_schema=int,
        event_types={"user/message"},
    )
    await server.create("s")
    await server.append("s", "one", "two")
    dispose = server.projections.registry.register(unit)
    query = """{ session(id: "s") { projections(keys: ["custom/words"]) {
        views { __typename key seq value } } } }"""
    (view,) = (await server.ask(query)).data["session"]["projections"]["views"]
    assert view == {
        "__typename": "CustomView",
        "key": "custom/words",
        "seq": 1,
        "value": {"events": [2]},
    }
    dispose()
    assert (await server.ask(query)).data["session"]["projections"]["views"] == []


@in_server()
async def test_a_stored_value_is_that_of_the_last_checkpoint_and_never_a_wrong_one(
    server: Server,
) -> None:
    await server.create("s")
    assert (await views(server, STORED, "s", ["title"])) == (-1, {"title": None})
    await server.append("s", title("first"), *turn(1))
    await stored_at(server, "s", 3)
    assert (await views(server, STORED, "s", ["title"])) == (3, {"title": "first"})
    await server.append("s", title("second"))
    seq, values = await views(server, STORED, "s", ["title"])
    assert (seq, values["title"]) in ((3, "first"), (4, "second"))
    assert (await views(server, CURRENT, "s", ["title"])) == (4, {"title": "second"})


@in_server(write_delay_ms=60_000)
async def test_of_a_session_that_is_in_memory_alone_the_beginning_is_stored(server: Server) -> None:
    await server.create("s", durability="ACCEPTED")
    await server.append("s", title("not on disk"), durability="ACCEPTED")
    assert (await views(server, STORED, "s", ["title"])) == (-1, {"title": None})
    assert (await views(server, CURRENT, "s", ["title"])) == (0, {"title": "not on disk"})


@in_server()
async def test_closing_writes_the_checkpoint(server: Server) -> None:
    await server.create("s")
    await server.append("s", title("half a turn"), log_only("turn/start", turn=1))
    await server.ask('mutation { closeSession(id: "s") { session { id } } }')
    assert await views(server, STORED, "s", ["title"]) == (1, {"title": "half a turn"})


@in_server()
async def test_a_page_of_stored_views_is_one_more_statement(server: Server) -> None:
    for number in range(100):
        await server.create(f"s{number}")
        await server.append(f"s{number}", title(f"title {number}"), *turn(1))
        await server.ask(f'mutation {{ closeSession(id: "s{number}") {{ session {{ id }} }} }}')
    plain = "{ sessions(first: 100) { nodes { id } } }"
    asked = """{ sessions(first: 100) { nodes { id
        projections(keys: ["title", "todos", "sessionStats"], freshness: STORED) {
            views { key value } } } } }"""
    with read_statements(server.store) as without:
        await server.ask(plain)
    with read_statements(server.store) as statements:
        nodes = (await server.ask(asked)).data["sessions"]["nodes"]
    assert len(nodes) == 100
    for node in nodes:
        found = {view["key"]: view["value"] for view in node["projections"]["views"]}
        assert found["title"] == f"title {node['id'][1:]}"
        assert found.keys() == {"title", "todos", "sessionStats"}
    assert len(statements) == len(without) + 1


@in_server()
async def test_one_session_whose_log_is_damaged_leaves_the_others_alone(server: Server) -> None:
    for name in ("good", "bad"):
        await server.create(name)
        await server.append(name, title(name))
        await server.ask(
            "mutation ($id: ID!) { closeSession(id: $id) { session { id } } }", id=name
        )
        await server.projections.aclose()

    def damage(connection: Any) -> None:
        connection.execute(
            "DELETE FROM events WHERE id >> 32 = (SELECT log FROM logs WHERE id = ?)", (b"bad",)
        )
        connection.execute("DELETE FROM checkpoints")

    await server.store.writer.run(damage)
    answer = await server.ask(
        """{ good: session(id: "good") { projections(keys: ["title"]) { views { value } } }
             bad: session(id: "bad") { title projections { asOfSeq } } }"""
    )
    assert answer.body["data"] == {
        "good": {"projections": {"views": [{"value": "good"}]}},
        "bad": {"title": "bad", "projections": None},
    }
    (error,) = answer.body["errors"]
    assert (error["path"], error["extensions"]["code"]) == (
        ["bad", "projections"],
        "SESSION_QUERY_CORRUPT_SESSION",
    )


@in_server()
async def test_a_unit_that_raises_is_absent_and_the_others_are_not(server: Server) -> None:
    def fail(state: int, event: Any) -> int:
        raise RuntimeError("broken on purpose")

    broken = Projection("broken", 1, int, fail, lambda state: state, state_schema=int)
    server.projections.registry.register(broken)
    await server.create("s")
    await server.append("s", title("still here"))
    assert await views(server, CURRENT, "s", ["title", "broken"]) == (0, {"title": "still here"})


# Following


@in_server()
async def test_a_snapshot_comes_first_then_what_really_changes(server: Server) -> None:
    await server.create("s")
    await server.append("s", title("one"))
    stream = await server.follow(FOLLOW, id="s", keys=["title", "todos", "nobody"])
    (first,) = await stream.take(1)
    assert first == {
        "asOfSeq": 0,
        "views": [
            {"key": "title", "seq": 0, "value": "one"},
            {"key": "todos", "seq": -1, "value": None},
        ],
    }
    await server.append("s", prompt("nothing for these"), title("one"), title("two"), todos("a"))
    found = [frame["view"] for frame in await stream.take(2)]
    assert found == [
        {"key": "title", "seq": 3, "value": "two"},
        {"key": "todos", "seq": 4, "value": [{"content": "a", "status": "pending"}]},
    ]


@in_server()
async def test_closing_and_resuming_end_nothing(server: Server) -> None:
    await server.create("s")
    stream = await server.follow(FOLLOW, id="s", keys=["title"])
    await stream.take(1)
    await server.ask('mutation { closeSession(id: "s") { session { id } } }')
    await server.ask('mutation { resumeSession(id: "s") { session { id } } }')
    await server.append("s", title("again"))
    assert await stream.take(1) == [{"view": {"key": "title", "seq": 0, "value": "again"}}]


@in_server()
async def test_a_session_that_is_deleted_ends_its_subscriptions(server: Server) -> None:
    await server.create("s")
    stream = await server.follow(FOLLOW, id="s", keys=["title"])
    await stream.take(1)
    await server.append("s", title("the last"))
    await server.ask('mutation { deleteSession(id: "s") { deletedId } }')
    frames = await stream.rest()
    assert [frame.data["projections"]["view"]["value"] for frame in frames] == ["the last"]
    assert await server.store.writer.run(
        lambda connection: connection.execute("SELECT count(*) FROM checkpoints").fetchone()
    ) == (0,)


def recording(folder: Path, *titles: str) -> Path:
    rows: list[dict[str, Any]] = [
        {"type": "session", "version": 0, "id": "s", "createdAt": 1, "delegationDepth": 0}
    ]
    rows += [
        {"seq": seq, "type": "session/title", "time": seq, "data": {"title": text}}
        for seq, text in enumerate(titles)
    ]
    path = folder / "session.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


@in_server()
async def test_a_log_that_is_read_anew_ends_its_subscriptions_with_a_code(server: Server) -> None:
    path = recording(server.path, "one", "two")
    assert (await server.take_in(path)).imported == 1
    stream = await server.follow(FOLLOW, id="s", keys=["title"])
    await stream.take(1)
    recording(server.path, "an entirely other", "log", "under the same id")
    assert (await server.take_in(path)).imported == 1
    (last,) = await stream.rest()
    assert last.codes == ["SESSION_LOG_REPLACED"]
    assert await views(server, CURRENT, "s", ["title"]) == (2, {"title": "under the same id"})


@in_server()
async def test_who_subscribes_to_no_session_is_told_so(server: Server) -> None:
    stream = await server.follow(FOLLOW, id="nobody", keys=None)
    (only,) = await stream.rest()
    assert only.codes == ["SESSION_QUERY_SESSION_NOT_FOUND"]


@in_server()
async def test_a_key_that_is_unregistered_falls_silent_and_ends_nothing(server: Server) -> None:
    unit = Projection(
        "seen", 1, int, lambda count, event: count + 1, lambda count: count, state_schema=int
    )
    dispose = server.projections.registry.register(unit)
    await server.create("s")
    stream = await server.follow(FOLLOW, id="s", keys=["seen", "title"])
    await stream.take(1)
    await server.append("s", title("one"))
    assert {frame["view"]["key"] for frame in await stream.take(2)} == {"seen", "title"}
    dispose()
    await server.append("s", title("two"), title("three"))
    found = [frame["view"]["value"] for frame in await stream.take(2)]
    assert found == ["two", "three"]


@pytest.mark.parametrize("subscribers", [6])
@in_server()
async def test_commits_that_race_the_start_are_in_the_snapshot_or_follow_it(
    server: Server, subscribers: int
) -> None:
    """Subscribers come while titles are appended: each misses none and is told none twice."""
    count = 60
    await server.create("s")

    async def write() -> None:
        for number in range(count):
            await server.append("s", title(f"{number}"))

    async def follow(turns: int) -> list[int]:
        for _ in range(turns):
            await asyncio.sleep(0)
        stream = await server.follow(FOLLOW, id="s", keys=["title"])
        (first,) = await stream.take(1)
        seen = [first["asOfSeq"]]
        while seen[-1] < count - 1:
            (frame,) = await stream.take(1)
            view = frame["view"]
            assert view["value"] == f"{view['seq']}"
            seen.append(view["seq"])
        return seen

    writing = asyncio.ensure_future(write())
    for seen in await asyncio.gather(*(follow(turns * 40) for turns in range(subscribers))):
        assert seen == list(range(seen[0], count))
    await writing


@in_server()
async def test_an_event_that_concerns_nobody_makes_no_frame_and_no_write(server: Server) -> None:
    await server.create("s")
    await server.append("s", title("one"), *turn(1))
    await stored_at(server, "s", 3)
    stream = await server.follow(FOLLOW, id="s", keys=None)
    await stream.take(1)
    statements: list[str] = []
    await server.store.writer.run(
        lambda connection: connection.set_trace_callback(statements.append)
    )
    for _ in range(20):
        await server.append("s", log_only("custom/thing", a=1))
    assert not [each for each in statements if "checkpoints" in each]
    await server.append("s", title("two"), *turn(2))
    (frame,) = await stream.take(1)
    assert frame["view"] == {"key": "title", "seq": 24, "value": "two"}
    await stored_at(server, "s", 27)
    assert [each for each in statements if "checkpoints" in each]


def test_what_was_folded_is_there_after_a_start_without_folding_the_log_again(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with server_over(tmp_path) as server:
            await server.create("s")
            await server.append("s", title("kept"), *turn(1))
        async with server_over(tmp_path) as server:
            assert await views(server, STORED, "s", ["title"]) == (3, {"title": "kept"})

    asyncio.run(asyncio.wait_for(scenario(), 60))
