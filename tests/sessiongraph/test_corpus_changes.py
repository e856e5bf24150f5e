"""Changes of the session list: all of them, in the order in which they happened."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.corpus_changes import ChangeKind, CorpusChange, CorpusChanges
from sessiongraph.cursor import KEY_BYTES, CursorCodec
from sessiongraph.errors import InvalidCursor, StaleCursor
from sessiongraph.following import Following
from sessiongraph.new_event import NewEvent
from tests.contracts.log_stage import conversation, publish
from tests.plain_store import run
from tests.sessiongraph.live_engine import ACCEPTED, DURABLE, LAZY, PROMPT, Engine, opened, soon
from tests.sessiongraph.test_following import Served
from tests.strategies import header

CODEC = CursorCodec(b"k" * KEY_BYTES)

CREATED, RESUMED, PERSISTED, CLOSED, DELETED, IMPORTED, UPDATED, REPLACED = ChangeKind


@asynccontextmanager
async def changing(
    path: Path, *, lazy: bool = False
) -> AsyncIterator[tuple[Engine, CorpusChanges, Any]]:
    """An engine, its changes, and a way to wait until every commit so far is among them."""
    changes = CorpusChanges(CODEC)
    async with opened(path / "log.db", LAZY if lazy else PROMPT, changes) as engine:
        assert isinstance(engine.store, SqliteLogStore)
        served = Served()

        def take(commit: Any) -> None:
            changes.commit(commit)
            served.take(commit)

        following = Following(engine.store, engine.store, take)
        serving = asyncio.create_task(following.run())
        await soon()

        async def caught_up() -> None:
            async with engine.store.observe() as reader:
                position = reader.position
            await served.through(position)

        yield engine, changes, caught_up
        following.stop()
        serving.cancel()
        await asyncio.wait([serving])


async def told(changes: CorpusChanges, after: str | None) -> list[tuple[ChangeKind, str]]:
    """What followed a cursor so far; the changes end with it."""
    changes.stop()
    async with aclosing(changes.follow(after)) as following:  # type: ignore[type-var]
        return [(change.kind, change.session_id) async for change in following]


def beginning(changes: CorpusChanges) -> str:
    """The cursor before the first change."""
    return changes.cursor(CorpusChange(-1, CREATED, ""))


@pytest.mark.parametrize("durability", [DURABLE, ACCEPTED])
def test_a_session_is_created_before_it_is_persisted_and_everything_comes_in_order(
    tmp_path: Path, durability: Any
) -> None:
    async def scenario() -> None:
        async with changing(tmp_path, lazy=True) as (engine, changes, caught_up):
            await engine.begin(durability=durability)
            await engine.writing.flush("a")
            await caught_up()
            await engine.say("first prompt")
            await caught_up()
            await engine.writing.close("a")
            await engine.writing.resume("a")
            await engine.writing.rename("a", "Title")
            await caught_up()
            await engine.writing.delete("a")
            await caught_up()
            assert await told(changes, beginning(changes)) == [
                (CREATED, "a"),
                (PERSISTED, "a"),
                (UPDATED, "a"),
                (CLOSED, "a"),
                (RESUMED, "a"),
                (UPDATED, "a"),
                (DELETED, "a"),
            ]

    run(scenario())


def test_forks_are_created_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with changing(tmp_path) as (engine, changes, caught_up):
            await engine.begin()
            await engine.say("one")
            for _ in range(2):
                await engine.writing.fork("a", 0, "child")
            await caught_up()
            of_child = [
                kind for kind, each in await told(changes, beginning(changes)) if each == "child"
            ]
            assert of_child == [CREATED, PERSISTED]

    run(scenario())


def test_a_session_that_never_reached_the_disk_is_deleted_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with changing(tmp_path, lazy=True) as (engine, changes, caught_up):
            await engine.begin(durability=ACCEPTED)
            await engine.writing.delete("a")
            await engine.begin(durability=ACCEPTED)
            await engine.writing.flush("a")
            await caught_up()
            assert await told(changes, beginning(changes)) == [
                (CREATED, "a"),
                (DELETED, "a"),
                (CREATED, "a"),
                (PERSISTED, "a"),
            ]
            assert (changes._told_before_commit, changes._told_by_commit) == (set(), set())

    run(scenario())


def test_imports_and_readings_anew_are_changes_and_growth_without_a_prompt_is_none(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with changing(tmp_path) as (engine, changes, caught_up):
            await publish(engine.store, header("file"), conversation(2))
            await publish(engine.store, header("file"), conversation(3))
            await engine.begin()
            note = NewEvent.of("custom/note", {})
            await engine.writing.append("a", [note], None, DURABLE)
            await caught_up()
            assert await told(changes, beginning(changes)) == [
                (IMPORTED, "file"),
                (REPLACED, "file"),
                (CREATED, "a"),
                (PERSISTED, "a"),
            ]

    run(scenario())


def test_following_begins_now_or_after_a_cursor() -> None:
    async def scenario() -> None:
        changes = CorpusChanges(CODEC)
        changes.created("before")
        from_now = changes.follow(None)
        first = asyncio.ensure_future(anext(from_now))
        await soon()
        changes.closed("a")
        changes.resumed("b")
        assert (await first).session_id == "a"
        second = await anext(from_now)
        assert second.session_id == "b"
        changes.created("c")
        cursor = changes.cursor(await first)
        assert await told(changes, cursor) == [(RESUMED, "b"), (CREATED, "c")]
        assert await told(changes, changes.cursor(second)) == [(CREATED, "c")]
        with pytest.raises(StopAsyncIteration):
            await anext(changes.follow(None))

    run(scenario())


def test_cursors_of_another_run_or_of_somebody_else_or_too_far_back_are_refused() -> None:
    async def scenario() -> None:
        changes, other = CorpusChanges(CODEC, backlog=3), CorpusChanges(CODEC)
        for name in "abcdef":
            changes.created(name)
            other.created(name)
        theirs = await anext(other.follow(other.cursor(CorpusChange(0, CREATED, "a"))))
        for cursor, error in [
            (other.cursor(theirs), StaleCursor),
            (changes.cursor(CorpusChange(1, CREATED, "b")), StaleCursor),
            ("nonsense", InvalidCursor),
            (CODEC.issue("sessions", "x", [1]), InvalidCursor),
        ]:
            with pytest.raises(error):
                await anext(changes.follow(cursor))
        oldest = changes.cursor(CorpusChange(2, CREATED, "c"))
        assert await told(changes, oldest) == [(CREATED, name) for name in "def"]

    run(scenario())


def test_who_is_too_slow_is_told_to_read_the_list_again() -> None:
    async def scenario() -> None:
        changes = CorpusChanges(CODEC, backlog=3)
        following = changes.follow(None)
        first = asyncio.ensure_future(anext(following))
        await soon()
        changes.created("a")
        assert (await first).session_id == "a"
        for name in "bcdef":
            changes.created(name)
        with pytest.raises(StaleCursor):
            await anext(following)

    run(scenario())


def test_every_follower_sees_every_change_once() -> None:
    async def scenario() -> None:
        changes = CorpusChanges(CODEC)
        followers = [asyncio.create_task(told_all(changes)) for _ in range(50)]
        await soon()
        for n in range(100):
            changes.created(f"{n}")
            if n % 10 == 0:
                await soon()
        changes.stop()
        for found in await asyncio.gather(*followers):
            assert found == [f"{n}" for n in range(100)]

    run(scenario())


async def told_all(changes: CorpusChanges) -> list[str]:
    async with aclosing(changes.follow(None)) as following:  # type: ignore[type-var]
        return [change.session_id async for change in following]
