"""Whoever stops waiting loses nothing that was written, and spoils nothing for the others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.ports import StagedLog
from tests.contracts.log_stage import answers_now, append, conversation, stored, write
from tests.plain_store import run
from tests.providers.sqlite.raw import settled, strays
from tests.providers.sqlite.stores import sqlite_at
from tests.strategies import header, placed


@asynccontextmanager
async def held_up(store: SqliteLogStore) -> AsyncIterator[None]:
    """Nothing is written within the block."""
    begun, go_on = threading.Event(), threading.Event()
    holding = store._write().submit(lambda _: (begun.set(), go_on.wait()))
    await asyncio.to_thread(begun.wait)
    try:
        yield
    finally:
        go_on.set()
    await asyncio.wrap_future(holding)


async def cancelled_while_waiting(store: SqliteLogStore, work: Any) -> None:
    """Let work queue what it writes, stop waiting for it, and let the writer go on."""
    async with held_up(store):
        task = asyncio.ensure_future(work)
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
    assert task.cancelled()


async def assert_whole(path: Path, lengths: tuple[int, ...]) -> None:
    """What nobody waited for may leave rows, which go at the latest at the next opening."""
    async with sqlite_at(path) as store:
        assert await store.check() == []
        assert (await stored(store, "a")).last_seq + 1 in lengths
        await settled(store)
    assert strays(path) == {}


@pytest.mark.parametrize("kind", ["new", "replacing", "growth"])
def test_a_log_whose_publishing_nobody_waits_for_is_whole_or_as_before(
    tmp_path: Path, kind: str
) -> None:
    """As the importer does, what was staged is abandoned, though it may be published by then."""
    path = tmp_path / "log.db"

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            if kind != "new":
                await write(store, header("a"), conversation(3))
            staged: StagedLog
            if kind == "growth":
                staged = await store.stage_growth(await stored(store, "a"))
                await staged.append(placed(conversation(5))[3:])
            else:
                staged = await store.stage(header("a"))
                await staged.append(placed(conversation(5)))
            await staged.payload(4)
            await cancelled_while_waiting(store, staged.publish(header("a")))
            await staged.abandon()
            assert await store.check() == []
        await assert_whole(path, (5,) if kind == "new" else (3, 5))

    run(scenario())


def test_an_append_that_nobody_waits_for_is_there_or_not(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            await write(store, header("a"), conversation(3))
            more = placed(conversation(5))[3:]
            epoch = (await stored(store, "a")).epoch
            await cancelled_while_waiting(store, store.append("a", epoch, more))
        await assert_whole(path, (3, 5))

    run(scenario())


def test_a_deletion_that_nobody_waits_for_leaves_a_sound_store(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            await write(store, header("a"), conversation(3))
            await write(store, header("gone"), conversation(3))
            await cancelled_while_waiting(store, store.delete("gone"))
        await assert_whole(path, (3,))

    run(scenario())


def test_a_read_that_nobody_waits_for_does_not_keep_the_next_one_in_the_past(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await write(store, header("a"), conversation(3))
            reading, go_on = threading.Event(), threading.Event()

            async def read_for_long() -> None:
                async with store.observe() as reader:

                    def read() -> list[Any]:
                        cursor = reader._connection.execute("SELECT id FROM events")  # type: ignore[attr-defined]
                        first = cursor.fetchone()
                        reading.set()
                        go_on.wait(5)
                        return [first, *cursor.fetchall()]

                    await reader._aside(read)  # type: ignore[attr-defined]

            task = asyncio.ensure_future(read_for_long())
            await asyncio.to_thread(reading.wait)
            task.cancel()
            try:
                await asyncio.sleep(0)
                await append(store, "a", [placed(conversation(4))[3:]])
                if not task.done():
                    go_on.set()
                await asyncio.wait([task])
                assert (await stored(store, "a")).last_seq == 3
            finally:
                go_on.set()

    run(scenario())


def test_many_cancelled_reads_leave_the_store_in_order(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await write(store, header("a"), conversation(400))
            expected = await answers_now(store, "a")
            for turns in range(30):
                task = asyncio.ensure_future(answers_now(store, "a"))
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
            assert await answers_now(store, "a") == expected
            assert await store.check() == []

    run(scenario())


_ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


def test_a_cancelled_read_stops_though_it_would_never_end(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await write(store, header("a"), conversation(3))
            reading, ended = threading.Event(), threading.Event()
            async with store.observe() as reader:

                def read() -> None:
                    reading.set()
                    try:
                        reader._connection.execute(_ENDLESS).fetchall()  # type: ignore[attr-defined]
                    finally:
                        ended.set()

                task = asyncio.ensure_future(reader._aside(read))  # type: ignore[attr-defined]
                await asyncio.to_thread(reading.wait)
                task.cancel()
                task.cancel()
                await asyncio.wait([task])
                assert task.cancelled()
                assert ended.is_set()
                assert (await reader.counts()).sessions == 1

    run(scenario())


def test_a_read_of_many_statements_stops_at_one_of_them(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            reading = threading.Event()
            async with store.observe() as reader:

                def read() -> None:
                    reading.set()
                    while True:
                        reader._connection.execute("SELECT 1").fetchall()  # type: ignore[attr-defined]

                task = asyncio.ensure_future(reader._aside(read))  # type: ignore[attr-defined]
                await asyncio.to_thread(reading.wait)
                task.cancel()
                await asyncio.wait([task])
                assert task.cancelled()

    run(scenario())
