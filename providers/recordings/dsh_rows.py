"""One line of a dsh file behind its header: a storage row, read into an event or a run of deltas.

The row around a payload is decoded and checked; the payload itself is only checked to be a JSON
object and kept as the bytes that were written. A packed row becomes one run, never its members.

Two paths lead to the same result. The fast one takes the row exactly as dsh writes it. Whatever it
refuses (lone surrogates, keys that dsh does not know, whole numbers written as floats) is read once
more by the exact one, which alone decides that a row is broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate
from typing import Any, Final

import msgspec

from providers.recordings.dsh_header import as_integer
from providers.recordings.dsh_notes import DshNotes
from providers.recordings.dsh_placement import (
    PlacementMalformed,
    StoredSources,
    StoredSurfaceOp,
    read_sources,
    read_surface_op,
)
from providers.recordings.dsh_vocabulary import (
    END_SEED,
    KNOWN_TYPES,
    LAST_OFFICIAL_VERSION,
    LAST_PACKED_VERSION,
    RENAMED_TYPES,
    STEERING_MESSAGE,
    TURN_END,
)
from providers.recordings.exact_members import exact_members
from providers.recordings.lines import is_utf8
from sessiongraph import lossless
from sessiongraph.event import (
    APPEND,
    MESSAGE_TYPES,
    DeltaKind,
    DeltaRun,
    Entry,
    Seq,
    SessionEvent,
)

_SAFE: Final = lossless.MAX_SAFE_INTEGER
_PACKED_BEGIN: Final = tuple(f'{{"type":"{kind}","seq0":'.encode() for kind in DeltaKind)
_PACKED_KINDS: Final = frozenset(kind.value for kind in DeltaKind)
_TURN_END_TEXT: Final = TURN_END.encode()

_NEGATIVE_ZERO: Final = re.compile(rb"-0(?![0-9])").search
_DIGITS_TO_ZEROS: Final = bytes(0x30 if 0x30 <= byte <= 0x39 else byte for byte in range(256))
_MANY_DIGITS: Final = b"0" * 16
_LOOK_BYTES: Final = 1024 * 1024

# What message bodies of other versions cannot do without. Quotes inside of JSON strings are
# escaped, so these bytes can only be structure; whether it is theirs, a full look says.
_BODIES_OF_3: Final = (b'"kind":"plugin"', b'"type":"tool-result"')
_BODIES_OF_4: Final = (b'"role":"tool"',)


class BrokenRow(ValueError):
    """A line that is not a storage row of dsh, or not the next one; the message says why."""


class UnnumberedRow(BrokenRow):
    """A row without ``seq`` and ``time``: not damage, but a file of another kind."""


class _EventRow(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    type: str
    seq: int
    time: int
    data: msgspec.Raw
    ignorable: bool = False
    surface_op: StoredSurfaceOp = None
    source_event_seqs: StoredSources = None


class _Deltas(msgspec.Struct, forbid_unknown_fields=True):
    turn: int
    step: int
    index: int
    dt: list[int]
    texts: list[str] = []
    id: str | None = None
    name: str | None = None
    args: list[str] = []


class _PackedRow(msgspec.Struct, forbid_unknown_fields=True):
    type: DeltaKind
    seq0: int
    time0: int
    data: _Deltas


_EVENT_KEYS: Final = frozenset(_EventRow.__struct_encode_fields__)
_PACKED_KEYS: Final = frozenset(_PackedRow.__struct_encode_fields__)
_DELTA_KEYS: Final = frozenset(_Deltas.__struct_encode_fields__)
_decode_event: Final = msgspec.json.Decoder(_EventRow).decode
_decode_packed: Final = msgspec.json.Decoder(_PackedRow).decode


class DshRows:
    """Reads the rows of one file, and collects what is to be said about them.

    inherited: seq of the last event that marks the end of inherited events, None before one.
    """

    def __init__(self, version: int, notes: DshNotes) -> None:
        self._version = version
        self._notes = notes
        self._foreign = _BODIES_OF_3 if version >= LAST_OFFICIAL_VERSION else _BODIES_OF_4
        self.inherited: Seq | None = None

    def read(self, line: bytes, next_seq: Seq) -> Entry:
        """The entry that a line holds.

        next_seq: the seq that it must have.

        Raises:
            BrokenRow: it holds none, or not the next one.
        """
        try:
            if line.startswith(_PACKED_BEGIN):
                return self._run(_decode_packed(line), next_seq)
            row = _decode_event(line)
        except (msgspec.DecodeError, RecursionError):
            return self._read_exactly(line, next_seq)
        payload = bytes(row.data)
        if not (payload.isascii() or is_utf8(payload)):
            raise BrokenRow("the row is not UTF-8")
        losses = _losses_in(payload) if _may_hold_odd_numbers(payload) else ()
        event = self._event(row, payload, next_seq)
        self._note_losses(losses)
        return event

    def is_turn_end(self, line: bytes) -> bool:
        """Whether a line, at any place of the log, is a row that ends a turn."""
        if _TURN_END_TEXT not in line:
            return False
        try:
            members = exact_members(line)
            return (
                lossless.decode(members["type"]) == TURN_END
                and as_integer(lossless.decode(members["seq"])) is not None
                and as_integer(lossless.decode(members["time"])) is not None
                and members["data"].startswith(b"{")
            )
        except (ValueError, KeyError):
            return False

    def _read_exactly(self, line: bytes, next_seq: Seq) -> Entry:
        try:
            members = exact_members(line)
        except ValueError as error:
            raise BrokenRow(f"the row is {error}") from error
        event_type = _exact_value(members, "type")
        if not isinstance(event_type, str) or not event_type:
            raise BrokenRow("the row has no type")
        if "seq" not in members and "seq0" not in members:
            raise UnnumberedRow("the row has no seq: this is not a log that dsh stores")
        if "data" not in members:
            raise BrokenRow("the row has no data")
        if event_type in _PACKED_KINDS and "seq0" in members:
            return self._read_packed_exactly(DeltaKind(event_type), members, next_seq)
        payload = members["data"]
        row = _EventRow(
            event_type,
            _exact_integer(members, "seq"),
            _exact_integer(members, "time"),
            msgspec.Raw(payload),
            _exact_value(members, "ignorable") is True,
            _typed(members, "surfaceOp", StoredSurfaceOp),
            _typed(members, "sourceEventSeqs", StoredSources),
        )
        losses = _losses_in(payload)
        event = self._event(row, payload, next_seq)
        for key in sorted(members.keys() - _EVENT_KEYS):
            self._notes.unknown_key(key)
        self._note_losses(losses)
        return event

    def _read_packed_exactly(
        self, kind: DeltaKind, members: dict[str, bytes], next_seq: Seq
    ) -> DeltaRun:
        data = _exact_value(members, "data")
        if not isinstance(data, dict):
            raise BrokenRow("data is not an object")
        try:
            deltas = msgspec.convert({key: data[key] for key in data.keys() & _DELTA_KEYS}, _Deltas)
        except msgspec.ValidationError as error:
            raise BrokenRow(f"the packed row is malformed: {error}") from error
        seq, time = _exact_integer(members, "seq0"), _exact_integer(members, "time0")
        losses = _losses_in(members["data"])
        run = self._run(_PackedRow(kind, seq, time, deltas), next_seq)
        for key in sorted(members.keys() - _PACKED_KEYS):
            self._notes.unknown_key(key)
        for key in sorted(data.keys() - _DELTA_KEYS):
            self._notes.unknown_key(f"data.{key}")
        self._note_losses(losses)
        return run

    def _run(self, row: _PackedRow, next_seq: Seq) -> DeltaRun:
        _require_next(row.seq0, next_seq)
        data = row.data
        is_call = row.type is DeltaKind.TOOL_CALL
        texts, others = (data.args, data.texts) if is_call else (data.texts, data.args)
        if others or not texts or len(data.dt) != len(texts) - 1:
            raise BrokenRow("the packed row is malformed: its members and gaps do not match")
        if is_call is (data.id is None) or (data.name is not None and not is_call):
            raise BrokenRow("the packed row is malformed: its call id and kind do not match")
        _require_times(accumulate(data.dt, initial=row.time0))
        if self._version > LAST_PACKED_VERSION:
            self._say_unofficial("packed rows, which end with version 1")
        return DeltaRun(
            row.type,
            row.seq0,
            row.time0,
            data.turn,
            data.step,
            data.index,
            data.dt,
            texts,
            data.id,
            data.name,
        )

    def _event(self, row: _EventRow, payload: bytes, next_seq: Seq) -> SessionEvent:
        _require_next(row.seq, next_seq)
        _require_times((row.time,))
        if not payload.startswith(b"{"):
            raise BrokenRow("data is not an object")
        try:
            surface_op = read_surface_op(row.surface_op)
            sources = read_sources(row.source_event_seqs, row.seq)
        except PlacementMalformed as error:
            raise BrokenRow(str(error)) from error
        event_type = row.type
        if not event_type:
            raise BrokenRow("the row has no type")
        if event_type not in KNOWN_TYPES:
            event_type, payload = self._place(event_type, payload, row.ignorable)
        if event_type in MESSAGE_TYPES:
            if surface_op is None:
                surface_op = APPEND
                self._notes.read_as_append()
            self._look_at_body(event_type, payload)
        elif event_type == END_SEED and self._marks_inherited(payload):
            self.inherited = row.seq
        return SessionEvent(
            row.seq, event_type, row.time, payload, surface_op, sources, row.ignorable
        )

    def _marks_inherited(self, payload: bytes) -> bool:
        if self._version <= LAST_PACKED_VERSION:
            return False
        return lossless.decode(payload).get("inherited") is True

    def _place(self, event_type: str, payload: bytes, ignorable: bool) -> tuple[str, bytes]:
        """Type and payload of an event whose type is not one of dsh's."""
        after = RENAMED_TYPES.get(event_type)
        if after is None:
            if not ignorable:
                self._notes.opaque_type(event_type)
            return event_type, payload
        self._notes.renamed_type(event_type, after)
        return after, _steering(payload) if event_type == STEERING_MESSAGE else payload

    def _note_losses(self, phrases: Iterable[str]) -> None:
        for phrase in phrases:
            self._notes.loss(phrase)

    def _look_at_body(self, event_type: str, payload: bytes) -> None:
        """Note a message body whose shape belongs to another version than the header's."""
        if not any(text in payload for text in self._foreign):
            return
        message = _message(event_type, payload)
        if self._version < LAST_OFFICIAL_VERSION:
            if event_type == "tool/result" and message.get("role") == "tool":
                self._say_unofficial("message bodies in the shape of version 4")
        elif _source_kind(message) == "plugin" or _is_wrapped(event_type, message):
            self._say_unofficial("message bodies in the shape of version 3")

    def _say_unofficial(self, what: str) -> None:
        self._notes.say(f"Unofficial: version {self._version} with {what}; read by its content.")


