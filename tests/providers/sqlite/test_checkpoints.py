"""Checkpoints in the file of the logs: they go with their log, and cost one statement."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from providers.sqlite.checkpoints import SqliteCheckpointStore
from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.errors import PersistenceFailed
from sessiongraph.projections.ports import CheckpointRow, LogIdentity
from tests.plain_store import run
from tests.providers.sqlite import raw
from tests.strategies import event, header, placed

COUNT = "SELECT count(*) FROM checkpoints"


@asynccontextmanager
async def opened(path: Path, **options: Any) -> AsyncIterator[SqliteLogStore]:
    store = await asyncio.to_thread(lambda: SqliteLogStore.open(path, **options))
    try:
        yield store
    finally:
        await store.close()


async def new_log(store: SqliteLogStore, session_id: str = "a", length: int = 3) -> LogIdentity:
    log = placed([event(seq, "x/y") for seq in range(length)])
    await store.create(header(session_id), log)
    return await identity(store, session_id)


async def identity(store: SqliteLogStore, session_id: str = "a") -> LogIdentity:
    async with store.observe() as reader:
        return LogIdentity.of((await reader.find([session_id]))[session_id])


def row(key: str = "title", seq: int = 2) -> CheckpointRow:
    return CheckpointRow(key, 1, seq, -1, b"null")


def test_the_rows_of_a_deleted_log_are_gone_when_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        async with opened(path) as store:
            await SqliteCheckpointStore(store).write(await new_log(store), [row(), row("todos")])
            await store.delete("a")
            assert await raw.queued(store, COUNT) == [(0,)]

    run(scenario())


def test_the_rows_of_a_replaced_log_are_swept_with_it(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        async with opened(path) as store:
            checkpoints = SqliteCheckpointStore(store)
            await checkpoints.write(await new_log(store), [row(), row("todos")])
            staged = await store.stage(header("a"))
            await staged.append(placed([event(0, "z/z")]))
            await staged.publish(header("a"))
            await checkpoints.write(await identity(store), [row("title", 0)])
            await raw.settled(store)
            assert await raw.queued(store, COUNT) == [(1,)]

    run(scenario())
    assert raw.strays(path) == {}


@pytest.mark.parametrize(
    "wrong",
    [{"session_id": "nobody"}, {"epoch": 77}, {"created_at": 1}, {"cwd": "/elsewhere"}],
    ids=str,
)
def test_nothing_is_written_for_a_log_that_is_not_there(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as store:
            log = await new_log(store)
            checkpoints = SqliteCheckpointStore(store)
            await checkpoints.write(log, [row()])
            await checkpoints.write(replace(log, **wrong), [row("todos")], ["title"])
            found = await checkpoints.rows([log], ["title", "todos"])
            assert found == {"a": [row()]}

    run(scenario())


def test_nothing_is_written_of_events_that_are_not_on_disk(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as store:
            log = await new_log(store, length=3)
            checkpoints = SqliteCheckpointStore(store)
            await checkpoints.write(log, [row("todos", 1), row("title", 3)])
            assert await checkpoints.rows([log], ["title", "todos"]) == {}

    run(scenario())


@pytest.mark.parametrize("sessions", [1, 8, 1000])
def test_the_rows_of_any_number_of_sessions_are_one_statement(
    tmp_path: Path, sessions: int
) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        async with opened(path) as store:
            checkpoints = SqliteCheckpointStore(store)
            logs = await asyncio.gather(*(new_log(store, f"s{each}") for each in range(sessions)))
            keys = ["title", "todos", "goal"]
            rows = [row(key) for key in keys]
            await asyncio.gather(*(checkpoints.write(log, rows) for log in logs))
            with raw.read_statements(store) as statements:
                found = await checkpoints.rows(logs, keys)
            assert sum(map(len, found.values())) == 3 * sessions
            assert len(statements) == 1

    run(scenario())


def test_beside_the_process_that_writes_rows_can_be_read_and_not_written(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        async with opened(path) as store:
            log = await new_log(store)
            await SqliteCheckpointStore(store).write(log, [row()])
            async with opened(path, read_only=True) as beside:
                checkpoints = SqliteCheckpointStore(beside)
                assert await checkpoints.rows([log], ["title"]) == {"a": [row()]}
                with pytest.raises(PersistenceFailed):
                    await checkpoints.write(log, [row()])

    run(scenario())


def test_a_file_from_before_there_were_checkpoints_cannot_be_read_beside_and_says_so(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        async with opened(path) as store:
            log = await new_log(store)
        raw.change(path, "DROP TABLE checkpoints")
        async with opened(path, read_only=True) as beside:
            with pytest.raises(PersistenceFailed, match="checkpoints could not be read"):
                await SqliteCheckpointStore(beside).rows([log], ["title"])

    run(scenario())
