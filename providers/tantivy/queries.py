"""Questions as Tantivy's query objects. Nothing a caller wrote is ever parsed as a query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tantivy import FieldType, Occur, Query

from providers.tantivy.documents import (
    CREATED,
    LOG,
    SCHEMA,
    SEQ,
    TEXT,
    TIME,
    TRAITS,
    session_trait,
    tokens_in_row,
    traits_asked_for,
)
from sessiongraph.filters import Range
from sessiongraph.search.question import IndexFilter, MatchMode, Question, Term

_LEAST, _MOST = -(2**63), 2**63 - 1
_NO_SCORE: Final = 0.0
_TOGETHER: Final = 256
"""Tokens that are looked for one by one. More are looked for along the whole dictionary of each
segment, and all of their documents are gathered first."""
EQUAL_SCORE: Final = 1.0
"""Of every answer to a question by time."""


def query_of(question: Question, without: frozenset[str] = frozenset()) -> Query:
    """The query of a question; ``without``: sessions that are left out."""
    text = _text_query(question)
    if question.by_time:
        text = Query.const_score_query(text, EQUAL_SCORE)
    without |= question.admitted.without
    filters = [Query.const_score_query(each, _NO_SCORE) for each in _filters(question.admitted)]
    if not filters and not without:
        return text
    parts = [(Occur.Must, each) for each in (text, *filters)]
    if without:
        parts.append((Occur.MustNot, one_of(list(map(session_trait, without)))))
    return Query.boolean_query(parts)


def of_session(session_id: str) -> Query:
    """Every document of a session."""
    return one_of([session_trait(session_id)])


def of_log(session_id: str, number: int) -> Query:
    """Every document of the log of a session that has a number."""
    log = Query.range_query(SCHEMA, LOG, FieldType.Integer, number, number)
    return Query.boolean_query([(Occur.Must, of_session(session_id)), (Occur.Must, log)])


def _text_query(question: Question) -> Query:
    text = question.text
    terms = [_standing_together(term) for term in text.terms]
    if len(terms) == 1:
        return terms[0]
    occurs = Occur.Should if text.mode is MatchMode.ANY else Occur.Must
    # Where they all stand together, that counts beside each of them.
    together = (Occur.Should, _standing_together(text.places))
    return Query.boolean_query([*((occurs, term) for term in terms), together])


def _standing_together(places: Term) -> Query:
    tokens = tokens_in_row(places)
    if len(tokens) == 1:
        return Query.term_query(SCHEMA, TEXT, tokens[0])
    return Query.phrase_query(SCHEMA, TEXT, list(tokens))


def _filters(admitted: IndexFilter) -> Iterable[Query]:
    yield from map(one_of, traits_asked_for(admitted))
    for name, bounds in (
        (CREATED, admitted.created_at),
        (SEQ, admitted.seqs),
        (TIME, admitted.times),
    ):
        if not bounds.is_open:
            yield _within(name, bounds)


def one_of(tokens: Sequence[str]) -> Query:
    """Every document that has one of some traits; the scores mean nothing."""
    if len(tokens) > _TOGETHER:
        return Query.term_set_query(SCHEMA, TRAITS, tokens)
    each = [Query.term_query(SCHEMA, TRAITS, token, "basic") for token in tokens]
    return each[0] if len(each) == 1 else Query.boolean_query([(Occur.Should, one) for one in each])


def _within(name: str, bounds: Range) -> Query:
    low = _LEAST if bounds.low is None else bounds.low
    high = _MOST if bounds.high is None else bounds.high
    if low > _MOST or high < _LEAST:
        return Query.empty_query()
    return Query.range_query(SCHEMA, name, FieldType.Integer, max(low, _LEAST), min(high, _MOST))
