"""One state of the index, and the ranking of its answers.

Tantivy gives hits by falling score, and equal scores in an order that changes with every merge. The
contract's order is by score, then newer time, then session id, then seq. So more hits are fetched
than are needed, those at the lowest score are left out (there may be more of them than were
fetched), and the rest is sorted; when that is not enough, four times as many are fetched.

The best hit of each log is the first of that log in this order. When a look does not bring enough
logs, those that it brought are left out of the next one: what that brings ranks behind them all. So
a ranking of logs is exact, and does not go through all hits of a log that has many.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import groupby, islice
from typing import Final, cast

import tantivy

from providers.tantivy.documents import LOG, SEQ, TIME, LogKey, key_in
from providers.tantivy.failures import index_failures
from providers.tantivy.queries import query_of
from sessiongraph.ports import Position
from sessiongraph.search.ports import Hit, Ranking
from sessiongraph.search.question import Question

_FETCHED_FOR_EACH_LOG: Final = 8
_FETCHED_BESIDE: Final = 64
_MORE: Final = 4
_MORE_LOGS: Final = 2
_KNOWN_LOGS: Final = 100_000


class KnownLogs:
    """Which log each number stands for; a number never changes its log."""

    def __init__(self) -> None:
        self._logs: dict[int, tuple[str, int]] = {}

    def log(
        self, searcher: tantivy.Searcher, number: int, address: tantivy.DocAddress
    ) -> tuple[str, int]:
        """Session id and epoch of the log with a number, that a document is of."""
        known = self._logs.get(number)
        if known is None:
            key: LogKey = key_in(searcher, address)
            known = (key.session_id, key.epoch)
            if len(self._logs) >= _KNOWN_LOGS:
                self._logs.clear()
            self._logs[number] = known
        return known


class TantivyObservation:
    """See :class:`sessiongraph.search.ports.IndexObservation`."""

    def __init__(self, searcher: tantivy.Searcher, position: Position, logs: KnownLogs) -> None:
        self._searcher = searcher
        self._position = position
        self._logs = logs

    @property
    def position(self) -> Position:
        """The last commit of the feed that this state holds."""
        return self._position

    async def rank(self, question: Question, least: int, *, distinct: bool) -> Ranking:
        """The first answers; see the port."""
        return await asyncio.to_thread(self._rank, question, least, distinct)

    def _rank(self, question: Question, least: int, distinct: bool) -> Ranking:
        with index_failures("read"):
            if distinct:
                return self._rank_logs(question, least)
            hits, complete = self._first(question, least)
            return Ranking(hits[:least], complete and len(hits) <= least)

    def _rank_logs(self, question: Question, least: int) -> Ranking:
        """The best of each log: those that a look finds are left out of the next one."""
        hits: list[Hit] = []
        wanted = least * _FETCHED_FOR_EACH_LOG
        while True:
            without = frozenset(hit.session_id for hit in hits)
            most = least - len(hits) + 1
            found, complete = self._first(question, wanted, without, logs=most)
            hits += found
            if complete or len(hits) >= least:
                return Ranking(hits[:least], complete and len(hits) <= least)
            wanted *= _MORE_LOGS

    def _first(
        self,
        question: Question,
        least: int,
        without: frozenset[str] = frozenset(),
        logs: int | None = None,
    ) -> tuple[list[Hit], bool]:
        """The first answers, some at least, and whether there are no others.

        logs: only the best of each log, and of no more logs than these.
        """
        query = query_of(question, without)
        everything = max(1, self._searcher.num_docs)
        wanted = least
        while True:
            wanted = min(wanted + _FETCHED_BESIDE, everything)
            found = self._searcher.search(query, wanted, count=False).hits
            complete = len(found) < wanted or wanted == everything
            sure = found if complete else found[: _above_the_lowest(found)]
            if complete or len(sure) >= (least if logs is None else 1):
                return list(islice(self._hits(sure, logs is not None), logs)), complete
            wanted *= _MORE

    def _hits(self, found: list[tuple[float, tantivy.DocAddress]], distinct: bool) -> Iterator[Hit]:
        numbers = self._column(LOG, found)
        times, seqs = self._column(TIME, found), self._column(SEQ, found)
        rows = [
            (-score, -time, number, seq, address)
            for (score, address), time, number, seq in zip(found, times, numbers, seqs, strict=True)
        ]
        rows.sort(key=_score_and_time)
        seen: set[int] = set()
        for _, equals in groupby(rows, key=_score_and_time):
            hits = []
            for _, older, number, seq, address in equals:
                if number not in seen:
                    session_id, epoch = self._logs.log(self._searcher, number, address)
                    hits.append((session_id, seq, epoch, -older, number))
            hits.sort()
            for session_id, seq, epoch, time, number in hits:
                if number not in seen:
                    yield Hit(session_id, epoch, seq, time)
                if distinct:
                    seen.add(number)

    def _column(self, name: str, found: list[tuple[float, tantivy.DocAddress]]) -> list[int]:
        """The values of a field that every document has."""
        values = self._searcher.fast_field_values(name, [address for _, address in found])
        return cast("list[int]", values)


def _score_and_time(row: tuple[float, int, int, int, tantivy.DocAddress]) -> tuple[float, int]:
    return row[0], row[1]


def _above_the_lowest(found: list[tuple[float, tantivy.DocAddress]]) -> int:
    """How many of some hits have a higher score than the last."""
    count = len(found)
    lowest = found[-1][0]
    while count and found[count - 1][0] == lowest:
        count -= 1
    return count
