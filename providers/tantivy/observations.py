"""One state of the index, and the ranking of its answers.

Tantivy gives hits by falling score, and equal scores in an order that changes with every merge. The
contract's order is by score, then newer time, then session id, then seq. So more hits are fetched
than are needed, those at the lowest score are left out (there may be more of them than were
fetched), and the rest is sorted as far as it is needed; when that is not enough, four times as many
are fetched. Where all hits have one score, as those of short texts often do, Tantivy is asked for
the newest instead.

The best hit of each log is the first of that log in this order. When a look does not bring enough
logs, those that it brought are left out of the next one: what that brings ranks behind them all. So
a ranking of logs is exact, and does not go through all hits of a log that has many.

What is not committed yet is looked through as a whole (:mod:`providers.tantivy.fresh`) and takes
its place among the others.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice, repeat
from typing import Any, Final, NamedTuple, cast

import tantivy
from typing_extensions import override

from providers.tantivy.documents import (
    CHECK,
    LOG,
    SEQ,
    TEXT,
    TIME,
    LogKey,
    key_in,
    key_of,
    tokens_in_row,
)
from providers.tantivy.failures import index_failures
from providers.tantivy.fresh import FreshDocument, Statistics, fresh_matches
from providers.tantivy.queries import EQUAL_SCORE, of_log, of_session, query_of
from sessiongraph.errors import IndexFailed
from sessiongraph.search.ports import Held, Hit, Ranking
from sessiongraph.search.question import MatchMode, Question

_FETCHED_FOR_EACH_LOG: Final = 4
_FETCHED_BESIDE: Final = 16
_MORE: Final = 4
_MORE_LOGS: Final = 2
_KNOWN_LOGS: Final = 100_000
_DIGITS: Final = 4
"""Of a score, behind the point. Sums of the same numbers may differ in their last bits, from one
way through the index to another; that must not decide an order."""


_PORTION: Final = 64
"""Hits of which it is looked up together what they are."""

_BRIEF_RANKING: Final = 64
_BRIEF_QUESTION: Final = 16
_BRIEF_LOOK: Final = 100
_BRIEF_SEARCH: Final = 10_000
_BRIEF_SCAN: Final = 200_000
"""Hits, places, fresh documents and candidates up to which ranking takes a few milliseconds; of one
token, most candidates are passed over by the best score that a block of them could have."""

_Scored = tuple[float, tantivy.DocAddress]


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
        if question.by_time:
            found = ((EQUAL_SCORE, each) for _, each in found)
        return sorted(
            _Ranked(
                -round(score, _DIGITS), -each.time, each.key.session_id, each.seq, each.key.epoch
            )
            for score, each in found
        )


class _Wanted:
    """Whether somebody still waits for a ranking; looked at before each look into the index."""

    def __init__(self) -> None:
        self.is_wanted = True

    def require(self) -> None:
        if not self.is_wanted:
            raise IndexFailed("the search was cancelled")


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
        gone = sum(self._sums(of_session(each))[0] for each in self._fresh.forgotten)
        return max(0, self._searcher.num_docs - 1) - gone + self._fresh.count

    async def held(self, logs: Sequence[tuple[str, int]]) -> list[Held]:
        """What there is of each of some logs."""
        return await asyncio.to_thread(self._held, logs)

    def _held(self, logs: Sequence[tuple[str, int]]) -> list[Held]:
        wanted = {session_id for session_id, _ in logs}
        fresh: defaultdict[str, list[FreshDocument]] = defaultdict(list)
        for each in islice(self._fresh.documents, self._fresh.count):
            if each.key.session_id in wanted:
                fresh[each.key.session_id].append(each)
        with index_failures("read"):
            return [self._held_of(*log, fresh.get(log[0], ())) for log in logs]

    def _held_of(self, session_id: str, epoch: int, fresh: Sequence[FreshDocument]) -> Held:
        checks = [each.check for each in fresh if each.key.epoch == epoch]
        others = len(fresh) - len(checks)
        if session_id in self._fresh.forgotten:
            return Held(len(checks), sum(checks), others)
        of_all, _ = self._sums(of_session(session_id))
        count, total = self._sums(of_log(session_id, key_of(session_id, epoch).number()))
        return Held(count + len(checks), total + sum(checks), of_all - count + others)

    def _sums(self, query: tantivy.Query) -> tuple[int, int]:
        """How many committed documents answer, and the sum of their checks."""
        found = self._searcher.aggregate(query, {CHECK: {"stats": {"field": CHECK}}})[CHECK]
        return int(found["count"]), int(found["sum"])

    async def rank(self, question: Question, least: int, *, distinct: bool) -> Ranking:
        """The first answers; see the port. Who is cancelled waits for the look that is going on."""
        wanted = _Wanted()
        if self._is_brief(question, least):
            return self._rank(question, least, distinct, wanted)
        work = asyncio.ensure_future(
            asyncio.to_thread(self._rank, question, least, distinct, wanted)
        )
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            wanted.is_wanted = False
            await asyncio.gather(work, return_exceptions=True)
            raise

    def _is_brief(self, question: Question, least: int) -> bool:
        """Whether ranking takes so little that the way to another thread costs more."""
        admitted = question.admitted
        return (
            least <= _BRIEF_RANKING
            and len(question.text.places) <= _BRIEF_QUESTION
            and self._fresh.count <= _BRIEF_LOOK
            and not admitted.without
            and not self._fresh.forgotten
            and (admitted.ids is None or len(admitted.ids) <= _BRIEF_QUESTION)
            and admitted.created_at.is_open
            and admitted.seqs.is_open
            and admitted.times.is_open
            and self._is_brief_search(question)
        )

    def _is_brief_search(self, question: Question) -> bool:
        """Whether few enough documents are looked at to find those that answer."""
        rows = [tokens_in_row(term) for term in question.text.terms]
        with index_failures("read"):
            counts = [min(self._searcher.doc_freq(TEXT, token) for token in row) for row in rows]
        if len(rows) == len(rows[0]) == 1:
            return counts[0] <= _BRIEF_SCAN
        candidates = sum(counts) if question.text.mode is MatchMode.ANY else min(counts)
        return candidates <= _BRIEF_SEARCH

    def _rank(self, question: Question, least: int, distinct: bool, wanted: _Wanted) -> Ranking:
        with index_failures("read"):
            fresh = self._fresh.ranked(question)
            if distinct:
                committed, complete = self._first_of_logs(question, least, wanted)
            else:
                forgotten = self._fresh.forgotten
                committed, complete = self._first(question, least, forgotten, wanted)
        found: Iterable[_Ranked] = committed
        if fresh:
            found = merge(committed, fresh)
            if not complete:
                # Behind the last one that is known, others may lie that are not.
                found = (each for each in found if each <= committed[-1])
        hits = [each.hit() for each in islice(_best(found) if distinct else found, least + 1)]
        return Ranking(hits[:least], complete and len(hits) <= least)

    def _first_of_logs(
        self, question: Question, least: int, still: _Wanted
    ) -> tuple[list[_Ranked], bool]:
        """The best of each log: those that a look finds are left out of the next one."""
        ranked: list[_Ranked] = []
        wanted = least * _FETCHED_FOR_EACH_LOG
        while True:
            without = self._fresh.forgotten | {each.session_id for each in ranked}
            most = least - len(ranked) + 1
            found, complete = self._first(question, wanted, without, still, logs=most)
            ranked += found
            if complete or len(ranked) >= least:
                return ranked, complete and len(ranked) <= least
            wanted *= _MORE_LOGS

    def _first(
        self,
        question: Question,
        least: int,
        without: frozenset[str],
        still: _Wanted,
        *,
        logs: int | None = None,
    ) -> tuple[list[_Ranked], bool]:
        """The first committed answers, some at least, and whether there are no others.

        logs: only the best of each log, and of no more logs than these.
        """
        query = query_of(question, without)
        everything = max(1, self._searcher.num_docs)
        wanted = least
        tied: float | None = None
        while True:
            wanted = min(wanted + _FETCHED_BESIDE, everything)
            order = None if tied is None else TIME
            still.require()
            hits = self._searcher.search(query, wanted, count=False, order_by_field=order).hits
            complete = len(hits) < wanted or wanted == everything
            sure = len(hits) if complete else _above_the_lowest(hits)
            if complete or sure >= (least if logs is None else 1):
                if tied is not None:
                    hits = [(tied, address) for _, address in hits]
                portion = _PORTION if logs is None else logs + logs // 4
                ranked = self._ranked(hits, sure, portion)
                return list(ranked if logs is None else islice(_best(ranked), logs)), complete
            if tied is None and not sure and self._all_tie(query, hits[0]):
                tied, wanted = hits[0][0], least
            else:
                wanted *= _MORE

    def _all_tie(self, query: tantivy.Query, best: _Scored) -> bool:
        """Whether every hit has the score of the best one."""
        found: Any = self._searcher.search(query, 1)  # its type lacks the count
        lowest = self._searcher.search(query, 1, count=False, offset=found.count - 1).hits
        return bool(lowest) and _shown(lowest[0]) == _shown(best)

    def _ranked(self, hits: Sequence[_Scored], end: int, portion: int) -> Iterator[_Ranked]:
        """The hits before ``end`` in order; what they are is looked up as they are taken."""
        at = 0
        while at < end:
            to = _end_of_equals(hits, min(at + portion, end), end)
            yield from self._in_order(hits[at:to])
            at = to

    def _in_order(self, hits: Sequence[_Scored]) -> Iterator[_Ranked]:
        """Hits in order, of which none has the score of one that is left out."""
        addresses = [address for _, address in hits]
        times = self._column(TIME, addresses)
        if (one := _falling(hits[0])) == _falling(hits[-1]):
            falling = [one] * len(hits)
        else:
            falling = [-round(score, _DIGITS) for score, _ in hits]
        if len(hits) <= _PORTION:
            yield from self._sorted(falling, times, addresses)
            return
        # Where many have one score, time tells most of them apart.
        if falling[0] == falling[-1]:
            order = sorted(range(len(hits)), key=times.__getitem__, reverse=True)
        else:
            order = sorted(range(len(hits)), key=lambda each: (falling[each], -times[each]))
        at = 0
        while at < len(order):
            to = min(at + _PORTION, len(order))
            while to < len(order) and (
                (falling[order[to]], times[order[to]])
                == (falling[order[to - 1]], times[order[to - 1]])
            ):
                to += 1
            part = order[at:to]
            yield from self._sorted(
                [falling[each] for each in part],
                [times[each] for each in part],
                [addresses[each] for each in part],
            )
            at = to

    def _sorted(
        self, falling: list[float], times: list[int], addresses: list[tantivy.DocAddress]
    ) -> list[_Ranked]:
        """Some hits in the order of the contract."""
        logs = map(self._logs.log, repeat(self._searcher), self._column(LOG, addresses), addresses)
        seqs = self._column(SEQ, addresses)
        return sorted(
            [
                _Ranked(score, -time, session_id, seq, epoch)
                for score, time, (session_id, epoch), seq in zip(
                    falling, times, logs, seqs, strict=True
                )
            ]
        )

    def _column(self, name: str, addresses: list[tantivy.DocAddress]) -> list[int]:
        """The values of a field that every document has."""
        return cast("list[int]", self._searcher.fast_field_values(name, addresses))


def _best(ranked: Iterable[_Ranked]) -> Iterator[_Ranked]:
    """The first of each log."""
    seen: set[tuple[str, int]] = set()
    for each in ranked:
        log = (each.session_id, each.epoch)
        if log not in seen:
            seen.add(log)
            yield each


def _shown(hit: _Scored) -> float:
    """The score of a hit, as far as it decides an order."""
    return round(hit[0], _DIGITS)


def _falling(hit: _Scored) -> float:
    return -_shown(hit)


def _above_the_lowest(hits: Sequence[_Scored]) -> int:
    """How many of some hits have a higher score than the last."""
    return bisect_left(hits, _falling(hits[-1]), key=_falling)


def _end_of_equals(hits: Sequence[_Scored], at: int, end: int) -> int:
    """Where those end that have the score of the hit before ``at``."""
    return bisect_right(hits, _falling(hits[at - 1]), at, end, key=_falling)
