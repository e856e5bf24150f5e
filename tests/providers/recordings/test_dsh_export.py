"""An exported session is a dsh file again, and says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from providers.recordings.dsh_export import export_lines
from providers.recordings.dsh_header import KNOWN_KEYS
from providers.recordings.dsh_placement import read_sources, written_sources
from sessiongraph.event import APPEND, Entry, SurfaceOp
from sessiongraph.header import SessionHeader
from tests.providers.recordings.dsh_writing import as_events, header_row, read, write
from tests.strategies import delta_run, event, headers, logs, message

dsh_headers = headers().filter(lambda header: not header.extra.keys() & KNOWN_KEYS)
"""A header read from a dsh file has no further member with the name of a known one."""


def exported(header: SessionHeader, *entries: Entry) -> list[bytes]:
    lines = list(export_lines(header, entries))
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    return lines


def rows_of(version: int, *entries: Entry) -> list[Any]:
    return [json.loads(line) for line in exported(SessionHeader(version, "s", 1), *entries)[1:]]


@given(dsh_headers, logs())
def test_a_session_survives_export_and_reading(
    tmp_path_factory: pytest.TempPathFactory, header: SessionHeader, log: list[Entry]
) -> None:
    path = write(tmp_path_factory.mktemp("export") / "log.jsonl", exported(header, *log))
    reading = read(path)
    expected = header if header.version < 2 else replace(header, seed_length=None)
    assert replace(reading.header, source=header.source) == expected
    assert reading.events == as_events(log)


@given(dsh_headers, logs())
def test_an_export_of_what_was_exported_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, header: SessionHeader, log: list[Entry]
) -> None:
    lines = exported(replace(header, seed_length=None), *log)
    reading = read(write(tmp_path_factory.mktemp("export") / "log.jsonl", lines))
    assert exported(reading.header, *reading.entries) == lines


def test_the_header_has_dsh_s_keys_in_dsh_s_order() -> None:
    header = SessionHeader(0, "s", 1, "/p", "up", 3, "subagent", 1, "std", extra={"draft": True})
    assert exported(header) == [
        b'{"type":"session","version":0,"id":"s","createdAt":1,"cwd":"/p","parentSession":"up",'
        b'"seedLength":3,"origin":"subagent","delegationDepth":1,"agentPreset":"std",'
        b'"draft":true}\n'
    ]


@pytest.mark.parametrize(("seed_length", "seeded"), [(None, b"false"), (0, b"true"), (5, b"true")])
@pytest.mark.parametrize("version", [2, 3, 4])
def test_from_version_2_on_the_header_says_only_whether_it_is_seeded(
    version: int, seed_length: int | None, seeded: bytes
) -> None:
    (line,) = exported(SessionHeader(version, "s", 1, seed_length=seed_length))
    assert b'"isSeeded":%s,"delegationDepth":0}' % seeded in line
    assert b"seedLength" not in line


def test_the_members_of_a_row_come_in_dsh_s_order() -> None:
    entry = event(4, "user/message", {"a": 1}, time=9, op=APPEND, sources=(0, 1), ignorable=True)
    assert exported(SessionHeader(3, "s", 1), entry)[1] == (
        b'{"type":"user/message","seq":4,"time":9,"data":{"a":1},"ignorable":true,'
        b'"sourceEventSeqs":[0,1],"surfaceOp":"append"}\n'
    )


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_the_ends_of_a_replacement_are_spelled_as_the_version_does(version: int) -> None:
    op = {"start": 0, "end": 1} if version < 3 else {"startSeq": 0, "endSeq": 1}
    (row,) = rows_of(version, message(2, replaces=(0, 1), sources=(0, 1)))
    assert row["surfaceOp"] == {"op": "replace", **op}


@pytest.mark.parametrize("version", [0, 1])
def test_runs_are_packed_rows_up_to_version_1(version: int) -> None:
    (row,) = rows_of(version, delta_run(0, ["a", "b", "c"]))
    assert (row["type"], row["seq0"], row["data"]["texts"]) == ("text-chunks", 0, ["a", "b", "c"])


@pytest.mark.parametrize("version", [2, 3, 4])
def test_runs_are_single_events_later(version: int) -> None:
    rows = rows_of(version, delta_run(0, ["a", "b", "c"]))
    assert [(row["type"], row["seq"]) for row in rows] == [
        ("assistant/chunk", seq) for seq in range(3)
    ]


def test_a_payload_with_line_breaks_is_written_on_one_line() -> None:
    entry = event(0, "turn/start").with_payload(b'{\n  "turn": 1\n}')
    assert rows_of(4, entry)[0]["data"] == {"turn": 1}


@pytest.mark.parametrize(
    ("seqs", "written"),
    [
        ((), []),
        ((3,), [3]),
        ((3, 4), [3, 4]),
        ((3, 4, 5), [[3, 5]]),
        ((0, 2, 3, 4, 6, 7), [0, [2, 4], 6, 7]),
        ((5, 6, 7, 1), [5, 6, 7, 1]),
        ((1, 1, 2), [1, 1, 2]),
    ],
)
def test_citations_are_written_as_dsh_writes_them(
    seqs: tuple[int, ...], written: list[Any]
) -> None:
    assert written_sources(seqs) == written


@given(st.lists(st.integers(0, 30), max_size=20) | st.sets(st.integers(0, 30)).map(sorted))
def test_citations_survive_writing_and_reading(seqs: list[int]) -> None:
    stored = [tuple(each) if isinstance(each, list) else each for each in written_sources(seqs)]
    assert read_sources(stored, 31) == tuple(seqs)  # type: ignore[arg-type]


def test_replacements_survive_export(tmp_path: Path) -> None:
    log = [message(seq) for seq in range(5)]
    log.append(message(5, replaces=(0, 4), sources=(4, 3, 2, 1, 0)))
    for version in (0, 2, 3, 4):
        lines = exported(SessionHeader(version, "s", 1), *log)
        last = read(write(tmp_path / f"{version}.jsonl", lines)).events[-1]
        assert (last["surfaceOp"], last["sourceEventSeqs"]) == ([0, 4], [4, 3, 2, 1, 0])


def test_the_header_row_of_the_tests_is_what_export_writes() -> None:
    header = SessionHeader(0, "s", header_row()["createdAt"])
    assert json.loads(exported(header)[0]) == header_row()
    assert SurfaceOp() == APPEND
