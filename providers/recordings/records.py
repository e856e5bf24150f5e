"""What records of other recorders have in common: times, and lines that nobody can place."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, TypeVar

import msgspec

from providers.recordings.conversation import Conversation
from providers.recordings.lines import is_utf8
from sessiongraph import lossless
from sessiongraph.header import EpochMillis

UNREADABLE: Final = "Lines that are not JSON objects are kept as opaque events."
TOO_LONG: Final = "Lines beyond the limit are left out, each with an event in its place."

_LONGEST_TYPE: Final = 100

T = TypeVar("T")


def epoch_millis(value: Any) -> EpochMillis | None:
    """The moment that an ISO 8601 text names; None where the value is none.

    A text without an offset is meant in UTC.
    """
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def parsed(line: bytes) -> dict[str, Any] | None:
    """The object that a line holds; None where it holds none, or a number out of all bounds."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        try:
            value = lossless.decode_exactly(line)
        except ValueError:
            return None
        if not lossless.is_finite(value):
            return None
    return value if isinstance(value, dict) else None


def reader_of(kind: type[T]) -> Callable[[bytes], T | None]:
    """Reads lines as records of a kind; None for a line that is not a JSON object in UTF-8."""
    decode = msgspec.json.Decoder(kind).decode

    def read(line: bytes) -> T | None:
        if not (line.isascii() or is_utf8(line)):
            return None
        try:
            return decode(line)
        except (msgspec.DecodeError, RecursionError):
            value = parsed(line)
            return None if value is None else msgspec.convert(value, kind)

    return read


def tell_opaque(conversation: Conversation, family: str, name: Any, line: bytes) -> None:
    """Keep a record that has no place in our vocabulary: the very text, not for search."""
    shown = name[:_LONGEST_TYPE] if isinstance(name, str) and name else "unknown"
    conversation.keep(_opaque_type(family, shown), line.strip())


@lru_cache(maxsize=256)
def _opaque_type(family: str, name: str) -> str:
    return f"{family}/{name}"


def tell_unreadable(conversation: Conversation, family: str, line: bytes) -> None:
    """Keep a line that is not a JSON object, as the text of a member."""
    text = line.decode("utf-8", "replace")
    conversation.log(f"{family}/unreadable", {"text": text}, ignorable=True)


def tell_too_long(conversation: Conversation, family: str) -> None:
    """Say that a line is missing because it was longer than what is read."""
    conversation.log(f"{family}/too-long", {}, ignorable=True)


def texts_of(value: Any, *kinds: str) -> str:
    """The text of a string, or of the blocks of these types, joined by newlines."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    texts = [
        block.get("text")
        for block in value
        if isinstance(block, dict) and block.get("type") in kinds
    ]
    return "\n".join([text for text in texts if isinstance(text, str)])
