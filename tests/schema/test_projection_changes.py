"""Values of sessions as they are pushed to clients, over a real store."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from sessiongraph.projections import Projection
from tests.schema.living import Server, in_server, log_only, prompt, turn
from tests.schema.test_projections import CURRENT, stored_at, title, todos, views

FOLLOW = """subscription ($id: ID!, $keys: [String!]) { projections(sessionId: $id, keys: $keys) {
    ... on ProjectionSnapshot { asOfSeq views { key seq value } }
    ... on ProjectionChange { view { key seq value } } } }"""


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
