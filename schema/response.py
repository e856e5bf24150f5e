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


def encode_response(value: Any) -> bytes:
    """The JSON text of a response, in UTF-8."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_escaped(value))


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
