"""Writes a session as a dsh file: the rows that dsh itself would have stored.

What comes out is a file of the session's own version that dsh's own rules and our reader accept,
with the same header, the same events and the same payload bytes. Versions 0 and 1 get packed rows
for runs of deltas; later ones have no packed rows, so a run is written event by event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from providers.recordings.dsh_header import header_members
from providers.recordings.dsh_placement import written_sources, written_surface_op
from providers.recordings.dsh_vocabulary import LAST_PACKED_VERSION
from sessiongraph import lossless
from sessiongraph.event import DeltaKind, DeltaRun, Entry, SessionEvent
from sessiongraph.header import SessionHeader


def export_lines(header: SessionHeader, entries: Iterable[Entry]) -> Iterator[bytes]:
    """The lines of the file, each with its newline; the header first."""
    yield lossless.encode(header_members(header)) + b"\n"
    for entry in entries:
        if isinstance(entry, SessionEvent):
            yield _event_line(header.version, entry)
        elif header.version <= LAST_PACKED_VERSION:
            yield _packed_line(entry)
        else:
            for event in entry.members():
                yield _event_line(header.version, event)


def _event_line(version: int, event: SessionEvent) -> bytes:
    payload = event.payload
    if b"\n" in payload:  # not dsh's own: inside of JSON strings a newline is escaped
        payload = lossless.encode(event.data)
    parts = [
        b'{"type":%s,"seq":%d,"time":%d,"data":%s'
        % (lossless.encode(event.type), event.seq, event.time, payload)
    ]
    if event.ignorable:
        parts.append(b',"ignorable":true')
    if event.source_event_seqs is not None:
        ranges = lossless.encode(written_sources(event.source_event_seqs))
        parts.append(b',"sourceEventSeqs":' + ranges)
    if event.surface_op is not None:
        parts.append(
            b',"surfaceOp":' + lossless.encode(written_surface_op(version, event.surface_op))
        )
    parts.append(b"}\n")
    return b"".join(parts)


def _packed_line(run: DeltaRun) -> bytes:
    data: dict[str, Any] = {"turn": run.turn, "step": run.step, "index": run.index, "dt": run.gaps}
    if run.kind is DeltaKind.TOOL_CALL:
        data["id"] = run.call_id
        if run.name is not None:
            data["name"] = run.name
        data["args"] = run.texts
    else:
        data["texts"] = run.texts
    row = {"type": run.kind.value, "seq0": run.seq, "time0": run.time, "data": data}
    return lossless.encode(row) + b"\n"
