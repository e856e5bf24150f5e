"""What of a recording's contents an import keeps apart, or not at all: images and secrets."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest

from providers.media.folder import MediaFolder
from providers.recordings.discovery import find_recordings
from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.import_report import ImportReport
from sessiongraph.importing import Importer
from sessiongraph.session_import import SECRETS_REPLACED
from tests.contracts.log_stage import all_entries, ids_in_order, one
from tests.providers.recordings import dsh_writing as dsh
from tests.providers.recordings.transcript_writing import (
    READERS,
    SESSION,
    Json,
    as_lines,
    asked,
    claude,
    codex_meta,
    history,
    item,
    replied,
    text,
    write_lines,
)
from tests.providers.sqlite.imports import IMPORTED_AT, said
from tests.providers.sqlite.stores import sqlite_at

SECRET = "AKIAQ7XW5N3RT2ZBV6LD"
IMAGE = b"\x89PNG and so on"

RECORDINGS: dict[str, list[Json]] = {
    "claude": [asked(0, f"use {SECRET}"), replied(1, "m1", text(f"I use {SECRET}"))],
    "codex": [codex_meta(), history(1, "user", SECRET), history(2, "assistant", SECRET)],
    "dsh": [dsh.header_row(id=SESSION), said(0, SECRET), said(1, f"again {SECRET}")],
}
GROWTH: dict[str, Json] = {
    "claude": asked(2, f"once more {SECRET}"),
    "codex": item(3, "function_call_output", call_id="c", output=SECRET),
    "dsh": said(2, SECRET),
}


async def stored(store: SqliteLogStore) -> tuple[bytes, tuple[str, ...]]:
    """All payloads of the one session, and the notes of its header."""
    async with store.observe() as view:
        (session_id,) = await ids_in_order(view)
        session = await one(view, session_id)
        entries = await all_entries(view, session)
    payloads = b"".join(entry.payload for entry in entries if hasattr(entry, "payload"))
    return payloads, session.header.source.notes


async def take(store: SqliteLogStore, path: Path, **options: Any) -> ImportReport:
    importer = Importer(store, lambda: IMPORTED_AT, **options)
    return await importer.run(find_recordings([path], READERS))


@pytest.mark.parametrize("recorder", RECORDINGS)
def test_secrets_are_replaced_before_anything_is_stored(tmp_path: Path, recorder: str) -> None:
    path = write_lines(tmp_path / "log.jsonl", RECORDINGS[recorder])

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            report = await take(store, path, redact=True)
            assert report.redacted == {"aws-key": 2}
            payloads, notes = await stored(store)
            assert SECRET.encode() not in payloads
            assert payloads.count(b"[redacted:aws-key]") >= 2
            assert SECRETS_REPLACED in notes
            with path.open("ab") as file:
                file.write(as_lines([GROWTH[recorder]]))
            report = await take(store, path, redact=True)
            assert (report.resumed, report.redacted) == (1, {"aws-key": 1})
            payloads, notes = await stored(store)
            assert SECRET.encode() not in payloads
            assert notes.count(SECRETS_REPLACED) == 1
            report = await take(store, path, redact=True)
            assert (report.unchanged, report.redacted) == (1, {})

    asyncio.run(scenario())
    for file in tmp_path.glob("log.db*"):
        assert SECRET.encode() not in file.read_bytes()


@pytest.mark.parametrize("recorder", RECORDINGS)
def test_without_redaction_everything_is_kept_as_written(tmp_path: Path, recorder: str) -> None:
    path = write_lines(tmp_path / "log.jsonl", RECORDINGS[recorder])

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            assert (await take(store, path)).redacted == {}
            payloads, notes = await stored(store)
            assert payloads.count(SECRET.encode()) >= 2
            assert notes == ()

    asyncio.run(scenario())


def test_a_title_from_another_file_is_redacted_too(tmp_path: Path) -> None:
    leaf = asked(0, "hello")
    summary = {"type": "summary", "summary": f"About {SECRET}", "leafUuid": leaf["uuid"]}
    other = asked(9, "x", sessionId="other")
    write_lines(tmp_path / "other.jsonl", [summary, other])
    path = write_lines(tmp_path / "log.jsonl", [leaf])

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await take(store, path, redact=True)
            payloads, _ = await stored(store)
            assert b'"About [redacted:aws-key]"' in payloads

    asyncio.run(scenario())


def with_image(path: Path) -> Path:
    source = {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(IMAGE).decode(),
    }
    content = [{"type": "image", "source": source}]
    return write_lines(path, [claude(0, "user", {"role": "user", "content": content})])


def test_images_are_files_named_by_their_content_and_not_in_the_log(tmp_path: Path) -> None:
    path = with_image(tmp_path / "log.jsonl")
    digest = hashlib.sha256(IMAGE).hexdigest()

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await take(store, path, media=MediaFolder(tmp_path / "media"))
            payloads, _ = await stored(store)
            assert f"sha256:{digest}".encode() in payloads
            assert base64.b64encode(IMAGE) not in payloads

    asyncio.run(scenario())
    assert (tmp_path / "media" / digest[:2] / digest).read_bytes() == IMAGE


def test_a_trial_keeps_no_images(tmp_path: Path) -> None:
    path = with_image(tmp_path / "log.jsonl")

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            importer = Importer(store, lambda: IMPORTED_AT, MediaFolder(tmp_path / "media"))
            await importer.run(find_recordings([path], READERS), dry_run=True)

    asyncio.run(scenario())
    assert not (tmp_path / "media").exists()


def test_where_an_image_cannot_be_kept_its_session_is_refused(tmp_path: Path) -> None:
    path = with_image(tmp_path / "log.jsonl")
    (tmp_path / "media").write_bytes(b"in the way")

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            report = await take(store, path, media=MediaFolder(tmp_path / "media"))
            assert len(report.refused) == 1
            async with store.observe() as view:
                assert await ids_in_order(view) == []

    asyncio.run(scenario())
