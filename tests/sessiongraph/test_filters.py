"""What a list of filters admits, decided again by brute force."""

from __future__ import annotations

import unicodedata
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.errors import InvalidFilter
from sessiongraph.event import Entry, EventSurface, PlacedEvent, events_of
from sessiongraph.filters import (
    ALL_EVENTS,
    ALL_SESSIONS,
    Availability,
    EventSelection,
    Range,
    SessionSelection,
    literal_text,
    text_pattern,
)
from sessiongraph.header import SessionHeader, SourceKind
from sessiongraph.ports import StoredSession
from sessiongraph.text import semantic_text
from tests.plain_store import admits_session, in_range, plain_fold
from tests.strategies import (
    LOG_ONLY_TYPES,
    MESSAGES,
    WORDS,
    event,
    headers,
    literal_texts,
    logs,
    ranges,
    user_message,
    words,
)

Filter = dict[str, Any]

# Simple foldings (status S) of characters whose full folding is longer, from CaseFolding.txt.
_SIMPLE_FOLDS = {"\u1fd3": "\u0390", "\u1fe3": "\u03b0", "\ufb05": "\ufb06"}


def simple_fold(character: str) -> str:
    """Unicode's simple case folding of one character."""
    if character in _SIMPLE_FOLDS:
        return _SIMPLE_FOLDS[character]
    for folded in (character.casefold(), character.lower()):
        if len(folded) == 1:
            return folded
    return character


def naive_contains(text: str, part: str) -> bool:
    """Whether the words of ``part`` stand in ``text`` somewhere, white space between them."""
    return any(_stands_at(text, part.split(), start) for start in range(len(text) + 1))


def _stands_at(text: str, parts: list[str], place: int) -> bool:
    for number, word in enumerate(parts):
        if number > 0:
            gap = place
            while place < len(text) and text[place].isspace():
                place += 1
            if place == gap:
                return False
        found = text[place : place + len(word)]
        if [*map(simple_fold, found)] != [*map(simple_fold, word)]:
            return False
        place += len(word)
    return True


# Text


def is_not_blank(text: str) -> bool:
    return text.split() != []


TRICKY = "aAiIıİsSſßẞkKKσςΣéÉåÅÅ\u0345ΐΐﬅﬆ.*+?[](){}|^$\\-# \t\n\u00a0\u3000\x1c"
tricky = st.text(st.sampled_from(TRICKY), max_size=8)


@given(text=tricky | words, part=tricky.filter(is_not_blank) | literal_texts)
def test_a_text_is_found_as_by_a_naive_scan(text: str, part: str) -> None:
    found = text_pattern(literal_text("text", part)).search(text) is not None
    assert found is naive_contains(text, part)


@given(before=tricky, part=st.text(max_size=6).filter(is_not_blank), after=tricky)
def test_a_text_is_found_wherever_it_stands_literally(before: str, part: str, after: str) -> None:
    assert text_pattern(literal_text("text", part)).search(before + part + after)


def test_case_is_folded_as_unicode_folds_it_simply_for_every_cased_character() -> None:
    everything = map(chr, [*range(0xD800), *range(0xE000, 0x110000)])
    cased = [each for each in everything if {each.lower(), each.upper(), each.casefold()} != {each}]
    classes: dict[str, set[str]] = {}
    for each in cased:
        classes.setdefault(simple_fold(each), set()).add(each)
    haystack = "".join(cased)
    wrong = [
        f"{each} {unicodedata.name(each)}"
        for each in cased
        if set(text_pattern.__wrapped__(each).findall(haystack)) != classes[simple_fold(each)]
    ]
    assert wrong == []


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u00a0\u3000"])
def test_a_blank_text_is_an_invalid_filter(text: str) -> None:
    with pytest.raises(InvalidFilter):
        ALL_EVENTS.narrowed(text=text)
    with pytest.raises(InvalidFilter):
        ALL_SESSIONS.narrowed(title=text)


