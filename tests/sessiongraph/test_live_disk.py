"""A disk that refuses: who is told so, what is taken back, what stays and is written later."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.errors import LogConflict, PersistenceFailed, SessionNotFound
from sessiongraph.filters import ALL_EVENTS, ALL_SESSIONS, Availability
from sessiongraph.live_sessions import LiveLimits
from sessiongraph.new_session import NewSession
from sessiongraph.paging import PageRequest
from sessiongraph.ports import SessionOrder, WindowRequest
from tests.contracts.log_stage import publish
from tests.plain_store import run
from tests.sessiongraph.failing_disk import KINDS, FailingDisk
from tests.sessiongraph.live_engine import (
    ACCEPTED,
    DURABLE,
    LAZY,
    PROMPT,
    Engine,
    all_of,
    opened,
    running,
    soon,
)
from tests.sessiongraph.stopped_store import StoppedStore
from tests.strategies import event, header

EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


@asynccontextmanager
async def on_a_disk(
    kind: str, path: Path, limits: LiveLimits = LAZY
) -> AsyncIterator[tuple[Engine, FailingDisk]]:
    """An engine with a session ``a`` that holds one event, on a disk that can fail."""
    async with opened(path / "log.db", limits) as engine:
        assert isinstance(engine.store, SqliteLogStore)
        await engine.begin()
        await engine.say("zero")
        yield engine, FailingDisk(kind, path / "log.db", engine.store)


@EVERY_KIND
def test_a_durable_append_is_answered_as_failed_and_withdrawn(tmp_path: Path, kind: str) -> None:
    async def scenario() -> None:
        async with on_a_disk(kind, tmp_path) as (engine, disk):
            async with disk.failing():
                for _ in range(3):
                    with pytest.raises(PersistenceFailed) as caught:
                        await engine.say("one", at=1)
                    assert caught.value.retriable
                    assert await engine.heard() == await engine.written() == ["zero"]
            assert await engine.say("other", at=1) == [1]
            assert await engine.written() == ["zero", "other"]

    run(scenario())


@EVERY_KIND
def test_the_same_append_sent_again_answers_as_if_it_had_been_the_first(
    tmp_path: Path, kind: str
) -> None:
    async def scenario() -> None:
        async with on_a_disk(kind, tmp_path) as (engine, disk):
            async with disk.failing():
                with pytest.raises(PersistenceFailed):
                    await engine.say("one", "two", at=1)
            assert await engine.say("one", "two", at=1) == [1, 2]
            assert await engine.say("one", "two", at=1) == [1, 2]
            assert await engine.written() == ["zero", "one", "two"]

    run(scenario())


@EVERY_KIND
def test_what_was_accepted_stays_and_reaches_the_disk_when_it_is_back(
    tmp_path: Path, kind: str
) -> None:
    async def scenario() -> None:
        async with on_a_disk(kind, tmp_path, PROMPT) as (engine, disk):
            async with disk.failing():
                await engine.accept("one")
                await engine.accept("two")
                await disk.has_refused(3)
                assert await engine.heard() == ["zero", "one", "two"]
                assert await engine.written() == ["zero"]
                assert await engine.accept("three") == [3]
            await engine.writing.flush("a")
            expected = ["zero", "one", "two", "three"]
            assert await engine.heard() == await engine.written() == expected

    run(scenario())


@EVERY_KIND
def test_what_an_accepted_event_stands_on_stays_with_it(tmp_path: Path, kind: str) -> None:
    """A DURABLE append fails, but an ACCEPTED one behind it was promised meanwhile."""

    async def scenario() -> None:
        async with on_a_disk(kind, tmp_path) as (engine, disk):
            async with disk.failing():
                durable = [asyncio.create_task(engine.say(text)) for text in ("one", "two")]
                await soon(2)
                assert await engine.accept("three") == [3]
                last = asyncio.create_task(engine.say("four"))
                for append in (*durable, last):
                    with pytest.raises(PersistenceFailed):
                        await append
                assert await engine.heard() == ["zero", "one", "two", "three"]
                assert await engine.written() == ["zero"]
            again = [
                engine.say("one", at=1),
                engine.say("two", at=2),
                engine.accept("three", at=3),
            ]
            assert await all_of(*again) == [[1], [2], [3]]
            await engine.writing.flush("a")
            assert await engine.written() == ["zero", "one", "two", "three"]

    run(scenario())


@EVERY_KIND
def test_a_session_that_was_accepted_is_made_when_the_disk_is_back(
    tmp_path: Path, kind: str
) -> None:
    async def scenario() -> None:
        async with on_a_disk(kind, tmp_path, PROMPT) as (engine, disk):
            async with disk.failing():
                await engine.begin("b", ACCEPTED)
                with pytest.raises(PersistenceFailed):
                    await engine.say("one", to="b")
                await engine.accept("two", to="b")
                await disk.has_refused(2)
                assert await engine.heard("b") == ["two"]
                with pytest.raises(PersistenceFailed):
                    await engine.writing.flush("b")
            await engine.writing.flush("b")
            assert await engine.written("b") == ["two"]

    run(scenario())


@EVERY_KIND
def test_everything_else_that_needs_the_disk_fails_cleanly_and_can_be_tried_again(
    tmp_path: Path, kind: str
) -> None:
    async def scenario() -> None:
        async with on_a_disk(kind, tmp_path) as (engine, disk):
            writing = engine.writing
            await engine.begin("cold")
            await writing.close("cold")
            await publish(engine.store, header("open"), [event(0, "turn/start", {"turn": 1})])
            await engine.accept("one")
            work = [
                lambda: writing.create(NewSession("b"), DURABLE),
                lambda: writing.rename("a", "Title"),
                lambda: writing.rename("cold", "Title"),
                lambda: writing.flush("a"),
                lambda: writing.close("a"),
                lambda: writing.fork("a", 0, "child"),
                lambda: writing.resume("open"),
                lambda: writing.delete("cold"),
            ]
            async with disk.failing():
                for each in work:
                    with pytest.raises(PersistenceFailed):
                        await each()
                live = {session.session_id for session in engine.live.all()}
                assert live == {"a"}
                assert await engine.look("b") is None
                assert await engine.look("child") is None
                assert await engine.heard() == ["zero", "one"]
            for each in work:
                await each()
            assert await engine.written("child") == ["zero", "session/end-seed"]
            assert await engine.written("open") == ["turn/start", "turn/end"]
            assert (await engine.written())[:2] == ["zero", "one"]
            with pytest.raises(SessionNotFound):
                await writing.flush("cold")

    run(scenario())


def test_a_crashed_tail_that_cannot_be_closed_yet_loses_nothing_that_comes_meanwhile(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with on_a_disk("sync", tmp_path, PROMPT) as (engine, disk):
            await publish(engine.store, header("open"), [event(0, "turn/start", {"turn": 1})])
            promised: list[str] = []

            async def accept_when_live() -> None:
                while not promised and not resuming.done():
                    answers = await all_of(engine.accept("promised", to="open"))
                    if not isinstance(answers[0], BaseException):
                        promised.append("promised")
                    await asyncio.sleep(0)

            async with disk.failing():
                resuming = asyncio.create_task(engine.writing.resume("open"))
                await accept_when_live()
                with pytest.raises(PersistenceFailed):
                    await resuming
            await engine.writing.resume("open")
            await engine.writing.close("open")
            assert await engine.written("open") == ["turn/start", "turn/end", *promised]

    run(scenario())


@EVERY_KIND
def test_a_disk_that_comes_and_goes_loses_nothing_and_repeats_nothing(
    tmp_path: Path, kind: str
) -> None:
    async def one_seed(seed: int, path: Path) -> None:
        dice = random.Random(seed)
        async with on_a_disk(kind, path, PROMPT) as (engine, disk):
            promised: dict[int, str] = {0: "zero"}

            async def writer(name: int) -> None:
                for turn in range(10):
                    texts = [f"{name}.{turn}.{part}" for part in range(dice.randint(1, 3))]
                    durability = dice.choice((DURABLE, ACCEPTED))
                    at = engine.live.all()[0].planned_seq + 1
                    while True:
                        try:
                            seqs = await engine.say(*texts, at=at, durability=durability)
                        except PersistenceFailed:
                            continue  # the outcome is open until the same is sent again
                        except LogConflict:
                            at = engine.live.all()[0].planned_seq + 1
                            continue
                        promised.update(zip(seqs, texts, strict=True))
                        break

            async def weather() -> None:
                for _ in range(6):
                    async with disk.failing():
                        await asyncio.sleep(0.003)
                    await asyncio.sleep(0.003)

            await asyncio.gather(weather(), *(writer(name) for name in range(4)))
            await engine.writing.flush("a")
            expected = [promised[seq] for seq in range(len(promised))]
            assert await engine.heard() == await engine.written() == expected

    async def scenario() -> None:
        for seed in range(len(folders)):
            await one_seed(seed, folders[seed])

    folders = [tmp_path / str(seed) for seed in range(4)]
    for folder in folders:
        folder.mkdir()
    run(scenario())


@EVERY_KIND
def test_a_clean_stop_with_a_sick_disk_says_so(tmp_path: Path, kind: str) -> None:
    async def scenario() -> None:
        async with on_a_disk(kind, tmp_path) as (engine, disk):
            await engine.accept("one")
            async with disk.failing():
                with pytest.raises(PersistenceFailed):
                    await engine.writing.close_all()
            await engine.writing.close_all()
            assert await engine.written() == ["zero", "one"]

    run(scenario())


# A disk that cannot be read


def test_what_is_live_can_be_read_while_the_store_cannot_be_observed(tmp_path: Path) -> None:
    async def scenario() -> None:
        inner = SqliteLogStore.open(tmp_path / "log.db")
        store = StoppedStore(inner)
        async with running(store, LAZY) as engine:
            for session_id in ("a", "cold"):
                await engine.begin(session_id)
                await engine.say("stored", to=session_id)
            await engine.writing.close("cold")
            await engine.accept("new")
            await engine.begin("b", ACCEPTED)
            await engine.accept("only here", to="b")
            store.blind = True
            assert await engine.heard("b") == ["only here"]
            assert await engine.accept("more") == [2]
            async with engine.query.observe() as observation:
                session = (await observation.find(["a"]))["a"]
                assert (session.live, session.persisted, session.last_seq) == (True, True, 2)
                page = await observation.list_events(session, ALL_EVENTS, PageRequest(last=1))
                assert [placed.seq for placed in page.items] == [2]
                with pytest.raises(PersistenceFailed):
                    await session.log.events(ALL_EVENTS, WindowRequest(10))
                live = ALL_SESSIONS.narrowed(availability=[Availability.LIVE])
                listed = await observation.list_sessions(
                    live, SessionOrder.CREATED, PageRequest(first=10)
                )
                assert {each.session_id for each in listed.items} == {"a", "b"}
                for question in (
                    observation.find(["cold"]),
                    observation.counts(),
                    observation.list_sessions(
                        ALL_SESSIONS, SessionOrder.CREATED, PageRequest(first=10)
                    ),
                ):
                    with pytest.raises(PersistenceFailed, match="cannot be read"):
                        await question
            store.blind = False
            assert await engine.heard("a") == ["stored", "new", "more"]
        await inner.close()

    run(scenario())
