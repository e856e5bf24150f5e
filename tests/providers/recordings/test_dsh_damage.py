"""Whatever is wrong with a file, it is read as far as it can be or refused, nothing else."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.recordings import RecordingRefused
from tests.providers.recordings.dsh_writing import (
    frame,
    header_row,
    json_lines,
    packed_row,
    read,
    row,
)
from tests.strategies import user_message

ROWS = [
    header_row(0, cwd="/p"),
    row(0),
    row(1, "user/message", user_message("超时🚀"), surfaceOp="append"),
    packed_row(2, ["a", "b\ud800", "c"]),
    packed_row(5, ["a", "b"], "tool-call-chunks", name="bash"),
    row(7, "assistant/message", {"a": -0.0}, surfaceOp="append", sourceEventSeqs=[[2, 4], 6]),
    row(8, "steering/message", {"message": {}}, surfaceOp={"op": "replace", "start": 1, "end": 7}),
    row(9, "turn/end"),
]
PLAIN = json_lines(ROWS)
FRAMES = b"".join(frame(json_lines(part)) for part in (ROWS[:1], ROWS[1:5], ROWS[5:]))
PIECES = [b"", b"\x00", b"\n", b'"', b"{", b"}", b"[", b"0", b"-", b"9" * 30, b"1e999", b"\xff"]
PIECES += [b'"seq":', b'"turn/end"', b"\\ud800", b"null", b"true", b"\x28\xb5\x2f\xfd"]


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.sampled_from((0, 1, 5, 50))))
        piece = draw(st.sampled_from(PIECES) | st.binary(max_size=4))
        content = content[:start] + piece + content[end:]
    return content


@given(damaged(PLAIN) | damaged(FRAMES))
def test_damage_is_read_around_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("damage") / "log.jsonl"
    path.write_bytes(content)
    with suppress(RecordingRefused):
        reading = read(path)
        last = -1
        for entry in reading.entries:
            assert entry.seq == last + 1
            last = entry.last_seq
        assert reading.state.next_seq == last + 1
