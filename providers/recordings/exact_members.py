"""The members of a JSON object, each as the very bytes that were written.

Payloads pass through the product as the text they were logged in. The fast parser gives that text
for every row but those that it refuses, lone surrogates above all. For these this module walks the
object with the one parser that accepts every JSON text, and cuts the values out of the line.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import msgspec

from providers.recordings.lines import is_utf8

_FAST: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_SPACE: Final = re.compile(r"[ \t\r\n]*")


def exact_members(text: bytes) -> dict[str, bytes]:
    """The members of the object that ``text`` is; of duplicate keys the last one stands.

    Raises:
        ValueError: the text is not one JSON object in UTF-8.
    """
    if not is_utf8(text):
        raise ValueError("not UTF-8")
    try:
        return {key: bytes(value) for key, value in _FAST.decode(text).items()}
    except (msgspec.DecodeError, RecursionError):
        return _cut(text.decode("utf-8"))


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_EXACT: Final = json.JSONDecoder(parse_constant=_refuse_constant)


def _cut(text: str) -> dict[str, bytes]:
    members: dict[str, bytes] = {}
    at = _past(text, _past_space(text, 0), "{")
    if text[at : at + 1] == "}":
        return _at_the_end(text, at, members)
    while True:
        if text[at : at + 1] != '"':
            raise ValueError("not a JSON object")
        key, at = _value(text, at)
        start = _past(text, _past_space(text, at), ":")
        _, end = _value(text, start)
        members[key] = text[start:end].encode("utf-8")
        at = _past_space(text, end)
        if text[at : at + 1] == "}":
            return _at_the_end(text, at, members)
        at = _past(text, at, ",")


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _EXACT.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise ValueError("not JSON") from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _past_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _past(text: str, at: int, mark: str) -> int:
    if text[at : at + 1] != mark:
        raise ValueError("not a JSON object")
    return _past_space(text, at + 1)


def _at_the_end(text: str, at: int, members: dict[str, bytes]) -> dict[str, bytes]:
    if _past_space(text, at + 1) != len(text):
        raise ValueError("more than one JSON value")
    return members
