"""Forking: a child begins with what its source says up to a boundary, and goes on by itself."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.errors import (
    EventNotFound,
    LogConflict,
    OpenTurn,
    SessionNotFound,
)
from sessiongraph.event import Entry, SessionEvent, SurfaceOp, events_of
from sessiongraph.header import SessionHeader, SessionSource, SourceKind
from sessiongraph.new_event import NewEvent
from sessiongraph.new_session import NewSession
from tests.contracts.log_stage import answers_now, one, publish, write
from tests.plain_store import PlainLogStore, prefix_of, run
from tests.providers.sqlite import raw
from tests.sessiongraph.live_engine import (
    ACCEPTED,
    BEGINNING_MS,
    DURABLE,
    LAZY,
    Engine,
    all_of,
    each_in_a_file_of_its_own,
    fresh,
    opened,
    said,
    soon,
)
from tests.sessiongraph.test_live_resume import folded, turns
from tests.sessiongraph.test_writing import Told, places
from tests.strategies import delta_run, event, header, json_text, logs, prompt

SOURCE = SessionSource(SourceKind.DSH, "/log", 5, ("a note",))


def marker_after(log: list[Entry], version: int, time: int) -> list[Entry]:
    """The own first event of a child that begins with this log."""
    seq = log[-1].last_seq + 1
    if version >= 2:
        data: dict[str, Any] = {"inherited": True}
    elif log[-1].type == "session/end-seed":
        return []
    else:
        data = {}
    return [SessionEvent(seq, "session/end-seed", time, json_text(data))]


@each_in_a_file_of_its_own
@given(
    log=logs(min_size=1, max_size=7) | turns().filter(bool),
    version=st.integers(0, 4),
    ends_in_seed=st.booleans(),
)
def test_a_fork_at_every_boundary_equals_a_fresh_log_of_the_prefix_and_the_marker(
    tmp_path: Path, log: list[Entry], version: int, ends_in_seed: bool
) -> None:
    if ends_in_seed:
        log = [*log, event(log[-1].last_seq + 1, "session/end-seed")]
    source = SessionHeader(
        version, "a", 7, "/p", "grandparent", 1, "subagent", 2, "preset", SOURCE, {"x": 1}
    )

    async def scenario() -> None:
        plain = PlainLogStore()
        async with opened(fresh(tmp_path)) as engine:
            await publish(engine.store, source, log)
            before = await answers_now(engine.store, "a")
            for boundary in range(log[-1].last_seq + 1):
                prefix = prefix_of(log, boundary)
                child_id = f"child {boundary}"
                if folded(prefix).is_open:
                    with pytest.raises(OpenTurn):
                        await engine.writing.fork("a", boundary, child_id)
                    assert await places(engine, child_id) is None
                    continue
                assert await engine.writing.fork("a", boundary, child_id) == child_id
                assert await places(engine, child_id) == (True, True)
                child = await engine.look(child_id)
                assert child is not None
                created_at = child.header.created_at
                assert created_at >= BEGINNING_MS
                expected = SessionHeader(
                    version, child_id, created_at, "/p", "a", boundary + 1, None, 2, "preset"
                )
                assert child.header == expected
                own = marker_after(prefix, version, created_at)
                await write(plain, expected, [*prefix, *own])
                assert await answers_now(engine.store, child_id) == await answers_now(
                    plain, child_id
                )
                await engine.say("own", to=child_id)
            assert await answers_now(engine.store, "a") == before

    run(scenario())


def test_a_fork_holds_the_citations_of_its_prefix(tmp_path: Path) -> None:
    def citing(target: str) -> NewEvent:
        block = {"type": "text", "text": "see"}
        citation = {"sessionId": target, "label": target, "capturedThroughSeq": 3}
        return NewEvent.of(
            "user/message",
            {
                "id": "m",
                "role": "user",
                "source": {"kind": "session-reference", "references": [citation]},
                "content": [block],
            },
        )

    async def scenario() -> None:
        path = tmp_path / "log.db"
        async with opened(path) as engine:
            await engine.begin()
            await engine.writing.append("a", [citing("x"), citing("y")], None, DURABLE)
            await engine.writing.fork("a", 0, "child")
        sql = "SELECT seq, target FROM citations JOIN logs USING (log) WHERE id = ? ORDER BY seq"
        of_source, of_child = (raw.rows(path, sql, session_id) for session_id in (b"a", b"child"))
        assert of_source == [(0, b"x"), (1, b"y")]
        assert of_child == [(0, b"x")]

    run(scenario())


def test_a_fork_of_a_live_session_holds_what_was_accepted(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db", LAZY) as engine:
            await engine.begin(durability=ACCEPTED)
            await engine.accept("one", "two")
            child = await engine.writing.fork("a", None, None)
            assert await engine.heard(child) == ["one", "two", "session/end-seed"]
            await engine.say("own", to=child)
            await engine.accept("three")
            assert await engine.heard() == ["one", "two", "three"]
            assert (await engine.heard(child))[-1] == "own"

    run(scenario())


def test_a_boundary_inside_a_run_of_deltas_cuts_the_run(tmp_path: Path) -> None:
    log: list[Entry] = [prompt(0, "hello"), delta_run(1, ["a", "b", "c"]), prompt(4, "end")]

    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await publish(engine.store, header("a"), log)
            await engine.writing.fork("a", 2, "child")
            expected = [each.payload for entry in log for each in events_of(entry)][:3]
            events = await engine.events("child")
            assert [placed.event.payload for placed in events[:3]] == expected
            assert events[3].type == "session/end-seed"
            async with engine.store.observe() as reader:
                child = await one(reader, "child")
                pages = [page async for page in reader.entries(child)]
                assert [entry.last_seq for page in pages for entry in page] == [0, 2, 3]

    run(scenario())


def test_forks_that_make_no_sense_say_why_and_leave_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "log.db"
        async with opened(path) as engine:
            await engine.begin()
            for boundary in (None, 0, -1):
                with pytest.raises(EventNotFound):
                    await engine.writing.fork("a", boundary, "child")
            await engine.say("one")
            for boundary in (-1, 1, 100):
                with pytest.raises(EventNotFound):
                    await engine.writing.fork("a", boundary, "child")
            with pytest.raises(SessionNotFound):
                await engine.writing.fork("nobody", None, "child")
            for taken in ("a", "other"):
                if taken == "other":
                    await engine.begin("other")
                with pytest.raises(LogConflict):
                    await engine.writing.fork("a", None, taken)
            assert engine.writing._turns._turns == {}
        assert raw.strays(path) == {}

    run(scenario())


# Lost answers


@pytest.mark.parametrize("boundary", [1, None])
@pytest.mark.parametrize("meanwhile", ["nothing", "close", "crash", "source grows", "source goes"])
def test_the_same_fork_again_answers_with_the_child(
    tmp_path: Path, boundary: int | None, meanwhile: str
) -> None:
    async def scenario() -> None:
        told = Told()
        async with opened(tmp_path / "log.db", lifecycle=told) as engine:
            await engine.begin()
            await engine.say("one", "two")
            await engine.writing.fork("a", boundary, "child")
            if meanwhile == "close":
                await engine.writing.close("child")
            elif meanwhile == "crash":
                await engine.crash()
            elif meanwhile == "source grows":
                start = NewEvent.of("turn/start", {"turn": 1})
                await engine.writing.append("a", [start], None, DURABLE)
            elif meanwhile == "source goes":
                await engine.writing.delete("a")
            assert await engine.writing.fork("a", boundary, "child") == "child"
            assert await places(engine, "child") == (True, True)
            assert await engine.heard("child") == ["one", "two", "session/end-seed"]
            assert told.news.count(("created", "child")) == 1

    run(scenario())


def test_another_fork_under_the_same_id_is_a_conflict(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            await engine.say("one", "two")
            await engine.begin("b")
            await engine.say("one", "two", to="b")
            await engine.writing.fork("a", 1, "child")
            for source, boundary in [("a", 0), ("b", 1)]:
                with pytest.raises(LogConflict):
                    await engine.writing.fork(source, boundary, "child")
            await engine.say("own", to="child")
            await engine.writing.create(NewSession("no fork", parent_session="a"), DURABLE)
            for boundary in (1, None):
                for taken in ("child", "no fork"):
                    with pytest.raises(LogConflict):
                        await engine.writing.fork("a", boundary, taken)

    run(scenario())


def test_of_many_forks_at_once_under_one_id_one_comes(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            await engine.say("one")
            answers = await all_of(*(engine.writing.fork("a", 0, "child") for _ in range(5)))
            assert answers == ["child"] * 5
            async with engine.store.observe() as reader:
                assert (await reader.counts()).sessions == 2

    run(scenario())


# Races


async def long_source(engine: Engine, events: int = 4000) -> None:
    """A session whose copy takes several transactions."""
    await engine.begin()
    texts = [f"{n}" for n in range(events)]
    for start in range(0, events, 1000):
        await engine.say(*texts[start : start + 1000])


def test_a_source_that_is_deleted_while_it_is_forked_is_a_conflict_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> list[Any]:
        outcomes: list[Any] = []
        async with opened(path) as engine:
            for turns_between in range(0, 40, 4):
                await long_source(engine)
                forking = asyncio.create_task(engine.writing.fork("a", None, "child"))
                await soon(turns_between)
                await engine.writing.delete("a")
                (outcome,) = await all_of(forking)
                outcomes.append(outcome)
                if outcome == "child":
                    assert len(await engine.events("child")) == 4001
                    await engine.writing.delete("child")
                else:
                    assert isinstance(outcome, (LogConflict, SessionNotFound))
                assert await places(engine, "child") is None
                assert engine.live.all() == []
            await raw.settled(engine.store)
        assert raw.strays(path) == {}
        return outcomes

    outcomes = run(scenario())
    assert any(isinstance(outcome, LogConflict) for outcome in outcomes)


def test_a_fork_that_is_given_up_leaves_nothing_after_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        async with opened(path) as engine:
            await long_source(engine)
            for turns_between in range(0, 60, 6):
                forking = asyncio.create_task(engine.writing.fork("a", None, "child"))
                await soon(turns_between)
                forking.cancel()
                await asyncio.wait([forking])
                if await places(engine, "child") is not None:
                    await engine.writing.delete("child")
            assert engine.writing._turns._turns == {}
        async with opened(path) as engine:
            await raw.settled(engine.store)
        assert raw.strays(path) == {}

    run(scenario())


def test_an_id_that_is_taken_while_a_fork_is_copied_is_a_conflict(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await long_source(engine)
            forking = asyncio.create_task(engine.writing.fork("a", None, "child"))
            await soon(10)
            await publish(engine.store, header("child"), [prompt(0, "first")])
            with pytest.raises(LogConflict):
                await forking
            assert await engine.written("child") == ["first"]
            await raw.settled(engine.store)

    run(scenario())


def test_appends_go_on_while_a_fork_is_copied(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await long_source(engine)
            forking = asyncio.create_task(engine.writing.fork("a", 3999, "child"))
            done_before = 0
            while not forking.done():
                await engine.say("meanwhile")
                done_before += not forking.done()
            await forking
            assert done_before > 1
            assert len(await engine.events("child")) == 4001

    run(scenario())


def test_a_source_that_grows_while_it_is_forked_is_copied_as_it_was(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await long_source(engine)
            forking = asyncio.create_task(engine.writing.fork("a", 3999, "child"))
            await soon(10)
            over = said("summary", surface_op=SurfaceOp(0, 9), source_event_seqs=tuple(range(10)))
            await engine.writing.append("a", [over], None, DURABLE)
            assert not forking.done()
            await forking
            async with engine.store.observe() as reader:
                child = await one(reader, "child")
                nodes = await reader.surface_nodes(child)
                assert [node.seq for node in nodes] == list(range(4000))

    run(scenario())
