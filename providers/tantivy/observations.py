"""One state of the index, and the ranking of its answers.

Tantivy gives hits by falling score, and equal scores in an order that changes with every merge. The
contract's order is by score, then newer time, then session id, then seq. So more hits are fetched
than are needed, those at the lowest score are left out (there may be more of them than were
fetched), and the rest is sorted; when that is not enough, four times as many are fetched.

The best hit of each log is the first of that log in this order. When a look does not bring enough
logs, those that it brought are left out of the next one: what that brings ranks behind them all. So
a ranking of logs is exact, and does not go through all hits of a log that has many.

What is not committed yet is looked through as a whole (:mod:`providers.tantivy.fresh`) and takes
its place among the others.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby, islice
from typing import Final, NamedTuple, cast

import tantivy
from typing_extensions import override

from providers.tantivy.documents import LOG, SEQ, TIME, LogKey, key_in, key_of
from providers.tantivy.failures import index_failures
from providers.tantivy.fresh import FreshDocument, Statistics, fresh_matches
from providers.tantivy.queries import of_log, of_session, query_of
from sessiongraph.search.ports import Held, Hit, Ranking
from sessiongraph.search.question import Question

_FETCHED_FOR_EACH_LOG: Final = 8
_FETCHED_BESIDE: Final = 64
_MORE: Final = 4
_MORE_LOGS: Final = 2
_KNOWN_LOGS: Final = 100_000
_DIGITS: Final = 4
"""Of a score, behind the point. Sums of the same numbers may differ in their last bits, from one
way through the index to another; that must not decide an order."""


class _Ranked(NamedTuple):
    """One answer; sorts as the contract orders them."""

    falling_score: float
    falling_time: int
    session_id: str
    seq: int
    epoch: int

    def hit(self) -> Hit:
        return Hit(self.session_id, self.epoch, self.seq, -self.falling_time)


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


@dataclass(frozen=True, slots=True)
class FreshView:
    """What one observation sees beyond the last commit.

    documents: the first ``count`` of them. forgotten: sessions whose committed documents are gone.
    """

    documents: list[FreshDocument]
    count: int
    forgotten: frozenset[str]
    statistics: Statistics

    def ranked(self, question: Question) -> list[_Ranked]:
        """Those that answer, in order."""
        if not self.count:
            return []
        found = fresh_matches(self.documents, self.count, question, self.statistics)
        return sorted(
            _Ranked(
                -round(score, _DIGITS), -each.time, each.key.session_id, each.seq, each.key.epoch
            )
            for score, each in found
        )


class TantivyObservation:
    """See :class:`sessiongraph.search.ports.IndexObservation`."""

    def __init__(self, searcher: tantivy.Searcher, logs: KnownLogs, fresh: FreshView) -> None:
        self._searcher = searcher
        self._logs = logs
        self._fresh = fresh

    @override
    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TantivyObservation)
            and self._searcher is other._searcher
            and self._fresh.documents is other._fresh.documents
            and self._fresh.count == other._fresh.count
            and self._fresh.forgotten == other._fresh.forgotten
        )

    @override
    def __hash__(self) -> int:
        return hash((id(self._searcher), self._fresh.count))

    @property
    def documents(self) -> int:
        """How many there are, the watermark aside."""
        gone = sum(self._seqs(of_session(each))[0] for each in self._fresh.forgotten)
        return max(0, self._searcher.num_docs - 1) - gone + self._fresh.count

    async def held(self, logs: Sequence[tuple[str, int]]) -> list[Held]:
        """What there is of each of some logs."""
        return await asyncio.to_thread(self._held, logs)

    def _held(self, logs: Sequence[tuple[str, int]]) -> list[Held]:
        wanted = {session_id for session_id, _ in logs}
        fresh: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for each in islice(self._fresh.documents, self._fresh.count):
            if each.key.session_id in wanted:
                fresh[each.key.session_id].append((each.key.epoch, each.seq))
        with index_failures("read"):
            return [self._held_of(*log, fresh.get(log[0], ())) for log in logs]

    def _held_of(self, session_id: str, epoch: int, fresh: Sequence[tuple[int, int]]) -> Held:
        seqs = [seq for of_epoch, seq in fresh if of_epoch == epoch]
        others = len(fresh) - len(seqs)
        if session_id in self._fresh.forgotten:
            return Held(len(seqs), sum(seqs), others)
        of_all, _ = self._seqs(of_session(session_id))
        count, total = self._seqs(of_log(session_id, key_of(session_id, epoch).number()))
        return Held(count + len(seqs), total + sum(seqs), of_all - count + others)

    def _seqs(self, query: tantivy.Query) -> tuple[int, int]:
        """How many committed documents answer, and the sum of their seqs."""
        found = self._searcher.aggregate(query, {SEQ: {"stats": {"field": SEQ}}})[SEQ]
        return int(found["count"]), int(found["sum"])

    async def rank(self, question: Question, least: int, *, distinct: bool) -> Ranking:
        """The first answers; see the port."""
        return await asyncio.to_thread(self._rank, question, least, distinct)

    def _rank(self, question: Question, least: int, distinct: bool) -> Ranking:
        with index_failures("read"):
            fresh = self._fresh.ranked(question)
            if distinct:
                committed, complete = self._first_of_logs(question, least)
            else:
                committed, complete = self._first(question, least, self._fresh.forgotten)
        found: Iterable[_Ranked] = committed
        if fresh:
            found = merge(committed, fresh)
            if not complete:
                # Behind the last one that is known, others may lie that are not.
                found = (each for each in found if each <= committed[-1])
        hits = [each.hit() for each in islice(_best(found) if distinct else found, least + 1)]
        return Ranking(hits[:least], complete and len(hits) <= least)

    def _first_of_logs(self, question: Question, least: int) -> tuple[list[_Ranked], bool]:
        """The best of each log: those that a look finds are left out of the next one."""
        ranked: list[_Ranked] = []
        wanted = least * _FETCHED_FOR_EACH_LOG
        while True:
            without = self._fresh.forgotten | {each.session_id for each in ranked}
            most = least - len(ranked) + 1
            found, complete = self._first(question, wanted, without, logs=most)
            ranked += found
            if complete or len(ranked) >= least:
                return ranked, complete and len(ranked) <= least
            wanted *= _MORE_LOGS

    def _first(
        self,
        question: Question,
        least: int,
        without: frozenset[str],
        *,
        logs: int | None = None,
    ) -> tuple[list[_Ranked], bool]:
        """The first committed answers, some at least, and whether there are no others.

        logs: only the best of each log, and of no more logs than these.
        """
        query = query_of(question, without)
        everything = max(1, self._searcher.num_docs)
        wanted = least
        while True:
            wanted = min(wanted + _FETCHED_BESIDE, everything)
            hits = self._searcher.search(query, wanted, count=False).hits
            found = [(round(score, _DIGITS), address) for score, address in hits]
            complete = len(found) < wanted or wanted == everything
            sure = found if complete else found[: _above_the_lowest(found)]
            if complete or len(sure) >= (least if logs is None else 1):
                ranked = self._ranked(sure)
                return list(ranked if logs is None else islice(_best(ranked), logs)), complete
            wanted *= _MORE

    def _ranked(self, found: list[tuple[float, tantivy.DocAddress]]) -> Iterator[_Ranked]:
        """Committed documents in order; of which logs they are is looked up as they are taken."""
        numbers, seqs = self._column(LOG, found), self._column(SEQ, found)
        rows = [
            (-score, -time, number, seq, address)
            for (score, address), time, number, seq in zip(
                found, self._column(TIME, found), numbers, seqs, strict=True
            )
        ]
        rows.sort(key=_score_and_time)
        for _, equals in groupby(rows, key=_score_and_time):
            yield from sorted(self._placed(row) for row in equals)

    def _placed(self, row: tuple[float, int, int, int, tantivy.DocAddress]) -> _Ranked:
        falling_score, falling_time, number, seq, address = row
        session_id, epoch = self._logs.log(self._searcher, number, address)
        return _Ranked(falling_score, falling_time, session_id, seq, epoch)

    def _column(self, name: str, found: list[tuple[float, tantivy.DocAddress]]) -> list[int]:
        """The values of a field that every document has."""
        values = self._searcher.fast_field_values(name, [address for _, address in found])
        return cast("list[int]", values)


def _best(ranked: Iterable[_Ranked]) -> Iterator[_Ranked]:
    """The first of each log."""
    seen: set[tuple[str, int]] = set()
    for each in ranked:
        log = (each.session_id, each.epoch)
        if log not in seen:
            seen.add(log)
            yield each


def _score_and_time(row: tuple[float, int, int, int, tantivy.DocAddress]) -> tuple[float, int]:
    return row[0], row[1]


def _above_the_lowest(found: list[tuple[float, tantivy.DocAddress]]) -> int:
    """How many of some hits have a higher score than the last."""
    count = len(found)
    lowest = found[-1][0]
    while count and found[count - 1][0] == lowest:
        count -= 1
    return count
