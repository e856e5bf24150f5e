"""Sessions inside of others' files, and copies of files that are older or more complete."""

from __future__ import annotations

import asyncio
from pathlib import Path

from msgspec.structs import replace

from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.recordings import NEVER_UNCHANGED
from tests.contracts.log_stage import ids_in_order, one
from tests.providers.recordings.transcript_writing import (
    SESSION,
    Json,
    as_lines,
    asked,
    claude,
    replied,
    take,
    text,
    uuid_of,
    write_lines,
)
from tests.providers.sqlite.imports import told_store
from tests.providers.sqlite.stores import sqlite_at

CHILD = f"{SESSION}:sidechain-{uuid_of(20)}"


def aside(number: int, parent: int | None) -> Json:
    named = None if parent is None else uuid_of(parent)
    return asked(number, f"aside {number}", isSidechain=True, parentUuid=named)


def family() -> list[Json]:
    return [asked(0, "go"), aside(20, None), replied(1, "m1", text("going")), aside(21, 20)]


async def last_seqs(store: SqliteLogStore) -> dict[str, int]:
    async with store.observe() as view:
        return {
            session_id: (await one(view, session_id)).last_seq
            for session_id in await ids_in_order(view)
        }


def test_a_side_chain_is_a_session_that_grows_with_its_file(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", family())

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            report = await take(store, path)
            assert (report.files, report.imported) == (1, 2)
            before = await last_seqs(store)
            assert before.keys() == {SESSION, CHILD}
            again = await take(store, path)
            assert (again.imported, again.resumed, again.unchanged) == (0, 0, 1)
            with path.open("ab") as file:
                file.write(as_lines([aside(22, 21)]))
            grown = await take(store, path)
            assert (grown.imported, grown.resumed, grown.unchanged) == (0, 1, 1)
            after = await last_seqs(store)
            assert after[SESSION] == before[SESSION]
            assert after[CHILD] > before[CHILD]
            assert (await take(store, path)).unchanged == 1
            assert await store.check() == []

    asyncio.run(scenario())


def test_a_crash_before_the_side_chains_were_taken_loses_none(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", family())

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await take(store, path)
            whole = await told_store(store)
            # As a crash leaves it: the first session is there, and the file counts as changed.
            await store.delete(CHILD)
            async with store.observe() as view:
                state = await view.recording(str(path))
            assert state is not None
            assert state.size == path.stat().st_size
            await store.remember_recording(replace(state, size=NEVER_UNCHANGED))
            report = await take(store, path, restore_deleted=True)
            assert (report.imported, report.unchanged, report.refused) == (1, 1, [])
            assert (await told_store(store))["logs"] == whole["logs"]
            assert (await take(store, path)).unchanged == 1

    asyncio.run(scenario())


def records() -> list[Json]:
    return [asked(0, "go"), replied(1, "m1", text("going")), asked(2, "on")]


def test_a_copy_with_more_in_between_takes_the_place_and_the_older_one_changes_nothing(
    tmp_path: Path,
) -> None:
    first = write_lines(tmp_path / "a" / "log.jsonl", records())
    late = claude(9, "progress", data={})
    more = write_lines(tmp_path / "b" / "log.jsonl", [records()[0], late, *records()[1:]])

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await take(store, first)
            before = await last_seqs(store)
            assert (await take(store, more)).imported == 1
            assert await last_seqs(store) == {SESSION: before[SESSION] + 1}
            report = await take(store, first)
            assert (report.unchanged, report.refused) == (1, [])
            assert await last_seqs(store) == {SESSION: before[SESSION] + 1}

    asyncio.run(scenario())


def test_a_copy_that_goes_on_differently_is_refused(tmp_path: Path) -> None:
    first = write_lines(tmp_path / "a" / "log.jsonl", records())
    other = write_lines(tmp_path / "b" / "log.jsonl", [*records()[:2], asked(2, "elsewhere")])

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await take(store, first)
            before = await told_store(store)
            (refused,) = (await take(store, other)).refused
            assert "they differ from seq" in refused.reason
            assert await told_store(store) == before

    asyncio.run(scenario())
