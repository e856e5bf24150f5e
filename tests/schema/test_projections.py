"""Values of sessions as clients read them, over a real store."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

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
    await server.ask(plain)  # the headers are known from now on
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
