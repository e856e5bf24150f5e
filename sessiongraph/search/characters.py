"""Characters as a reader sees them, which may be several code points."""

from __future__ import annotations

import unicodedata
from typing import Final

_FIRST_MARK: Final = "\u0300"
"""Below it every code point is a character by itself."""

_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f")


def last_cut(text: str, at: int) -> int:
    """The last place up to ``at`` where a text can be cut."""
    while not is_between_characters(text, at):
        at -= 1
    return at


def is_between_characters(text: str, at: int) -> bool:
    """Whether a cut there leaves what a reader sees as one character whole."""
    if at <= 0 or at >= len(text):
        return True
    before, here = text[at - 1], text[at]
    if here < _FIRST_MARK and before < _FIRST_MARK:
        return True
    if here in _JOINERS or before == "\u200d" or unicodedata.category(here)[0] == "M":
        return False
    if "\U0001f3fb" <= here <= "\U0001f3ff":  # skin tones
        return False
    if _is_flag_half(here) and _is_flag_half(before):
        halves = 0
        while halves < at and _is_flag_half(text[at - 1 - halves]):
            halves += 1
        return halves % 2 == 0
    return not ("\u1160" <= here <= "\u11ff")  # vowels and finals of Hangul syllables


def touches_a_mark(text: str, start: int, end: int) -> bool:
    """Whether a piece begins behind a mark or ends before one, so that its word is another."""
    before = text[start - 1 : start]
    is_behind = before >= _FIRST_MARK and unicodedata.category(before)[0] == "M"
    return is_behind or not is_between_characters(text, end)


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
