"""Candidates: near ones first, by what is on the cover and by nothing that was said."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.errors import InvalidLimit, SessionNotFound
from sessiongraph.event import Entry
from sessiongraph.header import SessionHeader
from sessiongraph.references.candidates import Candidate, candidates
from sessiongraph.references.limits import ReferenceLimits
from sessiongraph.references.mention import ReferenceInput, parse_text
from tests.plain_store import PlainLogStore, run
from tests.sessiongraph.references.corpora import Log, answer, observing, store_of
from tests.strategies import corpora, event, header, prompt, words, wrapped_result
from tests.strategies import message as message_event

ASKING = "asking"


def offered(
    store: PlainLogStore,
    part: str = "",
    limit: int | None = None,
    *,
    asking: str = ASKING,
    candidate_limit: int = 50,
) -> list[Candidate]:
    async def offer() -> list[Candidate]:
        limits = ReferenceLimits(candidate_limit=candidate_limit)
        async with observing(store) as observation:
            return await candidates(observation, limits, asking, part, limit)

    return run(offer())


def titled(title: str) -> list[Entry]:
    return [event(0, "session/title", {"title": title})]


def corpus() -> PlainLogStore:
    return store_of(
        (header(ASKING, 5, cwd="/here"), []),
        (header("other-new", 9, cwd="/there"), titled("Retry policy")),
        (header("none-old", 2), []),
        (
            header("here-old", 1, cwd="/here"),
            titled("first"),
        ),
        (header("none-new", 8), titled("Straße")),
        (header("here-new", 3, cwd="/here"), []),
        (header("other-old", 4, cwd="/here/below"), []),
        (header("other-tie", 4, cwd="/a"), []),
    )


def ids(candidates: Sequence[Candidate]) -> list[str]:
    return [each.session_id for each in candidates]


def test_same_cwd_comes_first_then_none_then_others_and_the_newest_first_within() -> None:
    assert ids(offered(corpus())) == [
        "here-new",
        "here-old",
        "none-new",
        "none-old",
        "other-new",
        "other-old",
        "other-tie",
    ]


def test_for_a_session_without_a_cwd_those_without_one_come_first_and_share_nothing() -> None:
    found = offered(corpus(), asking="none-old")
    assert ids(found)[:2] == ["none-new", "other-new"]
    assert not any(each.same_cwd for each in found)


def test_a_candidate_is_labelled_by_its_title_or_its_id() -> None:
    found = {each.session_id: each for each in offered(corpus())}
    assert found["here-old"] == Candidate("here-old", "first", "/here", 1, True)
    assert found["none-old"] == Candidate("none-old", "none-old", None, 2, False)
    assert found["here-new"].label == "here-new"


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("RETRY", ["other-new"]),
        ("retry  policy", []),
        ("here-", ["here-new", "here-old"]),
        ("/HERE", ["here-new", "here-old", "other-old"]),
        ("strasse", ["none-new"]),
        ("%", []),
        ("_", []),
        ("zebra", []),
        ("asking", []),
    ],
)
def test_a_part_of_id_cwd_or_title_filters_in_any_case(part: str, expected: list[str]) -> None:
    assert ids(offered(corpus(), part)) == expected


def test_the_latest_title_counts() -> None:
    log: list[Entry] = [*titled("before"), event(1, "session/title", {"title": "after"})]
    store = store_of((header(ASKING), []), (header("s"), log))
    assert ids(offered(store, "after")) == ["s"]
    assert offered(store, "before") == []


def test_no_more_are_offered_than_asked_for_or_configured() -> None:
    everything = ids(offered(corpus()))
    assert ids(offered(corpus(), limit=2)) == everything[:2]
    assert ids(offered(corpus(), limit=5, candidate_limit=3)) == everything[:3]
    assert ids(offered(corpus(), candidate_limit=3)) == everything[:3]


@pytest.mark.parametrize("limit", [0, -1])
def test_fewer_than_one_cannot_be_asked_for(limit: int) -> None:
    with pytest.raises(InvalidLimit):
        offered(corpus(), limit=limit)


def test_nobody_asks_from_a_session_that_does_not_exist() -> None:
    with pytest.raises(SessionNotFound):
        offered(corpus(), asking="nowhere")


def test_the_mention_of_a_candidate_reads_back() -> None:
    store = store_of((header(ASKING), []), (header("odd ]\\ id"), titled("a ] title \\")))
    (candidate,) = offered(store)
    assert parse_text(candidate.mention).references == (
        ReferenceInput("odd ]\\ id", "a ] title \\"),
    )


@given(
    drawn=corpora(),
    cwd=st.sampled_from((None, "/p", "/p/q", "/elsewhere")),
    part=st.sampled_from(("", "a", "RETRY", "/p", "\ud800", "策")) | words,
    limit=st.integers(1, 9),
)
def test_any_corpus_is_offered_by_the_plain_rule(
    drawn: list[tuple[SessionHeader, list[Entry]]], cwd: str | None, part: str, limit: int
) -> None:
    store = store_of((header(ASKING, cwd=cwd), []), *drawn)

    def rank(log: Log) -> tuple[int, int, str]:
        mine = log[0].cwd
        near = 0 if mine is not None and mine == cwd else 1 if mine is None else 2
        return near, -log[0].created_at, log[0].session_id

    def admits(log: Log) -> bool:
        titles = [each.data["title"] for each in log[1] if each.type == "session/title"]  # type: ignore[union-attr]
        covers = (log[0].session_id, log[0].cwd or "", *titles[-1:])
        return any(part.casefold() in cover.casefold() for cover in covers)

    expected = [log[0].session_id for log in sorted(drawn, key=rank) if admits(log)][:limit]
    assert ids(offered(store, part, limit)) == expected


SECRET = "xylophone"


def talkative(secret: str) -> list[Entry]:
    """A conversation that holds a word in every place where something can be said."""
    block = [{"type": "text", "text": secret}]
    assistant = answer(1, secret)
    return [
        prompt(0, f"please {secret}"),
        assistant,
        message_event(2, "tool/result", wrapped_result(secret, block)),
        event(3, "tool/call", {"callId": secret, "name": secret, "arguments": secret}),
        event(4, "todo/write", {"todos": [{"content": secret, "status": "pending"}]}),
        event(5, "session/title", {"title": "a plain title"}),
        event(6, "goal/change", {"goal": secret}),
        event(7, f"custom/{secret}", {secret: secret}),
    ]


def test_nothing_said_is_searched_shown_or_moves_the_order() -> None:
    def told(secrets: Sequence[str], part: str) -> list[Candidate]:
        sessions = [
            (header(name, 10 + number, cwd="/here"), talkative(secret))
            for number, (name, secret) in enumerate(zip("abc", secrets, strict=True))
        ]
        return offered(store_of((header(ASKING, cwd="/here"), []), *sessions), part)

    silent, loud, shuffled = ("x", "y", "z"), (SECRET,) * 3, ("aaa", SECRET, "plain title")
    for part in ("", "a plain", "here", SECRET, SECRET[:3], "please", "bash"):
        answers = [told(secrets, part) for secrets in (silent, loud, shuffled)]
        assert answers[0] == answers[1] == answers[2]
        assert SECRET not in repr(answers)
    assert told(loud, SECRET) == []
