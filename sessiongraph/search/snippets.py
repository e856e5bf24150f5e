"""Snippets: the words around a match, short enough for a list, with the match marked by offsets.

White space runs are one space, what is cut off is an ellipsis, and no cut falls inside what a
reader sees as one character. Offsets count code points of the snippet; there is no markup in it.

A text may be long and a match may lie at its end: the text is looked through once, from the front,
and no further than the place that the snippet shows.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from sessiongraph.search.analysis import Word, is_cjk, words_of
from sessiongraph.search.question import SearchText, Term

_ELLIPSIS: Final = "…"
_UNEVEN_SPACE: Final = re.compile(r" ?[^\S ]\s*| {2,}\s*")
"""Runs of white space that are more than one space."""

_LEAD: Final = 4
"""The share of a snippet that stands before the first match: one part in so many."""

_PLACES_IN_A_PATTERN: Final = 32

_LOOKED_AT: Final = 2
"""Characters of the text for each of the snippet that are read around a match, at most."""

_FIRST_MARK: Final = "\u0300"
"""Below it every code point is a character by itself."""

_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f")


_Match = tuple[int, int, Term]
"""Code points of the text, the end excluded, and what was found there."""

_Spans = list[tuple[int, int]]


class Span(NamedTuple):
    """Code points of a snippet, the end excluded."""

    start: int
    end: int


class Snippet(NamedTuple):
    """A piece of a text and what matches in it, in order, none overlapping."""

    text: str
    highlights: tuple[Span, ...]


def snippet_of(text: str, wanted: SearchText, most: int) -> Snippet:
    """The piece of a text around its first best match, of at most ``most`` code points."""
    letters = _letters_of(wanted)
    spans = [] if letters is None else letters.first_of_one(text, most)
    if not spans:
        spans = _best_spans(_matches(text, wanted, letters), len(wanted.terms), most)
    start = spans[0][0] if spans else 0
    low = _last_cut(text, start - most) if start > most else 0
    high = start + _LOOKED_AT * most
    high = _last_cut(text, high) if high < len(text) else len(text)
    piece, place_of = _with_single_spaces(text, low, high)
    cut_before = low > 0 and bool(text[:low].strip())
    cut_behind = high < len(text) and bool(text[high:].strip())
    if piece is not text:
        spans = [(place_of(at), place_of(end)) for at, end in spans if end <= high]
    return _cut(piece, spans, most, cut_before, cut_behind)


def _cut(piece: str, spans: _Spans, most: int, cut_before: bool, cut_behind: bool) -> Snippet:
    if len(piece) <= most and not cut_before and not cut_behind:
        return Snippet(piece, tuple(map(Span._make, spans)))
    first = spans[0][0] if spans else 0
    start = 0
    if cut_before or len(piece) > most:
        start = max(0, min(first - most // _LEAD, len(piece) - most + len(_ELLIPSIS)))
        while start < first and not _is_between_characters(piece, start):
            start += 1
        while start < first and piece[start] == " ":
            start += 1
    before = _ELLIPSIS if start > 0 or cut_before else ""
    end = len(piece)
    room = most - len(before)
    if end - start > room or cut_behind:
        end = min(end, start + room - len(_ELLIPSIS))
        while end > start + 1 and not _is_between_characters(piece, end):
            end -= 1
    behind = _ELLIPSIS if end < len(piece) or cut_behind else ""
    shown = piece[start:end].rstrip(" ")
    shift = len(before) - start
    shown_end = start + len(shown)
    highlights = tuple(
        [
            Span(at + shift, min(shown_end, end) + shift)
            for at, end in spans
            if start <= at < shown_end
        ]
    )
    return Snippet(f"{before}{shown}{behind}", highlights)


def _with_single_spaces(text: str, low: int, high: int) -> tuple[str, Callable[[int], int]]:
    """A piece of a text without runs of white space, and where each of its places went."""
    while low < high and text[low].isspace():
        low += 1
    while low < high and text[high - 1].isspace():
        high -= 1
    piece = text[low:high]
    # Of white space, only the plain one counts as printable.
    if (piece.isprintable() and "  " not in piece) or " ".join(piece.split()) == piece:
        return piece, lambda place: place - low
    pieces: list[str] = []
    ends: list[int] = [low]
    shifts: list[int] = [low]
    at = low
    for space in _UNEVEN_SPACE.finditer(text, low, high):
        start, end = space.span()
        kept = " "
        pieces += (text[at:start], kept)
        ends.append(end)
        shifts.append(shifts[-1] + end - start - len(kept))
        at = end
    pieces.append(text[at:high])
    return "".join(pieces), lambda place: place - shifts[bisect_right(ends, place) - 1]


def _best_spans(matches: Iterable[_Match], terms: int, most: int) -> _Spans:
    """The matches of the window of the text that holds most terms, the first such."""
    if terms == 1:
        return _apart(_near_the_first(matches, most))
    best: list[_Match] = []
    best_count = 0
    recent: deque[_Match] = deque()
    held: Counter[Term] = Counter()
    chosen_end = -1
    for match in matches:
        _, end, term = match
        if chosen_end >= 0:
            if end > chosen_end:
                break
            best.append(match)
            continue
        recent.append(match)
        held[term] += 1
        while end - recent[0][0] > most and len(recent) > 1:
            gone = recent.popleft()[2]
            held[gone] -= 1
            if not held[gone]:
                del held[gone]
        if len(held) > best_count or (best and recent[0] == best[0]):
            best_count = max(best_count, len(held))
            best = list(recent)
            if best_count == terms:
                chosen_end = best[0][0] + most
    return _apart(best)


def _near_the_first(matches: Iterable[_Match], most: int) -> list[_Match]:
    """The first match and those that have room beside it."""
    near: list[_Match] = []
    last_end = -1
    for match in matches:
        if last_end < 0:
            last_end = match[0] + most
        elif match[1] > last_end:
            break
        near.append(match)
    return near


def _apart(matches: list[_Match]) -> _Spans:
    """Where some matches are, in order, those that overlap as one."""
    joined: _Spans = []
    last_end = 0
    for at, end, _ in sorted(matches):
        if at < last_end:
            last_end = max(last_end, end)
            joined[-1] = (joined[-1][0], last_end)
        else:
            last_end = end
            joined.append((at, end))
    return joined


def _matches(text: str, wanted: SearchText, letters: _Letters | None) -> Iterable[_Match]:
    """Every occurrence of every term, by its end.

    Most texts spell a term just as it was asked for, but for its case; then its letters, or else a
    pattern, find it fast. Where that finds too little, places are compared one by one.
    """
    if letters is not None:
        found = letters.matches(text)
        if found is not None:
            return found
    pattern = _pattern_of(wanted)
    if pattern is not None:
        missing = set(range(len(wanted.terms)))
        for each in pattern.finditer(text):
            missing.discard((each.lastindex or 1) - 1)
            if not missing:
                return _pattern_matches(pattern, text, wanted)
    return _place_matches(text, wanted)


class _Letters:
    """Terms that can be looked for letter by letter: single words of ASCII, or one run of CJK."""

    def __init__(self, terms: dict[str, Term], *, are_words: bool) -> None:
        self._terms = terms
        self._are_words = are_words
        either = "|".join(map(re.escape, terms))
        self._pattern = re.compile(f"(?:{either})(?![a-z0-9])" if are_words else either)

    def first_of_one(self, text: str, most: int) -> _Spans:
        """Where the one term is first, and where else in a window from there; none for several."""
        if len(self._terms) > 1 or (self._are_words and not text.isascii()):
            return []
        if self._are_words:
            text = text.lower()
        first = next(self._found(text), None)
        if first is None:
            return []
        at, end, _ = first
        last_end = at + most
        spans = [(at, end)]
        # One more, so that a word that goes on behind the window is not taken for a whole one.
        for found in self._pattern.finditer(text, end, last_end + 1):
            at, end = span = found.span()
            if end <= last_end and not (self._are_words and text[at - 1].isalnum()):
                spans.append(span)
        return spans

    def matches(self, text: str) -> Iterable[_Match] | None:
        """All matches, none overlapping; None where a term may be there in another spelling."""
        if self._are_words:
            if not text.isascii():
                return None
            text = text.lower()
        found = self._found(text)
        first: list[_Match] = []
        missing = set(self._terms)
        for match in found:
            first.append(match)
            missing.discard(text[match[0] : match[1]])
            if not missing:
                return chain(first, found)
        # A word that is nowhere in a text, not even inside another one, has no other spelling.
        if not self._are_words or any(letters in text for letters in missing):
            return None
        return first

    def _found(self, text: str) -> Iterator[_Match]:
        terms, are_words = self._terms, self._are_words
        for found in self._pattern.finditer(text):
            at, end = found.span()
            if not (are_words and text[at - 1 : at].isalnum()):
                yield at, end, terms[found.group()]


@lru_cache(maxsize=64)
def _letters_of(wanted: SearchText) -> _Letters | None:
    terms = wanted.terms
    if len(terms) > _PLACES_IN_A_PATTERN:
        return None
    if all(len(term) == 1 and term[0].isascii() for term in terms):
        return _Letters({term[0]: term for term in terms}, are_words=True)
    if len(terms) == 1 and all(map(is_cjk, terms[0])):
        return _Letters({"".join(terms[0]): terms[0]}, are_words=False)
    return None


def _pattern_matches(pattern: re.Pattern[str], text: str, wanted: SearchText) -> Iterator[_Match]:
    for found in pattern.finditer(text):
        yield *found.span(), wanted.terms[(found.lastindex or 1) - 1]


@lru_cache(maxsize=64)
def _pattern_of(wanted: SearchText) -> re.Pattern[str] | None:
    """What finds the terms as they are mostly spelt; None for what is not asked often."""
    if sum(map(len, wanted.terms)) > _PLACES_IN_A_PATTERN:
        return None
    alternatives = []
    for term in wanted.terms:
        if all(place.isascii() for place in term):
            row = r"[\W_]+".join(term)
            alternatives.append(rf"((?<![^\W_]){row}(?![^\W_]))")
        elif all(map(is_cjk, term)):
            alternatives.append(f"({''.join(term)})")
        else:
            return None
    return re.compile("|".join(alternatives), re.IGNORECASE)


def _place_matches(text: str, wanted: SearchText) -> Iterator[_Match]:
    terms: dict[str, list[Term]] = {}
    for term in wanted.terms:
        terms.setdefault(term[-1], []).append(term)
    longest = max(map(len, wanted.terms))
    recent: deque[Word] = deque(maxlen=longest)
    for word in words_of(text):
        recent.append(word)
        for term in terms.get(word.place, ()):
            if len(term) <= len(recent) and all(
                recent[-1 - back].place == term[-1 - back] for back in range(len(term))
            ):
                yield recent[-len(term)].start, word.end, term
        if word.parts:
            yield from _part_matches(word, wanted)


def _part_matches(word: Word, wanted: SearchText) -> Iterator[_Match]:
    """Terms that are found among the parts of a word in camel case."""
    exact = sum(map(len, word.parts)) == word.end - word.start
    for term in wanted.terms:
        for at in range(len(word.parts) - len(term) + 1):
            if word.parts[at : at + len(term)] == term:
                if exact:
                    start = word.start + sum(map(len, word.parts[:at]))
                    yield start, start + sum(map(len, term)), term
                else:
                    yield word.start, word.end, term


def _last_cut(text: str, at: int) -> int:
    """The last place up to ``at`` where a text can be cut."""
    while not _is_between_characters(text, at):
        at -= 1
    return at


def _is_between_characters(text: str, at: int) -> bool:
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


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
