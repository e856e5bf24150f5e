"""Recordings that another process reads: they tell what they tell when they are read here."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from providers.recordings import reading_apart
from providers.recordings.discovery import find_recordings
from providers.recordings.dsh import DshReader
from providers.recordings.reading_apart import ReadingApart
from providers.recordings.reading_messages import EntriesRead, Ready, receive, send
from providers.recordings.reading_process import _has_time
from providers.sqlite.preparing import prepare_entry
from sessiongraph.event import Entry
from sessiongraph.header import SessionHeader
from sessiongraph.import_report import ImportReport
from sessiongraph.importing import Importer
from sessiongraph.recordings import (
    RecordedEntry,
    RecordedLog,
    RecordedMedia,
    RecordedPart,
    RecordingReader,
    RecordingRefused,
    RecordingRewritten,
    RecordingState,
)
from sessiongraph.redaction import Redaction
from tests.providers.recordings.dsh_writing import header_row, packed_row, row
from tests.providers.recordings.dsh_writing import write as write_file
from tests.providers.recordings.transcript_writing import (
    CLAUDE,
    CODEX,
    as_lines,
    asked,
    codex_meta,
    history,
    item,
    replied,
    text,
    write_lines,
)
from tests.providers.sqlite.imports import IMPORTED_AT, prompts, said, told_store
from tests.providers.sqlite.raw import settled, strays
from tests.providers.sqlite.stores import sqlite_at
from tests.strategies import logs

SECRET = "AKIAQ7XW5N3RT2ZBV6LD"
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aW1n"}}
MANY = 12_000
"""Rows of a file that is far larger than what is on its way between two processes."""


@dataclass(frozen=True)
class Told:
    """Everything that one reading says."""

    entries: list[RecordedEntry]
    header: SessionHeader
    state: RecordingState
    octets: int
    parts: list[tuple[str, list[int], tuple[int, int]]]
    redacted: dict[str, int]


def of_events(entries: list[RecordedEntry]) -> list[Any]:
    names = ("kind", "seq", "type", "time", "payload", "surface_op", "source_event_seqs")
    more = ("ignorable", "turn", "step", "index", "gaps", "texts", "call_id", "name")
    return [
        (each.line, each.media, *(getattr(each.entry, name, None) for name in (*names, *more)))
        for each in entries
    ]


def tell(log: RecordedLog, redaction: Redaction | None) -> Told:
    before = dict(redaction.counts) if redaction else {}
    entries = list(log.entries())
    counts = dict(redaction.counts) if redaction else {}
    redacted = {
        kind: n - before.get(kind, 0) for kind, n in counts.items() if n != before.get(kind)
    }
    parts = [(each.key, list(each.lines), each.place) for each in log.parts]
    return Told(entries, log.header, log.state, log.bytes_read, parts, redacted)


def assert_alike(
    reading: ReadingApart,
    reader: RecordingReader,
    path: Path,
    resume: RecordingState | None = None,
    part: RecordedPart | None = None,
) -> Told:
    """Read a file here and apart; answers what was told."""
    for redact in (False, True):
        mine, theirs = (Redaction(), Redaction()) if redact else (None, None)
        here = tell(reader.open(path, resume, part, mine), mine)
        apart = tell(reading(reader, path, resume, part, theirs), theirs)
        assert of_events(apart.entries) == of_events(here.entries)
        assert (apart.header, apart.state, apart.octets) == (here.header, here.state, here.octets)
        assert (apart.parts, apart.redacted) == (here.parts, here.redacted)
    return here


def processes_of(reading: ReadingApart) -> list[int]:
    return [each.pid for each in (*reading._idle, *reading._busy)]


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReadingApart]:
    """Reads everything apart; its one process is there."""
    path = write_file(tmp_path_factory.mktemp("first") / "log.jsonl", [header_row(), said(0)])
    with ReadingApart(started_from=0, used_from=0) as apart:
        tell(apart(DshReader(), path, None, None, None), None)
        yield apart


@settings(max_examples=15)
@given(logs())
def test_entries_arrive_as_they_were_sent(log: list[Entry]) -> None:
    media = (RecordedMedia("ab", b"\x00\xff"),)
    sent = [
        RecordedEntry(entry, 3 + n, media if n % 2 else (), prepare_entry(entry) if n % 3 else None)
        for n, entry in enumerate(log)
    ]
    pipe = BytesIO()
    send(pipe, EntriesRead(17, sent))
    pipe.seek(0)
    received = receive(pipe)
    assert received.octets == 17
    assert of_events(received.entries) == of_events(sent)
    assert [each.prepared for each in received.entries] == [each.prepared for each in sent]
    assert receive(pipe) is None


def test_a_process_that_reads_has_time_as_long_as_its_answers_wait() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", 0) as taken, os.fdopen(writing, "wb", 0) as answers:
        assert not _has_time(answers)
        send(answers, Ready())
        assert _has_time(answers)
        assert isinstance(receive(taken), Ready)
        assert not _has_time(answers)


def test_files_of_every_recorder_are_told_alike(reading: ReadingApart, tmp_path: Path) -> None:
    side = {"isSidechain": True, "parentUuid": None}
    claude = write_lines(
        tmp_path / "claude.jsonl",
        [
            asked(0, f"use {SECRET}"),
            replied(1, "m1", text("going")),
            asked(2, [{"type": "text", "text": "see"}, IMAGE]),
            asked(3, "search the harbor", **side),
            replied(4, "m2", text("done"), isSidechain=True),
            asked(5, "\ud800 alone"),
        ],
    )
    told = assert_alike(reading, CLAUDE, claude)
    assert told.redacted == {"aws-key": 1}
    assert any(each.media for each in told.entries)
    assert len(told.parts) == 1
    for part in CLAUDE.open(claude, None).parts:
        assert_alike(reading, CLAUDE, claude, part=part)
    codex = write_lines(
        tmp_path / "codex.jsonl",
        [codex_meta(), history(1, "user", SECRET), item(2, "function_call", name="x", call_id="c")],
    )
    assert_alike(reading, CODEX, codex)
    rows = [header_row(), said(0), packed_row(1, ["x", "\ud83d", "y"] * 300), *prompts(900, 901)]
    for name in ("log.jsonl", "log.jsonl.zstd"):
        assert_alike(reading, DshReader(), write_file(tmp_path / name, rows))
    assert len(processes_of(reading)) == 1


def test_the_sessions_between_the_lines_are_told_alike(
    reading: ReadingApart, tmp_path: Path
) -> None:
    side = {"isSidechain": True, "parentUuid": None}
    records = [asked(0, "go"), asked(1, "search", **side), replied(2, "m", text("on"))]
    path = write_lines(tmp_path / "log.jsonl", records)
    log = reading(CLAUDE, path, None, None, None)
    assert list(log.entries())
    (part,) = log.parts
    assert assert_alike(reading, CLAUDE, path, part=part).entries


def test_what_a_file_gained_is_told_alike(reading: ReadingApart, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [asked(0, "go"), replied(1, "m1", text("going"))])
    state = assert_alike(reading, CLAUDE, path).state
    with path.open("ab") as file:
        file.write(as_lines([replied(2, "m1", text("on")), asked(3, "more")]))
    grown = assert_alike(reading, CLAUDE, path, resume=state)
    assert grown.entries
    assert grown.state.next_seq > state.next_seq


def test_a_refusal_names_the_line_and_the_reason_alike(
    reading: ReadingApart, tmp_path: Path
) -> None:
    rows = [header_row(), said(0), said(5), row(6, "turn/end", {"turn": 0})]
    path = write_file(tmp_path / "log.jsonl", rows)
    refusals = []
    for log in (DshReader().open(path, None), reading(DshReader(), path, None, None, None)):
        with pytest.raises(RecordingRefused) as refused:
            list(log.entries())
        refusals.append((refused.value.path, refused.value.line, refused.value.reason))
    assert refusals[0] == refusals[1]
    assert refusals[0][1] == 3
    # The process is there for the next file.
    (pid,) = processes_of(reading)
    assert_alike(reading, DshReader(), write_file(tmp_path / "good.jsonl", rows[:2]))
    assert processes_of(reading) == [pid]


def test_a_file_that_is_replaced_after_it_was_opened_is_not_taken_for_itself(
    reading: ReadingApart, tmp_path: Path
) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(id="one"), said(0)])
    log = reading(DshReader(), path, None, None, None)
    write_file(path, [header_row(id="other"), said(0)])
    with pytest.raises(RecordingRefused, match="replaced while it was being read"):
        list(log.entries())


def test_a_part_that_was_read_and_changed_is_met_alike(
    reading: ReadingApart, tmp_path: Path
) -> None:
    path = write_lines(tmp_path / "log.jsonl", [asked(0, "go"), asked(1, "on")])
    state = assert_alike(reading, CLAUDE, path).state
    with path.open("ab") as file:
        file.write(as_lines([asked(2, "more")]))
    log = reading(CLAUDE, path, state, None, None)
    write_lines(path, [asked(0, "gone"), asked(1, "on"), asked(2, "more")])
    with pytest.raises((RecordingRewritten, RecordingRefused)):
        list(log.entries())


def test_small_files_and_those_that_find_no_free_process_are_read_here(tmp_path: Path) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(MANY)])
    with ReadingApart(processes=1, started_from=0, used_from=0) as apart:
        first = apart(DshReader(), path, None, None, None)
        with closing(first.entries()) as entries:  # type: ignore[type-var]
            next(entries)
            assert len(processes_of(apart)) == 1
            assert len(tell(apart(DshReader(), path, None, None, None), None).entries) == MANY
            assert len(processes_of(apart)) == 1
        assert processes_of(apart) == []
    with ReadingApart() as apart:
        small = write_file(tmp_path / "small.jsonl", [header_row(), *prompts(100)])
        tell(apart(DshReader(), small, None, None, None), None)
        assert processes_of(apart) == []
        tell(apart(DshReader(), path, None, None, None), None)
        assert len(processes_of(apart)) == 1
    with ReadingApart(processes=0, started_from=0, used_from=0) as apart:
        assert len(tell(apart(DshReader(), path, None, None, None), None).entries) == MANY


def test_a_reading_that_is_given_up_ends_its_process(tmp_path: Path) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(MANY)])
    with ReadingApart(started_from=0) as apart:
        with closing(apart(DshReader(), path, None, None, None).entries()) as entries:  # type: ignore[type-var]
            next(entries)
            (pid,) = processes_of(apart)
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert len(tell(apart(DshReader(), path, None, None, None), None).entries) == MANY


def test_a_process_that_was_killed_between_two_files_is_replaced(tmp_path: Path) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(MANY)])
    with ReadingApart(started_from=0) as apart:
        tell(apart(DshReader(), path, None, None, None), None)
        (pid,) = processes_of(apart)
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert len(tell(apart(DshReader(), path, None, None, None), None).entries) == MANY
        assert processes_of(apart) != [pid]


def test_nothing_is_left_of_a_process_that_ended_once_another_file_is_opened(
    tmp_path: Path,
) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(MANY)])
    small = write_file(tmp_path / "small.jsonl", [header_row(), *prompts(1)])
    with ReadingApart(started_from=0) as apart:
        tell(apart(DshReader(), path, None, None, None), None)
        (pid,) = processes_of(apart)
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        apart(DshReader(), small, None, None, None)
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_what_is_printed_in_a_process_is_nothing_that_it_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(MANY)])
    (tmp_path / "sitecustomize.py").write_text("print('this machine is customised', flush=True)")
    monkeypatch.syspath_prepend(tmp_path)
    with ReadingApart(started_from=0) as apart:
        assert len(tell(apart(DshReader(), path, None, None, None), None).entries) == MANY
        assert len(processes_of(apart)) == 1


@pytest.mark.parametrize("answer", ["a line of a text", "x\0\0\0\0\0\0\0\0"])
def test_a_process_that_says_what_is_no_message_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(MANY)])
    (tmp_path / "another_program.py").write_text(
        f"import os, sys\nos.write(int(sys.argv[1]), {answer.encode()!r})\nsys.stdin.read()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(reading_apart, "_MODULE", "another_program")
    with ReadingApart(started_from=0) as apart:
        assert len(tell(apart(DshReader(), path, None, None, None), None).entries) == MANY
        assert processes_of(apart) == []


@pytest.mark.parametrize("program", ["false", "no-such-program"])
def test_where_no_process_can_be_started_files_are_read_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(100)])
    monkeypatch.setattr(sys, "executable", program)
    with ReadingApart(started_from=0, used_from=0) as apart:
        for _ in range(2):
            assert len(tell(apart(DshReader(), path, None, None, None), None).entries) == 100
            assert processes_of(apart) == []


async def take(store: Any, reading: ReadingApart, *paths: Path, **options: Any) -> ImportReport:
    importer = Importer(store, lambda: IMPORTED_AT, open_recording=reading)
    return await importer.run(find_recordings(paths, [DshReader()]), **options)


def test_a_file_whose_process_is_killed_is_refused_by_name_and_the_others_are_taken(
    tmp_path: Path,
) -> None:
    large = write_file(tmp_path / "a.jsonl", [header_row(id="large"), *prompts(MANY)])
    other = write_file(tmp_path / "b.jsonl", [header_row(id="other"), *prompts(3_000)])

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            before = await told_store(store)
            with ReadingApart(started_from=0) as apart:

                def kill(report: ImportReport) -> None:
                    if report.files == 1 and report.events and not killed:
                        killed.extend(processes_of(apart))
                        os.kill(killed[0], signal.SIGKILL)

                killed: list[int] = []
                report = await take(store, apart, large, other, on_progress=kill)
                assert [each.path for each in report.refused] == [str(large)]
                assert "the process that read it has ended (signal 9)" in report.refused[0].reason
                assert (report.imported, report.events) == (1, 3_000)
                await settled(store)
                assert await store.check() == []
                await store.delete("other")
                assert (await told_store(store))["logs"] == before["logs"]
                assert (await take(store, apart, large)).imported == 1
        assert strays(tmp_path / "log.db") == {}

    asyncio.run(scenario())


def test_a_cancelled_import_leaves_no_process_that_reads(tmp_path: Path) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(MANY)])

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            with ReadingApart(started_from=0) as apart:
                importing = asyncio.ensure_future(
                    take(store, apart, path, on_progress=lambda _: importing.cancel())
                )
                with pytest.raises(asyncio.CancelledError):
                    await importing
                assert processes_of(apart) == []
                report = await take(store, apart, path, dry_run=True)
                assert (report.imported, report.events) == (1, MANY)
                assert (await told_store(store))["ids"] == []
            await settled(store)

    asyncio.run(scenario())
