"""What a search finds is what a look at every event finds, whatever happened just before it."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sessiongraph.search.service
from sessiongraph.confined_view import ConfinedView
from sessiongraph.errors import EventNotFound, InvalidQuery, LogConflict, NotLive, SessionNotFound
from sessiongraph.event import EventSurface
from sessiongraph.filters import ALL_EVENTS, ALL_SESSIONS, Availability, Range
from sessiongraph.header import SourceKind
from sessiongraph.live_sessions import Durability
from sessiongraph.new_event import NewEvent
from sessiongraph.new_session import NewSession
from sessiongraph.paging import PageRequest
from sessiongraph.search.ports import Hit, Ranking
from sessiongraph.search.question import MatchMode, Question
from sessiongraph.search.service import SearchPage, SessionHit
from sessiongraph.visibility import Visibility
from tests.contracts.search_index import NOISE, SPEAKING, texts
from tests.plain_store import run
from tests.sessiongraph.live_engine import DURABLE, each_in_a_file_of_its_own, said
from tests.sessiongraph.search.engine import LAZY, Searched, searched

CURRENT, SHADOWED, LOG_ONLY = EventSurface.CURRENT, EventSurface.SHADOWED, EventSurface.LOG_ONLY

WORDS = st.lists(
    st.sampled_from(["retry", "floor", "restoreFloor", "缓存", "失效", "重", "x"]), max_size=4
).map(" ".join)

writable = texts.filter(
    lambda text: "\0" not in text and "\ud800" not in text and "\udfff" not in text
)
"""Texts that the write path takes: it refuses lone surrogates."""

steps = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.sampled_from("abc"), st.sampled_from(list(Durability))),
        st.tuples(
            st.just("say"),
            st.sampled_from("abc"),
            st.lists(st.one_of(WORDS, writable), min_size=1, max_size=3),
            st.sampled_from(list(Durability)),
        ),
        st.tuples(st.just("compact"), st.sampled_from("abc"), WORDS),
        st.tuples(st.just("fork"), st.sampled_from("abc"), st.sampled_from("defg")),
        st.tuples(st.just("delete"), st.sampled_from("abcdefg")),
        st.tuples(st.just("search"), st.one_of(WORDS, texts), st.sampled_from(list(MatchMode))),
    ),
    max_size=16,
)


async def take_step(searched: Searched, kind: str, *words: Any) -> None:
    writing = searched.engine.writing
    try:
        if kind == "create":
            await writing.create(NewSession(words[0], cwd=f"/{words[0]}"), words[1])
        elif kind == "say":
            events = [said(text) for text in words[1]]
            await writing.append(words[0], events, None, words[2])
        elif kind == "compact":
            standing = (await searched.standing(words[0]))[-3:]
            if standing and words[1]:
                await searched.compact(words[0], standing[0], standing[-1], words[1])
        elif kind == "fork":
            await writing.fork(words[0], None, words[1])
        elif kind == "delete":
            await writing.delete(words[0])
    except (NotLive, SessionNotFound, LogConflict, EventNotFound, KeyError):
        return  # a step that makes no sense now; the next ones may


async def assert_found(searched: Searched, query: str, **asked: Any) -> None:
    """Compare with a plain look, in all ways of asking."""
    expected = await searched.expected(query, **asked)
    assert await searched.found(query, **asked) == {session_id for session_id, _ in expected}
    asked.pop("include_inherited", None)
    everything = await searched.expected(query, **asked)
    sessions = asked.pop("sessions", ALL_SESSIONS)
    for session_id in {session_id for session_id, _ in everything}:
        inside = {seq for each, seq in everything if each == session_id}
        assert await searched.found_inside(session_id, query, **asked) == inside
    assert sessions is not None


@each_in_a_file_of_its_own
@given(
    script=steps,
    query=WORDS,
    surfaces=st.sets(st.sampled_from(list(EventSurface))),
    commit_ms=st.sampled_from([1, 60_000]),
)
def test_every_search_finds_what_was_acknowledged_before_it(
    tmp_path_factory: pytest.TempPathFactory,
    script: list[tuple[Any, ...]],
    query: str,
    surfaces: set[EventSurface],
    commit_ms: int,
) -> None:
    async def check() -> None:
        folder = tmp_path_factory.mktemp("search")
        async with searched(folder, limits=LAZY, commit_ms=commit_ms) as one:
            await take_step(one, "create", "a", DURABLE)
            await take_step(one, "create", "b", Durability.ACCEPTED)
            for kind, *words in script:
                if kind != "search":
                    await take_step(one, kind, *words)
                    continue
                try:
                    await assert_found(one, words[0], mode=words[1])
                except InvalidQuery:
                    continue
            if query:
                placed = ALL_EVENTS.narrowed(surfaces=surfaces)
                await assert_found(one, query, events=placed)
                await assert_found(one, query, include_inherited=False)
                await assert_found(one, query, mode=MatchMode.ANY, events=placed)

    run(check())


@each_in_a_file_of_its_own
@given(said_before=st.lists(texts, max_size=4), query=st.one_of(texts, st.sampled_from(NOISE)))
def test_any_query_is_a_page_or_a_refusal_of_the_query(
    tmp_path_factory: pytest.TempPathFactory, said_before: list[str], query: str
) -> None:
    async def check() -> None:
        async with searched(tmp_path_factory.mktemp("search")) as one:
            await one.engine.begin()
            writable = [text for text in said_before if text.isprintable()]
            if writable:
                await one.engine.say(*writable)
            for mode in MatchMode:
                try:
                    expected = await one.expected(query, mode)
                except InvalidQuery:
                    with pytest.raises(InvalidQuery):
                        await one.page(query, mode=mode)
                    continue
                assert await one.found(query, mode=mode) == {each for each, _ in expected}

    run(check())


@pytest.mark.parametrize(
    "query", ["", "  ", "***", '"()"', "\0retry", "re\0try", "\ud800", "x" * 17_000]
)
def test_a_query_without_anything_to_find_is_refused(tmp_path: Path, query: str) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            with pytest.raises(InvalidQuery):
                await one.page(query)

    run(check())


def test_an_event_is_found_at_once_and_no_commit_of_the_index_is_made_for_it(
    tmp_path: Path,
) -> None:
    async def check() -> None:
        async with searched(tmp_path, limits=LAZY) as one:
            await one.engine.begin(durability=Durability.ACCEPTED)
            for number in range(20):
                await one.engine.accept(f"needle{number}")
                assert await one.found(f"needle{number}") == {"a"}
            for number in range(20):
                await one.engine.say(f"hay{number}")
                assert await one.found(f"hay{number}") == {"a"}
            watermark = one.indexing.index.watermark
            assert watermark is None or watermark.position == 0  # nothing was committed for them

    run(check())


def test_many_search_while_many_append(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            for session_id in "abcd":
                await one.engine.begin(session_id)

            async def write(session_id: str) -> None:
                for number in range(25):
                    word = f"w{session_id}{number}"
                    await one.engine.say(f"common {word}", to=session_id)
                    assert await one.found(word) == {session_id}

            await asyncio.gather(*map(write, "abcd"))
            assert len(await one.found_inside("a", "common")) == 25

    run(check())


def test_a_deleted_session_is_gone_at_once_and_one_that_comes_again_is_another(
    tmp_path: Path,
) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            await one.engine.begin()
            await one.engine.say("old words")
            assert await one.found("old") == {"a"}
            await one.delete("a")
            assert await one.found("old") == set()
            with pytest.raises(SessionNotFound):
                await one.inside("a", "old")
            await one.engine.begin()
            await one.engine.say("new words")
            assert await one.found("old") == set()
            assert await one.found_inside("a", "words") == {0}

    run(check())


def test_looking_and_finding_nothing_is_an_answer_and_no_session_is_not(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            await one.engine.begin()
            assert await one.found_inside("a", "anything") == set()
            with pytest.raises(SessionNotFound):
                await one.inside("b", "anything")

    run(check())


def test_the_rank_of_a_session_is_that_of_its_best_event(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            for session_id in "abc":
                await one.engine.begin(session_id)
            filler = "and many other words that have nothing to do with it " * 4
            await one.engine.say(f"retry {filler}", f"retry {filler}", filler, to="a")
            await one.engine.say(filler, "retry", to="b")
            await one.engine.say(f"retry {filler} {filler}", to="c")
            page = await one.page("retry")
            assert [hit.session.session_id for hit in page.items] == ["b", "a", "c"]
            assert [hit.best_match.seq for hit in page.items] == [1, 0, 0]

    run(check())


def test_where_terms_stand_together_ranks_higher(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            for session_id in ("apart", "together"):
                await one.engine.begin(session_id)
            await one.engine.say("together we stand", to="together")
            await one.engine.say("we stand here together", to="apart")
            page = await one.page("together we")
            assert [hit.session.session_id for hit in page.items] == ["together", "apart"]

    run(check())


@pytest.mark.parametrize("text", SPEAKING)
def test_whatever_speaks_finds_itself(tmp_path: Path, text: str) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            await one.engine.begin()
            await one.engine.say(f"before {text} behind")
            for mode in MatchMode:
                assert await one.found(text, mode=mode) == {"a"}
                assert await one.found(text.upper(), mode=mode) == {"a"}

    run(check())


def test_filters_of_sessions_and_events(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            writing = one.engine.writing
            for number, cwd in enumerate(("/x", "/y", None)):
                session_id = f"s{number}"
                await writing.create(
                    NewSession(session_id, cwd=cwd, created_at=1000 + number), DURABLE
                )
                await one.engine.say("word", "word again", to=session_id)
                title = NewEvent.of("session/title", {"title": f"Title {number}"})
                call = NewEvent.of(
                    "tool/call",
                    {"turn": 1, "step": 0, "callId": "c", "name": "word", "arguments": ""},
                )
                await writing.append(session_id, [title, call], None, DURABLE)
            await writing.fork("s0", 1, "child")
            await writing.close("s1")
            await one.compact("s0", 0, 1, "a summary word")
            every = ALL_SESSIONS
            for sessions in (
                every.narrowed(ids=["s0", "child"]),
                every.narrowed(cwds=["/x"]),
                every.narrowed(cwds=[None, "/y"]),
                every.narrowed(created_at=Range(1001, 1002)),
                every.narrowed(parents=[None]),
                every.narrowed(parents=["s0"]),
                every.narrowed(title="TITLE  2"),
                every.narrowed(availability=[Availability.LIVE]),
                every.narrowed(availability=[Availability.PERSISTED]),
                every.narrowed(sources=[SourceKind.API]),
                every.narrowed(sources=[SourceKind.DSH]),
                every.narrowed(origins=[None]),
                every.narrowed(ids=[]),
            ):
                for events in (
                    ALL_EVENTS,
                    ALL_EVENTS.narrowed(seqs=Range(1, 2)),
                    ALL_EVENTS.narrowed(types=["tool/call"]),
                    ALL_EVENTS.narrowed(types=["step/start"]),
                    ALL_EVENTS.narrowed(times=Range(None, 0)),
                    ALL_EVENTS.narrowed(surfaces=[CURRENT]),
                    ALL_EVENTS.narrowed(surfaces=[SHADOWED]),
                    ALL_EVENTS.narrowed(surfaces=[SHADOWED, LOG_ONLY]),
                    ALL_EVENTS.narrowed(surfaces=[CURRENT, LOG_ONLY]),
                    ALL_EVENTS.narrowed(surfaces=[LOG_ONLY]),
                    ALL_EVENTS.narrowed(surfaces=[]),
                ):
                    for inherited in (True, False):
                        asked: dict[str, Any] = {"sessions": sessions, "events": events}
                        expected = await one.expected("word", include_inherited=inherited, **asked)
                        found = await one.found("word", include_inherited=inherited, **asked)
                        assert found == {session_id for session_id, _ in expected}

    run(check())


@pytest.mark.parametrize("named", [0, 5_000])
def test_few_survivors_of_a_filter_among_many_hits_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: int
) -> None:
    """``named``: sessions with shadowed events up to which they are looked for by their ids."""
    monkeypatch.setattr(sessiongraph.search.service, "_REWRITTEN_SESSIONS", named)

    async def check() -> None:
        async with searched(tmp_path) as one:
            for session_id in ("many", "rare"):
                await one.engine.begin(session_id)
            for _ in range(5):
                await one.engine.say(*["word"] * 200, to="many")
            await one.engine.say("a much longer text that ranks last, with a word in it", to="rare")
            await one.compact("rare", 0, 0, "gone")
            shadowed = ALL_EVENTS.narrowed(surfaces=[SHADOWED])
            assert await one.found("word", events=shadowed) == {"rare"}
            page = await one.page("word", first=1, events=shadowed)
            assert (len(page.items), page.has_next_page) == (1, False)

    run(check())


def test_many_hits_of_one_session_do_not_stand_before_those_of_others(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path, commit_ms=10) as one:
            for session_id in ("many", "other"):
                await one.engine.begin(session_id)
            for _ in range(5):
                await one.engine.say(*["word"] * 200, to="many")
            await one.engine.say(
                "a much longer text that ranks last, with a word in it", to="other"
            )
            current = ALL_EVENTS.narrowed(surfaces=[CURRENT])
            for asked in ({}, {"include_inherited": False}, {"events": current}):
                page = await one.page("word", 1, **asked)
                assert [hit.session.session_id for hit in page.items] == ["many"]
                page = await one.page("word", 1, page.end_cursor, **asked)
                assert [hit.session.session_id for hit in page.items] == ["other"]
                assert page.end_cursor is None

    run(check())


@pytest.mark.parametrize("commit_ms", [10, 60_000], ids=["committed", "fresh"])
def test_who_sees_little_does_not_wait_for_what_they_do_not_see(
    tmp_path: Path, commit_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index gives nothing from elsewhere to be looked at, however many sessions are here."""
    monkeypatch.setattr(sessiongraph.search.service, "_NAMED_SESSIONS", 5)

    async def check() -> None:
        async with searched(tmp_path, commit_ms=commit_ms) as one:
            for number in range(30):
                for home in ("ann", "bob"):
                    new = NewSession(f"{home}{number}", cwd=f"/home/{home}/{number % 3}")
                    await one.engine.writing.create(new, DURABLE)
                await one.engine.say("a word", to=f"ann{number}")
                await one.engine.say(*["a word"] * 20, to=f"bob{number}")
            given = watched_rankings(one)
            page = await confined_page(one, ["/home/ann"], "word", 40)
            hers = {f"ann{number}" for number in range(30)}
            assert {hit.session.session_id for hit in page.items} == hers
            assert {hit.session_id for hit in given} == hers
            given.clear()
            for directories in ([], ["/home/an"], ["/home/ann/4"]):
                assert (await confined_page(one, directories, "word", 40)).items == []
            assert given == []

    run(check())


