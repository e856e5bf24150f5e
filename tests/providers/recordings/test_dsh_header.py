"""The first line: what it must say, and what it may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from providers.recordings.dsh import DshReader
from sessiongraph.header import SessionHeader, SourceKind
from sessiongraph.recordings import RecordingRefused
from tests.providers.recordings.dsh_writing import TIME, header_row, json_line, read, row, write


def header_of(tmp_path: Path, head: Any, *rows: Any, name: str = "log.jsonl") -> SessionHeader:
    return read(write(tmp_path / name, [head, *rows])).header


def test_every_field_is_read(tmp_path: Path) -> None:
    head = header_row(
        0,
        cwd="/proj",
        parentSession="p",
        seedLength=7,
        origin="subagent",
        delegationDepth=2,
        agentPreset="standard",
    )
    header = header_of(tmp_path, head)
    assert header.identity() == (0, TIME, "/proj", "p", 7, 2)
    assert (header.session_id, header.origin, header.agent_preset) == ("s", "subagent", "standard")
    assert header.source.kind is SourceKind.DSH
    assert header.source.path == str(tmp_path / "log.jsonl")
    assert (header.source.notes, dict(header.extra)) == ((), {})


def test_the_delegation_depth_is_0_when_absent(tmp_path: Path) -> None:
    head = {"type": "session", "version": 0, "id": "s", "createdAt": TIME}
    assert header_of(tmp_path, head).delegation_depth == 0


def test_unknown_keys_are_kept_and_noted(tmp_path: Path) -> None:
    header = header_of(tmp_path, header_row(4, isSeeded=False, sshTarget={"a": 1}, draft=True))
    assert dict(header.extra) == {"sshTarget": {"a": 1}, "draft": True}
    assert header.source.notes == ("Header keys unknown to dsh are kept: draft, sshTarget.",)


def test_values_of_the_wrong_type_are_read_as_absent_and_noted(tmp_path: Path) -> None:
    header = header_of(tmp_path, header_row(cwd=1, seedLength="2", delegationDepth=-1))
    assert (header.cwd, header.seed_length, header.delegation_depth) == (None, None, 0)
    assert header.source.notes == (
        "Header values of the wrong type are left out: cwd, seedLength, delegationDepth.",
    )


@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_last_inherited_mark_is_the_seed_length_from_version_2_on(
    tmp_path: Path, version: int
) -> None:
    rows = (
        row(0),
        row(1, "session/end-seed", {"inherited": True}),
        row(2, "session/end-seed", {}),
        row(3, "session/end-seed", {"inherited": True}),
        row(4, "session/end-seed", {"inherited": 1}),
        row(5),
    )
    assert header_of(tmp_path, header_row(version, isSeeded=True), *rows).seed_length == 3


def test_marks_say_nothing_before_version_2(tmp_path: Path) -> None:
    rows = (row(0), row(1, "session/end-seed", {"inherited": True}))
    assert header_of(tmp_path, header_row(0), *rows).seed_length is None


@pytest.mark.parametrize("name", ["session.jsonl", "session.v3.jsonl"])
def test_a_name_of_another_version_is_noted(tmp_path: Path, name: str) -> None:
    header = header_of(tmp_path, header_row(2), name=name)
    named = 0 if name == "session.jsonl" else 3
    assert header.source.notes == (f"The file is named for version {named} but its header says 2.",)


@pytest.mark.parametrize("name", ["session.v2.jsonl", "session.1.jsonl", "other.jsonl"])
def test_a_name_that_agrees_or_says_nothing_is_not_noted(tmp_path: Path, name: str) -> None:
    assert header_of(tmp_path, header_row(2), name=name).source.notes == ()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "missing or not finished"),
        (json_line(header_row())[:-1], "missing or not finished"),
        (b"not json\n", "not JSON"),
        (b"[]\n", "not a header"),
        (json_line(row(0)), "not a header"),
        (json_line(header_row(id="")), "no id"),
        (json_line(header_row(id=7)), "no id"),
        (json_line(header_row(createdAt="2026-01-01T00:00:00Z")), "no integer createdAt"),
        (json_line(header_row(createdAt=True)), "no integer createdAt"),
        (json_line({**header_row(), "version": None}), "no version"),
    ],
)
def test_a_file_without_a_header_is_refused(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(line)
    with pytest.raises(RecordingRefused, match=reason) as refused:
        DshReader().open(path, None)
    assert refused.value.line == 1


@pytest.mark.parametrize("session_id", ["weird/id: α β %2F..", "nul\x00", "\ud800", " "])
def test_any_id_that_is_not_empty_is_an_id(tmp_path: Path, session_id: str) -> None:
    assert header_of(tmp_path, header_row(id=session_id)).session_id == session_id


def beginning(*rows: Any) -> list[bytes]:
    return [json_line(each)[:-1] for each in rows]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (beginning(header_row()), True),
        (beginning(header_row(), row(0)), True),
        (beginning(header_row(), {"type": "turn/start", "data": {}}), True),
        (beginning(header_row(), [1], {"a": 1}), False),
        (beginning({"type": "session", "version": 3, "id": "x", "timestamp": "2026-01-01"}), False),
        (beginning(row(0), header_row()), False),
        ([], False),
        ([b"\xff"], False),
    ],
)
def test_a_file_is_recognised_by_its_header_and_a_row(lines: list[bytes], expected: bool) -> None:
    assert DshReader().recognises(Path("whatever.txt"), lines) is expected
