"""Places: what a text is to a search, a row of words in their order.

A *place* is one word, one character of Chinese, Japanese or Korean, or one symbol such as an emoji.
Everything else (space, punctuation, control characters, lone surrogates) only stands between places
and is never part of one. A word is a run of letters, digits and their marks; ``_`` ends it, so that
``session_projcache`` is two places and is found whole as the two of them side by side.

Places are compared *folded*: compatibility forms unified (NFKC), case folded, accents dropped. So
full-width forms, case and accents never matter. A word in camel case has *parts* beside its place:
``restoreFloor`` is the place ``restorefloor`` with the parts ``restore`` and ``floor``.

Always true: a place holds no white space; folding a folded place changes nothing; and the quick way
that long texts take (:func:`places_of`) finds exactly the places of the careful one that knows
where each of them stands (:func:`words_of`).
"""

from __future__ import annotations

import re
import sys
import unicodedata
from array import array
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, pairwise
from operator import add
from typing import Final

ANALYSIS_VERSION: Final = f"1, Unicode {unicodedata.unidata_version}"
"""Changes whenever the same text can have other places; an index of another version is outdated."""

LONGEST_PLACE: Final = 8192
"""Code points of the longest place; a longer word is cut into several, side by side."""

_CJK: Final = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3041-\u3096\u3099-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufaff\uff66-\uffdc"
    "\U0001b000-\U0001b167\U00020000-\U000323af"
)
"""Characters that are each a place, and those that compose into one."""

_ACCENTS: Final = re.compile("[\u0300-\u036f\u20d0-\u20ff\ufe00-\ufe0f]+")
"""Accents, enclosing marks and variation selectors, which make no difference."""

_VOICING: Final = "\u3099\u309a"
"""Marks of Kana; one that stands by itself is no place."""

_LAST_CATEGORISED: Final = 0x1FC00
"""Behind this lie ideographs and nothing that could be a mark of a word or a symbol."""

_LETTERS_ONLY: Final = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0xAC00, 0xD7A4), (0xD800, 0xF900))
"""Ideographs, syllables, surrogates and private use: no need to look at each when this begins."""

_MARKS: Final = frozenset({"Mn", "Mc", "Me"})


def _class_of(codes: Collection[int]) -> str:
    """The inside of a character class that holds some code points, which are given in order."""
    members = frozenset(codes)
    lows = [code for code in codes if code - 1 not in members]
    highs = [code for code in codes if code + 1 not in members]
    return "".join(f"{chr(low)}-{chr(high)}" for low, high in zip(lows, highs, strict=True))


def _marks_and_symbols() -> tuple[list[int], list[int]]:
    """The code points outside ASCII that are marks of words, and those that are symbols."""
    marks, symbols = [], []
    for begun, ended in pairwise((0x80, *chain.from_iterable(_LETTERS_ONLY), _LAST_CATEGORISED)):
        if (begun, ended) in _LETTERS_ONLY:
            continue
        for code in range(begun, ended):
            category = unicodedata.category(chr(code))
            if category == "So":
                symbols.append(code)
            elif category in _MARKS:
                marks.append(code)
    return marks, symbols


_MARKED, _SYMBOLS = _marks_and_symbols()
_LETTER: Final = rf"(?![{_CJK}])[^\W_]"
_TOKEN: Final = re.compile(
    rf"(?P<cjk>[{_CJK}]+)"
    rf"|(?P<word>{_LETTER}(?:{_LETTER}|(?![{_CJK}])[{_class_of(_MARKED)}])*)"
    rf"|(?P<symbol>[{_class_of(_SYMBOLS)}])"
)

_OUTSIDE_ASCII: Final = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]*(?:[^\x00-\x7f]+[A-Za-z0-9]*)+")
"""Stretches that need care, with the letters and digits that they may form words with."""

