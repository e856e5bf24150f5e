from __future__ import annotations

import sys
import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sessiongraph.search.analysis import (
    LONGEST_PLACE,
    is_cjk,
    places_of,
    spaced,
    spaced_pairs,
    words_of,
)
from tests.contracts.search_index import texts
from tests.plain_search import plain_words

any_text = st.one_of(texts, st.text(st.characters(exclude_categories=()), max_size=40))


def places(text: str) -> list[str]:
    return [word.place for word in words_of(text)]


@given(any_text)
@example("ﬁLe①½㍿x")
@example("ｶﾞｷﾞ゙゚")
@example("\u200dé́A\u0301b")
@example("HTTPServer éÈa DžA")
def test_both_ways_find_what_a_plain_look_finds(text: str) -> None:
    expected = plain_words(text)
    careful = list(words_of(text))
    assert [(word.place, word.parts) for word in careful] == [
        (word.place, word.parts) for word in expected
    ]
    quick = places_of(text)
    assert " ".join(quick.row).split() == [word.place for word in expected]
    assert len(quick.parts) == len(set(quick.parts))
    assert set(quick.parts) == {word.parts for word in expected if word.parts}


def test_every_mark_and_symbol_of_unicode_is_what_a_plain_look_finds() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if unicodedata.category(character) in ("Mn", "Mc", "Me", "So"):
            text = f"a{character}b"
            assert places(text) == [word.place for word in plain_words(text)], hex(code)


common_text = st.text(
    st.sampled_from("aZ9_ .\n写入重试かカー한글，。「」—’…·　ﾞ\u3099"), max_size=60
)


@given(st.one_of(any_text, common_text))
@example("it’s 写入。事件 aB，cD 한글—e")
def test_runs_are_the_longest_rows_of_characters(text: str) -> None:
    expected, run = [], ""
    for word in [*words_of(text), None]:
        if word is not None and is_cjk(word.place):
            run += word.place
            continue
        expected += [run] if len(run) > 1 else []
        run = ""
    quick = places_of(text)
    assert quick.runs == expected
    assert " ".join(quick.row).split() == places(text)
    assert set(quick.parts) == {word.parts for word in words_of(text) if word.parts}


@given(any_text)
def test_places_stand_in_order_inside_the_text(text: str) -> None:
    end = 0
    for word in words_of(text):
        assert 0 <= word.start < word.end <= len(text)
        assert word.end >= end
        end = word.end


@given(any_text)
def test_what_is_folded_stays_as_it_is_when_folded_again(text: str) -> None:
    for place in places(text):
        assert places(place) == [place]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("restoreFloor", ["restorefloor"]),
        ("session_projcache", ["session", "projcache"]),
        ("SESSION_QUERY_STALE_CURSOR", ["session", "query", "stale", "cursor"]),
        ("src/a/b.py", ["src", "a", "b", "py"]),
        ("重试失败，缓存", list("重试失败缓存")),
        ("Redis缓存2", ["redis", "缓", "存", "2"]),
        ("ＦＵＬＬ　ｗｉｄｔｈ", ["full", "width"]),
        ("Café CAFE\u0301 naïve", ["cafe", "cafe", "naive"]),
        ("Straße", ["strasse"]),
        ("ｶﾞｲﾄﾞ", list("ガイド")),
        ("\u1112\u1161\u11ab글", list("한글")),
        ("👍🏽 🚀!", ["👍", "🚀"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ('AND NOT * " ( ) \\ \x01', ["and", "not"]),
        ("***", []),
    ],
)
def test_texts_and_their_places(text: str, found: list[str]) -> None:
    assert places(text) == found


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("restoreFloor", ("restore", "floor")),
        ("HTTPServer", ("http", "server")),
        ("base64Encode", ("base64", "encode")),
        ("ÉtatCivil", ("etat", "civil")),
        ("Restore", ()),
        ("RESTORE", ()),
        ("restore_floor", ()),
    ],
)
def test_words_in_camel_case_have_parts(word: str, parts: tuple[str, ...]) -> None:
    assert places_of(word).parts == ([parts] if parts else [])


def test_runs_of_characters_go_on_over_lines_and_punctuation_and_end_at_words() -> None:
    assert places_of("重试\n失败。缓存 x 清 y 存储").runs == ["重试失败缓存", "存储"]


def test_a_word_that_is_too_long_for_an_index_is_cut() -> None:
    word = "x" * (2 * LONGEST_PLACE + 1)
    expected = ["x" * LONGEST_PLACE, "x" * LONGEST_PLACE, "x"]
    assert places(word) == expected
    assert " ".join(places_of(f"{word} é").row).split() == [*expected, "e"]


@pytest.mark.parametrize(
    "text",
    ["x" * 200_000, "aB" * 100_000, "é" * 200_000, "aé" * 100_000, "A" * 200_000, "重" * 200_000],
)
def test_the_work_grows_with_the_text_and_no_faster(text: str) -> None:
    begun = time.perf_counter()
    places_of(text)
    assert time.perf_counter() - begun < 2


@given(st.text(st.sampled_from("重试失败了缓存\U00020000\uac00カ"), min_size=2, max_size=40))
def test_runs_are_spaced_out_alike_whatever_their_length(run: str) -> None:
    assert spaced(run) == " ".join(run)
    assert spaced_pairs(run).split(" ") == [run[at : at + 2] for at in range(len(run) - 1)]
