from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sessiongraph.errors import InvalidQuery
from sessiongraph.search.analysis import words_of
from sessiongraph.search.question import MatchMode, SearchText
from sessiongraph.search.snippets import Snippet, SnippetMaker, Span
from tests.contracts.search_index import modes, texts
from tests.plain_search import plain_match, plain_words, stands_in

FAMILY = "👩‍👩‍👧‍👦"
FLAG = "🇩🇪"

long_texts = st.lists(
    st.one_of(
        texts, st.sampled_from(["  \n\t ", "filler words here ", FAMILY, FLAG, "e\u0301", "重"])
    ),
    max_size=40,
).map("".join)


def shown(text: str, query: str, most: int = 240, mode: MatchMode = MatchMode.ALL) -> Snippet:
    return SnippetMaker(SearchText.of(query, mode, 20_000), most).snippet(text)


def marked(snippet: Snippet) -> list[str]:
    return [snippet.text[span.start : span.end] for span in snippet.highlights]


@given(text=long_texts, query=texts, mode=modes, most=st.sampled_from([20, 40, 240]))
def test_what_always_holds_of_a_snippet(text: str, query: str, mode: MatchMode, most: int) -> None:
    try:
        wanted = SearchText.of(query, mode, 20_000)
    except InvalidQuery:
        return
    snippet = SnippetMaker(wanted, most).snippet(text)
    assert len(snippet.text) <= most
    assert "  " not in snippet.text
    assert not any(character in snippet.text for character in "\n\t")
    inner = snippet.text.strip("…").strip()
    assert inner in " ".join(text.split())
    end = 0
    for span in snippet.highlights:
        assert end <= span.start < span.end <= len(snippet.text)
        end = span.end
    if plain_match(text, wanted):
        assert snippet.highlights
    whole = snippet.text == " ".join(text.split())
    if whole:
        rows = [word.place for word in plain_words(text)]
        for piece in marked(snippet):
            assert stands_in(tuple(word.place for word in plain_words(piece)), rows) or any(
                plain_words(piece)[0].place in word.parts for word in plain_words(text)
            )


@given(
    words=st.lists(st.sampled_from(["ab", "b", "bab", "a", "ba1", "_", "-", "1"]), max_size=30),
    joints=st.sampled_from(["", " ", "_", ", "]),
    query=st.sampled_from(["ab", "b ab", "a ba1 x", "bab b", "ab_b a"]),
    mode=modes,
)
def test_words_are_marked_alike_however_they_are_looked_for(
    words: list[str], joints: str, query: str, mode: MatchMode
) -> None:
    text = f"x{joints.join(words)}. {' '.join(words)}"
    quickly = shown(text, query, 10_000, mode).highlights
    with_care = shown(f"{text} é", query, 10_000, mode).highlights
    assert quickly == with_care


@pytest.mark.parametrize(
    ("text", "query", "snippet", "highlighted"),
    [
        ("one\n\n two\tthree ", "two", "one two three", ["two"]),
        ("the retry policy; Retry it", "RETRY", "the retry policy; Retry it", ["retry", "Retry"]),
        (
            "retrying re_retry; xretry RETRY",
            "retry",
            "retrying re_retry; xretry RETRY",
            ["retry", "RETRY"],
        ),
        ("b a; aa b_a", "a b", "b a; aa b_a", ["b", "a", "b", "a"]),
        ("缓存缓存缓", "缓存", "缓存缓存缓", ["缓存", "缓存"]),
        ("see restoreFloor()", "floor", "see restoreFloor()", ["Floor"]),
        ("see restoreFloor()", "restorefloor", "see restoreFloor()", ["restoreFloor"]),
        (
            "a session_projcache b",
            "session_projcache",
            "a session_projcache b",
            ["session_projcache"],
        ),
        ("in src/a/b.py now", "src/a/b.py", "in src/a/b.py now", ["src/a/b.py"]),
        ("重试失败了，缓存", "失败", "重试失败了，缓存", ["失败"]),
        ("ＦＵＬＬ café", "full cafe", "ＦＵＬＬ café", ["ＦＵＬＬ", "café"]),
        ("x 👍🏽 y", "👍🏽", "x 👍🏽 y", ["👍"]),
        ("alpha beta gamma", "beta delta", "alpha beta gamma", ["beta"]),
    ],
)
def test_snippets_of_short_texts(
    text: str, query: str, snippet: str, highlighted: list[str]
) -> None:
    mode = MatchMode.ANY if "delta" in query else MatchMode.ALL
    found = shown(text, query, mode=mode)
    assert found.text == snippet
    assert marked(found) == highlighted