_ASCII_WORDS: Final = str.maketrans(
    {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
)
_ASCII_CASES: Final = str.maketrans(
    {
        code: "A" if chr(code).isupper() else "a" if chr(code).isalnum() else " "
        for code in range(128)
    }
)
"""Turns a text into one of capitals, other letters and the rest, in which a hump is found fast."""

_SINGLE_CJK: Final = re.compile(f"[{_CJK}]")

_COMMON_CJK: Final = "\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff\uac00-\ud7a3"
"""Characters that are places as they are, whatever common ones stand beside them."""

_COMMON_BETWEEN: Final = (
    "\u00a0\u00b7\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026\u3000\u3001\u3002\u3008\u3009\u300a\u300b"
    "\u300c\u300d\u300e\u300f\u3010\u3011\uff01\uff08\uff09\uff0c\uff0f\uff1a\uff1b\uff1f\uff5e"
)
"""Punctuation outside ASCII that is written beside them, and beside Latin words."""

_UNCOMMON: Final = re.compile(f"[^\x00-\x7f{_COMMON_CJK}{_COMMON_BETWEEN}]")
_COMMON_STRETCHES: Final = re.compile(f"([{_COMMON_CJK}]+)|([^{_COMMON_CJK}]+)")
_NOTHING_BETWEEN: Final = str.maketrans(dict.fromkeys(_COMMON_BETWEEN, " "))


_LONG_RUN: Final = 12
"""Characters from which a run is spaced out by code points at once, not character by character."""

_CODE: Final = "I"
_CODES: Final = f"utf-32-{sys.byteorder[0]}e"
_SPACE: Final = ord(" ")


def is_cjk(place: str) -> bool:
    """Whether a place is a character of Chinese, Japanese or Korean."""
    return len(place) == 1 and not place.isascii() and _SINGLE_CJK.match(place) is not None


@dataclass(frozen=True, slots=True)
class Word:
    """One place and where it stands.

    start, end: code points of the text, the end excluded.
    parts: of a word in camel case, at least two; else none.
    """

    place: str
    start: int
    end: int
    parts: tuple[str, ...] = ()


@dataclass(slots=True)
class Places:
    """All places of a text.

    row: in order, with a space between them; pieces of it, to be joined by spaces.
    runs: every longest row of two or more CJK places.
    parts: of each distinct word in camel case.
    """

    row: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    parts: list[tuple[str, ...]] = field(default_factory=list)


def words_of(text: str) -> Iterator[Word]:
    """Every place of a text and where it stands, in order."""
    for found in _TOKEN.finditer(text):
        start, end = found.span()
        places = _places_in(found.group())
        if found.lastgroup == "cjk" and len(places) == end - start:
            for offset, (place, parts) in enumerate(places):
                yield Word(place, start + offset, start + offset + 1, parts)
            continue
        for place, parts in places:
            yield Word(place, start, end, parts)


def places_of(text: str) -> Places:
    """Every place of a text, quickly, and without knowing where it stands."""
    found = Places()
    if text.isascii():
        found.row.append(_ascii_row(text))
        _add_ascii_parts(text, found)
    elif _UNCOMMON.search(text) is None:
        _add_common(text, found)
    else:
        _add_any(text, found)
    found.parts = list(dict.fromkeys(found.parts))
    return found


def _add_common(text: str, found: Places) -> None:
    """The places of a text in which nothing outside ASCII needs care."""
    run: list[str] = []
    for characters, between in _COMMON_STRETCHES.findall(text):
        if characters:
            run.append(characters)
            found.row.append(spaced(characters))
        elif between != " ":
            ascii_only = between if between.isascii() else between.translate(_NOTHING_BETWEEN)
            _add_ascii(ascii_only, found, run)
    _end_run(run, found)


def _add_any(text: str, found: Places) -> None:
    run: list[str] = []
    at = 0
    for stretch in _OUTSIDE_ASCII.finditer(text):
        _add_ascii(text[at : stretch.start()], found, run)
        at = stretch.end()
        for token in _TOKEN.finditer(stretch.group()):
            text_of_token = token.group()
            is_run = token.lastgroup == "cjk"
            if is_run and unicodedata.is_normalized("NFKC", text_of_token):
                characters = text_of_token.strip(_VOICING)
                run.append(characters)
                found.row.append(spaced(characters))
                continue
            for place, parts in _places_in(text_of_token):
                found.row.append(place)
                if parts:
                    found.parts.append(parts)
                if is_cjk(place):
                    run.append(place)
                else:
                    _end_run(run, found)
    _add_ascii(text[at:], found, run)
    _end_run(run, found)


def _add_ascii(text: str, found: Places, run: list[str]) -> None:
    row = _ascii_row(text)
    if row and not row.isspace():
        _end_run(run, found)
        found.row.append(row)
        _add_ascii_parts(text, found)


def _end_run(run: list[str], found: Places) -> None:
    whole = "".join(run)
    run.clear()
    if len(whole) > 1:
        found.runs.append(whole)


def _ascii_row(text: str) -> str:
    row = text.translate(_ASCII_WORDS)
    if len(row) > LONGEST_PLACE:
        row = " ".join(piece for word in row.split() for piece in _pieces(word))
    return row


def _add_ascii_parts(text: str, found: Places) -> None:
    if text == text.lower():
        return
    cases = text.translate(_ASCII_CASES)
    for hump in ("aA", "AAa"):
        at = cases.find(hump)
        while at >= 0:
            start = cases.rfind(" ", 0, at) + 1
            end = cases.find(" ", at)
            word = text[start:] if end < 0 else text[start:end]
            if len(word) <= LONGEST_PLACE:
                found.parts.append(_parts(word))
            at = cases.find(hump, end) if end >= 0 else -1


@lru_cache(maxsize=16_384)
def _places_in(token: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The places of one token of a text, each with its parts."""
    unified = unicodedata.normalize("NFKC", token)
    found: list[tuple[str, tuple[str, ...]]] = []
    for part in _TOKEN.finditer(unified):
        if part.lastgroup == "cjk":
            found.extend((character, ()) for character in part.group().strip(_VOICING))
            continue
        folded = _fold(part.group())
        pieces = _pieces(folded)
        parts = _parts(part.group()) if len(pieces) == 1 else ()
        found.extend((piece, parts) for piece in pieces)
    return tuple(found)


def spaced(run: str) -> str:
    """The characters of a run with a space between them."""
    if len(run) < _LONG_RUN:
        return " ".join(run)
    codes = array(_CODE, run.encode(_CODES))
    row = array(_CODE, [_SPACE]) * (2 * len(codes) - 1)
    row[::2] = codes
    return row.tobytes().decode(_CODES)


def spaced_pairs(run: str) -> str:
    """Every two neighbours of a run of two or more characters, with a space between them."""
    if len(run) < _LONG_RUN:
        return " ".join(map(add, run, run[1:]))
    codes = array(_CODE, run.encode(_CODES))
    row = array(_CODE, [_SPACE]) * (3 * len(codes) - 4)
    row[::3] = codes[:-1]
    row[1::3] = codes[1:]
    return row.tobytes().decode(_CODES)


def _pieces(word: str) -> list[str]:
    return [word[at : at + LONGEST_PLACE] for at in range(0, len(word), LONGEST_PLACE)]


def _fold(unified: str) -> str:
    """Case folded, without accents."""
    if unified.isascii():
        return unified.lower()
    apart = unicodedata.normalize("NFD", unified.casefold())
    return unicodedata.normalize("NFKC", _ACCENTS.sub("", apart))


@lru_cache(maxsize=16_384)
def _parts(word: str) -> tuple[str, ...]:
    """The parts of a word in camel case, folded; none when it is not."""
    cuts = [0]
    for at in range(1, len(word)):
        before, here, after = word[at - 1], word[at], word[at + 1 : at + 2]
        if here.isupper() and (
            before.islower() or before.isdecimal() or (before.isupper() and after.islower())
        ):
            cuts.append(at)
    if len(cuts) == 1:
        return ()
    return tuple(
        _fold(word[low:high]) for low, high in zip(cuts, [*cuts[1:], len(word)], strict=True)
    )
