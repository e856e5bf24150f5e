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
from heapq import merge
from itertools import islice
from typing import Any, Final, cast

import msgspec
import tantivy
from typing_extensions import override

from providers.tantivy.documents import (
    CHECK,
    LOG,
    SEQ,
    TEXT,
    TIME,
    documents_with,
    key_in,
    key_of,
    tokens_in_row,
    traits_asked_for,
)
from providers.tantivy.failures import IndexFailures
from providers.tantivy.fresh import FreshDocument, Statistics, fresh_matches
from providers.tantivy.known import KnownLogs, KnownQuestions
from providers.tantivy.periods import FEW_ANSWERS, NewestParts
from providers.tantivy.queries import EQUAL_SCORE, of_log, of_session, query_of
from sessiongraph.errors import IndexFailed
from sessiongraph.search.ports import Held, Hit, Ranking
from sessiongraph.search.question import MatchMode, Question, SearchText

_FETCHED_FOR_EACH_LOG: Final = 5
_FETCHED_BESIDE: Final = 16
_MORE: Final = 4
_MORE_LOGS: Final = 2
_STEPS: Final = 10_000
"""Of one unit of a score. Sums of the same numbers may differ in their last bits, from one way
through the index to another; that must not decide an order."""

_COUNTED: Final = 8
"""Tokens of one filter, of which it is looked up how many documents have them."""

_PORTION: Final = 64
"""Hits of which it is looked up together what they are."""

_FEW: Final = 8
"""Documents that are read one by one; of more, the columns of the index are read."""

_BRIEF_RANKING: Final = 64
_BRIEF_QUESTION: Final = 16
_BRIEF_LOOK: Final = 100
_BRIEF_SEARCH: Final = 10_000
_BRIEF_SCAN: Final = 200_000
"""Hits, places, fresh documents and candidates up to which ranking takes a few milliseconds; of one
token, most candidates are passed over by the best score that a block of them could have."""

_Ranked = tuple[int, int, str, int, int]
"""Falling score in steps, falling time, session id, seq and epoch of one answer; sorts as the
contract orders them. Plain, since each search makes many of them and sorts them. The time can be
0 where no other answer has the score."""


class FreshView(msgspec.Struct, frozen=True):
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
            (-_steps(score), -each.time, each.key.session_id, each.seq, each.key.epoch)
            for score, each in found
        )


class _Look(msgspec.Struct, frozen=True):
    """Documents that one look into the index brought.

    keys: falling scores in steps, or falling times; they never descend along the documents.
    tied: the score of all of them in steps, where they are keyed by time.
    alone: no others are ranked among them.
    """

    keys: list[int]
    addresses: list[tantivy.DocAddress]
    tied: int | None
    alone: bool

    def before_the_last(self) -> int:
        """How many have another key than the last one."""
        return bisect_left(self.keys, self.keys[-1])

    def part(self, at: int, to: int) -> _Look:
        """Some of them."""
        return _Look(self.keys[at:to], self.addresses[at:to], self.tied, self.alone)

    @property
    def falling(self) -> list[int]:
        """Their falling scores in steps."""
        return self.keys if self.tied is None else [-self.tied] * len(self.keys)

    @property
    def has_order(self) -> bool:
        """Whether their scores alone tell all of them apart."""
        return self.alone and self.tied is None and len(set(self.keys)) == len(self.keys)


class _Wanted:
    """Whether somebody still waits for a ranking; looked at before each look into the index."""

    def __init__(self) -> None:
        self.is_wanted = True

    def require(self) -> None:
        if not self.is_wanted:
            raise IndexFailed("the search was cancelled")


