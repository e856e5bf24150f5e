"""What of a row follows from its entry alone, whatever stands before it and wherever it is stored.

Encoding, compressing and looking into a payload cost more than storing what comes of it. None of it
needs the store, so whoever has an entry first can do it: a process that reads a recorder's file
does, and hands it on beside the entry, as a :data:`sessiongraph.placed_entry.Prepared`: of plain
values, so that it can be sent.
"""

from __future__ import annotations

from providers.sqlite import codec
from sessiongraph.carried import (
    MESSAGE_TYPES,
    CarriedText,
    carried_in,
    carried_in_user_message,
)
from sessiongraph.event import DeltaRun, Entry, SessionEvent
from sessiongraph.payloads import Shape, citations_of, is_human_prompt, shape_of

_NOTED_TYPES = MESSAGE_TYPES | {"session/title"}
"""Types of which more is derived than from their citations."""

Notes = tuple[tuple[int, int] | None, str | None, bool, list[tuple[bytes, bytes, int | None]]]
"""What is listed of an event: octets that can be carried from it and whether it is a checkpoint;
its title; whether a person asked it; target, label and end of each session that it cites."""

PreparedEvent = tuple[int, bytes | None, bytes, bytes | None, Notes | None]
"""flags, sources, payload, stream, and what is listed of the event."""

PreparedRun = tuple[int, bytes, int, int]
"""flags, payload, and the earliest and the latest time of a member."""


def prepare_entry(entry: Entry) -> PreparedEvent | PreparedRun:
    """See :data:`sessiongraph.placed_entry.Prepare`."""
    return prepare_run(entry) if isinstance(entry, DeltaRun) else prepare_event(entry)


def prepare_run(run: DeltaRun) -> PreparedRun:
    """What of a run's row follows from the run."""
    payload, packed = codec.pack(codec.encode_run(run))
    times = list(run.times())
    return codec.PAYLOAD_PACKED if packed else 0, payload, min(times), max(times)


def prepare_event(event: SessionEvent) -> PreparedEvent:
    """What of an event's row, and of those beside it, follows from the event."""
    flags = codec.IGNORABLE if event.ignorable else 0
    payload, stream = event.payload, None
    if len(payload) >= codec.COMPRESS_FROM:
        payload, stream = codec.split_stream(event)
        payload, packed = codec.pack(payload)
        if packed:
            flags |= codec.PAYLOAD_PACKED
        if stream is not None:
            stream, packed = codec.pack(stream)
            flags |= codec.STREAM_APART | (codec.STREAM_PACKED if packed else 0)
    op = event.surface_op
    if op is not None and op.start is None:
        flags |= codec.APPENDS
    sources = event.source_event_seqs
    return (
        flags,
        None if sources is None else codec.encode_sources(sources),
        payload,
        stream,
        _notes(event) if event.type in _NOTED_TYPES else None,
    )


def _notes(event: SessionEvent) -> Notes | None:
    if event.type == "session/title":
        is_title = shape_of(event.type, event.data) is Shape.TITLE
        return (None, event.data["title"], False, []) if is_title else None
    if event.type != "user/message":
        found = carried_in(event)
        return None if found is None else (_carries(found), None, False, [])
    if shape_of(event.type, event.data) is not Shape.USER_MESSAGE:
        return None
    found = carried_in_user_message(event.data)
    cited = [
        (codec.to_octets(each.target_id), codec.to_octets(each.label), each.captured_through_seq)
        for each in citations_of(event.data)
    ]
    carries = None if found is None else _carries(found)
    return carries, None, is_human_prompt(event.data), cited


def _carries(found: CarriedText) -> tuple[int, int]:
    return found.octets, int(found.checkpoint)
