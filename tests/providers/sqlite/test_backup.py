"""The copy of a store: of one moment, whatever is written while it is made."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from providers.sqlite import backup
from providers.sqlite.backup import copy_store
from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.errors import InvalidConfig, PersistenceFailed
from tests.contracts.log_stage import write
from tests.providers.sqlite.stores import full_log, sqlite_at
from tests.strategies import header


def events_in(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (count,) = connection.execute("SELECT events FROM totals").fetchone()
    return int(count)


def test_what_is_written_meanwhile_is_not_in_it_and_does_not_make_it_begin_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "_PAGES_AT_ONCE", 4)
    steps: list[tuple[int, int]] = []

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            for number in range(20):
                await write(store, header(f"s{number}"), full_log())
            before = events_in(tmp_path / "log.db")
            loop = asyncio.get_running_loop()

            def tell(copied: int, total: int) -> None:
                """Between two steps another session is written, and answered as durable."""
                steps.append((copied, total))
                writing = write(store, header(f"later{len(steps)}"), full_log())
                asyncio.run_coroutine_threadsafe(writing, loop).result(10)

            copied = await asyncio.to_thread(
                copy_store, tmp_path / "log.db", tmp_path / "copy.db", tell
            )
            assert (copied.sessions, copied.events) == (20, before)
            assert events_in(tmp_path / "copy.db") == before
            assert events_in(tmp_path / "log.db") > before

    asyncio.run(scenario())
    assert len(steps) > 5
    assert len({total for _, total in steps}) == 1
    assert [done for done, _ in steps] == sorted({done for done, _ in steps})


def test_the_copy_is_one_file_and_a_sound_store(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await write(store, header("s"), full_log())
            copy_store(tmp_path / "log.db", tmp_path / "copy.db")

    async def check() -> None:
        async with sqlite_at(tmp_path / "copy.db") as copied:
            assert await copied.check() == []

    asyncio.run(scenario())
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy.db"]
    asyncio.run(check())


def test_the_write_ahead_log_does_not_stay_as_large_as_a_backup_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("providers.sqlite.connections._LEFT_OF_WAL_BYTES", 100_000)
    path = tmp_path / "log.db"

    def write_much(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE IF NOT EXISTS much (value)")
        connection.execute("INSERT INTO much VALUES (zeroblob(6000000))")

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            async with store.observe() as reader:
                await reader.counts()
                for _ in range(4):
                    await store.writer.run(write_much)
                grown = path.with_name("log.db-wal").stat().st_size
            await store.writer.run(write_much)  # all of it is in the file now
            await write(store, header("s"), full_log())  # the write-ahead log begins anew
            assert path.with_name("log.db-wal").stat().st_size < grown / 4

    asyncio.run(scenario())


def test_a_store_that_is_not_sound_is_not_backed_up_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    SqliteLogStore.open(path)._write().close()
    with path.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(b"\xff" * 4096 * 2)
    with pytest.raises(PersistenceFailed):
        copy_store(path, tmp_path / "copy.db")


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig):
        copy_store(tmp_path / "nothing.db", tmp_path / "copy.db")
