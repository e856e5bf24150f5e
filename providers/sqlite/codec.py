"""How one entry of a log becomes one row, and back.

A payload is stored as the JSON text it arrived in, compressed when that pays. The ``stream`` inside
a message, most of its bytes and hardly ever asked for, lies in a column of its own at the end of
the row, so that reading the message does not read it from disk. A run of stream deltas is one row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Final

import msgspec
import zstandard

from providers.sqlite.numbering import LOW_32
from sessiongraph import lossless
from sessiongraph.errors import CorruptSession
from sessiongraph.event import (
    APPEND,
    LOG_ONLY,
    DeltaKind,
    DeltaRun,
    PlacedEvent,
    Placement,
    Seq,
    SessionEvent,
    SurfaceOp,
)

IGNORABLE, APPENDS, PAYLOAD_PACKED, STREAM_PACKED, STREAM_APART = 1, 2, 4, 8, 16
"""Bits of a row's flags."""

COMPRESS_FROM: Final = 1024
"""Bytes from which compression is tried; below, it saves less than it costs."""

_KEEP_AT_MOST: Final = 0.9
"""Compressed text is kept only when it is at most this part of the original."""

_LEVEL: Final = 3
_STREAM_TYPES: Final = frozenset({"assistant/message", "assistant/attempt"})
_PLACEHOLDER: Final = msgspec.Raw(b"null")
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_sources = msgspec.json.Decoder(list[int | tuple[int, int]])
_Run = tuple[
    DeltaKind, int, int, int, list[int], Annotated[list[str], msgspec.Meta(min_length=1)],
    str | None, str | None,
]  # fmt: skip


class _Compressors(threading.local):
    """Compression contexts are not shared between threads."""

    def __init__(self) -> None:
        self.compress: Callable[[bytes], bytes] = zstandard.ZstdCompressor(level=_LEVEL).compress
        self.decompress: Callable[[bytes], bytes] = zstandard.ZstdDecompressor().decompress


_zstd = _Compressors()


def to_octets(text: str) -> bytes:
    """Text as a BLOB that sorts by code point; lone surrogates pass."""
    return text.encode("utf-8", "surrogatepass")


def from_octets(octets: bytes) -> str:
    """The text of a BLOB made by :func:`to_octets`."""
    return octets.decode("utf-8", "surrogatepass")


def pack(text: bytes) -> tuple[bytes, bool]:
    """The text compressed, and whether it is; as it was when compression does not pay."""
    if len(text) < COMPRESS_FROM:
        return text, False
    packed = _zstd.compress(text)
    if len(packed) > len(text) * _KEEP_AT_MOST:
        return text, False
    return packed, True


def unpack(stored: bytes, packed: bool) -> bytes:
    """The text that :func:`pack` was given.

    Raises:
        CorruptSession: the stored bytes do not decompress.
    """
    if not packed:
        return stored
    try:
        return _zstd.decompress(stored)
    except zstandard.ZstdError as error:
        raise CorruptSession(f"a stored payload does not decompress: {error}") from error


def split_stream(event: SessionEvent) -> tuple[bytes, bytes | None]:
    """The payload with its stream set to null, and the text of the stream; None without one.

    A stream stays where it is when the payload, put together again, would not be the same bytes.
    """
    if event.type not in _STREAM_TYPES or len(event.payload) < COMPRESS_FROM:
        return event.payload, None
    if b'"stream"' not in event.payload:
        return event.payload, None
    try:
        members = _members.decode(event.payload)
    except msgspec.DecodeError:
        return event.payload, None
    stream = members.get("stream")
    if stream is None or len(bytes(stream)) < COMPRESS_FROM:
        return event.payload, None
    members["stream"] = _PLACEHOLDER
    rest, apart = msgspec.json.encode(members), bytes(stream)
    if join_stream(rest, apart) != event.payload:
        return event.payload, None
    return rest, apart


def join_stream(payload: bytes, stream: bytes) -> bytes:
    """The whole payload again, its members in the order they had."""
    members = _members.decode(payload)
    members["stream"] = msgspec.Raw(stream)
    return msgspec.json.encode(members)


def encode_sources(sources: Sequence[Seq] | None) -> bytes | None:
    """Cited seqs as JSON, three or more consecutive ones as a pair; None stays None."""
    if sources is None:
        return None
    if len(sources) == 1:
        return b"[%d]" % sources[0]
    parts: list[int | tuple[int, int]] = []
    for first, last in ascending_runs(sources):
        if last - first >= 2:
            parts.append((first, last))
        else:
            parts.extend(range(first, last + 1))
    return msgspec.json.encode(parts)


