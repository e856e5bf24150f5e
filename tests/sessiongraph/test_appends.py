"""An append happens once, however often it is asked for."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from sessiongraph.errors import InvalidEvent, LogConflict, NotLive, SessionNotFound
from sessiongraph.event import SurfaceOp
from sessiongraph.new_event import NewEvent
from tests.plain_store import run
from tests.sessiongraph.live_engine import (
    ACCEPTED,
    DURABLE,
    LAZY,
    Engine,
    opened,
    said,
    soon,
)
from tests.sessiongraph.test_live_sessions import stoppable
from tests.strategies import wrapped_result

DURABILITIES = pytest.mark.parametrize("durability", [DURABLE, ACCEPTED])


# The expected seq


@DURABILITIES
def test_an_append_at_the_wrong_seq_is_a_conflict_and_changes_nothing(
    tmp_path: Path, durability: Any
) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            await engine.say("one", "two")
            for wrong in (-1, 0, 1, 3, 100):
                with pytest.raises(LogConflict):
                    await engine.say("other", at=wrong, durability=durability)
            assert await engine.heard() == ["one", "two"]
            assert await engine.say("three", at=2, durability=durability) == [2]

    run(scenario())


@pytest.mark.parametrize("seed", range(4))
def test_of_many_appends_at_one_seq_exactly_one_wins(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)

    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            answers = await asyncio.gather(
                *(
                    engine.say(f"{n}", at=0, durability=dice.choice((DURABLE, ACCEPTED)))
                    for n in range(20)
                ),
                return_exceptions=True,
            )
            assert sum(isinstance(each, LogConflict) for each in answers) == 19
            (winner,) = (n for n, each in enumerate(answers) if each == [0])
            assert await engine.heard() == [f"{winner}"]

    run(scenario())


def test_appending_to_what_is_not_live_or_not_there_says_which(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            with pytest.raises(SessionNotFound):
                await engine.say("one")
            await engine.begin()
            await engine.writing.close("a")
            with pytest.raises(NotLive, match="resume"):
                await engine.say("one")

    run(scenario())


# Lost answers


@DURABILITIES
@pytest.mark.parametrize("when", ["in memory", "on disk", "closed and resumed"])
def test_the_same_append_again_answers_as_the_first_time(
    tmp_path: Path, durability: Any, when: str
) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db", LAZY) as engine:
            await engine.begin()
            events = [said("one"), said("two", time=7)]
            first = await engine.writing.append("a", events, 0, ACCEPTED)
            await engine.accept("after")
            if when != "in memory":
                await engine.writing.flush("a")
            if when == "closed and resumed":
                await engine.writing.close("a")
                await engine.writing.resume("a")
            again = await engine.writing.append("a", events, 0, durability)
            assert [(e.seq, e.time, e.payload) for e in again] == [
                (e.seq, e.time, e.payload) for e in first
            ]
            assert await engine.heard() == ["one", "two", "after"]
            if durability is DURABLE:
                assert (await engine.written())[:2] == ["one", "two"]

    run(scenario())


@DURABILITIES
def test_an_append_that_is_partly_in_the_store_is_found_whole(
    tmp_path: Path, durability: Any
) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db", LAZY) as engine:
            await engine.begin()
            await engine.say("one")
            await engine.accept("two", "three")
            assert await engine.say("one", "two", "three", at=0, durability=durability) == [0, 1, 2]
            assert await engine.heard() == ["one", "two", "three"]

    run(scenario())


def test_an_append_that_goes_beyond_what_is_there_is_a_conflict(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            await engine.say("one", "two")
            with pytest.raises(LogConflict):
                await engine.say("two", "three", at=1)
            assert await engine.heard() == ["one", "two"]

    run(scenario())


@pytest.mark.parametrize(
    "other",
    [
        said("one", time=8),
        said("another", time=7),
        said("one", time=7, ignorable=True),
        said("one", time=7, surface_op=SurfaceOp(0, 0), source_event_seqs=(0,)),
        NewEvent.of("custom/type", {}, time=7),
    ],
    ids=["time", "data", "ignorable", "place", "type"],
)
def test_an_append_that_says_something_else_is_a_conflict(tmp_path: Path, other: NewEvent) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            await engine.writing.append("a", [said("zero"), said("one", time=7)], 0, DURABLE)
            with pytest.raises(LogConflict):
                await engine.writing.append("a", [other], 1, DURABLE)

    run(scenario())


def test_payloads_are_compared_as_values(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            await engine.writing.append("a", [NewEvent.of("x/y", {"a": 1, "b": [2]})], 0, DURABLE)
            spaced = NewEvent("x/y", b'{ "b": [2], "a": 1 }')
            assert len(await engine.writing.append("a", [spaced], 0, DURABLE)) == 1

    run(scenario())


def test_a_long_append_is_found_again_page_by_page(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            texts = [f"{n}" for n in range(1203)]
            seqs = await engine.say(*texts, at=0)
            assert await engine.say(*texts, at=0) == seqs == list(range(1203))

    run(scenario())


def test_a_retry_of_a_durable_append_waits_for_the_commit_of_the_first(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with stoppable(tmp_path) as (engine, store):
            await engine.begin()
            door = store.hold("append")
            first = asyncio.create_task(engine.say("one", at=0))
            await door.reached.wait()
            again = asyncio.create_task(engine.say("one", at=0))
            await soon()
            assert not again.done()
            assert await engine.heard() == []
            door.open()
            assert await first == await again == [0]
            assert await engine.written() == ["one"]

    run(scenario())


def test_an_accepted_retry_of_a_durable_append_is_a_promise(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with stoppable(tmp_path) as (engine, store):
            await engine.begin()
            door = store.hold("append")
            first = asyncio.create_task(engine.say("one", at=0))
            await door.reached.wait()
            assert await engine.accept("one", at=0) == [0]
            assert await engine.heard() == ["one"]
            door.open()
            await first

    run(scenario())


def test_an_append_whose_client_has_gone_is_made_all_the_same_and_only_once(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with stoppable(tmp_path) as (engine, store):
            await engine.begin()
            door = store.hold("append")
            first = asyncio.create_task(engine.say("one", at=0))
            await door.reached.wait()
            first.cancel()
            await asyncio.wait([first])
            door.open()
            assert await engine.say("one", at=0) == [0]
            assert await engine.say("two", at=1) == [1]
            assert await engine.written() == ["one", "two"]

    run(scenario())


# Replacing tool results, which the surface compares


async def results(engine: Engine, *texts: str) -> None:
    for text in texts:
        block = [{"type": "text", "text": text}]
        event = NewEvent.of("tool/result", wrapped_result("call-1", block))
        await engine.writing.append("a", [event], None, DURABLE)


def pruned(seq: int, call_id: str = "call-1") -> NewEvent:
    return NewEvent.of(
        "tool/result",
        wrapped_result(call_id, []),
        surface_op=SurfaceOp(seq, seq),
        source_event_seqs=(seq,),
    )


@pytest.mark.parametrize("where", ["memory", "store"])
def test_a_tool_result_is_compared_with_the_one_it_replaces_wherever_that_lies(
    tmp_path: Path, where: str
) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db", LAZY) as engine:
            await engine.begin()
            await results(engine, "long", "longer")
            if where == "memory":
                await engine.writing.append("a", [pruned(0)], None, ACCEPTED)
                await engine.writing.append("a", [pruned(2)], None, ACCEPTED)
            else:
                await engine.writing.close("a")
                await engine.writing.resume("a")
                await engine.writing.append("a", [pruned(0), pruned(1)], None, DURABLE)
            with pytest.raises(InvalidEvent, match="rule 5"):
                await engine.writing.append("a", [pruned(3, "call-2")], None, DURABLE)

    run(scenario())


def test_replacing_a_result_that_comes_while_older_ones_are_read_is_refused_cleanly(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with stoppable(tmp_path) as (engine, store):
            await engine.begin()
            await results(engine, "long")
            observed = store.hold_answer("observe")
            early = asyncio.create_task(
                engine.writing.append("a", [pruned(0), pruned(1)], None, DURABLE)
            )
            await observed.reached.wait()
            store.let("observe")
            await results(engine, "came meanwhile")
            observed.open()
            with pytest.raises(InvalidEvent):
                await early
            events = await engine.writing.append("a", [pruned(0), pruned(1)], None, DURABLE)
            assert [event.seq for event in events] == [2, 3]

    run(scenario())
