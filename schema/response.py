"""Responses as JSON text.

A response holds payloads as ``msgspec.Raw``, which are copied into it byte for byte. Strings with
lone surrogates, which UTF-8 cannot carry, are written with ``\\uXXXX`` escapes; they can stand in
ids, titles and texts, since recorders' logs have them.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from schema.answers import members_of

_PUNCTUATION = 4
"""Bytes that stand around a value, about."""


def encode_response(value: Any) -> bytes:
    """The JSON text of a response, in UTF-8."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_escaped(value))


def size_of(value: Any) -> int:
    """About how many bytes the JSON text of a value takes, counted without making it."""
    size = 0
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            size += len(each) if each.isascii() else 3 * len(each)
        elif isinstance(each, msgspec.Raw):
            size += len(memoryview(each))
        elif isinstance(each, dict):
            size += sum(map(len, each))
            waiting.extend(each.values())
        elif isinstance(each, msgspec.Struct):
            waiting.append(members_of(each))
        elif isinstance(each, list):
            waiting.extend(each)
        size += _PUNCTUATION
    return size


def _escaped(value: Any) -> Any:
    """``value`` with every string that UTF-8 cannot carry as its JSON text, escapes and all."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return msgspec.Raw(json.dumps(value).encode("ascii"))
        return value
    if isinstance(value, dict):
        return {key: _escaped(member) for key, member in value.items()}
    if isinstance(value, msgspec.Struct):
        return _escaped(members_of(value))
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    return value
