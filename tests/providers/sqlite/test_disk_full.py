"""A disk that is full fails what is written and nothing else, and writing works again afterwards.

The writing connection is told that the file may not grow, which SQLite answers like a full disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.errors import PersistenceFailed
from sessiongraph.event import Entry
from tests.contracts.log_stage import answers_now, append, conversation, publish, stored, write
from tests.plain_store import PlainLogStore, run
from tests.providers.recordings.dsh_writing import header_row
from tests.providers.recordings.dsh_writing import write as write_file
from tests.providers.sqlite.imports import counted, prompts, reasons, take, told_log
from tests.providers.sqlite.raw import rows, settled, strays
from tests.providers.sqlite.stores import fill, sqlite_at, told, told_plainly
from tests.strategies import event, header, message, placed, prompt

LARGE = "".join(chr(0x4E00 + n * n % 20_000) for n in range(60_000))
"""Text of many pages, that does not become small by compression."""


@asynccontextmanager
async def full(store: SqliteLogStore) -> AsyncIterator[None]:
    """No page can be added within the block."""

    async def may_grow_to(pages: str) -> None:
        await store._write().run(
            lambda connection: connection.execute(f"PRAGMA max_page_count = {pages}").fetchone()
        )

    (count,) = await store._write().run(
        lambda connection: connection.execute("PRAGMA page_count").fetchone()
    )
    await may_grow_to(str(count))
    try:
        yield
    finally:
        await may_grow_to("4294967294")


def large_log(length: int = 3) -> list[Entry]:
    """A short conversation and then a large prompt that replaces its beginning."""
    log: list[Entry] = [*conversation(length)]
    log.append(message(length, "user/message", {"text": LARGE}, replaces=(0, 1), sources=[0, 1]))
    return log


def test_an_append_fails_and_can_be_repeated_when_there_is_room(tmp_path: Path) -> None:
    async def scenario() -> None:
        plain = PlainLogStore()
        await write(plain, header("a"), large_log())
        async with sqlite_at(tmp_path / "log.db") as store:
            await fill(store)
            await write(store, header("a"), conversation(3))
            before = await told(store)
            async with full(store):
                with pytest.raises(PersistenceFailed, match="full") as failed:
                    await append(store, "a", [placed(large_log())[3:]])
                assert failed.value.retriable
                assert await told(store) == before
                assert await store.check() == []
            await append(store, "a", [placed(large_log())[3:]])
            assert await answers_now(store, "a") == await answers_now(plain, "a")
            assert await store.check() == []

    run(scenario())


def test_reading_goes_on_while_the_disk_is_full(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await fill(store)
            async with full(store), store.observe() as reader:
                with pytest.raises(PersistenceFailed):
                    await store.create(header("large", extra={"text": LARGE}))
                assert set(await reader.find(["full", "other", "large"])) == {"full", "other"}
                assert await told(store) == await told_plainly()

    run(scenario())


def test_a_log_that_could_not_be_created_is_not_there(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await fill(store)
            async with full(store):
                with pytest.raises(PersistenceFailed):
                    await store.create(header("a"), placed(large_log()))
            async with store.observe() as reader:
                assert await reader.find(["a"]) == {}
            await store.create(header("a"), placed(large_log()))
            assert (await stored(store, "a")).last_seq == 3

    run(scenario())


def test_whatever_shares_the_transaction_fails_and_can_be_repeated(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            for each in ("a", "b"):
                await write(store, header(each), conversation(3))
            small = placed([*conversation(3), prompt(3, "small")])[3:]
            async with full(store):
                work = (
                    append(store, "a", [placed(large_log())[3:]]),
                    append(store, "b", [small]),
                )
                ends = await asyncio.gather(*work, return_exceptions=True)
                assert isinstance(ends[0], PersistenceFailed)
            if ends[1] is not None:
                assert isinstance(ends[1], PersistenceFailed)
                await append(store, "b", [small])
            assert [(await stored(store, each)).last_seq for each in ("a", "b")] == [2, 3]
            assert await store.check() == []

    run(scenario())


def test_a_new_type_whose_event_could_not_be_stored_can_be_stored_later(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await write(store, header("a"), conversation(1))
            new = [event(1 + n, f"brand/new-{n}-{LARGE[:900]}", {"n": LARGE}) for n in range(9)]
            log = placed([*conversation(1), *new])[1:]
            async with full(store):
                with pytest.raises(PersistenceFailed):
                    await append(store, "a", [log])
            await append(store, "a", [log])
        async with sqlite_at(tmp_path / "log.db") as store:
            assert [e[1][1] for e in (await answers_now(store, "a"))["events"]][1:] == [
                each.type for each in new
            ]
            assert await store.check() == []

    run(scenario())


def test_a_staged_log_that_could_not_be_written_is_refused_at_publishing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            staged = await store.stage(header("a"))
            async with full(store):
                with pytest.raises(PersistenceFailed):
                    await staged.append(placed(large_log()))
                    await staged.publish(header("a"))
            await staged.abandon()
            await settled(store)
            await publish(store, header("a"), large_log())
            assert (await stored(store, "a")).last_seq == 3
        assert strays(tmp_path / "log.db") == {}

    run(scenario())


def test_an_import_reports_what_it_could_not_write_and_can_be_run_again(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in "ab":
        write_file(folder / f"{name}.jsonl", [header_row(id=name), *prompts(1_500)])
    grown = write_file(folder / "c.jsonl", [header_row(id="c"), *prompts(3)])

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await take(store, grown)
            before = await told_log(store, "c")
            write_file(grown, [header_row(id="c"), *prompts(1_500)])
            async with full(store):
                report = await take(store, folder)
                assert counted(report) == (0, 0, 0, 3)
                assert {"could not be written" in reason for _, _, reason in reasons(report)} == {
                    True
                }
                assert await told_log(store, "c") == before
            assert counted(await take(store, folder)) == (2, 1, 0, 0)
            assert await store.check() == []
        async with sqlite_at(tmp_path / "log.db") as store:
            await settled(store)
        assert strays(tmp_path / "log.db") == {}
        assert rows(tmp_path / "log.db", "SELECT sessions, events FROM totals") == [(3, 4_500)]

    run(scenario())


def test_a_log_is_deleted_though_the_disk_is_full_or_is_still_there(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await fill(store)
            async with full(store):
                try:
                    gone = await store.delete("full")
                except PersistenceFailed:
                    gone = False
                async with store.observe() as reader:
                    assert ("full" in await reader.find(["full"])) is not gone
            assert await store.check() == []

    run(scenario())
