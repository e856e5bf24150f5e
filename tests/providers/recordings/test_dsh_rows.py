"""One storage row, one entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from providers.recordings.dsh import DshReader
from sessiongraph.event import APPEND, SessionEvent, SurfaceOp
from tests.providers.recordings.dsh_writing import (
    TIME,
    header_row,
    json_line,
    packed_row,
    read,
    row,
    write,
)


def events_of_rows(tmp_path: Path, *rows: Any, version: int = 0) -> list[SessionEvent]:
    path = write(tmp_path / "log.jsonl", [header_row(version), *rows])
    entries = read(path).entries
    assert all(isinstance(entry, SessionEvent) for entry in entries)
    return entries  # type: ignore[return-value]


def test_an_event_is_read_as_logged(tmp_path: Path) -> None:
    (event,) = events_of_rows(tmp_path, row(0, "tool/call", {"name": "bash"}))
    assert (event.seq, event.type, event.time) == (0, "tool/call", TIME)
    assert event.data == {"name": "bash"}
    assert (event.surface_op, event.source_event_seqs, event.ignorable) == (None, None, False)


def test_a_payload_keeps_the_bytes_it_was_written_in(tmp_path: Path) -> None:
    payload = '{ "b" : 1.0,\t"a":"\\u00e9é\\/" , "a2":1e2 }'.encode()
    line = b'{"type":"turn/start","seq":0,"time":1,"data":%s}\n' % payload
    (event,) = events_of_rows(tmp_path, line)
    assert event.payload == payload


def test_the_line_of_an_entry_counts_the_header(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", [header_row(), row(0), packed_row(1, "ab"), row(3)])
    assert [each.line for each in read(path).recorded] == [2, 3, 4]


def test_an_append_is_an_append(tmp_path: Path) -> None:
    (event,) = events_of_rows(tmp_path, row(0, "user/message", {}, surfaceOp="append"))
    assert event.surface_op == APPEND


@pytest.mark.parametrize("version", [0, 2, 3, 4])
@pytest.mark.parametrize(("start", "end"), [("start", "end"), ("startSeq", "endSeq")])
def test_a_replacement_is_read_in_both_spellings(
    tmp_path: Path, version: int, start: str, end: str
) -> None:
    op = {"op": "replace", start: 0, end: 1}
    first, second = (row(seq, "user/message", {}, surfaceOp="append") for seq in (0, 1))
    third = row(2, "user/message", {}, surfaceOp=op, sourceEventSeqs=[0, 1])
    *_, event = events_of_rows(tmp_path, first, second, third, version=version)
    assert event.surface_op == SurfaceOp(0, 1)
    assert event.source_event_seqs == (0, 1)


def test_ranges_in_citations_are_expanded(tmp_path: Path) -> None:
    rows = [row(seq) for seq in range(9)]
    message = row(9, "assistant/message", {}, surfaceOp="append", sourceEventSeqs=[0, [2, 5], 8])
    *_, event = events_of_rows(tmp_path, *rows, message)
    assert event.source_event_seqs == (0, 2, 3, 4, 5, 8)


def test_a_citation_list_without_ranges_keeps_its_order(tmp_path: Path) -> None:
    rows = [row(seq) for seq in range(3)]
    message = row(3, "user/message", {}, surfaceOp="append", sourceEventSeqs=[2, 0, 1])
    *_, event = events_of_rows(tmp_path, *rows, message)
    assert event.source_event_seqs == (2, 0, 1)


def test_an_empty_citation_list_is_not_an_absent_one(tmp_path: Path) -> None:
    message = row(0, "assistant/message", {}, surfaceOp="append", sourceEventSeqs=[])
    (event,) = events_of_rows(tmp_path, message)
    assert event.source_event_seqs == ()


@pytest.mark.parametrize(("value", "expected"), [(True, True), (False, False), ("yes", False)])
def test_only_a_literal_true_makes_an_event_ignorable(
    tmp_path: Path, value: Any, expected: bool
) -> None:
    (event,) = events_of_rows(tmp_path, row(0, "acme/thing", {}, ignorable=value))
    assert event.ignorable is expected


def test_a_time_that_is_a_whole_float_is_an_integer(tmp_path: Path) -> None:
    (event,) = events_of_rows(tmp_path, {**row(0), "time": float(TIME)})
    assert event.time == TIME
    assert isinstance(event.time, int)


def test_times_may_run_backwards(tmp_path: Path) -> None:
    events = events_of_rows(tmp_path, {**row(0), "time": 9}, {**row(1), "time": -5})
    assert [event.time for event in events] == [9, -5]


def test_the_keys_of_a_row_may_come_in_any_order(tmp_path: Path) -> None:
    (event,) = events_of_rows(tmp_path, dict(reversed(row(0).items())))
    assert event.type == "turn/start"


def test_blank_lines_are_passed_over_and_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", [header_row(), b"\n", b" \r\n", row(0)])
    assert [each.line for each in read(path).recorded] == [4]


def test_lines_may_end_in_carriage_returns(tmp_path: Path) -> None:
    windows = [json_line(each)[:-1] + b"\r\n" for each in (header_row(), row(0), row(1))]
    assert len(read(write(tmp_path / "log.jsonl", windows)).entries) == 2


def test_keys_that_dsh_does_not_know_are_left_out_and_noted(tmp_path: Path) -> None:
    rows = [header_row(), row(0, metadata={"a": 1}), row(1, metadata=2, other=None)]
    reading = read(write(tmp_path / "log.jsonl", rows))
    assert [event.type for event in reading.entries] == ["turn/start", "turn/start"]
    assert reading.notes == ("Row keys unknown to dsh are left out: metadata (2), other (1).",)


def test_a_log_is_read_once(tmp_path: Path) -> None:
    log = DshReader().open(write(tmp_path / "log.jsonl", [header_row()]), None)
    assert list(log.entries()) == []
    with pytest.raises(RuntimeError):
        log.entries()


def test_an_abandoned_reading_leaves_no_file_open(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", [header_row(), *(row(seq) for seq in range(9))])
    log = DshReader().open(path, None)
    next(iter(log.entries()))
    log.close()
    assert log.state.line == 0  # nothing was read for good


def test_bytes_read_counts_decompressed_json(tmp_path: Path) -> None:
    rows = [header_row(), *(row(seq) for seq in range(9))]
    log = DshReader().open(write(tmp_path / "log.jsonl.zstd", rows), None)
    assert log.bytes_read == 0
    assert len(list(log.entries())) == 9
    assert log.bytes_read == sum(len(json_line(each)) for each in rows)
