"""Writes dsh files byte by byte and says, in the plainest way, what they mean.

Nothing here uses the reader: rows are dictionaries, files are written by ``json`` and
``zstandard``, and :func:`logical_events` expands rows by the words of dsh-formats.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import zstandard

from providers.recordings.dsh import DshReader
from sessiongraph.event import Entry, SessionEvent, events_of
from sessiongraph.header import SessionHeader
from sessiongraph.recordings import RecordedEntry, RecordingState

Json = dict[str, Any]
TIME = 1_780_000_000_000


def header_row(version: int = 0, **members: Any) -> Json:
    head = {"type": "session", "version": version, "id": "s", "createdAt": TIME}
    return {**head, "delegationDepth": 0, **members}


def row(seq: int, event_type: str = "turn/start", data: Any = None, **members: Any) -> Json:
    payload = {"turn": 1} if data is None else data
    return {"type": event_type, "seq": seq, "time": TIME + seq, "data": payload, **members}


def packed_row(
    seq: int, texts: Sequence[str], kind: str = "text-chunks", /, **members: Any
) -> Json:
    data: Json = {"turn": 1, "step": 2, "index": 0, "dt": [3] * (len(texts) - 1)}
    if kind == "tool-call-chunks":
        data |= {"id": "call", "args": list(texts)}
    else:
        data |= {"texts": list(texts)}
    return {"type": kind, "seq0": seq, "time0": TIME, "data": {**data, **members}}


def json_line(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"


def json_lines(rows: Iterable[Any]) -> bytes:
    """Rows as lines; bytes stand for themselves."""
    return b"".join(each if isinstance(each, bytes) else json_line(each) for each in rows)


def frame(content: bytes, **options: Any) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True, **options).compress(content)


def write(path: Path, rows: Iterable[Any]) -> Path:
    """A plain file of the rows, or one of a frame for each row when it is named ``.zstd``."""
    if path.suffix == ".zstd":
        path.write_bytes(b"".join(frame(json_lines([each])) for each in rows))
    else:
        path.write_bytes(json_lines(rows))
    return path


class Reading(NamedTuple):
    """Everything that one reading gave."""

    recorded: list[RecordedEntry]
    header: SessionHeader
    state: RecordingState

    @property
    def entries(self) -> list[Entry]:
        return [each.entry for each in self.recorded]

    @property
    def events(self) -> list[Json]:
        return as_events(self.entries)

    @property
    def notes(self) -> tuple[str, ...]:
        return self.header.source.notes


def read(path: Path, resume: RecordingState | None = None, **options: Any) -> Reading:
    log = DshReader(**options).open(path, resume)
    recorded = list(log.entries())
    return Reading(recorded, log.header, log.state)


def as_events(entries: Iterable[Entry]) -> list[Json]:
    """Entries as the events that they stand for, spelled out."""
    return [_as_event(event) for entry in entries for event in events_of(entry)]


def _as_event(event: SessionEvent) -> Json:
    spelled: Json = {"type": event.type, "seq": event.seq, "time": event.time}
    spelled["data"] = json.loads(event.payload)
    if event.ignorable:
        spelled["ignorable"] = True
    if event.source_event_seqs is not None:
        spelled["sourceEventSeqs"] = list(event.source_event_seqs)
    if event.surface_op is not None:
        op = event.surface_op
        spelled["surfaceOp"] = [op.start, op.end] if op.replaces else "append"
    return spelled


def logical_events(rows: Iterable[Json]) -> list[Json]:
    """What rows mean by the words of dsh-formats.md, section 1.1."""
    events: list[Json] = []
    for each in rows:
        if "seq0" in each:
            events += _expanded(each)
            continue
        event = dict(each)
        op = event.get("surfaceOp")
        if isinstance(op, dict):
            event["surfaceOp"] = [
                op.get("start", op.get("startSeq")),
                op.get("end", op.get("endSeq")),
            ]
        if "sourceEventSeqs" in event:
            cited: list[int] = []
            for member in event["sourceEventSeqs"]:
                cited += range(member[0], member[1] + 1) if isinstance(member, list) else [member]
            event["sourceEventSeqs"] = cited
        events.append(event)
    return events


def _expanded(packed: Json) -> list[Json]:
    data = packed["data"]
    events: list[Json] = []
    for k in range(len(data["dt"]) + 1):
        if packed["type"] == "text-chunks":
            chunk = {"type": "text-delta", "index": data["index"], "text": data["texts"][k]}
        elif packed["type"] == "reasoning-chunks":
            chunk = {"type": "reasoning-delta", "index": data["index"], "text": data["texts"][k]}
        else:
            chunk = {"type": "tool-call-delta", "index": data["index"], "id": data["id"]}
            if "name" in data:
                chunk["name"] = data["name"]
            chunk["argumentsDelta"] = data["args"][k]
        event_data = {"turn": data["turn"], "step": data["step"], "chunk": chunk}
        time = packed["time0"] + sum(data["dt"][:k])
        seq = packed["seq0"] + k
        events.append({"type": "assistant/chunk", "seq": seq, "time": time, "data": event_data})
    return events
