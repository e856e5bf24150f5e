"""A file that grows is read on from where reading stopped, and gives what one reading gives."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sessiongraph.recordings import RecordingRefused, RecordingRewritten, RecordingState
from tests.providers.recordings.dsh_writing import (
    Json,
    frame,
    header_row,
    json_lines,
    logical_events,
    packed_row,
    read,
    row,
    write,
)


@st.composite
def row_lists(draw: st.DrawFn) -> list[Json]:
    """Rows of all kinds: small and large ones, packed ones, with every kind of character."""
    rows: list[Json] = []
    seq = 0
    for _ in range(draw(st.integers(0, 8))):
        if draw(st.booleans()):
            texts = draw(st.lists(st.text(max_size=5), min_size=1, max_size=4))
            rows.append(packed_row(seq, texts))
            seq += len(texts)
        else:
            noise = random.Random(draw(st.integers(0, 99))).randbytes(40).hex()
            text = draw(st.text(max_size=9)) + noise * draw(st.sampled_from((0, 1, 9)))
            event_type = draw(st.sampled_from(("turn/start", "turn/end", "hook/result")))
            rows.append(row(seq, event_type, {"text": text}))
            seq += 1
    return rows


@st.composite
def frame_lists(draw: st.DrawFn, content: bytes) -> list[bytes]:
    """Content in frames that end anywhere, compressed well, badly or not at all."""
    inner = draw(st.lists(st.integers(0, len(content)), max_size=6))
    edges = [0, *sorted(inner), len(content)]
    level = st.sampled_from((-5, 1, 19))
    return [frame(content[a:b], level=draw(level)) for a, b in pairwise(edges)]


def grow_and_read(path: Path, content: bytes, cuts: list[int]) -> list[Json]:
    """What all readings give together while the file grows to its full length."""
    state: RecordingState | None = None
    events: list[Json] = []
    for length in [*sorted(cuts), len(content)]:
        path.write_bytes(content[:length])
        try:
            reading = read(path, state)
        except RecordingRefused as refused:
            assert (state, refused.line) == (None, 1)  # the header is not whole yet
            continue
        state = reading.state
        events += reading.events
    assert state is not None
    assert state.offset == len(content)
    return events


@given(row_lists(), st.data())
def test_a_plain_file_cut_anywhere_and_grown_reads_like_at_once(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Json], data: st.DataObject
) -> None:
    content = json_lines([header_row(), *rows])
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=6))
    path = tmp_path_factory.mktemp("grow") / "log.jsonl"
    assert grow_and_read(path, content, cuts) == logical_events(rows)


@given(row_lists(), st.data())
def test_a_compressed_file_cut_anywhere_and_grown_reads_like_at_once(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Json], data: st.DataObject
) -> None:
    content = b"".join(data.draw(frame_lists(json_lines([header_row(), *rows]))))
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=6))
    path = tmp_path_factory.mktemp("grow") / "log.jsonl.zstd"
    assert grow_and_read(path, content, cuts) == logical_events(rows)


def test_lines_are_counted_on_after_growth(tmp_path: Path) -> None:
    for name in ("log.jsonl", "log.jsonl.zstd"):
        before = read(write(tmp_path / name, [header_row(), row(0)]))
        after = read(write(tmp_path / name, [header_row(), row(0), row(1), row(2)]), before.state)
        assert [each.line for each in after.recorded] == [3, 4]
        assert (after.state.line, after.state.next_seq) == (4, 3)


def test_a_file_that_did_not_grow_gives_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", [header_row(), row(0)])
    before = read(path)
    again = read(path, before.state)
    assert (again.entries, again.state) == ([], before.state)


def test_an_unfinished_line_is_noted_and_left_for_the_next_reading(tmp_path: Path) -> None:
    content = json_lines([header_row(), row(0), row(1)])
    path = tmp_path / "log.jsonl"
    path.write_bytes(content[:-1])  # whole JSON, but the newline is missing
    before = read(path)
    assert [event["seq"] for event in before.events] == [0]
    assert before.notes == ("The last line was not finished when the file was read.",)
    path.write_bytes(content)
    assert [event["seq"] for event in read(path, before.state).events] == [1]


def test_a_row_that_is_read_again_is_counted_once(tmp_path: Path) -> None:
    endless = b'{"type":"x/y","seq":1,"time":1,"more":1,"data":{"a":[}}\n'
    path = write(tmp_path / "log.jsonl", [header_row(), row(0, "x/y"), endless])
    before = read(path)
    told = "Types unknown to dsh are kept as opaque events: x/y (1)."
    assert [note for note in before.notes if "Line 3" not in note] == [told]
    assert read(path, before.state).notes == before.notes
    write(path, [header_row(), row(0, "x/y"), row(1, "x/y")])
    assert read(path, before.state).notes == (told.replace("(1)", "(2)"),)


@pytest.mark.parametrize("memory", [b"", b"{", b'{"said":1}', b"[]"])
def test_a_reading_of_another_version_is_not_gone_on_with(tmp_path: Path, memory: bytes) -> None:
    path = write(tmp_path / "log.jsonl", [header_row(), row(0, "x/y")])
    with pytest.raises(RecordingRewritten):
        read(path, replace(read(path).state, memory=memory))


def test_the_state_says_how_the_file_was_before_it_was_read(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", [header_row(), row(0)])
    state = read(path).state
    status = path.stat()
    assert (state.path, state.session_id) == (str(path), "s")
    assert (state.size, state.modified_ns) == (status.st_size, status.st_mtime_ns)
    assert state.offset == status.st_size


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.zstd"])
def test_a_file_that_became_shorter_was_rewritten(tmp_path: Path, name: str) -> None:
    before = read(write(tmp_path / name, [header_row(), row(0), row(1)]))
    path = write(tmp_path / name, [header_row(), row(0)])
    with pytest.raises(RecordingRewritten):
        read(path, before.state)


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.zstd"])
def test_a_file_whose_read_part_changed_was_rewritten(tmp_path: Path, name: str) -> None:
    before = read(write(tmp_path / name, [header_row(), row(0, data={"a": 1}), row(1)]))
    changed = [header_row(), row(0, data={"a": 2}), row(1), row(2)]
    with pytest.raises(RecordingRewritten):
        read(write(tmp_path / name, changed), before.state)


def test_a_torn_frame_that_became_another_was_rewritten(tmp_path: Path) -> None:
    def content(text: str) -> bytes:
        rows = json_lines(row(seq, data={"text": text, "n": "x" * 200_000}) for seq in range(3))
        return frame(json_lines([header_row()])) + frame(rows, level=1)

    path = tmp_path / "log.jsonl.zstd"
    path.write_bytes(content("a")[:-30])
    before = read(path)
    assert before.events, "the torn frame should give some rows"
    path.write_bytes(content("b") + frame(json_lines([row(3)])))
    with pytest.raises(RecordingRewritten):
        read(path, before.state)


def test_another_mark_of_what_was_inherited_means_a_new_header(tmp_path: Path) -> None:
    rows = [header_row(3, isSeeded=True), row(0), row(1, "session/end-seed", {"inherited": True})]
    before = read(write(tmp_path / "log.jsonl", rows))
    rows.append(row(2, "session/end-seed", {"inherited": True}))
    with pytest.raises(RecordingRewritten):
        read(write(tmp_path / "log.jsonl", rows), before.state)


def test_growth_of_a_fork_without_another_mark_is_growth(tmp_path: Path) -> None:
    rows = [header_row(3, isSeeded=True), row(0), row(1, "session/end-seed", {"inherited": True})]
    before = read(write(tmp_path / "log.jsonl", rows))
    rows.append(row(2, "session/end-seed", {}))
    after = read(write(tmp_path / "log.jsonl", rows), before.state)
    assert [event["seq"] for event in after.events] == [2]