def decode_sources(stored: bytes | None) -> tuple[Seq, ...] | None:
    """The cited seqs in the order in which they were recorded.

    Raises:
        CorruptSession: the stored bytes are not citations.
    """
    if stored is None:
        return None
    try:
        parts = _sources.decode(stored)
    except msgspec.DecodeError as error:
        raise CorruptSession(f"stored citations do not decode: {error}") from error
    seqs: list[Seq] = []
    for part in parts:
        if isinstance(part, int):
            seqs.append(part)
        else:
            seqs.extend(range(part[0], part[1] + 1))
    return tuple(seqs)


def ascending_runs(seqs: Sequence[Seq]) -> Iterator[tuple[Seq, Seq]]:
    """Maximal runs of consecutive ascending seqs, in order, as (first, last)."""
    position, count = 0, len(seqs)
    if count > 2 and tuple(range(seqs[0], seqs[0] + count)) == tuple(seqs):
        yield seqs[0], seqs[-1]
        return
    while position < count:
        first = last = seqs[position]
        position += 1
        while position < count and seqs[position] == last + 1:
            last += 1
            position += 1
        yield first, last


def encode_run(run: DeltaRun) -> bytes:
    """What a run is beyond its envelope, as JSON text."""
    return lossless.encode_finite(
        [
            run.kind.value,
            run.turn,
            run.step,
            run.index,
            run.gaps,
            run.texts,
            run.call_id,
            run.name,
        ]
    )


def decode_run(seq: Seq, time: int, payload: bytes) -> DeltaRun:
    """The run of a row.

    Raises:
        CorruptSession: the stored bytes are not a run.
    """
    try:
        kind, turn, step, index, gaps, texts, call_id, name = msgspec.convert(
            lossless.decode(payload), _Run
        )
        if len(gaps) != len(texts) - 1:
            raise ValueError("its members and gaps do not match")
        return DeltaRun(kind, seq, time, turn, step, index, gaps, texts, call_id, name)
    except ValueError as error:
        raise CorruptSession(f"event {seq}: a stored run does not decode: {error}") from error


EventRow = tuple[
    int, int, int, int, int | None, int | None, int | None, int | None, int | None,
    bytes | None, bytes,
]  # fmt: skip
"""id, lane, time, flags, members, place, replaced_by, op_start, op_end, sources, payload."""

ROW_COLUMNS: Final = (
    "id, lane, time, flags, members, place, replaced_by, op_start, op_end, sources, payload"
)


def event_of(row: EventRow, type_name: str, stream: bytes | None = None) -> SessionEvent:
    """The event of a row that is not a run; without its stream unless that is given."""
    flags = row[3]
    payload = unpack(row[10], bool(flags & PAYLOAD_PACKED))
    if stream is not None:
        try:
            payload = join_stream(payload, unpack(stream, bool(flags & STREAM_PACKED)))
        except msgspec.DecodeError as error:
            raise CorruptSession(f"a stored payload does not decode: {error}") from error
    return SessionEvent(
        row[0] & LOW_32,
        type_name,
        row[2],
        payload,
        _surface_op(flags, row[7], row[8]),
        decode_sources(row[9]),
        bool(flags & IGNORABLE),
    )


def placed_event(row: EventRow, type_name: str, session_id: str) -> PlacedEvent:
    """The event of a row that is not a run, for a list: most of it is shown without payloads."""
    row_id, _, time, flags, _, place, replaced_by, start, end, sources, text = row
    # Written out: a page of a list does this a hundred times.
    event = SessionEvent(
        row_id & LOW_32,
        type_name,
        time,
        partial(unpack, text, True) if flags & PAYLOAD_PACKED else text,
        _surface_op(flags, start, end) if flags & APPENDS or start is not None else None,
        None if sources is None else decode_sources(sources),
        bool(flags & IGNORABLE),
    )
    placement = LOG_ONLY
    if place is not None or replaced_by is not None:
        placement = Placement(
            None if place is None else place & LOW_32,
            None if replaced_by is None else replaced_by & LOW_32,
        )
    return PlacedEvent(session_id, event, placement, bool(flags & STREAM_APART))


def payload_size(row: EventRow) -> int:
    """Bytes of the payload of a row that is not a run, without its stream."""
    if not row[3] & PAYLOAD_PACKED:
        return len(row[10])
    try:
        return max(zstandard.frame_content_size(row[10]), len(row[10]))
    except zstandard.ZstdError:
        return len(row[10])  # whoever asks for the payload is told


def _surface_op(flags: int, start: Seq | None, end: Seq | None) -> SurfaceOp | None:
    if start is not None:
        if end is None:
            raise CorruptSession("a stored replacement has no end")
        return SurfaceOp(start, end)
    return APPEND if flags & APPENDS else None


def run_of(row: EventRow) -> DeltaRun:
    """The run of a row that has members."""
    payload = unpack(row[10], bool(row[3] & PAYLOAD_PACKED))
    return decode_run(row[0] & LOW_32, row[2], payload)


def json_octets(value: Any) -> bytes:
    """A JSON value for a column that no query looks into."""
    return lossless.encode(value)
