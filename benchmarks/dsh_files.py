"""Conversations as the recorder's files: one header line, then one row a line, plain or zstd.

The lines are put together here from the payloads as they are, so that what is imported was written
by nobody whose reading is measured. A compressed file has a frame for every few rows, as recorders
append them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final

import msgspec
import zstandard

from benchmarks.conversations import BEGINNING_MS, Conversation, Habits
from sessiongraph.event import DeltaRun, Entry, Seq, SessionEvent

ROWS_PER_FRAME: Final = 4
_SHORTEST_RANGE: Final = 3
_encode: Final = msgspec.json.encode


def write_file(path: Path, session_id: str, seed: int, octets: int, habits: Habits) -> int:
    """Write one session of about ``octets`` bytes of JSON; the number of its events.

    A name that ends in ``.zstd`` makes it a compressed one.
    """
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    written, events = 0, 0
    with path.open("wb") as file:
        rows = _rows(session_id, seed, habits)
        while batch := list(islice(rows, ROWS_PER_FRAME)):
            text = b"".join(line for line, _ in batch)
            file.write(compressor.compress(text) if path.suffix == ".zstd" else text)
            written += len(text)
            events = batch[-1][1]
            if written >= octets:
                break
    return events


def json_lines(path: Path) -> list[bytes]:
    """Every line of a file, decompressed."""
    with path.open("rb") as file:
        if path.suffix != ".zstd":
            return file.read().splitlines()
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return reader.read().splitlines()


def _rows(session_id: str, seed: int, habits: Habits) -> Iterator[tuple[bytes, int]]:
    """Lines, each with the number of events that the file holds by then; endless."""
    header = {
        "type": "session",
        "version": 0,
        "id": session_id,
        "createdAt": BEGINNING_MS,
        "cwd": "/projects/ledger",
        "delegationDepth": 0,
    }
    yield _line(header), 0
    for entry in Conversation(seed, habits).entries(2**31):
        yield _row(entry), entry.last_seq + 1


def _row(entry: Entry) -> bytes:
    if isinstance(entry, DeltaRun):
        where = {"turn": entry.turn, "step": entry.step, "index": entry.index}
        data = {**where, "dt": entry.gaps, "texts": entry.texts}
        return _line({"type": entry.kind, "seq0": entry.seq, "time0": entry.time, "data": data})
    row: dict[str, Any] = {"type": entry.type, "seq": entry.seq, "time": entry.time}
    row["data"] = msgspec.Raw(entry.payload)
    row.update(_placement(entry))
    return _line(row)


def _placement(event: SessionEvent) -> Iterator[tuple[str, Any]]:
    op = event.surface_op
    if event.source_event_seqs is not None:
        yield "sourceEventSeqs", list(_ranges(event.source_event_seqs))
    if op is not None:
        replacing = {"op": "replace", "start": op.start, "end": op.end}
        yield "surfaceOp", replacing if op.replaces else "append"


def _ranges(seqs: Iterable[Seq]) -> Iterator[int | list[int]]:
    """Three or more consecutive seqs as a pair, when the whole list ascends."""
    listed = list(seqs)
    if any(later <= earlier for earlier, later in pairwise(listed)):
        yield from listed
        return
    start = 0
    for end in range(1, len(listed) + 1):
        if end < len(listed) and listed[end] == listed[end - 1] + 1:
            continue
        run = listed[start:end]
        yield from [[run[0], run[-1]]] if len(run) >= _SHORTEST_RANGE else run
        start = end


def _line(row: dict[str, Any]) -> bytes:
    return _encode(row) + b"\n"
