"""Fresh documents: taken by the writer, not committed yet, searched all the same.

A commit of the index costs many times what a search does, so nobody waits for one. What came since
the last commit is kept here as the very tokens that the index gets, and is few: each search looks
through all of it. A row of tokens with a space on either side holds a term, or a phrase, just where
it holds them as a text.

Scores are BM25 with the statistics of the committed index, as Tantivy computes them, so that fresh
documents take their place among the others. They differ from what the same documents get once they
are committed by what the commit changes in those statistics, and by the rounding of lengths.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

import tantivy

from providers.tantivy.documents import (
    SCHEMA,
    TEXT,
    LogKey,
    tokens_in_row,
    traits_asked_for,
)
from sessiongraph.search.question import IndexFilter, MatchMode, Question

_K1: Final = 1.2
_B: Final = 0.75
_USUAL_LENGTH: Final = 100.0
"""Tokens of a document, where there is none yet to tell."""

_ASKED_FOR: Final = 100
"""Tokens of which one is looked for in the index."""


@dataclass(slots=True, eq=False)
class FreshDocument:
    """One document.

    row, traits: tokens, with a space on either side of each.
    """

    key: LogKey
    seq: int
    time: int
    created: int
    row: str
    traits: str
    check: int

    @property
    def length(self) -> int:
        """Of the row, in tokens."""
        return self.row.count(" ") - 1


class Statistics:
    """What BM25 must know of a committed index; looked up when something fresh is scored.

    Always true: two scores by the same statistics are of the same numbers.
    """

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self._searcher = searcher
        self._rarities: dict[str, float] = {}
        self._documents: float | None = None
        self._usual_length = _USUAL_LENGTH

    @property
    def are_known(self) -> bool:
        """Whether they were learned, which is done once."""
        return self._documents is not None

    def learn(self, tokens: Iterable[str]) -> None:
        """Have the index explain one score, of the rarest of some tokens.

        There is no other way to ask how long its documents are, and it must be a token that it
        holds; to find one in its dictionary takes seconds where there are a million documents.
        Where it holds none of the first tokens, with those that are searched for in front, no
        document of it competes with what is scored, and what is usual will do. Documents that are
        deleted count until they are merged away.
        """
        held = [
            (holding, token)
            for token in dict.fromkeys(islice(tokens, _ASKED_FOR))
            if (holding := self._searcher.doc_freq(TEXT, token))
        ]
        for _, token in sorted(held):
            query = tantivy.Query.term_query(SCHEMA, TEXT, token)
            for _, address in self._searcher.search(query, 1, count=False).hits:
                found = _parts_of(query.explain(self._searcher, address))
                self._usual_length = found["avgdl"]
                self._documents = found["N"]
                return
        self._documents = float(max(1, self._searcher.num_docs))

    def rarity(self, token: str) -> float:
        """The inverse document frequency of a token."""
        known = self._rarities.get(token)
        if known is None:
            assert self._documents is not None, "nothing was learned"
            every = self._documents
            holding = min(self._searcher.doc_freq(TEXT, token), every)
            known = math.log(1 + (every - holding + 0.5) / (holding + 0.5))
            self._rarities[token] = known
        return known

    @property
    def usual_length(self) -> float:
        """Tokens of a document, on average."""
        return self._usual_length


def _parts_of(explanation: tantivy.Explanation) -> dict[str, float]:
    """The numbers that a score is made of, by the names that Tantivy gives them."""
    found = {}
    pending = [json.loads(explanation.to_json())]
    while pending:
        part = pending.pop()
        found[part["description"].partition(",")[0]] = part["value"]
        pending += part.get("details", ())
    return found


def fresh_matches(
    documents: Sequence[FreshDocument], count: int, question: Question, statistics: Statistics
) -> Iterator[tuple[float, FreshDocument]]:
    """Those of the first ``count`` documents that answer, with their scores, in no order."""
    text = question.text
    rows = [tokens_in_row(term) for term in text.terms]
    needles = [f" {' '.join(row)} " for row in rows]
    together = tokens_in_row(text.places) if len(rows) > 1 else None
    whole = None if together is None else f" {' '.join(together)} "
    narrowing = _Narrowing(question.admitted)
    for document in _holding(documents[:count], needles, text.mode):
        if not narrowing.admits(document):
            continue
        if not statistics.are_known:
            statistics.learn(chain(*rows, document.row.split()))
        score = sum(
            _score(document, tokens, needle, statistics)
            for tokens, needle in zip(rows, needles, strict=True)
        )
        if together is not None and whole is not None:
            score += _score(document, together, whole, statistics)
        yield score, document


def _holding(
    documents: Sequence[FreshDocument], needles: Sequence[str], mode: MatchMode
) -> Sequence[FreshDocument]:
    """Those that have one of some parts of rows, or all of them as the mode asks."""
    if mode is MatchMode.ANY and len(needles) > 1:
        return [each for each in documents if any(needle in each.row for needle in needles)]
    # What is longest is the rarest, mostly: few are looked at for the others.
    for needle in sorted(needles, key=len, reverse=True):
        documents = [each for each in documents if needle in each.row]
    return documents


def _score(
    document: FreshDocument, tokens: Sequence[str], needle: str, statistics: Statistics
) -> float:
    # Neighbours share the space between them, so it is counted with one end left open.
    times = document.row.count(needle[:-1] if len(tokens) == 1 else needle)
    if not times or needle not in document.row:
        return 0.0
    rarity = sum(map(statistics.rarity, tokens))
    norm = _K1 * (1 - _B + _B * document.length / statistics.usual_length)
    return rarity * (1 + _K1) * times / (times + norm)


class _Narrowing:
    """The filters of a question."""

    def __init__(self, admitted: IndexFilter) -> None:
        self._admitted = admitted
        self._wanted = [[f" {token} " for token in tokens] for tokens in traits_asked_for(admitted)]

    def admits(self, document: FreshDocument) -> bool:
        """Whether a document passes."""
        return (
            document.key.session_id not in self._admitted.without
            and self._admitted.seqs.holds(document.seq)
            and self._admitted.times.holds(document.time)
            and self._admitted.created_at.holds(document.created)
            and all(any(token in document.traits for token in each) for each in self._wanted)
        )
