"""Logs that dsh wrote in real use: each good one is imported whole and given back as it was."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from providers.recordings.dsh_export import export_lines
from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.event import MESSAGE_TYPES, Entry
from sessiongraph.header import SessionHeader
from sessiongraph.import_report import ImportReport
from tests.contracts.log_stage import all_entries, ids_in_order, one
from tests.providers.recordings.dsh_writing import Json, as_events, logical_events
from tests.providers.recordings.dsh_writing import write as write_file
from tests.providers.recordings.recorded_logs import (
    RECORDINGS,
    needs_recordings,
    session_files,
    whole_rows,
)
from tests.providers.sqlite.imports import IMPORTED, REFUSED, UNCHANGED, counted, take, told_log
from tests.providers.sqlite.stores import sqlite_at

pytestmark = needs_recordings

DSH = RECORDINGS / "dsh"
BAD = {
    "fork-2026-08-20/apps/web/tests/snapshots/cordis-tool-round/session.jsonl": (
        8,
        "the row has seq",
    ),
    "upstream/examples/acp-agent/tests/snapshots/multi-turn/session.jsonl": (
        2,
        "the row has no seq: this is not a log that dsh stores",
    ),
}
GOOD = [name for name in (str(p.relative_to(DSH)) for p in session_files(DSH)) if name not in BAD]
OLDER_NAMES = {"context/message": "user/message"}


async def stored_log(store: SqliteLogStore) -> tuple[SessionHeader, list[Entry]]:
    """The one session of a store."""
    async with store.observe() as reader:
        (session_id,) = await ids_in_order(reader)
        session = await one(reader, session_id)
        return session.header, await all_entries(reader, session)


def test_there_are_recordings_to_try() -> None:
    assert len(GOOD) >= 24
    assert all((DSH / name).is_file() for name in BAD)


@pytest.mark.parametrize("name", GOOD)
def test_a_good_recording_is_imported_as_it_was_written(name: str, tmp_path: Path) -> None:
    rows: list[Json] = whole_rows(DSH / name)[1:]
    for row in rows:
        row["type"] = OLDER_NAMES.get(row["type"], row["type"])
        if row["type"] in MESSAGE_TYPES:
            row.setdefault("surfaceOp", "append")

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            report = await take(store, DSH / name)
            expected = logical_events(rows)
            assert (counted(report), report.events) == (IMPORTED, len(expected))
            assert await store.check() == []
            _, entries = await stored_log(store)
            assert as_events(entries) == expected
            assert counted(await take(store, DSH / name)) == UNCHANGED

    asyncio.run(scenario())


@pytest.mark.parametrize("name", GOOD)
def test_an_exported_recording_is_the_same_session_again(name: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store, sqlite_at(tmp_path / "2.db") as again:
            await take(store, DSH / name)
            header, entries = await stored_log(store)
            lines = export_lines(header, entries)
            exported = write_file(tmp_path / "session.jsonl", lines)
            assert counted(await take(again, exported)) == IMPORTED
            assert await again.check() == []
            header_again, entries_again = await stored_log(again)
            assert header_again.identity() == header.identity()
            assert as_events(entries_again) == as_events(entries)
            told = [await told_log(each, header.session_id) for each in (store, again)]
            assert told[0] == told[1]
            assert counted(await take(store, exported)) == UNCHANGED

    asyncio.run(scenario())


@pytest.mark.parametrize("name", BAD)
def test_a_bad_recording_is_refused_with_its_line_and_the_reason(name: str, tmp_path: Path) -> None:
    async def scenario() -> ImportReport:
        async with sqlite_at(tmp_path / "log.db") as store:
            report = await take(store, DSH / name)
            async with store.observe() as reader:
                assert (await reader.counts()).sessions == 0
            return report

    report = asyncio.run(scenario())
    assert counted(report) == REFUSED
    (refused,) = report.refused
    line, reason = BAD[name]
    assert (refused.path, refused.line) == (str((DSH / name).resolve()), line)
    assert reason in refused.reason