def watched_rankings(one: Searched) -> list[Hit]:
    """Every hit that the index gives from now on."""
    given: list[Hit] = []
    index = one.indexing.index
    observe = index.observe

    class Watched:
        def __init__(self) -> None:
            self.observation = observe()

        async def rank(self, question: Question, least: int, *, distinct: bool) -> Ranking:
            ranking = await self.observation.rank(question, least, distinct=distinct)
            given.extend(ranking.hits)
            return ranking

    index.observe = Watched  # type: ignore[method-assign, assignment]
    return given


async def confined_page(
    one: Searched, directories: list[str], query: str, first: int
) -> SearchPage[SessionHit]:
    show = partial(ConfinedView, Visibility.of(directories))
    text, request = MatchMode.ALL, PageRequest(first)
    async with one.engine.corpus.observe(show) as view:
        return await one.search.sessions(view, query, text, ALL_SESSIONS, ALL_EVENTS, request)


def test_copies_in_a_fork_are_left_out_only_while_the_original_is_there(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            await one.engine.begin()
            await one.engine.say("original")
            await one.engine.writing.fork("a", 0, "b")
            await one.engine.writing.fork("b", 0, "c")
            assert await one.found("original") == {"a", "b", "c"}
            assert await one.found("original", include_inherited=False) == {"a"}
            await one.delete("a")
            assert await one.found("original", include_inherited=False) == {"b"}
            await one.delete("b")
            assert await one.found("original", include_inherited=False) == {"c"}

    run(check())


def test_a_copy_outlives_its_original_also_where_another_session_takes_the_name(
    tmp_path: Path,
) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            writing = one.engine.writing
            await writing.create(NewSession("a", created_at=1000), DURABLE)
            await writing.append("a", [said("original")], None, DURABLE)
            await writing.fork("a", 0, "b")
            async with one.engine.corpus.observe() as view:
                copied = (await view.find(["b"]))["b"].header.created_at
            assert await one.found("original", include_inherited=False) == {"a"}
            await one.delete("a")
            await writing.create(NewSession("a", created_at=copied + 1), DURABLE)
            await writing.append("a", [said("another")], None, DURABLE)
            assert await one.found("original", include_inherited=False) == {"b"}

    run(check())
