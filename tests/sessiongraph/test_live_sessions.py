"""The way of events to the disk: what is promised when, who waits for whom, and what stays."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.errors import InvalidEvent, LogConflict, NotLive, PersistenceFailed
from sessiongraph.event import SurfaceOp
from sessiongraph.live_sessions import LiveLimits
from sessiongraph.new_event import NewEvent
from tests.plain_store import run
from tests.sessiongraph.live_engine import (
    ACCEPTED,
    DURABLE,
    LAZY,
    NEVER_MS,
    PROMPT,
    Engine,
    all_of,
    opened,
    running,
    said,
    soon,
)
from tests.sessiongraph.stopped_store import StoppedStore


@asynccontextmanager
async def stoppable(
    path: Path, limits: LiveLimits = PROMPT
) -> AsyncIterator[tuple[Engine, StoppedStore]]:
    """An engine over a real file whose doors can be held."""
    inner = SqliteLogStore.open(path / "log.db")
    store = StoppedStore(inner)
    try:
        async with running(store, limits) as engine:
            yield engine, store
        assert await inner.check() == []
    finally:
        await inner.close()


# What is seen when


def test_what_is_accepted_is_seen_at_once_and_persisted_later(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db", LAZY) as engine:
            await engine.begin(durability=ACCEPTED)
            await engine.accept("one", "two")
            session = await engine.look()
            assert session is not None
            assert (session.live, session.persisted, session.last_seq) == (True, False, 1)
            assert await engine.heard() == ["one", "two"]
            assert await engine.written() == []
            await engine.writing.flush("a")
            session = await engine.look()
            assert session is not None
            assert (session.live, session.persisted, session.last_seq) == (True, True, 1)
            assert await engine.heard() == await engine.written() == ["one", "two"]

    run(scenario())


def test_what_is_accepted_reaches_the_disk_by_itself(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with stoppable(tmp_path) as (engine, store):
            await engine.begin()
            written = store.hold_answer("append")
            await engine.accept("one")
            await written.reached.wait()
            assert await engine.written() == ["one"]
            written.open()

    run(scenario())


def test_a_durable_append_is_not_seen_before_its_commit(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with stoppable(tmp_path) as (engine, store):
            await engine.begin()
            door = store.hold("append")
            appending = asyncio.create_task(engine.say("one"))
            await door.reached.wait()
            assert await engine.heard() == []
            assert not appending.done()
            door.open()
            assert await appending == [0]
            assert await engine.heard() == ["one"]

    run(scenario())


def test_accepting_on_top_of_a_durable_append_shows_both_in_order(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with stoppable(tmp_path) as (engine, store):
            await engine.begin()
            door = store.hold("append")
            appending = asyncio.create_task(engine.say("one"))
            await door.reached.wait()
            assert await engine.accept("two") == [1]
            assert await engine.heard() == ["one", "two"]
            door.open()
            await appending
            await engine.writing.flush("a")
            assert await engine.written() == ["one", "two"]

    run(scenario())


def test_an_observation_keeps_what_it_began_with(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db", LAZY) as engine:
            await engine.begin()
            await engine.accept("one")
            async with engine.corpus.observe() as view:
                await engine.accept("two")
                await engine.writing.flush("a")
                await engine.writing.delete("a")
                session = (await view.find(["a"]))["a"]
                assert (session.live, session.last_seq) == (True, 0)
                assert list(await session.log.payloads([0, 1])) == [0]

    run(scenario())


def test_an_observation_that_takes_its_time_misses_nothing_that_is_written_meanwhile(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with stoppable(tmp_path, LAZY) as (engine, store):
            await engine.begin()
            await engine.say("one")
            await engine.accept("two")
            observed = store.hold_answer("observe")
            looking = asyncio.create_task(engine.heard())
            await observed.reached.wait()
            await engine.live.flush(engine.live.all()[0])
            observed.open()
            assert await looking == ["one", "two"]

    run(scenario())


# All or nothing


def test_a_rule_broken_in_the_middle_of_a_batch_appends_nothing(tmp_path: Path) -> None:
    bad = said("bad", surface_op=SurfaceOp(7, 7), source_event_seqs=(0,))

    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            await engine.say("one")
            for durability in (DURABLE, ACCEPTED):
                with pytest.raises(InvalidEvent, match="rule 4"):
                    await engine.writing.append(
                        "a", [said("two"), bad, said("three")], None, durability
                    )
            assert await engine.heard() == ["one"]
            assert await engine.say("two", at=1) == [1]
            await engine.writing.flush("a")
            assert await engine.written() == ["one", "two"]

    run(scenario())


@pytest.mark.parametrize("time", [2**63, -(2**63) - 1, 2**53])
def test_a_time_that_no_store_can_keep_is_refused_when_the_event_is_made(time: int) -> None:
    with pytest.raises(InvalidEvent, match="time"):
        said("when", time=time)


def test_what_the_store_chokes_on_is_answered_and_does_not_stop_the_session(
    tmp_path: Path,
) -> None:
    """An event that was never checked; the engine must not hang on it, whatever it is."""
    poison = NewEvent("user/message", b"{}", 2**70, SurfaceOp())

    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            await engine.say("one")
            with pytest.raises(Exception):  # noqa: B017
                await engine.writing.append("a", [said("two"), poison], None, DURABLE)
            assert await engine.say("three") == [1]
            assert await engine.written() == ["one", "three"]

    run(scenario())


# Order


@pytest.mark.parametrize("seed", range(6))
def test_concurrent_appends_to_one_session_keep_their_order_and_lose_nothing(
    tmp_path: Path, seed: int
) -> None:
    dice = random.Random(seed)

    async def writer(engine: Engine, name: int) -> list[tuple[int, str]]:
        mine = []
        for turn in range(12):
            texts = [f"{name}.{turn}.{part}" for part in range(dice.randint(1, 3))]
            durability = dice.choice((DURABLE, ACCEPTED))
            seqs = await engine.say(*texts, durability=durability)
            assert seqs == list(range(seqs[0], seqs[0] + len(texts)))
            mine += list(zip(seqs, texts, strict=True))
            if dice.random() < 0.2:
                await engine.writing.flush("a")
        return mine

    async def scenario() -> None:
        limits = LiveLimits(write_delay_ms=dice.choice((0, 1, NEVER_MS)), write_retry_ms=1)
        async with opened(tmp_path / "log.db", limits) as engine:
            await engine.begin(durability=dice.choice((DURABLE, ACCEPTED)))
            told = await asyncio.gather(*(writer(engine, name) for name in range(8)))
            answers = dict(pair for mine in told for pair in mine)
            for mine in told:
                assert [seq for seq, _ in mine] == sorted(seq for seq, _ in mine)
            expected = [answers[seq] for seq in range(len(answers))]
            assert await engine.heard() == expected
            await engine.writing.flush("a")
            assert await engine.written() == expected

    run(scenario())


def test_two_sessions_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with stoppable(tmp_path) as (engine, store):
            await engine.begin("a")
            await engine.begin("b")
            door = store.hold("append")
            slow = asyncio.create_task(engine.say("one", to="a"))
            await door.reached.wait()
            store.let("append")
            assert await engine.say("two", to="b") == [0]
            assert not slow.done()
            door.open()
            await slow

    run(scenario())


def test_appends_that_wait_go_to_the_disk_together(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with stoppable(tmp_path) as (engine, store):
            await engine.begin()
            door = store.hold("append")
            appends = [asyncio.create_task(engine.say("0"))]
            await door.reached.wait()
            appends += [asyncio.create_task(engine.say(f"{n}")) for n in range(1, 20)]
            await soon()
            door.open()
            assert await asyncio.gather(*appends) == [[n] for n in range(20)]
            assert store.calls["append"] == 2

    run(scenario())


# Memory


def held_of(engine: Engine) -> dict[str, Any]:
    """Everything that the live half keeps which can grow."""
    live = engine.live
    kept: dict[str, Any] = {"ahead": len(live._ahead)}
    for session_id, held in live._held.items():
        session = held.session
        kept[session_id] = (
            len(session.batches),
            len(session._shown),
            len(session._replaced_data),
            session.unwritten_octets,
            len(held.waiting),
            held.writing,
            held.delayed,
        )
    return kept


NOTHING = (0, 0, 0, 0, 0, None, None)


def test_nothing_of_an_event_is_kept_once_it_is_on_disk(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            for session_id in "ab":
                await engine.begin(session_id, ACCEPTED)
            for turn in range(50):
                await engine.accept("x" * 1000, to="a")
                await engine.say(f"{turn}", to="b")
            await engine.writing.flush("a")
            await soon()
            assert held_of(engine) == {"ahead": 0, "a": NOTHING, "b": NOTHING}
            assert engine.writing._turns._turns == {}

    run(scenario())


def test_surfaces_keep_numbers_and_no_events(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            await engine.say(*(f"{n}" for n in range(1000)))
            surface = engine.live.all()[0]._surface
            arrays = (surface._positions, surface._seqs, surface._codes)
            assert sum(len(each) * each.itemsize for each in arrays) == 17 * 1000
            assert surface._moved == {}

    run(scenario())


def test_too_much_that_waits_for_the_disk_is_refused_until_the_disk_has_taken_it(
    tmp_path: Path,
) -> None:
    limits = LiveLimits(NEVER_MS, 1, unwritten_max_bytes=20_000)

    async def scenario() -> None:
        async with opened(tmp_path / "log.db", limits) as engine:
            await engine.begin()
            await engine.accept("x" * 30_000)
            for durability in (ACCEPTED, DURABLE):
                with pytest.raises(PersistenceFailed, match="unwritten_max_bytes"):
                    await engine.say("y", durability=durability)
            assert await engine.heard() == ["x" * 30_000]
            await engine.writing.flush("a")
            assert await engine.say("y", at=1) == [1]
            assert await engine.accept("z" * 12_000) == [2]
            with pytest.raises(PersistenceFailed):
                await engine.accept("z" * 12_000)
            await engine.writing.flush("a")
            assert await engine.accept("z" * 12_000) == [3]

    run(scenario())


@pytest.mark.parametrize("sources", [None, tuple(range(20))])
def test_what_waits_for_the_disk_is_bounded_however_small_its_payloads_are(
    tmp_path: Path, sources: tuple[int, ...] | None
) -> None:
    limits = LiveLimits(NEVER_MS, 1, unwritten_max_bytes=100_000)
    event = said("", source_event_seqs=sources)

    async def scenario() -> None:
        async with opened(tmp_path / "log.db", limits) as engine:
            await engine.begin()
            await engine.say(*("cited",) * 20)
            with pytest.raises(PersistenceFailed, match="unwritten_max_bytes"):
                for _ in range(100):
                    await engine.writing.append("a", [event], None, ACCEPTED)
            assert len(await engine.events()) > 60

    run(scenario())


# Sessions that end


def test_an_append_to_a_session_that_was_closed_meanwhile_says_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            (session,) = engine.live.all()
            await engine.writing.close("a")
            with pytest.raises(NotLive):
                await engine.live.append(session, [said("late")], ACCEPTED, 0, {})

    run(scenario())


def test_a_log_that_somebody_else_changed_ends_its_live_session(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with stoppable(tmp_path) as (engine, store):
            dropped: list[str] = []
            engine.live._dropped = dropped.append
            await engine.begin()
            await engine.say("one")
            (session,) = engine.live.all()
            assert session.epoch is not None
            await store.delete("a")
            with pytest.raises(LogConflict):
                await engine.say("two")
            assert dropped == ["a"]
            assert engine.live.all() == []
            assert await engine.look() is None

    run(scenario())


def test_idle_sessions_are_those_that_nobody_appended_to(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            for session_id in "abc":
                await engine.begin(session_id)
            for held in engine.live._held.values():
                held.used_at -= 10
            await engine.say("busy", to="b")
            assert sorted(engine.live.idle(5000)) == ["a", "c"]
            await engine.writing.close_idle(5000)
            assert [session.session_id for session in engine.live.all()] == ["b"]

    run(scenario())


def test_a_session_that_is_used_while_others_are_closed_stays_live(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with stoppable(tmp_path, LAZY) as (engine, store):
            for session_id in "ab":
                await engine.begin(session_id)
            await engine.accept("to be written first", to="a")
            for held in engine.live._held.values():
                held.used_at -= 10
            door = store.hold("append")
            closing = asyncio.create_task(engine.writing.close_idle(5000))
            await door.reached.wait()
            await engine.accept("used again", to="b")
            door.open()
            await closing
            assert [session.session_id for session in engine.live.all()] == ["b"]

    run(scenario())


def test_one_session_that_cannot_be_written_does_not_keep_the_others_from_the_disk(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with stoppable(tmp_path, LAZY) as (engine, store):
            for session_id in "abc":
                await engine.begin(session_id)
                await engine.accept("unwritten", to=session_id)
            await store.delete("a")
            with pytest.raises(LogConflict):
                await engine.writing.close_all()
            for session_id in "bc":
                assert await engine.written(session_id) == ["unwritten"]

    run(scenario())


def test_everything_accepted_can_be_committed_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db", LAZY) as engine:
            for session_id in "abc":
                await engine.begin(session_id, ACCEPTED)
                await engine.accept("one", to=session_id)
            await engine.live.commit_accepted()
            for session_id in "abc":
                assert await engine.written(session_id) == ["one"]
            await engine.live.commit_accepted()

    run(scenario())


def test_waiting_for_what_was_withdrawn_is_answered(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            await engine.say("one")
            (session,) = engine.live.all()
            with pytest.raises(PersistenceFailed):
                await engine.live.committed(session, 5)

    run(scenario())


def test_waiting_for_a_session_that_ended_is_answered(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db", LAZY) as engine:
            await engine.begin()
            await engine.accept("one")
            (session,) = engine.live.all()
            await engine.writing.delete("a")
            for answer in await all_of(
                engine.live.flush(session), engine.live.committed(session, 0)
            ):
                assert isinstance(answer, (NotLive, PersistenceFailed))

    run(scenario())
