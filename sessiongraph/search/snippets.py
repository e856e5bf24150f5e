"""Snippets: the words around a match, short enough for a list, with the match marked by offsets.

White space runs are one space, what is cut off is an ellipsis, and no cut falls inside what a
reader sees as one character. Offsets count code points of the snippet; there is no markup in it.

A text may be long and a match may lie at its end: the text is looked through once, from the front,
and no further than the place that the snippet shows.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sessiongraph.search.analysis import Word, words_of
from sessiongraph.search.question import SearchText, Term

_ELLIPSIS: Final = "…"
_SPACE: Final = re.compile(r"\s+")
_LEAD: Final = 4
"""The share of a snippet that stands before the first match: one part in so many."""

_LOOKED_AT: Final = 4
"""Characters of the text for each of the snippet that are read around a match, at most."""

_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f")


@dataclass(frozen=True, slots=True)
class Span:
    """Code points of a snippet, the end excluded."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a text and what matches in it, in order, none overlapping."""

    text: str
    highlights: tuple[Span, ...]


def snippet_of(text: str, wanted: SearchText, most: int) -> Snippet:
    """The piece of a text around its first best match, of at most ``most`` code points."""
    spans = _best_spans(text, wanted, most)
    start = spans[0].start if spans else 0
    low = _last_cut(text, max(0, start - most))
    high = _last_cut(text, min(len(text), start + _LOOKED_AT * most))
    # White space at either end of the piece says that something was there, and is dropped.
    piece, places = _with_single_spaces(text, low, high)
    cut_before = low > 0 and bool(text[:low].strip())
    cut_behind = high < len(text) and bool(text[high:].strip())
    marked = [
        Span(places[span.start - low], places[span.end - low]) for span in spans if span.end <= high
    ]
    return _cut(piece, marked, most, cut_before, cut_behind)


def _cut(piece: str, marked: list[Span], most: int, cut_before: bool, cut_behind: bool) -> Snippet:
    first = marked[0].start if marked else 0
    start = 0
    if cut_before or len(piece) > most:
        start = max(0, first - most // _LEAD)
        start = min(start, max(0, len(piece) - most + len(_ELLIPSIS)))
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
    highlights = tuple(
        Span(span.start + shift, min(span.end, start + len(shown)) + shift)
        for span in marked
        if start <= span.start < start + len(shown)
    )
    return Snippet(f"{before}{shown}{behind}", highlights)


def _with_single_spaces(text: str, low: int, high: int) -> tuple[str, list[int]]:
    """A piece of a text without runs of white space, and where each of its characters went."""
    pieces: list[str] = []
    places: list[int] = []
    length = 0
    at = low
    for space in _SPACE.finditer(text, low, high):
        start, end = space.span()
        pieces.append(text[at:start])
        places.extend(range(length, length + start - at))
        length += start - at
        places.extend([length] * (end - start))
        if length and end < high:
            pieces.append(" ")
            length += 1
        at = end
    pieces.append(text[at:high])
    places.extend(range(length, length + high - at + 1))
    return "".join(pieces), places


def _best_spans(text: str, wanted: SearchText, most: int) -> list[Span]:
    """The matches of the window of the text that holds most terms, the first such."""
    best: list[Span] = []
    best_count = 0
    recent: deque[tuple[Span, Term]] = deque()
    chosen_start = -1
    for span, term in _matches(text, wanted):
        if chosen_start >= 0 and span.start > chosen_start + most:
            break
        recent.append((span, term))
        while span.end - recent[0][0].start > most and len(recent) > 1:
            recent.popleft()
        count = len({each for _, each in recent})
        if count > best_count or (best and recent[0][0] == best[0]):
            best_count = max(best_count, count)
            best = [each for each, _ in recent]
            if best_count == len(wanted.terms):
                chosen_start = best[0].start
    return _apart(best)


def _apart(spans: list[Span]) -> list[Span]:
    """Spans in order, those that touch or overlap as one."""
    joined: list[Span] = []
    for span in sorted(spans, key=lambda each: (each.start, each.end)):
        if joined and span.start < joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return joined


def _matches(text: str, wanted: SearchText) -> Iterator[tuple[Span, Term]]:
    """Every occurrence of every term, by its end."""
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
                yield Span(recent[-len(term)].start, word.end), term
        if word.parts:
            yield from _part_matches(word, wanted)


def _part_matches(word: Word, wanted: SearchText) -> Iterator[tuple[Span, Term]]:
    """Terms that are found among the parts of a word in camel case."""
    exact = sum(map(len, word.parts)) == word.end - word.start
    for term in wanted.terms:
        for at in range(len(word.parts) - len(term) + 1):
            if word.parts[at : at + len(term)] == term:
                start = word.start + sum(map(len, word.parts[:at]))
                span = Span(start, start + sum(map(len, term)))
                yield (span if exact else Span(word.start, word.end)), term


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
