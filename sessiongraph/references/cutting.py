"""Cutting one text to the room there is, and saying exactly what is missing.

What remains is a head and a tail of equally many bytes, each on the border of a code point, and
behind them a line of its own with the number of UTF-8 bytes left out (references.md, "Prepare"). A
text for which not even that line has room becomes empty. A lone surrogate counts three bytes.
"""

from __future__ import annotations

from typing import Final

from sessiongraph.carried import utf8_length
from sessiongraph.references.rendering import message_octets

NOTE_MAX_BYTES: Final = 48
"""The longest note, the line break before it included, of any text."""


def cut_text(role: str, text: str, length: int, room: int) -> tuple[str, int]:
    """The text of a message cut to fit, and how many of its UTF-8 bytes are missing.

    text: it may lack a middle part that no cut could leave. length: of the whole, in UTF-8.
    room: bytes for the message's JSON, fewer than it needs uncut; possibly negative.
    """

    def shortened(end: int) -> tuple[str, int]:
        head, tail = _head(text, end), _tail(text, end)
        missing = length - utf8_length(head) - utf8_length(tail)
        return f"{head}{tail}\n{note(missing)}", missing

    def fits(end: int) -> bool:
        return len(message_octets(role, shortened(end)[0])) <= room

    if not fits(0):
        return "", length
    # A longer end never makes the message shorter: the note loses a digit at most.
    low, high = 0, max(0, min(room, length) // 2)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return shortened(low)


def note(missing: int) -> str:
    """The line that ends a text of which so many UTF-8 bytes are missing."""
    return f"[… {missing} UTF-8 bytes cut …]"


def _head(text: str, most: int) -> str:
    """The longest beginning of at most so many UTF-8 bytes."""
    octets = text[:most].encode("utf-8", "surrogatepass")
    end = min(most, len(octets))
    while end < len(octets) and octets[end] & 0xC0 == 0x80:
        end -= 1
    return octets[:end].decode("utf-8", "surrogatepass")


def _tail(text: str, most: int) -> str:
    """The longest end of at most so many UTF-8 bytes."""
    octets = text[max(0, len(text) - most) :].encode("utf-8", "surrogatepass")
    start = max(0, len(octets) - most)
    while start < len(octets) and octets[start] & 0xC0 == 0x80:
        start += 1
    return octets[start:].decode("utf-8", "surrogatepass")
