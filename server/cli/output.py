"""How commands print: data to stdout, everything about the work to stderr.

On a terminal there is colour and the lines fit; anywhere else the text is plain and its lines are
as long as they are. What sessions hold was written by models and by programs that they ran, so none
of it reaches a terminal as a control sequence: :func:`visible` comes first, always.
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from typing import Any, BinaryIO, Final

from rich.console import Console

from sessiongraph import lossless
from sessiongraph.header import EpochMillis

_ENDLESS: Final = 1_000_000
"""Columns of an output that is not a terminal."""

_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def stdout_console() -> Console:
    """For data."""
    return _console(stderr=False)


def stderr_console() -> Console:
    """For progress and remarks."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    on_terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(
        stderr=stderr,
        width=None if on_terminal else _ENDLESS,
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=not on_terminal,
    )


def visible(text: str) -> str:
    """A recorded text that is safe to print: control characters and half characters replaced.

    C0 controls become their pictures (␛ for ESC); other controls, overrides of the direction of
    writing, and lone surrogates become U+FFFD; newlines and tabs stay.
    """
    return _INVISIBLE.sub(_picture, text.replace("\r\n", "\n"))


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"


def moment(time: EpochMillis) -> str:
    """A time for people, UTC; out of the calendar's range: the bare number."""
    try:
        return f"{datetime.fromtimestamp(time / 1000, UTC):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):
        return f"{time} ms"


def binary_stdout() -> BinaryIO:
    """Stdout for bytes: data that must not be decoded and encoded on its way."""
    sys.stdout.flush()
    return sys.stdout.buffer


def print_json(value: Any) -> None:
    """One JSON value on a line of its own."""
    binary_stdout().write(lossless.encode(value) + b"\n")
