"""Full-text search as anybody would write it who had no index: the model of the others.

Analysis goes character by character, matching looks through every document for every term, and a
state of the index is a plain list. Nothing of ``sessiongraph.search.analysis`` is used here. All
documents are equally relevant, so the order is by time, session id and seq alone.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from sessiongraph.directories import lies_within
from sessiongraph.event import SessionEvent
from sessiongraph.filters import Range
from sessiongraph.header import SessionHeader
from sessiongraph.search.ports import Forget, Held, Hit, IndexChange, Ranking, Watermark, check_of
from sessiongraph.search.question import IndexFilter, MatchMode, Question, SearchText, Term
from sessiongraph.text import semantic_text

_CJK = [
    (0x1100, 0x11FF), (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3038, 0x303B),
    (0x3041, 0x3096), (0x3099, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x3105, 0x312F),
    (0x3131, 0x318E), (0x31A0, 0x31BF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
    (0xA960, 0xA97C), (0xAC00, 0xD7A3), (0xD7B0, 0xD7FB), (0xF900, 0xFAFF), (0xFF66, 0xFFDC),
    (0x1B000, 0x1B167), (0x20000, 0x323AF),
]  # fmt: skip
_VOICING = "\u3099\u309a"


@dataclass(frozen=True)
class PlainWord:
    """One place and, in camel case, its parts."""

    place: str
    parts: tuple[str, ...] = ()


def kind_of(character: str) -> str:
    """cjk, word, mark, symbol or none."""
    if any(low <= ord(character) <= high for low, high in _CJK):
        return "cjk"
    category = unicodedata.category(character)
    if character.isalnum():
        return "word"
    if category[0] == "M" and ord(character) < 0x1FC00:
        return "mark"
    return "symbol" if category == "So" and ord(character) < 0x1FC00 else "none"


def runs_of(text: str) -> Iterator[tuple[str, str]]:
    """Runs of characters of one kind; marks belong to the word before them, symbols stand alone."""
    kind, run = "none", ""
    for character in text:
        here = kind_of(character)
        if here == "mark":
            here = "word" if kind == "word" else "none"
        if here != kind or here == "symbol":
            if run and kind != "none":
                yield kind, run
            kind, run = here, ""
        run += character
    if run and kind != "none":
        yield kind, run


def plain_words(text: str) -> list[PlainWord]:
    """Every place of a text, in order."""
    words: list[PlainWord] = []
    for _, run in runs_of(text):
        for kind, unified in runs_of(unicodedata.normalize("NFKC", run)):
            if kind == "cjk":
                words += [PlainWord(character) for character in unified.strip(_VOICING)]
                continue
            place = fold(unified)
            pieces = [place[at : at + 8192] for at in range(0, len(place), 8192)]
            parts = humps(unified) if len(pieces) == 1 else ()
            words += [PlainWord(piece, parts) for piece in pieces]
    return words


def fold(text: str) -> str:
    """Case and accents away."""
    dropped = [(0x300, 0x36F), (0x20D0, 0x20FF), (0xFE00, 0xFE0F)]
    kept = [
        character
        for character in unicodedata.normalize("NFD", text.casefold())
        if not any(low <= ord(character) <= high for low, high in dropped)
    ]
    return unicodedata.normalize("NFKC", "".join(kept))


def humps(word: str) -> tuple[str, ...]:
    """The parts of a word in camel case; none when there is only one."""
    parts = [word[:1]]
    for before, here, after in zip(word, word[1:], [*word[2:], ""], strict=False):
        begins = here.isupper() and (
            before.islower() or before.isdecimal() or (before.isupper() and after.islower())
        )
        if begins:
            parts.append(here)
        else:
            parts[-1] += here
    return tuple(map(fold, parts)) if len(parts) > 1 else ()


def stands_in(term: Term, row: Sequence[str]) -> bool:
    """Whether a row of places holds a term, side by side."""
    width = len(term)
    return any(tuple(row[at : at + width]) == term for at in range(len(row) - width + 1))


def plain_match(text: str, wanted: SearchText) -> bool:
    """Whether a text answers a search."""
    words = plain_words(text)
    rows = [[word.place for word in words], *(list(word.parts) for word in words if word.parts)]
    found = [any(stands_in(term, row) for row in rows) for term in wanted.terms]
    return any(found) if wanted.mode is MatchMode.ANY else all(found)


@dataclass(frozen=True)
class PlainDocument:
    """One event with text."""

    header: SessionHeader
    epoch: int
    event: SessionEvent
    text: str


def passes(document: PlainDocument, admitted: IndexFilter) -> bool:
    """Whether a document passes what an index knows to filter by."""
    header, event = document.header, document.event

    def holds(values: frozenset[str | None] | frozenset[str] | None, value: str | None) -> bool:
        return values is None or value in values

    def within(bounds: Range, value: int) -> bool:
        return (bounds.low is None or bounds.low <= value) and (
            bounds.high is None or value <= bounds.high
        )

    return (
        header.session_id not in admitted.without
        and holds(admitted.ids, header.session_id)
        and holds(admitted.cwds, header.cwd)
        and holds(admitted.parents, header.parent_session)
        and holds(admitted.origins, header.origin)
        and holds(admitted.types, event.type)
        and (admitted.within is None or lies_within(header.cwd, admitted.within))
        and within(admitted.created_at, header.created_at)
        and within(admitted.seqs, event.seq)
        and within(admitted.times, event.time)
    )


@dataclass(frozen=True)
class PlainIndexObservation:
    """One state: a list of documents that never changes."""

    taken: tuple[PlainDocument, ...]

    @property
    def documents(self) -> int:
        return len(self.taken)

    async def held(self, logs: Sequence[tuple[str, int]]) -> list[Held]:
        held = []
        for session_id, epoch in logs:
            mine = [each for each in self.taken if each.header.session_id == session_id]
            checks = [check_of(each.event.seq, each.text) for each in mine if each.epoch == epoch]
            held.append(Held(len(checks), sum(checks), len(mine) - len(checks)))
        return held

    async def rank(self, question: Question, least: int, *, distinct: bool) -> Ranking:
        answering = [
            (-each.event.time, each.header.session_id, each.event.seq, each.epoch)
            for each in self.taken
            if passes(each, question.admitted) and plain_match(each.text, question.text)
        ]
        found = [
            Hit(session_id, epoch, seq)
            for _, session_id, seq, epoch in sorted(answering, key=itemgetter(0, 1, 2))
        ]
        if distinct:
            best: dict[tuple[str, int], Hit] = {}
            for hit in found:
                best.setdefault((hit.session_id, hit.epoch), hit)
            found = list(best.values())
        return Ranking(found[:least], len(found) <= least)


class PlainIndex:
    """The index; see :class:`sessiongraph.search.ports.SearchIndex`."""

    def __init__(self) -> None:
        self._taken: list[PlainDocument] = []
        self._committed: tuple[PlainDocument, ...] = ()
        self._watermark: Watermark | None = None

    @property
    def watermark(self) -> Watermark | None:
        return self._watermark

    @property
    def documents(self) -> int:
        return len(self._taken)

    async def apply(self, changes: Sequence[IndexChange]) -> None:
        for change in changes:
            if isinstance(change, Forget):
                self._taken = [
                    each for each in self._taken if each.header.session_id != change.session_id
                ]
                continue
            for event in change.events:
                text = semantic_text(event)
                if text:
                    self._taken.append(PlainDocument(change.header, change.epoch, event, text))

    async def commit(self, watermark: Watermark) -> None:
        self._committed, self._watermark = tuple(self._taken), watermark

    def observe(self) -> PlainIndexObservation:
        return PlainIndexObservation(tuple(self._taken))

    async def damages(self) -> list[str]:
        return []

    async def recover(self) -> None:
        self._taken = list(self._committed)

    async def clear(self) -> None:
        self._taken, self._committed, self._watermark = [], (), None

    async def close(self) -> None:
        self._taken = list(self._committed)
