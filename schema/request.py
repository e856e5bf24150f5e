"""Requests as JSON text, read exactly.

A common parser lets an object name a key twice and drops the sign of ``-0``; what it then returns
is not what the client wrote, and nobody can tell any more. Here a key that is repeated is refused
with its place, and a negative zero stays one, so that whoever takes the value can refuse it. Lone
surrogates and integers of any size come through as they are.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import msgspec

_MOST_DIGITS: Final = 4000
"""Digits of an integer that can be read at all."""

MOST_VALUES: Final = 1_000_000
"""Values that one request can hold where nobody says otherwise: each takes up to a hundred times as
much memory as it takes in the text."""

_SHOWN: Final = 40
"""Characters of a key that a message shows."""


class RequestUnreadable(ValueError):
    """A request is not JSON, or not JSON that means one thing; the message says where."""


def decode_request(text: bytes, max_values: int = MOST_VALUES) -> Any:
    """The value of a JSON text.

    max_values: most values in it, counted by its commas and opening brackets, those within strings
        too.

    Raises:
        RequestUnreadable: it is not JSON, an object in it has a key twice, or it has too many
            values.
    """
    if len(text) > max_values and sum(map(text.count, (b",", b"[", b"{"))) > max_values:
        raise RequestUnreadable(f"more than {max_values} values (max_request_values)")
    try:
        value = msgspec.json.decode(text)
        # The same text again: nothing was lost. Spaces and escapes take the exact way.
        if msgspec.json.encode(value) == text:
            return value
    except (msgspec.DecodeError, UnicodeEncodeError, OverflowError, RecursionError):
        pass
    return _decode_exactly(text)


class _Ambiguous(dict[str, Any]):
    """An object with a repeated key."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs

    def repeated(self) -> str:
        """The first key that comes again."""
        names = [key for key, _ in self.pairs]
        return next(name for name, count in Counter(names).items() if count > 1)


def _decode_exactly(text: bytes) -> Any:
    ambiguous = False

    def read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal ambiguous
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        ambiguous = True
        return _Ambiguous(pairs)

    def read_integer(digits: str) -> int | float:
        if len(digits) > _MOST_DIGITS:
            raise RequestUnreadable(f"an integer has more than {_MOST_DIGITS} digits")
        return -0.0 if digits == "-0" else int(digits)  # an int has no negative zero

    def refuse(name: str) -> Any:
        raise RequestUnreadable(f"{name} is not JSON")

    try:
        value = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=read_object,
            parse_int=read_integer,
            parse_constant=refuse,
        )
    except RequestUnreadable:
        raise
    except RecursionError as error:
        raise RequestUnreadable("nested too deeply") from error
    except ValueError as error:
        raise RequestUnreadable(str(error)) from error
    if ambiguous:
        raise RequestUnreadable(_repetition(value))
    return value


def _repetition(root: Any) -> str:
    """Says which object of a value has which key twice."""
    pending: list[tuple[_Place | None, Any]] = [(None, root)]
    while True:
        place, value = pending.pop()
        if isinstance(value, _Ambiguous):
            where = "the request" if place is None else str(place)
            return f"{where} has the key {value.repeated()[:_SHOWN]!r} twice"
        if isinstance(value, dict):
            pending.extend((_Place(place, key), member) for key, member in value.items())
        elif isinstance(value, list):
            pending.extend((_Place(place, index), item) for index, item in enumerate(value))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value lies. Written out for one that is shown only: there may be millions."""

    around: _Place | None
    key: str | int

    def __str__(self) -> str:
        steps: list[str] = []
        place: _Place | None = self
        while place is not None:
            key = place.key
            steps.append(f"[{key}]" if isinstance(key, int) else f".{key[:_SHOWN]}")
            place = place.around
        return "".join(reversed(steps)).removeprefix(".")