def _losses_in(payload: bytes) -> Iterable[str]:
    """What a payload holds that is not lossless; asked before anything of its row is counted."""
    try:
        return lossless.losses_in_text(payload)
    except (ValueError, RecursionError) as error:
        raise BrokenRow("data is not JSON") from error


def _may_hold_odd_numbers(payload: bytes) -> bool:
    """Whether a full look for numbers that are not lossless is worth it; False is certain.

    One expression for both kinds would cost more than all the rest of
    reading a row: it tries every byte. Here the first search has a fixed beginning, and the second
    is one for a fixed text, after all digits were made the same.
    """
    if _NEGATIVE_ZERO(payload):
        return True
    for start in range(0, len(payload), _LOOK_BYTES):
        piece = payload[start : start + _LOOK_BYTES + len(_MANY_DIGITS) - 1]
        if _MANY_DIGITS in piece.translate(_DIGITS_TO_ZEROS):
            return True
    return False


def _require_next(seq: Seq, next_seq: Seq) -> None:
    if seq != next_seq:
        raise BrokenRow(f"the row has seq {seq} where {next_seq} is the next one")


def _require_times(times: Iterable[int]) -> None:
    for time in times:
        if not -_SAFE <= time <= _SAFE:
            raise BrokenRow("time is not an integer of milliseconds")


