"""Logs that dsh itself wrote: all good ones are read whole, and nothing in them changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from providers.recordings.discovery import find_recordings
from providers.recordings.dsh import DshReader
from providers.recordings.dsh_export import export_lines
from sessiongraph.recordings import RecordingRefused
from tests.providers.recordings.dsh_writing import Reading, logical_events, read, write
from tests.providers.recordings.recorded_logs import (
    ORACLE,
    RECORDINGS,
    needs_oracle,
    needs_recordings,
    session_files,
    whole_rows,
)

REFUSED = {
    "fork-2026-08-20/apps/web/tests/snapshots/cordis-tool-round/session.jsonl": 8,
    "upstream/examples/acp-agent/tests/snapshots/multi-turn/session.jsonl": 2,
}
OLDER_NAMES = {"context/message": "user/message"}
ROOTS = (
    "v0/none",
    "v0/zstd",
    "v0/none-bad",
    "v0/zstd-bad",
    "v3/migrated-zstd",
    "v3/native-none",
    "v3/native-zstd",
    "v4-synthetic/none",
    "v4-synthetic/zstd",
)


def assert_read_as_written(path: Path, reading: Reading) -> None:
    rows = whole_rows(path)[1:]
    for row in rows:
        row["type"] = OLDER_NAMES.get(row["type"], row["type"])
    assert reading.events == logical_events(rows)


@needs_recordings
@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_recording_is_refused_with_its_line(name: str) -> None:
    with pytest.raises(RecordingRefused) as refused:
        read(RECORDINGS / "dsh" / name)
    assert refused.value.line == REFUSED[name]


@needs_recordings
def test_every_good_recording_is_read_as_written() -> None:
    root = RECORDINGS / "dsh"
    good = [path for path in session_files(root) if str(path.relative_to(root)) not in REFUSED]
    assert len(good) >= 20
    for path in good:
        assert_read_as_written(path, read(path))


@needs_recordings
def test_the_oldest_recording_says_what_is_old_in_it() -> None:
    (path,) = session_files(RECORDINGS / "dsh" / "live")
    reading = read(path)
    assert len(reading.entries) == 2211
    assert reading.notes == (
        "Older event types are read under newer names: context/message as user/message (4).",
        "Types unknown to dsh are kept as opaque events:"
        " bash/sandbox-mode (2), request/header-delta (4).",
    )


@needs_recordings
def test_dsh_recordings_are_recognised_and_nothing_else_is() -> None:
    reader = DshReader()
    for path, found in find_recordings([RECORDINGS], [reader]):
        is_dsh = path.is_relative_to(RECORDINGS / "dsh")
        assert (found is reader) is is_dsh, path


@needs_oracle
@pytest.mark.parametrize("root", ROOTS)
def test_every_session_of_the_oracle_is_read_as_written(root: str) -> None:
    files = session_files(ORACLE / root)
    assert files
    for path in files:
        reading = read(path)
        assert_read_as_written(path, reading)
        if "torn" not in path.parent.name and "required" not in path.parent.name:
            assert reading.notes == ()


@needs_oracle
@pytest.mark.parametrize("encoding", ["none", "zstd"])
def test_a_type_that_dsh_refuses_is_kept_opaque_and_noted(encoding: str) -> None:
    (path,) = (ORACLE / f"v0/{encoding}-bad").rglob("b02*/session.jsonl*")
    reading = read(path)
    assert [event["type"] for event in reading.events] == ["future/required"]
    assert reading.notes == (
        "Types unknown to dsh are kept as opaque events: future/required (1).",
    )


@needs_oracle
@pytest.mark.parametrize("encoding", ["none", "zstd"])
def test_headers_and_lengths_are_those_of_the_oracle(encoding: str) -> None:
    answers = sorted((ORACLE / "answers" / encoding).glob("*.json"))
    assert answers
    for answer in (json.loads(each.read_bytes()) for each in answers):
        reading = read(ORACLE / "v0" / encoding / answer["path"])
        header = answer["header"]
        assert reading.header.session_id == header["id"]
        assert reading.header.created_at == header["createdAt"]
        assert reading.header.cwd == header.get("cwd")
        assert reading.header.parent_session == header.get("parentSession")
        types = [event["type"] for event in reading.events]
        assert types == answer["types"][: len(types)]


@needs_oracle
@pytest.mark.parametrize("root", ["v0/none", "v3/native-none", "v4-synthetic/none"])
def test_an_exported_session_of_the_oracle_is_the_same_session(tmp_path: Path, root: str) -> None:
    for path in session_files(ORACLE / root):
        before = read(path)
        lines = list(export_lines(before.header, before.entries))
        after = read(write(tmp_path / "export.jsonl", lines))
        assert after.events == before.events
        assert after.header.identity() == before.header.identity()


@needs_oracle
@pytest.mark.parametrize("root", ["v3/native-none", "v4-synthetic/none"])
def test_an_export_has_the_very_bytes_that_dsh_wrote(root: str) -> None:
    for path in session_files(ORACLE / root):
        reading = read(path)
        exported = b"".join(export_lines(reading.header, reading.entries))
        assert exported == path.read_bytes()


@needs_oracle
@pytest.mark.parametrize("root", ["v3/migrated-zstd", "v4-synthetic/none"])
def test_the_highest_generation_of_each_folder_is_the_session(root: str) -> None:
    files = session_files(ORACLE / root)
    losers = DshReader().superseded(files)
    assert len(losers) * 2 == len(files)
    for loser, winner in losers.items():
        assert read(loser).header.version < read(winner).header.version
