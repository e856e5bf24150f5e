"""Snippets: the words around a match, short enough for a list, with the match marked by offsets.

White space runs are one space, what is cut off is an ellipsis, and no cut falls inside what a
reader sees as one character. Offsets count code points of the snippet; there is no markup in it.

A text may be long and a match may lie at its end: the text is looked through once, from the front,
and no further than the place that the snippet shows.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from heapq import heapify, heappop, heapreplace
from typing import Final

import msgspec

from sessiongraph.search.analysis import Word, is_cjk, words_of
from sessiongraph.search.characters import is_between_characters, last_cut, touches_a_mark
from sessiongraph.search.question import SearchText, Term

_ELLIPSIS: Final = "…"
_UNEVEN_SPACE: Final = re.compile(r" ?[^\S ]\s*| {2,}\s*")
"""Runs of white space that are more than one space."""

_LEAD: Final = 4
"""The share of a snippet that stands before the first match: one part in so many."""

_PLACES_IN_A_PATTERN: Final = 32

_KEPT: Final = 64
"""Texts whose letters and patterns are not made again: every page of a walk asks the same."""

_LOOKED_AT: Final = 2
"""Characters of the text for each of the snippet that are read around a match, at most."""

_Match = tuple[int, int, Term]
"""Code points of the text, the end excluded, and what was found there."""

_Spans = list[tuple[int, int]]


class Span(msgspec.Struct, frozen=True, gc=False):
    """Code points of a snippet, the end excluded."""

    start: int
    end: int


class Snippet(msgspec.Struct, frozen=True):
    """A piece of a text and what matches in it, in order, none overlapping."""

    text: str
    highlights: tuple[Span, ...]


class SnippetMaker:
    """Makes the snippets of one search.

    most: code points of a snippet.
    """

    def __init__(self, wanted: SearchText, most: int) -> None:
        self._wanted = wanted
        self._most = most
        self._letters = _letters_of(wanted)

    def snippet(self, text: str) -> Snippet:
        """The piece of a text around its first best match."""
        most = self._most
        spans = self._spans(text)
        start = spans[0][0] if spans else 0
        low = last_cut(text, start - most) if start > most else 0
        high = start + _LOOKED_AT * most
        high = last_cut(text, high) if high < len(text) else len(text)
        cut_before = low > 0 and not text[:low].isspace()
        cut_behind = high < len(text) and not text[high:].isspace()
        while low < high and text[low].isspace():
            low += 1
        while low < high and text[high - 1].isspace():
            high -= 1
        if not _has_single_spaces(text[low:high]):
            text, spans = _with_single_spaces(text, low, high, spans)
            low, high = 0, len(text)
        return _cut(text, low, high, spans, most, cut_before, cut_behind)

    def _spans(self, text: str) -> _Spans:
        """Where the words stand that are shown.

        Most texts spell a term just as it was asked for, but for its case; then its letters, or
        else a pattern, find it fast. Where that finds too little, places are compared one by one.
        """
        if self._letters is not None:
            spans = self._letters.spans(text, self._most)
            if spans is not None:
                return spans
        matches = _pattern_matches(text, self._wanted) or _place_matches(text, self._wanted)
        return _best_spans(matches, len(self._wanted.terms), self._most)


def _cut(
    text: str, low: int, high: int, spans: _Spans, most: int, cut_before: bool, cut_behind: bool
) -> Snippet:
    """What fits into a snippet of a piece of a text; whether the text goes on on either side."""
    first = spans[0][0] if spans else low
    start = low
    if cut_before or high - low > most:
        start = max(low, min(first - most // _LEAD, high - most + len(_ELLIPSIS)))
        while start < first and not is_between_characters(text, start):
            start += 1
        while start < first and text[start] == " ":
            start += 1
    before = _ELLIPSIS if start > low or cut_before else ""
    end = high
    room = most - len(before)
    if end - start > room or cut_behind:
        end = min(end, start + room - len(_ELLIPSIS))
        while end > start + 1 and not is_between_characters(text, end):
            end -= 1
    behind = _ELLIPSIS if end < high or cut_behind else ""
    shown = text[start:end].rstrip(" ")
    shift = len(before) - start
    end = start + len(shown)
    highlights = [Span(at + shift, to + shift) for at, to in spans if start <= at < end]
    if highlights and highlights[-1].end > end + shift:
        highlights[-1] = Span(highlights[-1].start, end + shift)
    return Snippet(f"{before}{shown}{behind}", tuple(highlights))


def _with_single_spaces(text: str, low: int, high: int, spans: _Spans) -> tuple[str, _Spans]:
    """A piece of a text without runs of white space, and where those of some spans went in it."""
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

    def place_of(place: int) -> int:
        return place - shifts[bisect_right(ends, place) - 1]

    moved = [(place_of(at), place_of(end)) for at, end in spans if end <= high]
    return "".join(pieces), moved


def _has_single_spaces(piece: str) -> bool:
    """Whether a piece that begins and ends with no white space has only single spaces."""
    # Of white space, only the plain one counts as printable.
    return (piece.isprintable() and "  " not in piece) or " ".join(piece.split()) == piece


def _best_spans(matches: Iterable[_Match], terms: int, most: int) -> _Spans:
    """The matches of the window of the text that holds most terms, the first such."""
    if terms == 1:
        return _apart(_near_the_first(matches, most))
    best: list[_Match] = []
    best_count = 0
    recent: deque[_Match] = deque()
    held: dict[Term, int] = {}
    chosen_end = -1
    for match in matches:
        _, end, term = match
        if chosen_end >= 0:
            if end > chosen_end:
                break
            best.append(match)
            continue
        recent.append(match)
        held[term] = held.get(term, 0) + 1
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


class _Letters:
    """Terms that can be looked for letter by letter: single words of ASCII, or one run of CJK."""

    def __init__(self, terms: dict[str, Term], *, are_words: bool) -> None:
        self._terms = terms
        self._are_words = are_words

    def spans(self, text: str, most: int) -> _Spans | None:
        """Those of the best window of a text; None where a term may stand in another spelling."""
        if self._are_words:
            if not text.isascii():
                return None
            text = text.lower()
        found: list[tuple[int, str, Iterator[int]]] = []
        for letters in self._terms:
            starts = self._starts(text, letters)
            at = next(starts, -1)
            if at >= 0:
                found.append((at, letters, starts))
            # What is nowhere in a text, not even inside another word, has no other spelling.
            elif not self._are_words or letters in text:
                return None
        if not found:
            return []
        last_end = min(found)[0] + most
        if len(found) > 1:
            at, letters, _ = max(found)
            if at + len(letters) > last_end:
                return _best_spans(self._in_turn(found), len(self._terms), most)
        spans: _Spans = []
        for at, letters, starts in found:
            size = len(letters)
            spans.append((at, at + size))
            for at in starts:
                if at + size > last_end:
                    break
                spans.append((at, at + size))
        if len(found) > 1:
            spans.sort()
        return spans

    def _in_turn(self, found: list[tuple[int, str, Iterator[int]]]) -> Iterator[_Match]:
        """All matches in order; of each term the first is given, and what gives the others."""
        heapify(found)
        while found:
            at, letters, starts = found[0]
            yield at, at + len(letters), self._terms[letters]
            at = next(starts, -1)
            if at >= 0:
                heapreplace(found, (at, letters, starts))
            else:
                heappop(found)

    def _starts(self, text: str, letters: str) -> Iterator[int]:
        """Where a term stands, by itself if it is a word."""
        size, are_words = len(letters), self._are_words
        at = text.find(letters)
        while at >= 0:
            end = at + size
            if are_words:
                is_alone = not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum())
            else:
                is_alone = is_between_characters(text, end)
            if is_alone:
                yield at
            at = text.find(letters, end)


@lru_cache(maxsize=_KEPT)
def _letters_of(wanted: SearchText) -> _Letters | None:
    """The letters of all terms; None where some need more care."""
    terms = wanted.terms
    if len(terms) > _PLACES_IN_A_PATTERN:
        return None
    if len(terms) == 1 and all(map(is_cjk, terms[0])):
        return _Letters({"".join(terms[0]): terms[0]}, are_words=False)
    if all(len(term) == 1 and term[0].isascii() for term in terms):
        return _Letters({term[0]: term for term in terms}, are_words=True)
    return None


def _pattern_matches(text: str, wanted: SearchText) -> Iterator[_Match] | None:
    """Terms as they are mostly spelt; None where one of them is not found so."""
    pattern = _pattern_of(wanted)
    if pattern is None:
        return None
    missing = set(range(len(wanted.terms)))
    for each in pattern.finditer(text):
        if touches_a_mark(text, each.start(), each.end()):
            return None
        missing.discard((each.lastindex or 1) - 1)
        if not missing:
            break
    else:
        return None
    return (
        (*found.span(), wanted.terms[(found.lastindex or 1) - 1])
        for found in pattern.finditer(text)
        if not touches_a_mark(text, *found.span())
    )


@lru_cache(maxsize=_KEPT)
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