def _steering(payload: bytes) -> bytes:
    """The user message inside of an early steering message, in either of its two spellings."""
    members = exact_members(payload)
    message = members.get("message")
    if message is not None:
        return message if message.startswith(b"{") else payload
    if "content" not in members or "source" not in members:
        return payload
    return b'{"content":' + members["content"] + b',"source":' + members["source"] + b"}"


def _message(event_type: str, payload: bytes) -> dict[str, Any]:
    data = lossless.decode(payload)
    message = data if event_type == "user/message" else data.get("message")
    return message if isinstance(message, dict) else {}


def _source_kind(message: dict[str, Any]) -> Any:
    source = message.get("source")
    return source.get("kind") if isinstance(source, dict) else None


def _is_wrapped(event_type: str, message: dict[str, Any]) -> bool:
    content = message.get("content")
    return (
        event_type == "tool/result"
        and message.get("role") == "user"
        and isinstance(content, list)
        and len(content) == 1
        and isinstance(content[0], dict)
        and content[0].get("type") == "tool-result"
    )


def _exact_value(members: dict[str, bytes], key: str) -> Any:
    member = members.get(key)
    try:
        return None if member is None else lossless.decode_exactly(member)
    except ValueError as error:
        raise BrokenRow(f"{key} is {error}") from error


def _exact_integer(members: dict[str, bytes], key: str) -> int:
    number = as_integer(_exact_value(members, key))
    if number is None:
        raise BrokenRow(f"{key} is not an integer")
    return number


def _typed(members: dict[str, bytes], key: str, shape: Any) -> Any:
    member = members.get(key)
    if member is None:
        return None
    try:
        return msgspec.json.decode(member, type=shape)
    except msgspec.DecodeError as error:
        raise BrokenRow(f"{key} is none of its spellings") from error
