"""Following the list of sessions: every change once, in order, and taken up again by cursor."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.providers.recordings import dsh_writing as dsh
from tests.schema.living import Server, Stream, in_server

CORPUS = """subscription($after: Cursor) { corpus(after: $after) {
    cursor kind sessionId session { id live persisted title lastSeq } } }"""


async def begun(server: Server, after: str | None = None) -> Stream:
    """A stream that follows from here on: its first step has been taken."""
    stream = await server.follow(CORPUS, after=after)
    stream.first = asyncio.create_task(stream.next())  # type: ignore[attr-defined]
    await asyncio.sleep(0.01)
    return stream


async def changes(stream: Stream, count: int) -> list[dict[str, Any]]:
    """The next changes; the one that was waited for first."""
    found = [(await stream.__dict__.pop("first")).data["corpus"]] if "first" in vars(stream) else []
    return found + await stream.take(count - len(found))


def told(change: dict[str, Any]) -> tuple[str, str]:
    return change["kind"], change["sessionId"]


@in_server()
async def test_the_life_of_a_session_is_told_in_order(server: Server) -> None:
    stream = await begun(server)
    await server.create("s", durability="ACCEPTED")
    await server.ask('mutation { flushSession(id: "s") { session { id } } }')
    await server.append("s", {"type": "custom/thing", "data": {}})
    await server.append("s", "a prompt")
    await server.ask('mutation { renameSession(id: "s", title: "T") { session { id } } }')
    await server.ask('mutation { closeSession(id: "s") { session { id } } }')
    await server.ask('mutation { resumeSession(id: "s") { session { id } } }')
    await server.ask('mutation { deleteSession(id: "s") { deletedId } }')
    kinds = [each["kind"] for each in await changes(stream, 7)]
    assert kinds == ["CREATED", "PERSISTED", "UPDATED", "UPDATED", "CLOSED", "RESUMED", "DELETED"]


@in_server()
async def test_a_change_shows_the_session_as_it_is_now_and_null_when_it_is_gone(
    server: Server,
) -> None:
    stream = await begun(server)
    await server.create("s")
    await server.ask('mutation { renameSession(id: "s", title: "T") { session { id } } }')
    found = await changes(stream, 3)
    assert [told(each) for each in found] == [
        ("CREATED", "s"),
        ("PERSISTED", "s"),
        ("UPDATED", "s"),
    ]
    assert found[-1]["session"] == {
        "id": "s",
        "live": True,
        "persisted": True,
        "title": "T",
        "lastSeq": 0,
    }
    await server.ask('mutation { deleteSession(id: "s") { deletedId } }')
    (last,) = await changes(stream, 1)
    assert told(last) == ("DELETED", "s")
    assert last["session"] is None


@in_server()
async def test_a_fork_an_import_and_a_new_reading_are_told(server: Server) -> None:
    folder = server.path / "recorded"
    folder.mkdir()
    rows = [dsh.header_row(id="old"), dsh.row(0, "custom/thing", {"a": 1})]
    stream = await begun(server)
    file = dsh.write(folder / "session.jsonl", rows)
    await server.take_in(file)
    assert told((await changes(stream, 1))[0]) == ("IMPORTED", "old")
    dsh.write(file, [rows[0], dsh.row(0, "custom/thing", {"a": 2})])
    await server.take_in(file)
    assert told((await changes(stream, 1))[0]) == ("REPLACED", "old")
    await server.ask(
        'mutation { forkSession(input: {sourceId: "old", id: "fork"}) { session { id } } }'
    )
    assert [told(each) for each in await changes(stream, 2)] == [
        ("CREATED", "fork"),
        ("PERSISTED", "fork"),
    ]
    await server.ask('mutation { resumeSession(id: "old") { session { id } } }')
    assert {told(each) for each in await changes(stream, 2)} == {
        ("UPDATED", "old"),
        ("RESUMED", "old"),
    }


@in_server()
async def test_it_is_taken_up_again_after_any_cursor_without_gap_or_repeat(
    server: Server,
) -> None:
    stream = await begun(server)
    for number in range(4):
        await server.create(f"s{number}")
    found = await changes(stream, 8)
    whole = [told(each) for each in found]
    for index, change in enumerate(found[:-1]):
        again = await server.follow(CORPUS, after=change["cursor"])
        assert [told(each) for each in await again.take(7 - index)] == whole[index + 1 :]
        await again.close()
    last = await server.follow(CORPUS, after=found[-1]["cursor"])
    await server.create("late")
    late = [told(each) for each in await last.take(2)]
    assert late == [("CREATED", "late"), ("PERSISTED", "late")]


@in_server(write_delay_ms=60_000)
async def test_a_session_that_never_reached_the_disk_is_told_too(server: Server) -> None:
    stream = await begun(server)
    await server.create("s", durability="ACCEPTED")
    await server.ask('mutation { deleteSession(id: "s") { deletedId } }')
    assert [told(each) for each in await changes(stream, 2)] == [("CREATED", "s"), ("DELETED", "s")]


@in_server()
async def test_without_a_cursor_it_begins_now(server: Server) -> None:
    await server.create("before")
    stream = await begun(server)
    await server.create("after")
    assert {each["sessionId"] for each in await changes(stream, 2)} == {"after"}


@in_server(backlog=3)
async def test_a_cursor_of_the_far_past_is_stale(server: Server) -> None:
    stream = await begun(server)
    await server.create("s")
    found = await changes(stream, 2)
    for number in range(4):
        title = f'mutation {{ renameSession(id: "s", title: "{number}") {{ session {{ id }} }} }}'
        await server.ask(title)
        found += await changes(stream, 1)
    (frame,) = await (await server.follow(CORPUS, after=found[1]["cursor"])).rest()
    assert frame.codes == ["SESSION_QUERY_STALE_CURSOR"]
    again = await server.follow(CORPUS, after=found[2]["cursor"])
    assert [each["cursor"] for each in await again.take(3)] == [
        each["cursor"] for each in found[3:]
    ]


@pytest.mark.parametrize("cursor", ["", "nonsense", "AAAA"])
@in_server()
async def test_a_cursor_that_this_field_did_not_issue_is_refused(
    server: Server, cursor: str
) -> None:
    (frame,) = await (await server.follow(CORPUS, after=cursor)).rest()
    assert frame.codes == ["SESSION_QUERY_INVALID_CURSOR"]


@in_server()
async def test_a_cursor_of_another_list_is_refused(server: Server) -> None:
    await server.create("s")
    answer = await server.ask("{ sessions { pageInfo { endCursor } } }")
    cursor = answer.data["sessions"]["pageInfo"]["endCursor"]
    (frame,) = await (await server.follow(CORPUS, after=cursor)).rest()
    assert frame.codes == ["SESSION_QUERY_INVALID_CURSOR"]


@in_server()
async def test_it_ends_cleanly_when_the_server_stops(server: Server) -> None:
    stream = await begun(server)
    await server.create("s")
    await changes(stream, 2)
    resting = asyncio.create_task(stream.rest())
    await asyncio.sleep(0.01)
    await server.stop()
    assert await resting == []


@in_server()
async def test_a_session_that_had_to_be_given_up_is_told_as_closed(server: Server) -> None:
    await server.create("s")
    await server.append("s", "one")
    stream = await begun(server)
    await server.store.delete("s")  # by somebody else
    answer = await server.append("s", "two")
    assert answer.codes == ["SESSION_LOG_CONFLICT"]
    assert {told(each) for each in await changes(stream, 2)} == {("DELETED", "s"), ("CLOSED", "s")}
