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
from functools import cached_property
from typing import Final, cast

import tantivy
from tantivy import Occur, Query

from providers.tantivy.documents import PERIODS, SCHEMA, TIME, TRAITS, period_trait

NOTHING_YET: Final = -(2**63)
"""The time of the newest document of an index without any; no time is earlier."""

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
    """All documents from some time on.

    begins_at: that time (ms).
    """

    begins_at: int
    tokens: tuple[str, ...]
    documents: int

    def of(self, query: Query) -> Query:
        """The answers to a query that are in this part; scores mean nothing any more."""
        within = [
            (Occur.Should, Query.term_query(SCHEMA, TRAITS, each, "basic")) for each in self.tokens
        ]
        return Query.boolean_query([(Occur.Must, query), (Occur.Must, Query.boolean_query(within))])


class NewestParts:
    """The parts of one state of an index, shortest first; looked up when they are wanted.

    newest: no document is newer (ms).
    """

    def __init__(self, searcher: tantivy.Searcher, newest: int) -> None:
        self._searcher = searcher
        self._newest = newest

    @cached_property
    def _parts(self) -> list[NewestPart]:
        parts = []
        for period in PERIODS:
            last = self._newest >> period
            for count in _PERIODS_OF_A_PART:
                numbers = range(last, last - count, -1)
                tokens = tuple(period_trait(period, number) for number in numbers)
                documents = sum(self._searcher.doc_freq(TRAITS, token) for token in tokens)
                parts.append(NewestPart(numbers[-1] << period, tokens, documents))
        most = self._searcher.num_docs // _NARROWER
        parts = [each for each in parts if each.documents <= most]
        return sorted(parts, key=lambda each: (each.documents, len(each.tokens)))

    def holding(self, wanted: int, answers: float) -> Iterator[NewestPart]:
        """Parts to look into, one after the other, for some of the newest answers to a question.

        answers: how many there are in the whole index, about.
        """
        if answers <= FEW_ANSWERS:
            return
        least = _LIKELY * wanted / answers * self._searcher.num_docs
        for part in self._parts:
            if part.documents >= least:
                yield part
                least = part.documents * _LONGER


def newest_in(searcher: tantivy.Searcher) -> int:
    """The time of the newest document of an index (ms), found by looking at all of them."""
    found = searcher.search(Query.all_query(), 1, count=False, order_by_field=TIME).hits
    times = [cast("int", time) for time, _ in found if time is not None]  # the watermark has none
    return max(times, default=NOTHING_YET)
