"""JSON that survives a round trip unchanged, and the exact reading of JSON that does not.

Payloads are kept as the text they were written in. This module reads that text exactly (lone
surrogates included, which fast parsers refuse) and says in which ways a value is *not lossless*:
what another program would read differently from what was written. Our own API refuses such values;
what a recorder wrote is kept verbatim and noted (log.md, "Event").

Not lossless are NaN and infinities, negative zero, integers beyond 2^53 - 1, duplicate keys and
lone surrogates.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

MAX_SAFE_INTEGER: Final = 2**53 - 1
"""The largest integer that every JSON reader keeps exact."""

_SHOWN: Final = 40
"""Characters of a key that a message shows."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class NotLossless(ValueError):
    """A value that JSON cannot carry unchanged; the message names the place and the reason."""


def encode(value: Any) -> bytes:
    """The compact JSON text of ``value`` in UTF-8, lone surrogates as ``\\uXXXX`` escapes.

    Raises:
        NotLossless: the value holds NaN or an infinity, or something that is not JSON.
    """
    text = encode_finite(value)
    # NaN and the infinities became null; only where there is a null can one be hidden.
    if b"null" in text and not is_finite(value):
        raise NotLossless("NaN or an infinity")
    return text


def encode_finite(value: Any) -> bytes:
    """Like :func:`encode`, of a value that holds no NaN and no infinity.

    Raises:
        NotLossless: the value holds something that is not JSON.
    """
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return _encode_exactly(value)
    except (TypeError, RecursionError) as error:
        raise NotLossless(str(error)) from error


def is_finite(root: Any) -> bool:
    """Whether a parsed value holds no NaN and no infinity; 1e999 is read as one."""
    pending = [root]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending.extend(value.values())
        elif isinstance(value, list | tuple):
            pending.extend(value)
        elif isinstance(value, float) and not math.isfinite(value):
            return False
    return True


def _encode_exactly(value: Any) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError) as error:
        raise NotLossless(str(error)) from error
    return text.encode("utf-8", "backslashreplace")


def same(first: Any, second: Any) -> bool:
    """Whether two parsed values are the same JSON: members in any order, true is not 1.

    Walked without recursion, so that deep values cannot exhaust the stack.
    """
    pending = [(first, second)]
    while pending:
        mine, theirs = pending.pop()
        if isinstance(mine, dict):
            if not isinstance(theirs, dict) or mine.keys() != theirs.keys():
                return False
            pending.extend((value, theirs[key]) for key, value in mine.items())
        elif isinstance(mine, list | tuple):
            if not isinstance(theirs, list | tuple) or len(mine) != len(theirs):
                return False
            pending.extend(zip(mine, theirs, strict=True))
        elif isinstance(mine, bool) or isinstance(theirs, bool):
            if mine is not theirs:
                return False
        elif mine != theirs:
            return False
    return True


def decode(text: bytes) -> Any:
    """The value of a JSON text, exactly: big integers whole, lone surrogates kept.

    Of duplicate keys the last one stands, as in every common reader.

    Raises:
        ValueError: the text is not JSON, or not UTF-8.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return decode_exactly(text)


def decode_exactly(text: bytes) -> Any:
    """Like :func:`decode`, by the one parser that accepts every JSON text.

    Raises:
        ValueError: the text is not JSON, or not UTF-8.
    """
    try:
        return json.loads(text.decode("utf-8"), parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def losses_in_text(text: bytes) -> tuple[str, ...]:
    """Every kind of loss in a JSON text, as short phrases in a fixed order; empty when lossless.

    Raises:
        ValueError: the text is not JSON.
    """
    duplicates: list[str] = []

    def read_integer(digits: str) -> int | float:
        # An int has no negative zero; a float of it keeps the sign for the check below.
        return -0.0 if digits == "-0" else int(digits)

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = dict(pairs)
        if len(keys) != len(pairs):
            duplicates.append("duplicate keys")
        return keys

    try:
        value = json.loads(text.decode("utf-8"), object_pairs_hook=collect, parse_int=read_integer)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    found = {phrase for _, phrase in _losses(value, "")}
    return tuple(sorted(found | set(duplicates)))


def require_lossless(value: Any, where: str = "data") -> None:
    """Refuse a parsed value that is not lossless JSON.

    Raises:
        NotLossless: the message names the path and the reason.
    """
    if not _is_lossless(value):
        for place, phrase in _losses(value, where):
            raise NotLossless(f"{place}: {phrase}")


def _is_lossless(root: Any) -> bool:
    """The answer of :func:`_losses` alone, without paths, for the many values that are fine."""
    pending = [root]
    while pending:
        value = pending.pop()
        kind = type(value)
        if kind is str:
            if not value.isascii() and _LONE_SURROGATE.search(value):
                return False
        elif kind is dict:
            for key in value:
                if type(key) is not str or (not key.isascii() and _LONE_SURROGATE.search(key)):
                    return False
            pending.extend(value.values())
        elif kind is list:
            pending.extend(value)
        elif kind is int:
            if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
                return False
        elif kind is float:
            if not math.isfinite(value) or (value == 0 and math.copysign(1, value) < 0):
                return False
        elif value is not None and kind is not bool:
            return False
    return True


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value lies. Written out only where it is shown: a value can have millions of them."""

    around: Place | None
    step: str | int

    def __str__(self) -> str:
        steps: list[str] = []
        place: Place | None = self
        while place is not None:
            step = place.step
            steps.append(f"[{step}]" if isinstance(step, int) else f".{step[:_SHOWN]}")
            place = place.around
        return "".join(reversed(steps)).removeprefix(".")


def _losses(root: Any, where: str) -> Iterator[tuple[Place, str]]:
    """Places and reasons, walked without recursion so that deep values cannot exhaust the stack."""
    pending: list[tuple[Place, Any]] = [(Place(None, where), root)]
    while pending:
        place, value = pending.pop()
        if isinstance(value, str):
            if _LONE_SURROGATE.search(value):
                yield place, "lone surrogates"
        elif value is None or isinstance(value, bool):
            continue
        elif isinstance(value, int):
            if abs(value) > MAX_SAFE_INTEGER:
                yield place, "integers beyond 2^53"
        elif isinstance(value, float):
            if not math.isfinite(value):
                yield place, "NaN or an infinity"
            elif value == 0 and math.copysign(1, value) < 0:
                yield place, "negative zero"
        elif isinstance(value, dict):
            for key, member in value.items():
                if not isinstance(key, str):
                    yield place, f"a key that is not a string: {key!r}"
                    continue
                if _LONE_SURROGATE.search(key):
                    yield place, "lone surrogates"
                pending.append((Place(place, key), member))
        elif isinstance(value, list | tuple):
            pending.extend((Place(place, index), member) for index, member in enumerate(value))
        else:
            yield place, f"{type(value).__name__} is not JSON"
