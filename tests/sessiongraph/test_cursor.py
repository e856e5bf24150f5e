"""Cursors: what was issued is read back, and nothing else."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.cursor import KEY_BYTES, CursorCodec
from sessiongraph.errors import InvalidCursor, StaleCursor
from tests.strategies import any_text

CODEC = CursorCodec(b"k" * KEY_BYTES)
# Surrogates that stand together are one character in JSON and come back as one.
key_text = any_text.filter(lambda text: text == _joined(text))
keys = st.lists(st.none() | st.integers(-(2**60), 2**60) | key_text, max_size=4)
names = st.text(max_size=8)
BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def _joined(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


@given(brand=names, bound=key_text, key=keys)
def test_a_key_comes_back_as_it_was_issued(brand: str, bound: str, key: list[Any]) -> None:
    assert CODEC.read(brand, bound, CODEC.issue(brand, bound, key)) == key


@given(brand=names, bound=key_text, key=keys)
def test_a_token_is_base64url_and_nothing_else(brand: str, bound: str, key: list[Any]) -> None:
    assert set(CODEC.issue(brand, bound, key)) <= set(BASE64URL)


@given(key=keys, data=st.data())
def test_a_token_with_any_character_changed_is_invalid(key: list[Any], data: st.DataObject) -> None:
    token = CODEC.issue("events", "bound", key)
    place = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.sampled_from(BASE64URL + "+/= .é\x00"))
    changed = token[:place] + other + token[place + 1 :]
    if changed != token:
        with pytest.raises(InvalidCursor):
            CODEC.read("events", "bound", changed)


@pytest.mark.parametrize("length", range(3))
def test_the_last_character_of_a_token_has_one_spelling(length: int) -> None:
    token = CODEC.issue("events", "bound", ["x" * length])
    for other in BASE64URL:
        if other != token[-1]:
            with pytest.raises(InvalidCursor):
                CODEC.read("events", "bound", token[:-1] + other)


def test_the_other_base64_alphabet_is_not_ours() -> None:
    tokens = [CODEC.issue("events", "bound", [number]) for number in range(40)]
    spelled = [token.replace("-", "+").replace("_", "/") for token in tokens]
    changed = [other for other in spelled if other not in tokens]
    assert changed, "no token of these has a character in which the alphabets differ"
    for other in changed:
        with pytest.raises(InvalidCursor):
            CODEC.read("events", "bound", other)


@given(key=keys, data=st.data())
def test_a_token_cut_or_continued_is_invalid(key: list[Any], data: st.DataObject) -> None:
    token = CODEC.issue("events", "bound", key)
    length = data.draw(st.integers(0, len(token) - 1))
    for changed in (token[:length], token + data.draw(st.sampled_from(BASE64URL + "= \n"))):
        with pytest.raises(InvalidCursor):
            CODEC.read("events", "bound", changed)


@given(token=any_text)
def test_what_nobody_issued_is_invalid(token: str) -> None:
    with pytest.raises(InvalidCursor):
        CODEC.read("events", "bound", token)


def test_a_token_of_another_field_is_invalid() -> None:
    with pytest.raises(InvalidCursor):
        CODEC.read("surface", "bound", CODEC.issue("events", "bound", [1]))


def test_a_token_for_something_else_is_stale() -> None:
    with pytest.raises(StaleCursor):
        CODEC.read("events", "other", CODEC.issue("events", "bound", [1]))


def test_a_token_of_another_server_is_invalid() -> None:
    other = CursorCodec(b"o" * KEY_BYTES)
    with pytest.raises(InvalidCursor):
        CODEC.read("events", "bound", other.issue("events", "bound", [1]))


def test_a_token_holds_under_the_same_secret_after_a_restart() -> None:
    again = CursorCodec(b"k" * KEY_BYTES)
    assert again.read("events", "bound", CODEC.issue("events", "bound", [1])) == [1]


@pytest.mark.parametrize("length", [0, KEY_BYTES - 1, KEY_BYTES + 1])
def test_a_secret_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError):
        CursorCodec(b"k" * length)


@given(brand=names, bound=key_text, key=keys)
def test_a_token_for_a_part_of_the_corpus_comes_back_there_and_nowhere_else(
    brand: str, bound: str, key: list[Any]
) -> None:
    part, other = CODEC.within("part"), CODEC.within("other")
    token = part.issue(brand, bound, key)
    assert part.read(brand, bound, token) == key
    with pytest.raises(StaleCursor):
        other.read(brand, bound, token)
    with pytest.raises(InvalidCursor):
        CODEC.read(brand, bound, token)
    with pytest.raises(InvalidCursor):
        part.read(brand, bound, CODEC.issue(brand, bound, key))


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_such_a_token_tells_nothing_of_its_numbers(one: int, other: int) -> None:
    part = CODEC.within("part")
    tokens = [part.issue("cited by", f"{each}:a", [each, "", 1, 0]) for each in (one, other)]
    assert len(tokens[0]) == len(tokens[1])
    assert (tokens[0] == tokens[1]) == (one == other)
    octets = base64.urlsafe_b64decode(tokens[0] + "=" * (-len(tokens[0]) % 4))
    assert b"cited" not in octets
