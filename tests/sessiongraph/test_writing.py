"""Making, renaming, closing and deleting sessions, and asking for it twice."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sessiongraph.errors import (
    BadUserInput,
    LogConflict,
    LogReadOnly,
    SessionNotFound,
)
from sessiongraph.header import SessionSource, SourceKind
from sessiongraph.live_sessions import Durability
from sessiongraph.new_session import NewSession
from sessiongraph.writing import Lifecycle
from tests.contracts.log_stage import publish
from tests.plain_store import run
from tests.sessiongraph.live_engine import (
    ACCEPTED,
    DURABLE,
    LAZY,
    PROMPT,
    Engine,
    all_of,
    opened,
    soon,
)
from tests.sessiongraph.test_live_sessions import stoppable
from tests.strategies import header, prompt

DURABILITIES = pytest.mark.parametrize("durability", [DURABLE, ACCEPTED])


class Told(Lifecycle):
    """Keeps what happened."""

    def __init__(self) -> None:
        self.news: list[tuple[str, str]] = []

    def created(self, session_id: str) -> None:
        self.news.append(("created", session_id))

    def resumed(self, session_id: str) -> None:
        self.news.append(("resumed", session_id))

    def closed(self, session_id: str) -> None:
        self.news.append(("closed", session_id))

    def deleted(self, session_id: str, cwd: str | None) -> None:
        self.news.append(("deleted", session_id))


async def places(engine: Engine, session_id: str = "a") -> tuple[bool, bool] | None:
    """Whether a session is live and whether it is persisted; None when it does not exist."""
    session = await engine.look(session_id)
    return None if session is None else (session.live, session.persisted)


# Creating


@DURABILITIES
def test_a_new_session_is_live_and_persisted_as_it_was_asked_for(
    tmp_path: Path, durability: Durability
) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db", LAZY) as engine:
            new = NewSession("a", 2, "/p", 5, "parent", "subagent", 3, "preset")
            assert await engine.writing.create(new, durability) == "a"
            assert await places(engine) == (True, durability is DURABLE)
            session = await engine.look()
            assert session is not None
            assert session.header == new.header(0)

    run(scenario())


def test_a_session_without_an_id_gets_one_of_its_own(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            ids = {await engine.writing.create(NewSession(), DURABLE) for _ in range(3)}
            assert len(ids) == 3

    run(scenario())


@DURABILITIES
def test_an_empty_session_reaches_the_disk(tmp_path: Path, durability: Durability) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db", LAZY) as engine:
            await engine.begin(durability=durability)
            await engine.writing.close("a")
            assert await places(engine) == (False, True)

    run(scenario())


@pytest.mark.parametrize(
    "new",
    [
        NewSession(""),
        NewSession(version=5),
        NewSession(version=-1),
        NewSession(delegation_depth=-1),
        NewSession(cwd=""),
        NewSession(cwd="here/below"),
        NewSession(parent_session=""),
        NewSession(origin="elsewhere"),
        NewSession(origin=""),
    ],
)
def test_a_session_that_makes_no_sense_is_refused(tmp_path: Path, new: NewSession) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            with pytest.raises(BadUserInput):
                await engine.writing.create(new, DURABLE)

    run(scenario())


@pytest.mark.parametrize("first", [DURABLE, ACCEPTED])
@pytest.mark.parametrize("second", [DURABLE, ACCEPTED])
@pytest.mark.parametrize("meanwhile", ["nothing", "flush", "close", "crash"])
def test_the_same_creation_again_finds_the_session(
    tmp_path: Path, first: Durability, second: Durability, meanwhile: str
) -> None:
    async def scenario() -> None:
        told = Told()
        async with opened(tmp_path / "log.db", LAZY, told) as engine:
            new = NewSession("a", cwd="/p")
            await engine.writing.create(new, first)
            if meanwhile == "flush":
                await engine.writing.flush("a")
            elif meanwhile == "close":
                await engine.writing.close("a")
            elif meanwhile == "crash":
                await engine.crash()
            assert await engine.writing.create(new, second) == "a"
            lost = meanwhile == "crash" and first is ACCEPTED
            persisted = meanwhile in ("flush", "close") or DURABLE in (first, second)
            assert await places(engine) == (True, persisted)
            assert told.news.count(("created", "a")) == (2 if lost else 1)

    run(scenario())


@pytest.mark.parametrize(
    "other",
    [
        NewSession("a", cwd="/q"),
        NewSession("a", 3, "/p"),
        NewSession("a", cwd="/p", created_at=1),
        NewSession("a", cwd="/p", parent_session="x"),
    ],
)
def test_another_session_under_the_same_id_is_a_conflict(tmp_path: Path, other: NewSession) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.writing.create(NewSession("a", cwd="/p"), DURABLE)
            with pytest.raises(LogConflict):
                await engine.writing.create(other, DURABLE)

    run(scenario())


def test_a_session_that_was_appended_to_is_not_made_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db", LAZY) as engine:
            await engine.begin()
            await engine.accept("one")
            with pytest.raises(LogConflict):
                await engine.begin()

    run(scenario())


def test_a_session_that_was_read_from_a_file_is_not_taken_for_one_of_ours(tmp_path: Path) -> None:
    source = SessionSource(SourceKind.DSH, "/log", 5)

    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await publish(engine.store, header("a", source=source), [])
            with pytest.raises(LogConflict):
                await engine.begin()
            assert await places(engine) == (False, True)

    run(scenario())


def test_of_many_creations_at_once_one_session_comes(tmp_path: Path) -> None:
    async def scenario() -> None:
        told = Told()
        async with opened(tmp_path / "log.db", PROMPT, told) as engine:
            new = NewSession("a")
            kinds = [DURABLE, ACCEPTED] * 5
            assert await all_of(*(engine.writing.create(new, kind) for kind in kinds)) == ["a"] * 10
            assert told.news == [("created", "a")]
            assert engine.writing._turns._turns == {}

    run(scenario())


def test_a_deleted_id_can_be_used_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            await engine.say("old")
            before = await engine.look()
            await engine.writing.delete("a")
            await engine.begin()
            after = await engine.look()
            assert before is not None
            assert after is not None
            assert after.epoch != before.epoch
            await engine.say("new")
            assert await engine.written() == ["new"]

    run(scenario())


# Renaming


@pytest.mark.parametrize("live", [True, False])
def test_a_session_is_renamed_where_it_is_and_stays_there(tmp_path: Path, live: bool) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            await engine.say("one")
            if not live:
                await engine.writing.close("a")
            await engine.writing.rename("a", "Title")
            session = await engine.look()
            assert session is not None
            assert (session.title, session.live, session.persisted) == ("Title", live, True)
            assert await engine.written() == ["one", "session/title"]
            await engine.writing.rename("a", "Title")  # whose answer was lost
            assert await engine.written() == ["one", "session/title"]
            await engine.writing.rename("a", "Other")
            await engine.writing.rename("a", "Title")
            assert await engine.written() == ["one", *["session/title"] * 3]

    run(scenario())


def test_renaming_what_cannot_be_renamed_says_why(tmp_path: Path) -> None:
    source = SessionSource(SourceKind.DSH, "/log", 5)

    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await publish(engine.store, header("file", source=source), [prompt(0, "x")])
            with pytest.raises(LogReadOnly):
                await engine.writing.rename("file", "Title")
            with pytest.raises(SessionNotFound):
                await engine.writing.rename("nobody", "Title")
            await engine.begin()
            with pytest.raises(BadUserInput):
                await engine.writing.rename("a", " \n")
            assert await engine.heard() == []

    run(scenario())


# Flushing and closing


def test_closing_writes_what_was_accepted_and_lets_the_session_go_cold(tmp_path: Path) -> None:
    async def scenario() -> None:
        told = Told()
        async with opened(tmp_path / "log.db", LAZY, told) as engine:
            await engine.begin(durability=ACCEPTED)
            await engine.accept("one")
            await engine.writing.close("a")
            assert await places(engine) == (False, True)
            assert await engine.written() == ["one"]
            await engine.writing.close("a")
            assert told.news == [("created", "a"), ("closed", "a")]

    run(scenario())


def test_flushing_and_closing_what_is_not_there_say_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            for work in (engine.writing.flush("x"), engine.writing.close("x")):
                with pytest.raises(SessionNotFound):
                    await work
            await engine.begin()
            await engine.writing.close("a")
            await engine.writing.flush("a")

    run(scenario())


def test_what_is_accepted_while_a_session_closes_is_written_too(tmp_path: Path) -> None:
    """In the gap between the end of the flush and the end of the session."""

    async def scenario() -> None:
        async with stoppable(tmp_path, LAZY) as (engine, store):
            await engine.begin()
            await engine.accept("one")
            door = store.hold_answer("append")
            closing = asyncio.create_task(engine.writing.close("a"))
            await door.reached.wait()
            assert await engine.written() == ["one"]
            assert await engine.accept("two") == [1]
            door.open()
            await closing
            assert await places(engine) == (False, True)
            assert await engine.written() == ["one", "two"]

    run(scenario())


@pytest.mark.parametrize("turns", range(12))
def test_nothing_that_was_acknowledged_is_lost_when_a_close_races_appends(
    tmp_path: Path, turns: int
) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db", LAZY) as engine:
            await engine.begin()
            promised: list[str] = []

            async def writer(name: int) -> None:
                for turn in range(20):
                    text = f"{name}.{turn}"
                    answer = await all_of(
                        engine.say(text, durability=(DURABLE, ACCEPTED)[(name + turn) % 2])
                    )
                    if isinstance(answer[0], BaseException):
                        return
                    promised.append(text)
                    await soon(name % 3)

            writers = [asyncio.create_task(writer(name)) for name in range(6)]
            await soon(turns * 3)
            await engine.writing.close("a")
            assert engine.live.get("a") is None
            await asyncio.gather(*writers)
            assert sorted(await engine.written()) == sorted(promised)

    run(scenario())


# Deleting


def test_a_deleted_session_is_gone_and_deleting_it_again_is_no_error(tmp_path: Path) -> None:
    async def scenario() -> None:
        told = Told()
        async with opened(tmp_path / "log.db", LAZY, told) as engine:
            await engine.begin()
            await engine.accept("one")
            for _ in range(2):
                await engine.writing.delete("a")
                assert await places(engine) is None
            await engine.writing.delete("nobody")
            assert told.news == [("created", "a")]

    run(scenario())


def test_a_session_of_which_nothing_was_on_disk_is_told_to_be_gone(tmp_path: Path) -> None:
    async def scenario() -> None:
        told = Told()
        async with opened(tmp_path / "log.db", LAZY, told) as engine:
            await engine.begin(durability=ACCEPTED)
            await engine.writing.delete("a")
            assert told.news == [("created", "a"), ("deleted", "a")]
            assert await places(engine) is None

    run(scenario())


@pytest.mark.parametrize("hold", ["before", "after"])
def test_a_session_whose_first_write_is_on_its_way_does_not_come_back_after_its_deletion(
    tmp_path: Path, hold: str
) -> None:
    async def scenario() -> None:
        async with stoppable(tmp_path) as (engine, store):
            door = store.hold("create") if hold == "before" else store.hold_answer("create")
            await engine.begin(durability=ACCEPTED)
            await engine.accept("one")
            await door.reached.wait()
            deleting = asyncio.create_task(engine.writing.delete("a"))
            await soon()
            door.open()
            await deleting
            await soon(20)
            assert await places(engine) is None
            async with store.observe() as reader:
                assert await reader.find(["a"]) == {}
                assert (await reader.counts()).sessions == 0

    run(scenario())


def test_what_is_accepted_while_a_session_is_deleted_does_not_bring_it_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with stoppable(tmp_path, LAZY) as (engine, store):
            await engine.begin(durability=ACCEPTED)
            door = store.hold_answer("delete")
            deleting = asyncio.create_task(engine.writing.delete("a"))
            await door.reached.wait()
            await engine.accept("late")
            flushing = asyncio.create_task(engine.writing.flush("a"))
            await soon(20)
            assert store.calls["create"] == 0
            door.open()
            await all_of(deleting, flushing)
            assert await places(engine) is None
            async with store.observe() as reader:
                assert await reader.find(["a"]) == {}

    run(scenario())


def test_a_deleted_session_has_no_write_to_come(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db", LAZY) as engine:
            await engine.begin(durability=ACCEPTED)
            held = engine.live._held["a"]
            assert held.delayed is not None
            await engine.writing.delete("a")
            assert held.delayed.cancelled()

    run(scenario())


def test_a_deletion_never_shows_half_of_a_log(tmp_path: Path) -> None:
    """Deleted on disk, and the live half not told yet."""

    async def scenario() -> None:
        async with stoppable(tmp_path, LAZY) as (engine, store):
            await engine.begin()
            await engine.say("one")
            await engine.accept("two")
            door = store.hold_answer("delete")
            deleting = asyncio.create_task(engine.writing.delete("a"))
            await door.reached.wait()
            assert await places(engine) is None
            door.open()
            await deleting

    run(scenario())


def test_who_waits_for_a_session_that_is_being_deleted_is_told_that_it_is_gone(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with stoppable(tmp_path, LAZY) as (engine, store):
            await engine.begin()
            door = store.hold("delete")
            deleting = asyncio.create_task(engine.writing.delete("a"))
            await door.reached.wait()
            waiting = [
                asyncio.create_task(work)
                for work in (
                    engine.say("late"),
                    engine.writing.flush("a"),
                    engine.writing.fork("a", None, "b"),
                )
            ]
            await soon()
            assert not any(task.done() for task in waiting)
            door.open()
            await deleting
            for task in waiting:
                with pytest.raises(SessionNotFound):
                    await task
            with pytest.raises(SessionNotFound):
                await engine.say("later")

    run(scenario())


@pytest.mark.parametrize("stage", ["writing", "deleting"])
def test_a_deletion_that_is_given_up_leaves_the_session_writable(
    tmp_path: Path, stage: str
) -> None:
    async def scenario() -> None:
        async with stoppable(tmp_path) as (engine, store):
            await engine.begin()
            writing = store.hold("append")
            door = store.hold("delete")
            first = asyncio.create_task(engine.say("one"))
            await writing.reached.wait()
            deleting = asyncio.create_task(engine.writing.delete("a"))
            await soon()
            if stage == "deleting":
                writing.open()
                await door.reached.wait()
            deleting.cancel()
            await asyncio.wait([deleting])
            writing.open()
            assert await first == [0]
            assert await engine.say("two") == [1]
            assert await engine.written() == ["one", "two"]

    run(scenario())


def test_deletions_creations_and_appends_at_once_end_in_one_of_their_orders(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            for turn in range(15):
                work: list[Any] = []
                for n in range(4):
                    kind = (DURABLE, ACCEPTED)[n % 2]
                    work += [
                        engine.writing.create(NewSession("a"), kind),
                        engine.say(f"{turn}.{n}", durability=kind),
                        engine.writing.delete("a"),
                        engine.say(f"{turn}.{n}+", durability=kind),
                    ]
                await all_of(*work)
                await engine.writing.delete("a")
                await soon(10)
                assert await places(engine) is None
            assert engine.live.all() == []
            assert engine.writing._turns._turns == {}

    run(scenario())