def test_the_text_filter_looks_at_semantic_text_alone() -> None:
    data = user_message("shown") | {"id": "hidden", "stream": ["hidden"]}
    placed = PlacedEvent("a", event(0, "user/message", data), plain_fold([]).placement(0))
    assert ALL_EVENTS.narrowed(text="SHOWN").admits(placed)
    assert not ALL_EVENTS.narrowed(text="hidden").admits(placed)


# Ranges


@given(one=ranges(st.integers(-5, 5)), two=ranges(st.integers(-5, 5)))
def test_a_range_holds_what_lies_between_its_ends(one: Range, two: Range) -> None:
    both = one.intersect(two)
    for value in range(-7, 8):
        assert one.holds(value) is in_range(one, value)
        assert both.holds(value) is (in_range(one, value) and in_range(two, value))


@given(one=ranges(st.integers(-5, 5)))
def test_an_empty_range_holds_nothing_and_others_something(one: Range) -> None:
    assert one.is_empty is not any(in_range(one, value) for value in range(-99, 100))


@pytest.mark.parametrize(("low", "high"), [(1, 0), (0, -1), (2**53, 0)])
def test_a_reversed_range_is_an_invalid_filter(low: int, high: int) -> None:
    with pytest.raises(InvalidFilter):
        Range.of("seq", low, high)


@pytest.mark.parametrize(("low", "high"), [(0, 0), (None, -1), (5, None), (None, None)])
def test_other_ranges_are_taken_as_given(low: int | None, high: int | None) -> None:
    assert Range.of("seq", low, high) == Range(low, high)


# Events: filters in a list are ANDed, values in one are ORed


def event_filters() -> st.SearchStrategy[Filter]:
    types = st.lists(st.sampled_from((*MESSAGES, *LOG_ONLY_TYPES)), max_size=9)
    return st.one_of(
        ranges(st.integers(0, 20)).map(lambda value: {"seqs": value}),
        ranges(st.integers(1000, 1010)).map(lambda value: {"times": value}),
        types.map(lambda value: {"types": value}),
        st.lists(st.sampled_from(EventSurface)).map(lambda value: {"surfaces": value}),
        st.sampled_from(WORDS).filter(is_not_blank).map(lambda value: {"text": value}),
    )


def naive_event(one: Filter, placed: PlacedEvent) -> bool:
    """Whether an event passes one filter."""
    ((name, value),) = one.items()
    if name == "seqs":
        return in_range(value, placed.seq)
    if name == "times":
        return in_range(value, placed.time)
    if name == "types":
        return placed.type in value
    if name == "surfaces":
        return placed.surface in value
    return naive_contains(semantic_text(placed.event), value)


def narrowed_events(filters: list[Filter]) -> EventSelection:
    selection = ALL_EVENTS
    for each in filters:
        selection = selection.narrowed(**each)
    return selection


@given(log=logs(), filters=st.lists(event_filters(), max_size=3))
def test_an_event_passes_a_list_of_filters_when_it_passes_each(
    log: list[Entry], filters: list[Filter]
) -> None:
    events = [each for entry in log for each in events_of(entry)]
    fold = plain_fold(events)
    selection = narrowed_events(filters)
    for each in events:
        placed = PlacedEvent("a", each, fold.placement(each.seq))
        assert selection.admits(placed) is all(naive_event(one, placed) for one in filters)


@given(log=logs(), filters=st.lists(event_filters(), max_size=4))
def test_an_impossible_selection_admits_no_event(log: list[Entry], filters: list[Filter]) -> None:
    events = [each for entry in log for each in events_of(entry)]
    fold = plain_fold(events)
    selection = narrowed_events(filters)
    if selection.impossible:
        placed = [PlacedEvent("a", each, fold.placement(each.seq)) for each in events]
        assert not any(selection.admits(each) for each in placed)


@pytest.mark.parametrize(
    "filters",
    [
        [{"types": []}],
        [{"surfaces": []}],
        [{"types": ["a/b"]}, {"types": ["c/d"]}],
        [{"seqs": Range(None, 3)}, {"seqs": Range(4, None)}],
        [{"times": Range(5, None)}, {"times": Range(0, 4)}],
    ],
)
def test_filters_that_contradict_each_other_are_impossible(filters: list[Filter]) -> None:
    assert narrowed_events(filters).impossible


