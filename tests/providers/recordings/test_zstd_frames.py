"""Frames: where they begin, what a torn one still gives, and what is damage."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import pytest

from providers.recordings.zstd_frames import is_zstd
from sessiongraph.recordings import RecordingRefused
from tests.providers.recordings.dsh_writing import frame, header_row, json_lines, read, row


def noise(length: int) -> str:
    """Text that does not compress well."""
    return random.Random(length).randbytes(length // 2).hex()


HEAD = frame(json_lines([header_row()]))
FIRST = frame(json_lines([row(0), row(1)]))
LARGE = frame(json_lines(row(seq, data={"text": noise(50_000 + seq)}) for seq in range(2, 12)))


def seqs(path: Path, content: bytes) -> list[int]:
    path.write_bytes(content)
    return [event["seq"] for event in read(path).events]


def test_frames_are_told_from_plain_text() -> None:
    assert is_zstd(HEAD)
    assert is_zstd(b"\x50\x2a\x4d\x18")
    assert not is_zstd(b'{"ty')
    assert not is_zstd(b"")


def test_a_frame_of_many_blocks_is_read_whole(tmp_path: Path) -> None:
    assert seqs(tmp_path / "log", HEAD + FIRST + LARGE) == list(range(12))


def test_a_line_may_reach_over_frames(tmp_path: Path) -> None:
    content = json_lines([header_row(), row(0), row(1)])
    parts = [content[start : start + 7] for start in range(0, len(content), 7)]
    assert seqs(tmp_path / "log", b"".join(frame(part) for part in parts)) == [0, 1]


def test_frames_without_content_and_skippable_ones_are_passed_over(tmp_path: Path) -> None:
    skippable = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    assert seqs(tmp_path / "log", skippable + HEAD + frame(b"") + skippable + FIRST) == [0, 1]


def test_one_frame_around_a_whole_log_is_read(tmp_path: Path) -> None:
    content = json_lines([header_row(), *(row(seq) for seq in range(5000))])
    for options in ({"level": 1}, {"level": 19}, {"write_content_size": False}):
        assert len(seqs(tmp_path / "log", frame(content, **options))) == 5000


def test_a_torn_last_frame_gives_the_lines_that_decode(tmp_path: Path) -> None:
    path = tmp_path / "log"
    found = {len(seqs(path, HEAD + FIRST + LARGE[:cut])) for cut in range(1, len(LARGE), 20_000)}
    assert min(found) == 2
    assert 2 < max(found) < 12
    assert read(path).notes == ("The last line was not finished when the file was read.",)


@pytest.mark.parametrize("place", [20, 3000, -2])
def test_damage_in_a_frame_that_another_follows_is_refused(tmp_path: Path, place: int) -> None:
    damaged = bytearray(LARGE)
    damaged[place] ^= 0xFF
    tail = frame(json_lines([row(12)]))
    with pytest.raises(RecordingRefused, match="is damaged"):
        seqs(tmp_path / "log", HEAD + FIRST + bytes(damaged) + tail)


def test_damage_in_a_last_frame_that_is_whole_is_refused(tmp_path: Path) -> None:
    damaged = LARGE[:-1] + bytes([LARGE[-1] ^ 0xFF])  # the checksum
    with pytest.raises(RecordingRefused, match="is damaged"):
        seqs(tmp_path / "log", HEAD + FIRST + damaged)


def test_a_torn_frame_that_a_whole_one_follows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingRefused, match=f"at byte {len(HEAD)} is damaged") as refused:
        seqs(tmp_path / "log", HEAD + FIRST[:-9] + LARGE)
    assert refused.value.line == 2


def test_garbage_behind_the_last_frame_is_left_alone(tmp_path: Path) -> None:
    assert seqs(tmp_path / "log", HEAD + FIRST + b"\x00" * 100) == [0, 1]


def test_a_header_in_a_damaged_frame_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingRefused) as refused:
        seqs(tmp_path / "log", HEAD[:-1] + b"\x00" + FIRST)
    assert refused.value.line == 1


def test_content_that_decodes_to_very_much_is_read_in_little_memory(tmp_path: Path) -> None:
    long = json_lines([row(0, data={"text": "x" * 30_000_000})])
    path = tmp_path / "log"
    path.write_bytes(HEAD + frame(long) + frame(json_lines([row(1)])))
    del long
    tracemalloc.start()
    try:
        reading = read(path, max_line_bytes=1000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert reading.entries == []
    assert peak < 6_000_000
