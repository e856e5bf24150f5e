"""Following a session: every committed event once, in order, until there is a reason to end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from sessiongraph.errors import PersistenceFailed
from tests.providers.recordings import dsh_writing as dsh
from tests.schema.living import Server, Stream, eventually, in_server, prompt

EVENTS = """subscription($id: ID!, $after: Int! = -1) {
    sessionEvents(sessionId: $id, afterSeq: $after) { seq } }"""


async def seqs(stream: Stream, count: int) -> list[int]:
    return [each["seq"] for each in await stream.take(count)]


async def followers_of(server: Server, session_id: str) -> int:
    ring = server.following._rings.get(session_id)
    return 0 if ring is None else ring.followers


@in_server()
async def test_stored_events_come_first_then_live_ones_as_they_commit(server: Server) -> None:
    await server.create("s")
    await server.append("s", "one", "two")
    stream = await server.follow(EVENTS, id="s")
    assert await seqs(stream, 2) == [0, 1]
    waiting = asyncio.create_task(stream.next())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    await server.append("s", "three")
    assert (await waiting).data == {"sessionEvents": {"seq": 2}}


@in_server()
async def test_a_frame_is_an_event_like_any_other(server: Server) -> None:
    await server.create("s")
    await server.append("s", "hello")
    stream = await server.follow(
        """subscription { sessionEvents(sessionId: "s") { __typename id seq type surface data
            surfaceOp { op } ... on UserMessageEvent { text sourceKind } } }"""
    )
    (event,) = await stream.take(1)
    assert event.pop("id").endswith("#0")
    assert event == {
        "__typename": "UserMessageEvent",
        "seq": 0,
        "type": "user/message",
        "surface": "CURRENT",
        "data": prompt("hello")["data"],
        "surfaceOp": {"op": "APPEND"},
        "text": "hello",
        "sourceKind": "user",
    }


@pytest.mark.parametrize("after", [-1, 0, 3, 4])
@in_server()
async def test_it_can_be_taken_up_after_any_event(server: Server, after: int) -> None:
    await server.create("s")
    await server.append("s", *"abcde")
    stream = await server.follow(EVENTS, id="s", after=after)
    await server.append("s", "f")
    assert await seqs(stream, 5 - after) == list(range(after + 1, 6))


@in_server()
async def test_without_an_argument_everything_is_followed(server: Server) -> None:
    await server.create("s")
    await server.append("s", "one")
    stream = await server.follow('subscription { sessionEvents(sessionId: "s") { seq } }')
    assert await seqs(stream, 1) == [0]


@pytest.mark.parametrize("ring_events", [1, 7, 1024])
def test_no_gap_and_no_repeat_while_events_commit_during_the_start(
    ring_events: int, tmp_path: Any
) -> None:
    @in_server(ring_events=ring_events)
    async def run(server: Server) -> None:
        await server.create("s")
        await server.append("s", *(f"stored {number}" for number in range(30)))

        async def write() -> None:
            for number in range(60):
                await server.append("s", f"live {number}", durability="DURABLE")

        async def follow(turns: int) -> list[int]:
            for _ in range(turns):
                await asyncio.sleep(0)
            stream = await server.follow(EVENTS, id="s")
            return await seqs(stream, 90)

        writing = asyncio.create_task(write())
        found = await asyncio.gather(*(follow(7 * number) for number in range(12)))
        await writing
        assert found == [list(range(90))] * 12

    run(tmp_path=tmp_path)


@in_server(ring_events=4)
async def test_a_slow_follower_misses_nothing(server: Server) -> None:
    await server.create("s")
    await server.append("s", "first")
    stream = await server.follow(EVENTS, id="s")
    assert await seqs(stream, 1) == [0]
    for number in range(300):
        await server.append("s", f"{number}", durability="ACCEPTED")
    await server.ask('mutation { flushSession(id: "s") { session { id } } }')
    assert await seqs(stream, 300) == list(range(1, 301))


@in_server(write_delay_ms=60_000)
async def test_only_what_is_committed_is_shown(server: Server) -> None:
    await server.create("s")
    stream = await server.follow(EVENTS, id="s")
    waiting = asyncio.create_task(stream.next())
    await asyncio.sleep(0.05)
    await server.append("s", "accepted", durability="ACCEPTED")
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await server.ask('mutation { flushSession(id: "s") { session { id } } }')
    assert (await waiting).data == {"sessionEvents": {"seq": 0}}


@in_server(write_delay_ms=60_000)
async def test_whoever_was_shown_an_accepted_event_can_follow_what_comes_after_it(
    server: Server,
) -> None:
    await server.create("s", durability="ACCEPTED")
    answer = await server.append("s", "one", durability="ACCEPTED")
    last = answer.data["appendEvents"]["session"]["lastSeq"]
    stream = await server.follow(EVENTS, id="s", after=last)
    await server.append("s", "two")
    assert await seqs(stream, 1) == [1]


@pytest.mark.parametrize(
    ("session_id", "after", "code"),
    [
        ("nobody", -1, "SESSION_QUERY_SESSION_NOT_FOUND"),
        ("s", 1, "SESSION_LOG_CONFLICT"),
        ("s", -2, "BAD_USER_INPUT"),
    ],
)
@in_server()
async def test_what_cannot_be_followed_is_refused_and_the_stream_ends(
    server: Server, session_id: str, after: int, code: str
) -> None:
    await server.create("s")
    await server.append("s", "one")
    stream = await server.follow(EVENTS, id=session_id, after=after)
    (frame,) = await stream.rest()
    assert frame.body["data"] is None
    assert frame.codes == [code]


@in_server()
async def test_closing_and_resuming_the_session_end_nothing(server: Server) -> None:
    await server.create("s")
    await server.append("s", "one")
    stream = await server.follow(EVENTS, id="s")
    await server.ask('mutation { closeSession(id: "s") { session { id } } }')
    assert await seqs(stream, 1) == [0]
    await server.ask('mutation { resumeSession(id: "s") { session { id } } }')
    await server.append("s", "two")
    assert await seqs(stream, 1) == [1]


@in_server()
async def test_it_ends_cleanly_with_the_deletion_of_the_session(server: Server) -> None:
    await server.create("s")
    await server.append("s", "one")
    streams = [await server.follow(EVENTS, id="s") for _ in range(3)]
    resting = [asyncio.create_task(each.rest()) for each in streams]
    await asyncio.sleep(0.01)
    await server.ask('mutation { deleteSession(id: "s") { deletedId } }')
    for each in resting:
        assert [frame.data for frame in await each] == [{"sessionEvents": {"seq": 0}}]


@in_server()
async def test_it_ends_cleanly_when_the_server_stops(server: Server) -> None:
    await server.create("s")
    await server.append("s", "one")
    stream = await server.follow(EVENTS, id="s")
    resting = asyncio.create_task(stream.rest())
    await asyncio.sleep(0.01)
    await server.stop()
    assert [frame.data for frame in await resting] == [{"sessionEvents": {"seq": 0}}]
    late = await (await server.follow(EVENTS, id="s")).rest()
    assert [frame.data for frame in late] == [{"sessionEvents": {"seq": 0}}]


@in_server()
async def test_it_ends_with_an_error_when_the_log_is_read_anew(server: Server) -> None:
    folder = server.path / "recorded"
    folder.mkdir()
    rows = [dsh.header_row(id="old"), dsh.row(0, "custom/thing", {"a": 1})]
    file = dsh.write(folder / "session.jsonl", rows)
    await server.take_in(file)
    stream = await server.follow(EVENTS, id="old")
    assert await seqs(stream, 1) == [0]
    resting = asyncio.create_task(stream.rest())
    dsh.write(file, [rows[0], dsh.row(0, "custom/thing", {"a": 2}), dsh.row(1, "custom/thing")])
    await server.take_in(file)
    (frame,) = await resting
    assert frame.codes == ["SESSION_LOG_REPLACED"]
    assert frame.errors[0]["extensions"]["retriable"] is True


@in_server()
async def test_an_imported_session_is_followed_as_its_file_grows(server: Server) -> None:
    folder = server.path / "recorded"
    folder.mkdir()
    rows = [dsh.header_row(id="old"), dsh.row(0, "custom/thing", {"a": 1})]
    file = dsh.write(folder / "session.jsonl", rows)
    await server.take_in(file)
    stream = await server.follow(EVENTS, id="old")
    assert await seqs(stream, 1) == [0]
    dsh.write(file, [*rows, dsh.row(1, "custom/thing", {"a": 2})])
    assert (await server.take_in(file)).resumed == 1
    assert await seqs(stream, 1) == [1]
    await server.ask('mutation { resumeSession(id: "old") { session { id } } }')
    await server.append("old", "mine")
    assert await seqs(stream, 1) == [2]


@in_server()
async def test_whoever_leaves_leaves_nothing_behind(server: Server) -> None:
    await server.create("s")
    streams = [await server.follow(EVENTS, id="s") for _ in range(5)]
    waiting = [asyncio.create_task(each.next()) for each in streams]
    await asyncio.sleep(0.01)
    assert await followers_of(server, "s") == 5
    for each in waiting:
        each.cancel()
    for each in waiting:
        with contextlib.suppress(asyncio.CancelledError):
            await each
    for stream in streams:
        await stream.close()

    async def nobody() -> bool:
        return await followers_of(server, "s") == 0

    await eventually(nobody)


# Frames and observations


@in_server()
async def test_a_frame_holds_an_observation_only_while_it_is_read(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await server.create("s")
    data = {
        "turn": 1,
        "step": 1,
        "message": {"id": "a", "role": "assistant", "content": []},
        "stream": [{"type": "text-delta", "index": 0, "text": "long"}],
    }
    await server.append("s", "one", {"type": "assistant/message", "data": data}, "three")
    made, held = 0, 0
    observe = server.services.query.observe

    @asynccontextmanager
    async def watched() -> AsyncIterator[Any]:
        nonlocal made, held
        made, held = made + 1, held + 1
        try:
            async with observe() as observation:
                yield observation
        finally:
            held -= 1

    monkeypatch.setattr(server.services.query, "observe", watched)
    stream = await server.follow('subscription { sessionEvents(sessionId: "s") { seq data } }')
    (first,) = await stream.take(1)
    assert (first["seq"], made, held) == (0, 0, 0)
    (second,) = await stream.take(1)
    assert second["data"] == data
    assert held == 0
    read = made
    await stream.take(1)
    assert (made, held) == (read, 0)


@in_server()
async def test_a_field_that_fails_in_a_frame_leaves_the_stream_alone(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await server.create("s")
    await server.append("s", "one", "two")
    stream = await server.follow('subscription { sessionEvents(sessionId: "s") { seq data } }')
    with monkeypatch.context() as patch:
        patch.setattr("schema.event.payload_at_hand", _fail)
        frame = await stream.next()
    assert frame.body["data"] is None
    assert frame.codes == ["SESSION_QUERY_PERSISTENCE_FAILED"]
    assert await seqs(stream, 1) == [1]


def _fail(*_: Any) -> Any:
    raise PersistenceFailed("the disk is gone")


@in_server()
async def test_a_fault_while_following_is_masked_and_logged(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any) -> AsyncIterator[Any]:
        raise RuntimeError("secret /path")
        yield

    monkeypatch.setattr(server.following, "events", broken)
    await server.create("s")
    with capture_logs() as logged:
        (frame,) = await (await server.follow(EVENTS, id="s")).rest()
    assert frame.codes == ["INTERNAL_SERVER_ERROR"]
    assert b"secret" not in frame.text
    assert [entry["reference"] for entry in logged] == [frame.errors[0]["extensions"]["reference"]]


@in_server()
async def test_a_subscription_that_does_not_fit_the_schema_is_bad_input(server: Server) -> None:
    for document in (
        "subscription { sessionEvents { seq } }",
        'subscription { sessionEvents(sessionId: "s", afterSeq: 1.5) { seq } }',
        'subscription { sessionEvents(sessionId: "s") { nonsense } }',
        "subscription {",
        'subscription { a: sessionEvents(sessionId: "s") { seq } corpus { kind } }',
    ):
        (frame,) = await (await server.follow(document)).rest()
        assert set(frame.codes) == {"BAD_USER_INPUT"}