def test_no_filter_is_possible_and_admits_everything() -> None:
    assert not ALL_EVENTS.impossible
    assert not ALL_SESSIONS.impossible
    assert ALL_EVENTS.admits(PlacedEvent("a", event(0), plain_fold([]).placement(0)))


# Sessions


def session_filters() -> st.SearchStrategy[Filter]:
    ids = st.sampled_from(("a", "b", "\ud800lone", "🚀"))
    return st.one_of(
        st.lists(ids).map(lambda value: {"ids": value}),
        st.lists(st.none() | st.sampled_from(("/p", "/p/q"))).map(lambda value: {"cwds": value}),
        ranges(st.integers(1000, 1005)).map(lambda value: {"created_at": value}),
        st.lists(st.none() | ids).map(lambda value: {"parents": value}),
        st.lists(st.sampled_from(Availability)).map(lambda value: {"availability": value}),
        st.lists(st.sampled_from(SourceKind)).map(lambda value: {"sources": value}),
        st.lists(st.sampled_from((None, "subagent"))).map(lambda value: {"origins": value}),
        literal_texts.map(lambda value: {"title": value}),
    )


def narrowed_sessions(filters: list[Filter]) -> SessionSelection:
    selection = ALL_SESSIONS
    for each in filters:
        selection = selection.narrowed(**each)
    return selection


@given(new=headers(), title=st.none() | words, filters=st.lists(session_filters(), max_size=3))
def test_a_session_passes_a_list_of_filters_when_it_passes_each(
    new: SessionHeader, title: str | None, filters: list[Filter]
) -> None:
    session = StoredSession(1, 1, new, -1, title, None)
    each_passes = [admits_session(narrowed_sessions([one]), session) for one in filters]
    assert admits_session(narrowed_sessions(filters), session) is all(each_passes)
    assert not (narrowed_sessions(filters).impossible and all(each_passes))


def test_none_among_the_values_admits_what_has_none() -> None:
    selection = ALL_SESSIONS.narrowed(parents=[None, "a"])
    assert selection.parents == frozenset({None, "a"})
    assert not selection.impossible


# Digests


@given(filters=st.lists(event_filters(), max_size=3), data=st.data())
def test_the_digest_of_event_filters_does_not_depend_on_any_order(
    filters: list[Filter], data: st.DataObject
) -> None:
    shuffled = [
        {name: data.draw(st.permutations(value)) if isinstance(value, list) else value}
        for one in data.draw(st.permutations(filters))
        for name, value in one.items()
    ]
    assert narrowed_events(shuffled).digest() == narrowed_events(filters).digest()


@given(filters=st.lists(session_filters(), max_size=3))
def test_the_digest_of_session_filters_does_not_depend_on_their_order(
    filters: list[Filter],
) -> None:
    digests = {narrowed_sessions(list(order)).digest() for order in permutations(filters)}
    assert len(digests) == 1


def test_repeating_a_filter_does_not_change_the_digest() -> None:
    once = ALL_EVENTS.narrowed(text="a").narrowed(types=["x/y"])
    assert once.narrowed(text="a").narrowed(types=["x/y", "x/y"]).digest() == once.digest()


@given(one=st.lists(event_filters(), max_size=2), two=st.lists(event_filters(), max_size=2))
def test_different_event_filters_have_different_digests(
    one: list[Filter], two: list[Filter]
) -> None:
    first, second = narrowed_events(one), narrowed_events(two)
    same = meaning(first) == meaning(second)
    assert (first.digest() == second.digest()) is same


@given(one=st.lists(session_filters(), max_size=2), two=st.lists(session_filters(), max_size=2))
def test_different_session_filters_have_different_digests(
    one: list[Filter], two: list[Filter]
) -> None:
    first, second = narrowed_sessions(one), narrowed_sessions(two)
    same = meaning(first) == meaning(second)
    assert (first.digest() == second.digest()) is same


def meaning(selection: EventSelection | SessionSelection) -> list[Any]:
    """The fields of a selection, its texts as a set."""
    values = [getattr(selection, name) for name in selection.__dataclass_fields__]
    return [set(value) if isinstance(value, tuple) else value for value in values]
