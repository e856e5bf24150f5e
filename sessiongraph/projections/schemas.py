"""What a state or a view may look like, declared as a type and checked by compiled code.

A schema is any type that msgspec understands: ``str | None``, ``list[int]``, a ``TypedDict``, a
``Struct``. Types were chosen over hand-written checks because one declaration then serves three
readers: mypy, which checks the fold against it; the author of a client, who reads it; and the
server, where msgspec compiles it (about a microsecond for a small value), so that a list of a
thousand sessions can afford to check every row it shows. Nothing is coerced: ``"1"`` is no number
and ``True`` no integer.

Beside the schema a value must be *plain JSON*: dictionaries with string keys, lists, strings,
integers, finite floats, booleans and null, and no subclass of any. A schema with ``Any`` in it
would let everything else through, an awaitable above all.
"""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec

_SCALARS: Final = frozenset({str, int, bool, type(None)})


class NotPlainJson(TypeError):
    """A value that JSON cannot carry unchanged."""


class Schema:
    """A compiled type.

    Raises:
        TypeError: msgspec does not understand the type.
    """

    def __init__(self, declared: Any) -> None:
        msgspec.inspect.type_info(declared)
        # A Struct is compiled once; a bare type would be taken apart on every call.
        self._box = msgspec.defstruct("Box", [("value", declared)], array_like=True)

    def accepts(self, value: Any) -> bool:
        """Whether a value that was parsed from JSON has the declared shape."""
        try:
            msgspec.convert((value,), self._box)
        except (msgspec.ValidationError, UnicodeError, RecursionError):
            return False
        return True

    def accepts_made(self, value: Any) -> bool:
        """Whether a value that somebody's code has made is plain JSON of the declared shape."""
        return is_plain_json(value) and self.accepts(value)


def require_json_kind(value: Any) -> None:
    """Refuse what cannot be JSON by its outermost type alone; costs the same for every size.

    Raises:
        NotPlainJson: it is an awaitable or another object.
    """
    kind = type(value)
    if kind is dict or kind is list or kind is float or kind in _SCALARS:
        return
    close = getattr(value, "close", None)
    if callable(close) and hasattr(value, "__await__"):
        close()  # a coroutine that nobody awaits would warn when it is collected
    raise NotPlainJson(f"{kind.__name__} is not JSON")


def is_plain_json(value: Any) -> bool:
    """Whether a value is JSON all the way down; one that contains itself is not."""
    try:
        return _is_plain(value)
    except RecursionError:
        return False


def _is_plain(value: Any) -> bool:
    kind = type(value)
    if kind is dict:
        for key, member in value.items():
            if type(key) is not str or not (type(member) in _SCALARS or _is_plain(member)):
                return False
        return True
    if kind is list:
        for member in value:  # noqa: SIM110 - a generator costs as much again
            if type(member) not in _SCALARS and not _is_plain(member):
                return False
        return True
    if kind is float:
        return math.isfinite(value)
    return kind in _SCALARS
