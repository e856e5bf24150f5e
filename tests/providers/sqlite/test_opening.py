"""Which files are opened, which are refused and left as they are, and what a new one becomes."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from providers.sqlite import covers, directories
from providers.sqlite.carried import TRIGGERS
from providers.sqlite.log_store import SqliteLogStore
from providers.sqlite.migrations import APPLICATION_ID, FORMAT_VERSION, migrate, migrations
from sessiongraph.errors import InvalidConfig, PersistenceFailed, SessionGraphError
from sessiongraph.filters import EventSelection
from tests.contracts.log_stage import EVERYTHING, answers_now, append, conversation, one, write
from tests.plain_store import run
from tests.providers.sqlite.raw import change, connected, dump, rows
from tests.providers.sqlite.stores import filled, sqlite_at, told, told_plainly
from tests.sessiongraph.references.corpora import checkpoint
from tests.strategies import event, header, placed, prompt


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


async def assert_works(path: Path) -> None:
    async with sqlite_at(path) as store:
        await write(store, header("new"), conversation())
        assert len((await answers_now(store, "new"))["events"]) == 4
        assert await store.check() == []


# Files of others


def other_database(path: Path) -> None:
    with connected(path) as connection:
        connection.execute("CREATE TABLE notes (text)")
        connection.execute("INSERT INTO notes VALUES ('do not lose me')")


def other_application(path: Path) -> None:
    with connected(path) as connection:
        connection.execute("PRAGMA application_id = 77")


def other_version(path: Path) -> None:
    with connected(path) as connection:
        connection.execute("PRAGMA user_version = 3")


def newer_format(path: Path) -> None:
    run(filled(path))
    with connected(path) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT_VERSION + 1}")


def garbage(path: Path) -> None:
    path.write_bytes(b"this is not a database " * 500)


def short_garbage(path: Path) -> None:
    path.write_bytes(b"hello\n")


FOREIGN: dict[str, tuple[Callable[[Path], None], type[SessionGraphError], str]] = {
    "another program's database": (other_database, InvalidConfig, "left alone"),
    "another program's empty database": (other_application, InvalidConfig, "left alone"),
    "another program's version": (other_version, InvalidConfig, "left alone"),
    "a newer format": (newer_format, InvalidConfig, "newer version"),
    "no database": (garbage, PersistenceFailed, "not a database"),
    "nearly nothing": (short_garbage, PersistenceFailed, "not a database"),
}


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("case", FOREIGN)
def test_what_is_not_ours_is_refused_and_left_as_it_is(
    tmp_path: Path, case: str, read_only: bool
) -> None:
    make, error, words = FOREIGN[case]
    path = tmp_path / "log.db"
    make(path)
    before = contents(tmp_path)
    with pytest.raises(error, match=words) as refused:
        SqliteLogStore.open(path, read_only=read_only)
    assert str(path) in refused.value.message
    after = contents(tmp_path)
    if read_only:  # which cannot take away the empty files that a look at a WAL needs
        after = {name: after[name] for name in before}
    assert after == before


@pytest.mark.parametrize("read_only", [False, True])
def test_a_folder_is_no_store(tmp_path: Path, read_only: bool) -> None:
    with pytest.raises(PersistenceFailed, match="opened"):
        SqliteLogStore.open(tmp_path, read_only=read_only)


def test_a_store_in_a_folder_that_is_not_there_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(PersistenceFailed, match="cannot be opened"):
        SqliteLogStore.open(tmp_path / "no/such/log.db")


# New files


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    path.touch()
    run(assert_works(path))
    assert rows(path, "PRAGMA application_id") == [(APPLICATION_ID,)]
    assert rows(path, "PRAGMA user_version") == [(FORMAT_VERSION,)]
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]


def test_each_migration_is_applied_once_however_often_a_store_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    run(filled(path))
    applied = rows(path, "SELECT name, applied_at FROM _sqlite_migrations")
    names = [migration.name for migration in migrations._migrations]
    assert sorted(name for name, _ in applied) == sorted(names)
    before = dump(path)

    async def open_and_close() -> None:
        async with sqlite_at(path) as store:
            assert await told(store) == await told_plainly()

    for _ in range(2):
        run(open_and_close())
    assert rows(path, "SELECT name, applied_at FROM _sqlite_migrations") == applied
    assert dump(path) == before


@pytest.mark.parametrize("done", range(len(migrations._migrations)))
def test_a_store_that_some_migrations_made_gets_the_others(tmp_path: Path, done: int) -> None:
    path = tmp_path / "log.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        covers.teach(connection)
        directories.teach(connection)
        migrate(connection)
    undone = [migration.name for migration in migrations._migrations[done:]]
    with connected(path) as connection:
        for name, kind in connection.execute(
            "SELECT name, type FROM sqlite_schema WHERE type IN ('trigger', 'table') "
            "AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'cover#_%' ESCAPE '#' "
            "AND name <> '_sqlite_migrations' ORDER BY type DESC"
        ).fetchall():
            made_by = MADE_BY[name if name in MADE_BY else name.partition("_")[0]]
            if made_by in undone:
                connection.execute(f"DROP {kind} {name}")
        if "m006_covers" in undone:
            connection.execute("DROP TABLE cover_terms")
            connection.execute("DROP TABLE cover_grams")
        if "m003_commits" not in undone and "m007_memory_of_readers" in undone:
            connection.execute("ALTER TABLE recordings DROP COLUMN memory")
        if "m003_commits" not in undone and "m008_directories" in undone:
            connection.execute("ALTER TABLE commits DROP COLUMN removed_cwd")
        if "m001_logs" not in undone:
            for column in ("cwd", "source_kind", "parent", "origin"):
                if "m010_activity_of_few" in undone:
                    connection.execute(f"DROP INDEX logs_by_{column}_activity")
            if "m011_changes_of_headers" in undone:
                connection.execute("ALTER TABLE logs DROP COLUMN header_at")
        marks = ", ".join("?" * len(undone))
        connection.execute(f"DELETE FROM _sqlite_migrations WHERE name IN ({marks})", undone)
    run(assert_works(path))


def test_whoever_only_reads_is_told_how_an_older_store_comes_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    run(filled(path))
    with connected(path) as connection:
        connection.execute("ALTER TABLE logs DROP COLUMN header_at")
        connection.execute("DELETE FROM _sqlite_migrations WHERE name = 'm011_changes_of_headers'")
    with pytest.raises(InvalidConfig, match="written by an older version"):
        SqliteLogStore.open(path, read_only=True)
    run(assert_works(path))
    run(SqliteLogStore.open(path, read_only=True).close())


MADE_BY = {
    "logs": "m001_logs",
    **dict.fromkeys(("types", "events", "citers", "spans", "citations"), "m002_events"),
    **dict.fromkeys(("commits", "tombstones", "recordings", "totals"), "m003_commits"),
    "checkpoints": "m004_checkpoints",
    "carried": "m005_carried",
    **dict.fromkeys(("carried_sums", *TRIGGERS), "m012_sums_of_checkpoints"),
    "covers": "m006_covers",
    "directories": "m008_directories",
}


def test_what_was_stored_before_there_were_totals_is_added_up(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    run(filled(path))
    kept = rows(path, "SELECT * FROM carried"), rows(path, "SELECT * FROM carried_sums")
    assert all(kept)
    with connected(path) as connection:
        connection.execute("DROP TRIGGER carried_shadowed")
        connection.execute("DROP TRIGGER carried_restored")
        connection.execute("DROP TABLE carried")
        connection.execute("DROP TABLE carried_sums")
        connection.execute(
            "DELETE FROM _sqlite_migrations "
            "WHERE name IN ('m005_carried', 'm012_sums_of_checkpoints')"
        )
    run(SqliteLogStore.open(path).close())
    assert (rows(path, "SELECT * FROM carried"), rows(path, "SELECT * FROM carried_sums")) == kept


def test_sums_that_knew_nothing_of_checkpoints_are_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    run(filled(path))

    async def condense() -> None:
        async with sqlite_at(path) as store:
            log = [prompt(0, "asked"), prompt(1, "again"), checkpoint(2, "condensed", 0, 1)]
            await write(store, header("condensed"), log)

    run(condense())
    kept = rows(path, "SELECT * FROM carried_sums")
    assert any(checkpoints for *_, checkpoints in kept)
    with connected(path) as connection:
        for name in TRIGGERS:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("ALTER TABLE carried_sums DROP COLUMN checkpoints")
        connection.execute(
            "CREATE TRIGGER carried_removed AFTER DELETE ON carried BEGIN UPDATE carried_sums "
            "SET messages = messages - 1, octets = octets - OLD.octets WHERE log = OLD.id >> 32; "
            "END"
        )
        connection.execute("DELETE FROM _sqlite_migrations WHERE name = 'm012_sums_of_checkpoints'")
    run(SqliteLogStore.open(path).close())
    assert rows(path, "SELECT * FROM carried_sums") == kept
    run(assert_works(path))


def test_a_first_opening_that_was_killed_at_any_statement_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a killed process leaves is what lies on disk: it is copied before each statement."""
    path = tmp_path / "first" / "log.db"
    path.parent.mkdir()
    left: list[Path] = []

    def copy(sql: str) -> None:
        folder = tmp_path / str(len(left))
        folder.mkdir()
        for name in ("log.db", "log.db-wal"):
            if (path.parent / name).exists():
                shutil.copy(path.parent / name, folder / name)
        left.append(folder / "log.db")

    connect = sqlite3.connect

    def connect_and_watch(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_trace_callback(copy)
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", connect_and_watch)
        first = SqliteLogStore.open(path)
    run(first.close())
    assert len(left) > 40
    run(assert_works(left[-1]))
    for each in left[:-1]:
        run(SqliteLogStore.open(each).close())
        assert len(rows(each, "SELECT * FROM totals")) == 1


# Reading beside whoever writes


def test_a_reader_beside_a_writing_store_sees_each_commit(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await write(store, header("a"), conversation(2))
            async with sqlite_at(tmp_path / "log.db", read_only=True) as beside:
                assert await answers_now(beside, "a") == await answers_now(store, "a")
                await append(store, "a", [placed(conversation(5))[2:]])
                await write(store, header("b"), conversation(1))
                assert await answers_now(beside, "a") == await answers_now(store, "a")
                assert await answers_now(beside, "b") == await answers_now(store, "b")
                assert await beside.check() == []
                await store.delete("a")
                async with beside.observe() as reader:
                    assert set(await reader.find(["a", "b"])) == {"b"}

    run(scenario())


def test_a_reader_goes_on_when_the_writing_store_is_closed(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = SqliteLogStore.open(tmp_path / "log.db")
        await write(store, header("a"), conversation(2))
        async with sqlite_at(tmp_path / "log.db", read_only=True) as beside:
            before = await answers_now(beside, "a")
            await store.close()
            assert await answers_now(beside, "a") == before
            async with sqlite_at(tmp_path / "log.db") as again:
                await append(again, "a", [placed(conversation(3))[2:]])
                assert len((await answers_now(beside, "a"))["events"]) == 3

    run(scenario())


def test_a_reader_knows_types_that_came_after_it_was_opened(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await write(store, header("a"), conversation(1))
            async with sqlite_at(tmp_path / "log.db", read_only=True) as beside:
                wanted = EventSelection(types=frozenset({"brand/new"}))
                async with beside.observe() as reader:
                    session = await one(reader, "a")
                    assert await reader.events(session, wanted, EVERYTHING) == []
                log = [*conversation(1), event(1, "brand/new"), event(2, "brand/newer")]
                await append(store, "a", [placed(log)[1:]])
                async with beside.observe() as reader:
                    session = await one(reader, "a")
                    found = await reader.events(session, wanted, EVERYTHING)
                    assert [each.type for each in found] == ["brand/new"]
                assert await answers_now(beside, "a") == await answers_now(store, "a")

    run(scenario())


def test_a_store_opened_for_reading_takes_no_writes(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    run(filled(path))
    before = dump(path)

    async def scenario() -> None:
        async with sqlite_at(path, read_only=True) as store:
            for work in (
                store.create(header("x")),
                store.stage(header("x")),
                store.delete("full"),
            ):
                with pytest.raises(PersistenceFailed, match="reading only"):
                    await work

    run(scenario())
    assert dump(path) == before


def test_there_is_nothing_to_read_where_no_store_is(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="no store"):
        SqliteLogStore.open(tmp_path / "log.db", read_only=True)
    assert contents(tmp_path) == {}
    (tmp_path / "log.db").touch()
    with pytest.raises(InvalidConfig, match="is empty"):
        SqliteLogStore.open(tmp_path / "log.db", read_only=True)
    assert contents(tmp_path) == {"log.db": b""}


# Closed stores


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = SqliteLogStore.open(tmp_path / "log.db")
        await write(store, header("a"), conversation(1))
        await store.close()
        with pytest.raises(PersistenceFailed, match="closed"):
            await store.create(header("b"))
        with pytest.raises(PersistenceFailed, match="closed"):
            async with store.observe():
                pass
        await store.close()

    run(scenario())


def test_an_observation_that_outlives_the_store_still_answers(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = SqliteLogStore.open(tmp_path / "log.db")
        await write(store, header("a"), conversation(2))
        async with store.observe() as reader:
            await store.close()
            assert (await reader.find(["a"]))["a"].last_seq == 1
        assert rows(tmp_path / "log.db", "SELECT count(*) FROM events") == [(2,)]

    run(scenario())


def test_writing_ends_with_one_file(tmp_path: Path) -> None:
    run(filled(tmp_path / "log.db"))
    assert [path.name for path in tmp_path.iterdir()] == ["log.db"]
    assert change(tmp_path / "log.db", "UPDATE totals SET sessions = sessions") == 1