marked_text = st.lists(
    st.sampled_from([*"muzé ,ñ中か가", "u\u0308", "e\u0301", "z\u0903"]), max_size=16
).map("".join)


@pytest.mark.parametrize(("text", "query"), [("か\u3099", "か"), ("가\u11a8", "가")])
def test_what_composes_into_another_character_is_not_marked(text: str, query: str) -> None:
    maker = SnippetMaker(SearchText.of(query, MatchMode.ALL, 1000), 20)
    assert maker.snippet(text) == Snippet(text, ())
    assert maker.snippet(f"{text} {query}").highlights == (Span(3, 4),)


@given(marked_text, st.sampled_from(["mu", "zu", "u", "mu zu", "か", "中", "가", "か中", "m"]))
@example("Zu\u0308rich" + " filler" * 80 + " zu hause", "zu")
@example("mu\u0308sli mu", "mu")
@example("cafe\u0301 ist", "cafe")
def test_highlights_in_text_with_marks_are_of_whole_places(text: str, query: str) -> None:
    """Where a term that was found does not end, or does not begin, a place, nothing is marked."""
    wanted = SearchText.of(query, MatchMode.ANY, 1000)
    starts, ends = set(), set()
    for word in words_of(text):
        starts.add(word.start)
        ends.add(word.end)
    spans = SnippetMaker(wanted, max(1, len(text)) + 2)._spans(text)
    assert {start for start, _ in spans} <= starts
    assert {end for _, end in spans} <= ends
    found = [text[start:end] for start, end in spans]
    rows = {place for term in wanted.terms for place in term}
    assert all({word.place for word in words_of(each)} <= rows for each in found)


def test_a_long_text_is_cut_around_the_match() -> None:
    text = "before " * 200 + "the needle lies here " + "behind " * 200
    snippet = shown(text, "needle", 80)
    assert snippet.text.startswith("…")
    assert snippet.text.endswith("…")
    assert 60 < len(snippet.text) <= 80
    assert marked(snippet) == ["needle"]


def test_the_window_that_holds_more_terms_is_shown() -> None:
    text = "alpha " + "filler " * 100 + "beta alpha gamma " + "filler " * 100
    assert marked(shown(text, "alpha beta gamma", 60)) == ["beta", "alpha", "gamma"]


@pytest.mark.parametrize("whole", [FAMILY, FLAG, "e\u0301\u0302", "\u1112\u1161\u11ab", "👍🏽"])
def test_no_cut_goes_through_what_a_reader_sees_as_one_character(whole: str) -> None:
    for padding in range(12):
        text = "x" * padding + whole * 60 + " needle " + whole * 60
        snippet = shown(text, "needle", 40).text.strip("…")
        before, _, behind = snippet.partition("needle")
        for piece in (before.strip(), behind.strip()):
            assert piece.strip("x").replace(whole, "") == ""


def test_a_match_at_the_end_of_a_huge_text_is_found_in_bearable_time() -> None:
    text = "some words of no interest, 中文, " * 30_000 + "needle"
    begun = time.perf_counter()
    assert marked(shown(text, "needle")) == ["needle"]
    assert time.perf_counter() - begun < 5
