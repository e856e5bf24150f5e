"""Periods: where only the newest of many documents are wanted, the others are not looked at.

Tantivy finds the newest documents of a word by reading the times of all that have it. So every
document has a token for the period that its time is in, at each of some lengths. The last period of
a length, or the last two, are all documents from some time on: whatever else there is, is older
than any of them. Who wants some of the newest asks within the shortest part that is likely to hold
them, and within a longer one when it does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import tantivy
from tantivy import Occur, Query

from providers.tantivy.documents import (
    PERIODS,
    documents_with,
    last_long_period,
    period_trait,
)
from providers.tantivy.queries import one_of

FEW_ANSWERS: Final = 2_000
"""To read so many times takes no longer than to ask for a part."""

_PERIODS_OF_A_PART: Final = (1, 2)
"""The last one alone may just have begun."""

_LIKELY: Final = 2.0
"""So many times what is wanted must be expected in a part, for what is not evenly spread."""

_NARROWER: Final = 4
"""A part that holds more than one in so many of all documents saves nothing."""

_LONGER: Final = 8
"""So many times as many documents are in the next part that is looked into, at least."""


@dataclass(frozen=True, slots=True)
class NewestPart:
    """All documents from some time on: those that have one of some tokens."""

    tokens: tuple[str, ...]
    documents: int

    def of(self, query: Query) -> Query:
        """The answers to a query that are in this part; scores mean nothing any more."""
        return Query.boolean_query([(Occur.Must, query), (Occur.Must, one_of(self.tokens))])


class NewestParts:
    """The parts of one state of an index that leave out most of it, shortest first."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self._documents = searcher.num_docs
        most = self._documents // _NARROWER
        parts = [each for each in _parts_of(searcher) if each.documents <= most]
        self._parts = sorted(parts, key=lambda each: (each.documents, len(each.tokens)))

    def holding(self, wanted: int, answers: float) -> Iterator[NewestPart]:
        """Parts to look into, one after the other, for some of the newest answers to a question.

        answers: how many there are in the whole index, about.
        """
        if answers <= FEW_ANSWERS:
            return
        least = _LIKELY * wanted / answers * self._documents
        for part in self._parts:
            if part.documents >= least:
                yield part
                least = part.documents * _LONGER


def _parts_of(searcher: tantivy.Searcher) -> Iterator[NewestPart]:
    """The last periods of each length; each last one lies in that of the next longer."""
    last = last_long_period(searcher)
    if last is None:
        return
    longer = PERIODS[-1]
    for length in reversed(PERIODS):
        begins, ends = last << longer - length, last + 1 << longer - length
        within = reversed(range(begins, ends))
        last = next(n for n in within if documents_with(searcher, [period_trait(length, n)]))
        longer = length
        for count in _PERIODS_OF_A_PART:
            tokens = tuple(period_trait(length, last - n) for n in range(count))
            yield NewestPart(tokens, documents_with(searcher, tokens))
