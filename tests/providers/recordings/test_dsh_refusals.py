"""Where a log ends early and where it is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sessiongraph.recordings import RecordingRefused
from tests.providers.recordings.dsh_writing import Reading, header_row, read, row, write

BROKEN = [
    b"{\n",
    b"\x00\x00\x00\n",
    b'{"type":"turn/start","seq":2,"time":1}\n',
    b'{"type":"turn/start","seq":2,"time":1.5,"data":{}}\n',
    b'{"type":"turn/start","seq":2,"time":9007199254740993,"data":{}}\n',
    b'{"type":"","seq":2,"time":1,"data":{}}\n',
    b'{"type":7,"seq":2,"time":1,"data":{}}\n',
    b'{"type":"turn/start","seq":true,"time":1,"data":{}}\n',
    b'{"type":"turn/start","seq":2,"time":1,"data":{}} {}\n',
    row(3),
    row(1),
    row(2, "user/message", {}, surfaceOp="prepend"),
    row(2, "user/message", {}, surfaceOp={"op": "replace", "start": 0}),
    row(2, "user/message", {}, surfaceOp="append", sourceEventSeqs=[[0, 5]]),
    row(2, "user/message", {}, surfaceOp="append", sourceEventSeqs=[1, [0, 1]]),
    row(2, "user/message", {}, surfaceOp="append", sourceEventSeqs=[[1, 0]]),
    row(2, "user/message", {}, surfaceOp="append", sourceEventSeqs=["0"]),
]


def reading_of(tmp_path: Path, *rows: Any, name: str = "log.jsonl", **options: Any) -> Reading:
    return read(write(tmp_path / name, [header_row(), row(0), row(1), *rows]), **options)


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_tail_is_cut_and_noted(tmp_path: Path, broken: Any) -> None:
    reading = reading_of(tmp_path, broken, row(3), row(4))
    assert [event["seq"] for event in reading.events] == [0, 1]
    assert len(reading.notes) == 1
    assert reading.notes[0].startswith("Line 4 is broken and the log ends before it: ")


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.zstd"])
def test_a_broken_row_that_a_turn_ends_after_is_refused(
    tmp_path: Path, broken: Any, name: str
) -> None:
    with pytest.raises(RecordingRefused, match="a turn ends after it") as refused:
        reading_of(tmp_path, broken, row(3), row(4, "turn/end"), name=name)
    assert (refused.value.path, refused.value.line) == (tmp_path / name, 4)


def test_rows_before_the_broken_one_come_out_before_it_is_refused(tmp_path: Path) -> None:
    rows = [header_row(), row(0), b"{\n", row(2, "turn/end")]
    path = write(tmp_path / "log.jsonl", rows)
    with pytest.raises(RecordingRefused):
        read(path)


def test_the_end_of_a_turn_right_behind_a_gap_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingRefused, match="seq 7 where 2 is the next one"):
        reading_of(tmp_path, row(7, "turn/end"))


def test_words_about_the_end_of_a_turn_are_not_its_end(tmp_path: Path) -> None:
    talk = row(3, "user/message", {"text": "turn/end"})
    torn = b'{"type":"turn/end","seq":4,"time":1,"data":{\n'
    assert len(reading_of(tmp_path, b"{\n", talk, torn).entries) == 2


def test_a_cut_log_goes_on_when_its_tail_was_mended(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", [header_row(), row(0), b"{\n"])
    before = read(path)
    write(path, [header_row(), row(0), row(1), row(2, "turn/end")])
    after = read(path, before.state)
    assert [event["seq"] for event in after.events] == [1, 2]
    assert [each.line for each in after.recorded] == [3, 4]


def test_a_cut_log_is_refused_when_a_turn_ends_behind_the_cut_later(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", [header_row(), row(0), b"{\n"])
    before = read(path)
    write(path, [header_row(), row(0), b"{\n", row(2, "turn/end")])
    with pytest.raises(RecordingRefused, match=r"log\.jsonl:3: "):
        read(path, before.state)


def test_rows_without_seq_and_time_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingRefused, match="no seq") as refused:
        reading_of(tmp_path, {"type": "turn/start", "data": {"turn": 1}})
    assert refused.value.line == 4


def test_a_line_beyond_the_limit_is_a_broken_row(tmp_path: Path) -> None:
    long = row(2, "turn/start", {"text": "x" * 5000})
    reading = reading_of(tmp_path, long, row(3), max_line_bytes=4096)
    assert len(reading.entries) == 2
    assert "longer than 4096 bytes" in reading.notes[0]


def test_a_line_beyond_the_limit_inside_of_the_log_is_refused(tmp_path: Path) -> None:
    long = row(2, "turn/start", {"text": "x" * 3_000_000})
    with pytest.raises(RecordingRefused, match="longer than 4096 bytes") as refused:
        reading_of(tmp_path, long, row(3, "turn/end"), max_line_bytes=4096)
    assert refused.value.line == 4


def test_a_line_of_the_limit_is_read(tmp_path: Path) -> None:
    limit = 2_000_000
    frame = len(b'{"type":"turn/start","seq":2,"time":1780000000002,"data":{"t":""}}')
    long = row(2, "turn/start", {"t": "x" * (limit - frame)})
    assert len(reading_of(tmp_path, long, max_line_bytes=limit).entries) == 3
    assert len(reading_of(tmp_path, long, max_line_bytes=limit - 1).entries) == 2


@pytest.mark.parametrize("kind", ["missing", "folder", "dangling", "loop", "pipe"])
def test_what_is_not_a_readable_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "log.jsonl"
    if kind == "folder":
        path.mkdir()
    elif kind == "dangling":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "pipe":
        os.mkfifo(path)
    with pytest.raises(RecordingRefused) as refused:
        read(path)
    assert refused.value.line is None


def test_a_link_to_a_log_is_read(tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(write(tmp_path / "log.jsonl", [header_row(), row(0)]))
    assert len(read(link).entries) == 1