class TantivyObservation:
    """See :class:`sessiongraph.search.ports.IndexObservation`."""

    def __init__(
        self,
        searcher: tantivy.Searcher,
        logs: KnownLogs,
        questions: KnownQuestions,
        parts: NewestParts,
        fresh: FreshView,
    ) -> None:
        self._searcher = searcher
        self._logs = logs
        self._questions = questions
        self._parts = parts
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
        with IndexFailures("read"):
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
            and self._is_brief_search(question.text)
        )

    def _is_brief_search(self, text: SearchText) -> bool:
        """Whether few enough documents are looked at to find those that answer."""
        most = _BRIEF_SCAN if len(tokens_in_row(text.places)) == 1 else _BRIEF_SEARCH
        return self._questions.candidates(text, self._candidates) <= most

    def _candidates(self, text: SearchText) -> int:
        rows = [tokens_in_row(term) for term in text.terms]
        with IndexFailures("read"):
            counts = [min(self._searcher.doc_freq(TEXT, token) for token in row) for row in rows]
        return sum(counts) if text.mode is MatchMode.ANY else min(counts)

    def _rank(self, question: Question, least: int, distinct: bool, wanted: _Wanted) -> Ranking:
        with IndexFailures("read"):
            fresh = self._fresh.ranked(question)
            if distinct:
                committed, complete = self._first_of_logs(question, least, wanted, alone=not fresh)
            else:
                committed, complete = self._first(
                    question, least, self._fresh.forgotten, wanted, alone=not fresh
                )
        found: Iterable[_Ranked] = committed
        if fresh:
            found = merge(committed, fresh)
            if not complete:
                # Behind the last one that is known, others may lie that are not.
                found = (each for each in found if each <= committed[-1])
            if distinct:
                found = _best(found)
        hits = [
            Hit(session_id, epoch, seq) for _, _, session_id, seq, epoch in islice(found, least + 1)
        ]
        return Ranking(hits[:least], complete and len(hits) <= least)

    def _first_of_logs(
        self, question: Question, least: int, still: _Wanted, *, alone: bool
    ) -> tuple[list[_Ranked], bool]:
        """The best of each log: those that a look finds are left out of the next one."""
        ranked: list[_Ranked] = []
        wanted = least * _FETCHED_FOR_EACH_LOG
        without = self._fresh.forgotten
        while True:
            most = least - len(ranked) + 1
            found, complete = self._first(question, wanted, without, still, alone=alone, logs=most)
            ranked += found
            if complete or len(ranked) >= least:
                return ranked, complete and len(ranked) <= least
            without |= {session_id for _, _, session_id, _, _ in found}
            wanted *= _MORE_LOGS

    def _first(
        self,
        question: Question,
        least: int,
        without: frozenset[str],
        still: _Wanted,
        *,
        alone: bool,
        logs: int | None = None,
    ) -> tuple[list[_Ranked], bool]:
        """The first committed answers, some at least, and whether there are no others.

        alone: no others are ranked among them.
        logs: only the best of each log, and of no more logs than these.
        """
        query = query_of(question, without)
        everything = max(1, self._searcher.num_docs)
        wanted = least
        tied = _steps(EQUAL_SCORE) if question.by_time else self._questions.only_score(question)
        is_whole = not without and not question.admitted.without
        while True:
            wanted = min(wanted + _FETCHED_BESIDE, everything)
            still.require()
            look = self._look(question, query, wanted, tied, alone=alone)
            complete = len(look.keys) < wanted or wanted == everything
            sure = len(look.keys) if complete else look.before_the_last()
            if complete or sure >= (least if logs is None else 1):
                portion = _PORTION if logs is None else logs + logs // 4
                ranked = self._ranked(look, sure, portion)
                return list(ranked if logs is None else islice(_best(ranked), logs)), complete
            if tied is None and not sure:
                tied = self._only_score(question, query, -look.keys[0], is_whole=is_whole)
            wanted = least if tied is not None and look.tied is None else wanted * _MORE

    def _look(
        self, question: Question, query: tantivy.Query, most: int, tied: int | None, *, alone: bool
    ) -> _Look:
        """Some documents that answer: the best, or the newest where all have one score."""
        if tied is None:
            hits = self._searcher.search(query, most, count=False).hits
            keys = [-int(score * _STEPS + 0.5) for score, _ in hits]  # as _steps, at once
        else:
            # Told that nobody asks for scores, it does not read what they are made of.
            hits = self._newest(question, tantivy.Query.const_score_query(query, EQUAL_SCORE), most)
            keys = [-cast("int", time) for time, _ in hits]
        return _Look(keys, [address for _, address in hits], tied, alone)

    def _newest(
        self, question: Question, query: tantivy.Query, most: int
    ) -> list[tuple[Any, tantivy.DocAddress]]:
        """The newest documents that answer, with their times."""
        hits = []
        for part in self._parts.holding(most, self._expected(question)):
            hits = self._by_time(part.of(query), most)
            if len(hits) == most:
                return hits
        return self._by_time(query, most)

    def _by_time(self, query: tantivy.Query, most: int) -> list[tuple[Any, tantivy.DocAddress]]:
        return self._searcher.search(query, most, count=False, order_by_field=TIME).hits

    def _expected(self, question: Question) -> float:
        """How many answers there are if its filters know nothing of one another."""
        expected: float = self._questions.candidates(question.text, self._candidates)
        for tokens in traits_asked_for(question.admitted):
            if expected > FEW_ANSWERS and len(tokens) <= _COUNTED:
                admitted = documents_with(self._searcher, tokens)
                expected *= min(1.0, admitted / self._searcher.num_docs)
        return expected

    def _only_score(
        self, question: Question, query: tantivy.Query, highest: int, *, is_whole: bool
    ) -> int | None:
        """The score of all answers to a query in steps, None where there are several.

        is_whole: it asks for all answers to the question.
        """
        if is_whole and self._questions.has_several_scores(question):
            return None
        turned = tantivy.Query.boost_query(query, -1.0)  # the last becomes the first
        ((score, _),) = self._searcher.search(turned, 1, count=False).hits
        only = highest if _steps(-score) == highest else None
        if is_whole:
            self._questions.learn_score(question, only)
        return only

    def _ranked(self, look: _Look, end: int, portion: int) -> Iterable[_Ranked]:
        """The documents of a look before ``end``, in order."""
        if end == len(look.keys) <= _FEW:
            return self._read(look)
        return self._in_portions(look, end, portion)

    def _in_portions(self, look: _Look, end: int, portion: int) -> Iterator[_Ranked]:
        """The same; looked up as they are taken, more and more of them at once."""
        at = 0
        while at < end:
            to = bisect_right(look.keys, look.keys[min(at + portion, end) - 1], at, end)
            yield from self._in_order(look.part(at, to))
            at = to
            portion *= _MORE

    def _in_order(self, look: _Look) -> Iterator[_Ranked]:
        """Documents in order, of which none has the key of one that is left out."""
        keys, falling, addresses = look.keys, look.falling, look.addresses
        if look.has_order:
            # To open the column of times takes longer than a short search.
            times = [0] * len(keys)
        elif look.tied is None:
            times = [-time for time in self._column(TIME, addresses)]
        else:
            times = keys
        if len(keys) <= _PORTION:
            yield from self._sorted(falling, times, addresses)
            return
        # Where many have one score, time tells most of them apart.
        order = sorted(range(len(keys)), key=lambda each: (falling[each], times[each]))
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

    def _read(self, look: _Look) -> list[_Ranked]:
        """Some documents in the order of the contract, from what is stored with each of them."""
        read = [key_in(self._searcher, address) for address in look.addresses]
        return sorted(
            [
                (score, -key.time, key.session_id, key.seq, key.epoch)
                for score, key in zip(look.falling, read, strict=True)
            ]
        )

    def _sorted(
        self, falling: list[int], times: list[int], addresses: list[tantivy.DocAddress]
    ) -> list[_Ranked]:
        """Some documents in the order of the contract; times are falling too."""
        logs = self._logs.of(self._searcher, self._column(LOG, addresses), addresses)
        seqs = self._column(SEQ, addresses)
        return sorted(
            [
                (score, time, session_id, seq, epoch)
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
        _, _, session_id, _, epoch = each
        log = (session_id, epoch)
        if log not in seen:
            seen.add(log)
            yield each


def _steps(score: float) -> int:
    """A score as far as it decides an order."""
    return int(score * _STEPS + 0.5)
