"""Mentions: any label comes back, attempts are decided, and talk stays as it is."""

from __future__ import annotations

import re
from itertools import takewhile
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.references.errors import InvalidReference
from sessiongraph.references.mention import MessageText, ReferenceInput, mention_of, parse_text
from sessiongraph.references.uri import SCHEME, encode_uri
from tests.strategies import any_text

BASE64URL = ascii_letters + digits + "-_"
A, B = encode_uri("a"), encode_uri("b")
labels = st.one_of(any_text, st.text("ab]\\[@() \n" + SCHEME, max_size=30))


def joined(text: str) -> str:
    """The text as JSON knows it: surrogates that stand together are one character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def plain_mention(text: str, start: int) -> tuple[str, str, int] | None:
    """Label, URI and end of the mention that begins at a place, read character by character."""
    if not text.startswith("@[", start):
        return None
    label, place = "", start + 2
    while place < len(text) and text[place] != "]":
        if text[place] == "\\":
            place += 1
        label += text[place : place + 1]
        place += 1
    target = text[place + 2 :]
    if text[place : place + 2] != "](" or not target.startswith(SCHEME):
        return None
    uri = target.split(")")[0]
    if ")" not in target or uri.split() != [uri]:
        return None
    return label, uri, place + 2 + len(uri) + 1


def plain_bare(text: str, start: int) -> str:
    """The bare URI that begins at a place, empty when none does."""
    rest = text[start:].removeprefix(SCHEME)
    body = "".join(takewhile(BASE64URL.__contains__, rest))
    return SCHEME + body if text.startswith(SCHEME, start) and body else ""


def plain_parse(text: str) -> MessageText | None:
    """The grammar tried at every place; None where an attempt is refused."""
    known = {encode_uri(each): each for each in ("a", "b", "")}
    references: list[ReferenceInput] = []
    readable, place = "", 0
    while place < len(text):
        label: str | None = None
        uri, end = plain_bare(text, place), place + len(plain_bare(text, place))
        mention = plain_mention(text, place)
        if mention is not None:
            label, uri, end = mention
        if not uri:
            readable += text[place]
            place += 1
            continue
        if uri not in known:
            return None
        references.append(ReferenceInput(known[uri], label))
        readable += "@" + references[-1].shown
        place = end
    return MessageText(readable, tuple(references))


def parsed(text: str) -> MessageText | None:
    try:
        return parse_text(text)
    except InvalidReference:
        return None


@given(session_id=any_text, label=st.none() | labels)
def test_any_id_and_label_survive_a_mention(session_id: str, label: str | None) -> None:
    found = parse_text(mention_of(ReferenceInput(session_id, label)))
    shown = session_id if label is None else label
    (reference,) = found.references
    assert (reference.session_id, reference.label) == (joined(session_id), shown)
    assert found.text == f"@{shown}"


@given(
    pieces=st.lists(
        st.tuples(st.text("ab ()\n.", max_size=6), st.sampled_from("ab"), labels), max_size=5
    ),
    end=st.text("ab ()", max_size=5),
)
def test_mentions_are_found_in_order_between_other_words(
    pieces: list[tuple[str, str, str]], end: str
) -> None:
    text = "".join(
        words + mention_of(ReferenceInput(session_id, label)) for words, session_id, label in pieces
    )
    found = parse_text(text + end)
    assert found.text == "".join(f"{words}@{label}" for words, _, label in pieces) + end
    assert found.references == tuple(ReferenceInput(*rest) for _, *rest in pieces)


@given(
    pieces=st.lists(
        st.sampled_from(
            (
                "@[",
                "]",
                "](",
                ")",
                "\\",
                "x",
                " ",
                "@",
                "[",
                SCHEME,
                A,
                B,
                f"]({A})",
                f"({B})",
                "\n",
            )
        ),
        max_size=14,
    )
)
def test_any_text_is_read_as_the_plain_grammar_reads_it(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert parsed(text) == plain_parse(text)


@given(text=st.text(f"dsh-session: @[]()\\\n{SCHEME}", max_size=60))
def test_text_without_an_attempt_is_untouched(text: str) -> None:
    if not re.search(rf"{SCHEME}[A-Za-z0-9_-]|\]\({SCHEME}", text):
        assert parse_text(text) == MessageText(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        SCHEME,
        f"the scheme is called {SCHEME}",
        f"`{SCHEME}`, or “{SCHEME}”.",
        f"{SCHEME} followed by a space",
        f"{SCHEME}<base64url>",
        f"[a link]({SCHEME})",
        "dsh-session",
        "DSH-SESSION:ImEi",
        "@[a mention of something else](https://example.org)",
        "@[never closed",
        f"@[never closed]({SCHEME}",
    ],
)
def test_talk_about_the_scheme_stays_as_it_is(text: str) -> None:
    assert parse_text(text) == MessageText(text)


@pytest.mark.parametrize(
    "text",
    [
        f"{SCHEME}x",
        f"see {SCHEME}not-canonical for more",
        f"@[label]({SCHEME})",
        f"@[label]({SCHEME}%%%)",
        f"@[label]({A}=)",
        f"@[label]({A}x)",
        f"{A}{B}",
        f"{A} and {A}x",
        f"{SCHEME}NQ",
    ],
)
def test_an_attempt_that_is_not_canonical_is_refused(text: str) -> None:
    with pytest.raises(InvalidReference):
        parse_text(text)


def test_the_error_repeats_only_the_beginning_of_a_long_attempt() -> None:
    with pytest.raises(InvalidReference) as caught:
        parse_text(SCHEME + "x" * 10_000)
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    "text",
    [
        f"@[{'x' * 60}" * 20_000,
        "@[" * 200_000 + SCHEME,
        "@[]" * 200_000 + SCHEME,
        f"@[](({SCHEME}" * 50_000,
        f"@[]({SCHEME}" * 50_000,
        f"@[{SCHEME}\\" * 50_000,
        "\\" * 400_000 + SCHEME,
        f"@[{A}]" * 40_000,
    ],
    ids=lambda text: text[:12],
)
@pytest.mark.timeout(60)
def test_reading_is_linear_in_the_text(text: str) -> None:
    """Seconds at worst; what looks twice at a megabyte of beginnings takes hours."""
    parsed(text)
