"""What was found out about an index and holds for the next search, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import tantivy

from providers.tantivy.documents import LogKey, key_in
from sessiongraph.search.question import IndexFilter, Question, SearchText

KNOWN_LOGS: Final = 100_000
KNOWN_QUESTIONS: Final = 1_000
"""Logs and questions of which something is kept; then it is found out anew."""


class KnownLogs:
    """Which log each number stands for; a number never changes its log."""

    def __init__(self) -> None:
        self._logs: dict[int, tuple[str, int]] = {}

    def of(
        self,
        searcher: tantivy.Searcher,
        numbers: Sequence[int],
        addresses: Sequence[tantivy.DocAddress],
    ) -> list[tuple[str, int]]:
        """Session id and epoch of the log of each of some documents, which have its number."""
        known = self._logs
        return [
            known.get(number) or self._learned(number, key_in(searcher, address))
            for number, address in zip(numbers, addresses, strict=True)
        ]

    def _learned(self, number: int, key: LogKey) -> tuple[str, int]:
        log = (key.session_id, key.epoch)
        if len(self._logs) >= KNOWN_LOGS:
            self._logs.clear()
        self._logs[number] = log
        return log


class KnownQuestions:
    """What one state of the index has to say of questions, found by asking it.

    Whether the answers to a question all have one score is found by looking through all of them.
    Many questions are such: for a word that texts of about one length have once each, say.
    """

    def __init__(self) -> None:
        self._candidates: dict[SearchText, int] = {}
        self._only: dict[tuple[SearchText, IndexFilter], int | None] = {}

    def candidates(self, text: SearchText, count: Callable[[SearchText], int]) -> int:
        """How many documents are looked at for a text; counted when it is not known."""
        known = self._candidates.get(text)
        if known is None:
            known = count(text)
            if len(self._candidates) >= KNOWN_QUESTIONS:
                self._candidates.clear()
            self._candidates[text] = known
        return known

    def only_score(self, question: Question) -> int | None:
        """The score of all answers in steps; None where there are several, or nobody knows."""
        return self._only.get((question.text, question.admitted))

    def has_several_scores(self, question: Question) -> bool:
        """Whether there is known to be more than one score."""
        return self._only.get((question.text, question.admitted), 0) is None

    def learn_score(self, question: Question, only: int | None) -> None:
        """Remember the score of all answers; None: there are several."""
        if len(self._only) >= KNOWN_QUESTIONS:
            self._only.clear()
        self._only[question.text, question.admitted] = only
