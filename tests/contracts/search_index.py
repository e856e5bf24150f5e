"""What every full-text index must do, whatever it is made of.

Compared is with the plain index of :mod:`tests.plain_search`: the same changes, the same questions,
the same set of answers. What relevance means is each provider's own; what it must keep to (ties,
prefixes, the best of each log) is asked of each one's own ranking.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sessiongraph.directories import DEEPEST
from sessiongraph.errors import InvalidQuery
from sessiongraph.event import SessionEvent
from sessiongraph.filters import Range
from sessiongraph.search.ports import (
    Forget,
    Held,
    Hit,
    IndexChange,
    IndexObservation,
    Learn,
    SearchIndex,
    Watermark,
    check_of,
)
from sessiongraph.search.question import IndexFilter, MatchMode, Question, SearchText
from tests.plain_search import PlainIndex
from tests.plain_store import run
from tests.strategies import header, json_text, user_message

ANYTHING = IndexFilter()
ENOUGH = 100_000

SPEAKING = [
    "retry", "Retry", "restoreFloor", "floor", "session_projcache", "src/a/b.py", "AND", "NOT",
    "重试失败", "试失", "缓存", "缓", "한국어", "ガイド", "ｶﾞｲﾄﾞ", "café", "cafe\u0301", "ＡＢＣ",
    "ﬁle", "ß", "🚀", "👍🏽", "½", "का̀म",
]  # fmt: skip
NOISE = [
    '"', "*", "text:", "traits:watermark", "(", ")", "\\", "^2", "~1", "NEAR(a b)", "[a TO b]", "{",
    "/.*/", "+", "-", "?", ":", "\ud800", "\udfff", "\x1f", "\x00", "\t", "\u200b", "\u0301",
    "\u3099", "' OR 1=1",
]  # fmt: skip

texts = st.lists(
    st.one_of(st.sampled_from(SPEAKING), st.sampled_from(NOISE), st.text(max_size=6)), max_size=8
).flatmap(lambda words: st.sampled_from(["", " ", "_", "，"]).map(lambda gap: gap.join(words)))
modes = st.sampled_from(list(MatchMode))


@dataclass(frozen=True)
class Provider:
    """How to open an index of one kind; ``durable`` ones are opened again from the same folder."""

    name: str
    open: Callable[[Path], SearchIndex]
    durable: bool


@dataclass
class Indexes:
    """Fresh indexes of one provider."""

    provider: Provider
    folder: Path
    opened: int = 0

    @asynccontextmanager
    async def fresh(self) -> AsyncIterator[SearchIndex]:
        self.opened += 1
        async with self.at(self.folder / str(self.opened)) as index:
            yield index

    @asynccontextmanager
    async def at(self, path: Path) -> AsyncIterator[SearchIndex]:
        index = self.provider.open(path)
        try:
            yield index
        finally:
            await index.close()


def says(seq: int, text: str, time: int = 1000) -> SessionEvent:
    return SessionEvent(seq, "user/message", time, json_text(user_message(text)))


def learn(session_id: str, *said: SessionEvent | str, epoch: int = 1, **members: object) -> Learn:
    events = [says(n, each) if isinstance(each, str) else each for n, each in enumerate(said)]
    return Learn(header(session_id, **members), epoch, events)  # type: ignore[arg-type]


def asking(
    query: str, mode: MatchMode = MatchMode.ALL, admitted: IndexFilter = ANYTHING
) -> Question:
    return Question(SearchText.of(query, mode, 20_000), admitted)


async def found(observation: IndexObservation, question: Question) -> set[tuple[str, int, int]]:
    ranking = await observation.rank(question, ENOUGH, distinct=False)
    assert ranking.complete
    keys = [(hit.session_id, hit.epoch, hit.seq) for hit in ranking.hits]
    assert len(keys) == len(set(keys))
    return set(keys)


async def assert_alike(index: SearchIndex, plain: PlainIndex, questions: list[Question]) -> None:
    for question in questions:
        expected = await found(plain.observe(), question)
        assert await found(index.observe(), question) == expected, question
        best = await index.observe().rank(question, ENOUGH, distinct=True)
        assert best.complete
        assert [hit.session_id for hit in best.hits] == list(
            dict.fromkeys(hit.session_id for hit in best.hits)
        )
        assert {(hit.session_id, hit.epoch) for hit in best.hits} == {
            (session_id, epoch) for session_id, epoch, _ in expected
        }


async def told(changes: list[IndexChange], *indexes: SearchIndex, position: int = 1) -> None:
    for index in indexes:
        await index.apply(changes)
        await index.commit(Watermark(position))


async def told_in_parts(changes: list[IndexChange], parts: int, *indexes: SearchIndex) -> None:
    """Some of them committed, the rest taken only; ``parts`` of three are committed."""
    cut = len(changes) * parts // 3
    for index in indexes:
        await index.apply(changes[:cut])
        if parts:
            await index.commit(Watermark(1))
        await index.apply(changes[cut:])


class SearchIndexContract:
    """The suite; a subclass runs with the fixture ``indexes``."""

    def test_a_new_index_holds_nothing_and_says_so(self, indexes: Indexes) -> None:
        async def check() -> None:
            async with indexes.fresh() as index:
                assert index.watermark is None
                assert index.documents == 0
                assert await found(index.observe(), asking("anything")) == set()

        run(check())

    @given(said=st.lists(texts, max_size=6), query=texts, mode=modes, parts=st.integers(0, 3))
    def test_any_text_finds_what_a_plain_look_finds(
        self, indexes: Indexes, said: list[str], query: str, mode: MatchMode, parts: int
    ) -> None:
        async def check() -> None:
            changes: list[IndexChange] = [
                learn(f"s{number}", *said[number::3]) for number in range(3)
            ]
            plain = PlainIndex()
            questions = []
            for each in (query, *said):
                try:
                    questions.append(asking(each, mode))
                except InvalidQuery:
                    continue
            async with indexes.fresh() as index:
                await told_in_parts(changes, parts, index, plain)
                await assert_alike(index, plain, questions)

        run(check())

    @pytest.mark.parametrize("mode", list(MatchMode))
    def test_ten_thousand_characters_of_noise_are_a_question_like_any_other(
        self, indexes: Indexes, mode: MatchMode
    ) -> None:
        if indexes.provider.name == "plain":
            pytest.skip("it would be compared with itself")
        noise = "".join(SPEAKING + NOISE).replace("\0", "") * 100
        lines = ["retry " * 1700, "重试" * 3000, noise[:10_000], "x" * 10_000]

        async def check() -> None:
            plain = PlainIndex()
            changes: list[IndexChange] = [learn("a", "retry a b", "重试重试", "x" * 9000, *lines)]
            async with indexes.fresh() as index:
                await told(changes, index, plain)
                await assert_alike(index, plain, [asking(line, mode) for line in lines])

        run(check())

    @pytest.mark.parametrize("parts", [0, 2, 3])
    def test_every_filter_narrows_as_a_plain_look_does(self, indexes: Indexes, parts: int) -> None:
        changes: list[IndexChange] = [
            learn("a", says(0, "word", 5), says(1, "word", -7), cwd="/x", created_at=10),
            learn("b", "word", "word", cwd=None, parent_session="a", created_at=20),
            learn("odd \ud800 id", "word", cwd="/x\ud801", origin="subagent", created_at=-30),
            learn("c", "word", cwd="/x/y/../z"),
            learn("d", "word", cwd="/xyz"),
            learn("e", "word", cwd="c:\\x\\y"),
            learn("f", "word", cwd="\\\\host\\share\\x"),
            learn("g", "word", cwd="x/y"),
            learn("h", "word", cwd="/x" * (DEEPEST + 8)),
            Learn(
                header("t"),
                1,
                [
                    SessionEvent(0, "tool/call", 9, b'{"name":"word","arguments":""}'),
                    SessionEvent(1, "step/start", 9, b'{"text":"word"}'),
                ],
            ),
        ]
        filters = [
            IndexFilter(ids=frozenset({"a", "odd \ud800 id", "nobody"})),
            IndexFilter(without=frozenset({"a", "odd \ud800 id", "nobody"})),
            IndexFilter(cwds=frozenset({"/x", None})),
            IndexFilter(cwds=frozenset({"/x\ud801"})),
            IndexFilter(parents=frozenset({None})),
            IndexFilter(parents=frozenset({"a"})),
            IndexFilter(origins=frozenset({"subagent"})),
            IndexFilter(created_at=Range(10, 20)),
            IndexFilter(created_at=Range(None, -30)),
            IndexFilter(seqs=Range(1, None)),
            IndexFilter(times=Range(-7, 5)),
            IndexFilter(times=Range(2**70, None)),
            IndexFilter(times=Range(-(2**70), 2**70)),
            IndexFilter(types=frozenset({"tool/call", "nothing/known"})),
            IndexFilter(within=frozenset()),
            *(
                IndexFilter(within=frozenset(places))
                for places in (
                    ["/"],
                    ["/x/"],
                    ["/x/z/"],
                    ["/x\ud801/", "/xyz/"],
                    ["c:/", "\\\\host/"],
                    ["c:/x/y/", "\\\\host/share/x/", "/nowhere/"],
                    ["/" + "x/" * DEEPEST],
                )
            ),
            IndexFilter(within=frozenset({"/x/"}), ids=frozenset({"a", "d"})),
            IndexFilter(ids=frozenset({"a"}), times=Range(0, None), cwds=frozenset({"/x"})),
        ]

        async def check() -> None:
            plain = PlainIndex()
            async with indexes.fresh() as index:
                await told_in_parts(changes, parts, index, plain)
                questions = [asking("word", admitted=each) for each in filters]
                await assert_alike(index, plain, questions)
                assert await found(plain.observe(), questions[0]) != set()

        run(check())

    def test_a_filter_and_a_text_never_meet(self, indexes: Indexes) -> None:
        async def check() -> None:
            async with indexes.fresh() as index:
                await told([learn("session-name", "hello", cwd="/secret/cwd")], index)
                for query in ("session", "secret", "cwd", "user/message", "watermark", "traits"):
                    assert await found(index.observe(), asking(query, MatchMode.ANY)) == set()

        run(check())

    def test_what_was_taken_shows_at_once_and_the_watermark_is_of_the_commit(
        self, indexes: Indexes
    ) -> None:
        async def check() -> None:
            async with indexes.fresh() as index:
                await told([learn("a", "word first")], index)
                before = index.observe()
                await index.apply([learn("b", "word second")])
                assert await found(index.observe(), asking("second")) == {("b", 1, 0)}
                assert index.watermark == Watermark(1)
                both = {("a", 1, 0), ("b", 1, 0)}
                assert await found(index.observe(), asking("word")) == both
                await index.commit(Watermark(2, 7, "mark"))
                assert await found(index.observe(), asking("word")) == both
                assert index.watermark == Watermark(2, 7, "mark")
                assert await found(before, asking("word")) == {("a", 1, 0)}

        run(check())

    def test_an_observation_stays_as_it_was(self, indexes: Indexes) -> None:
        async def check() -> None:
            async with indexes.fresh() as index:
                await told([learn("a", "word", "word")], index)
                before = index.observe()
                assert before == index.observe()
                for position in range(2, 12):
                    await told([learn(f"s{position}", "word")], index, position=position)
                await told([Forget("a")], index, position=12)
                assert await found(before, asking("word")) == {("a", 1, 0), ("a", 1, 1)}
                assert len(await found(index.observe(), asking("word"))) == 10
                assert before != index.observe()

        run(check())

    def test_what_is_forgotten_is_gone_and_what_comes_again_is_there_once(
        self, indexes: Indexes
    ) -> None:
        async def check() -> None:
            async with indexes.fresh() as index:
                await told([learn("a", "word"), learn("b", "word")], index)
                await told([Forget("a"), learn("a", "word", "word", epoch=2)], index, position=2)
                expected = {("b", 1, 0), ("a", 2, 0), ("a", 2, 1)}
                assert await found(index.observe(), asking("word")) == expected
                await told([learn("c", "word"), Forget("c")], index, position=3)
                assert await found(index.observe(), asking("word")) == expected
                await index.apply([learn("c", "word"), Forget("c"), Forget("b")])
                assert await found(index.observe(), asking("word")) == expected - {("b", 1, 0)}
                await index.apply([learn("b", "word", epoch=4)])
                again = expected - {("b", 1, 0)} | {("b", 4, 0)}
                assert await found(index.observe(), asking("word")) == again
                await index.commit(Watermark(4))
                assert await found(index.observe(), asking("word")) == again

        run(check())

    @pytest.mark.parametrize("parts", [0, 1, 2, 3])
    def test_what_is_held_is_told_log_by_log(self, indexes: Indexes, parts: int) -> None:
        changes: list[IndexChange] = [
            learn("a", says(3, "word"), says(9, "word"), says(10, "")),
            learn("b", "word", "word", "word"),
            learn("b", says(7, "word"), epoch=2),
            Forget("a"),
            learn("a", says(5, "word"), epoch=4),
            learn("c", "word"),
            Forget("c"),
        ]
        logs = [("a", 1), ("a", 4), ("b", 1), ("b", 2), ("b", 3), ("c", 1), ("nobody", 1)]
        words = sum(check_of(seq, "word") for seq in range(3))
        fifth, seventh = check_of(5, "word"), check_of(7, "word")
        expected = [
            *(Held(0, 0, 1), Held(1, fifth, 0), Held(3, words, 1), Held(1, seventh, 3)),
            *(Held(0, 0, 4), Held(0, 0, 0), Held(0, 0, 0)),
        ]

        async def check() -> None:
            async with indexes.fresh() as index:
                await told_in_parts(changes, parts, index)
                observation = index.observe()
                assert await observation.held(logs) == expected
                assert await observation.held([]) == []
                assert observation.documents == 5
                assert await index.damages() == []

        run(check())

    def test_going_back_drops_what_was_not_committed(self, indexes: Indexes) -> None:
        async def check() -> None:
            async with indexes.fresh() as index:
                await told([learn("a", "word")], index)
                await index.apply([learn("b", "word"), Forget("a")])
                await index.recover()
                assert index.watermark == Watermark(1)
                await index.commit(Watermark(2))
                assert await found(index.observe(), asking("word")) == {("a", 1, 0)}

        run(check())

    def test_clearing_leaves_an_index_as_new(self, indexes: Indexes) -> None:
        async def check() -> None:
            async with indexes.fresh() as index:
                await told([learn("a", "word")], index)
                await index.clear()
                assert index.watermark is None
                assert await found(index.observe(), asking("word")) == set()
                await told([learn("b", "word")], index)
                assert await found(index.observe(), asking("word")) == {("b", 1, 0)}

        run(check())

    def test_equally_relevant_events_come_by_time_then_session_then_seq(
        self, indexes: Indexes
    ) -> None:
        async def check() -> None:
            async with indexes.fresh() as index:
                sizes = {"c": 3, "a": 40, "b": 40, "\U00010000": 2, "\uffff": 2}
                position = 0
                for session_id, size in sizes.items():
                    for seq in range(size):
                        position += 1
                        said = says(seq, "same words", time=seq % 4)
                        change = Learn(header(session_id), 1, [said])
                        await index.apply([change])
                        if position % 9 == 0:
                            await index.commit(Watermark(position))
                order = [
                    Hit(session_id, 1, seq)
                    for session_id, size in sizes.items()
                    for seq in range(size)
                ]
                order.sort(key=lambda hit: (-(hit.seq % 4), hit.session_id, hit.seq))
                for least in (1, 3, 20, ENOUGH):
                    ranking = await index.observe().rank(asking("same"), least, distinct=False)
                    hits = list(ranking.hits)
                    assert hits == order[: len(hits)]
                    assert len(hits) >= min(least, len(order))
                    assert not ranking.complete or hits == order
                best = await index.observe().rank(asking("same"), 2, distinct=True)
                first = {hit.session_id: hit for hit in reversed(order)}
                in_order = sorted(first.values(), key=order.index)
                assert list(best.hits) == in_order[: len(best.hits)]
                assert len(best.hits) >= 2

        run(check())

    @pytest.mark.parametrize("mode", MatchMode)
    def test_by_time_no_document_has_a_say_in_the_place_of_another(
        self, indexes: Indexes, mode: MatchMode
    ) -> None:
        """However often the words stand in it and elsewhere: as the plain index orders all."""

        async def check() -> None:
            plain = PlainIndex()
            async with indexes.fresh() as index:
                for number in range(12):
                    texts = ["rare common " * (1 + seq % 3) + "filler " * seq for seq in range(9)]
                    said = [says(seq, text, time=seq * 7 % 5) for seq, text in enumerate(texts)]
                    changes: list[IndexChange] = [Learn(header(f"s{number}"), 1, said)]
                    await plain.apply(changes)
                    await index.apply(changes)
                    if number == 7:
                        await index.commit(Watermark(1))
                question = replace(asking("rare common", mode), by_time=True)
                for distinct in (False, True):
                    for least in (1, 5, ENOUGH):
                        ranking = await index.observe().rank(question, least, distinct=distinct)
                        model = await plain.observe().rank(question, ENOUGH, distinct=distinct)
                        assert list(ranking.hits) == list(model.hits)[: len(ranking.hits)]
                        assert len(ranking.hits) >= min(least, len(model.hits))

        run(check())

    @pytest.mark.parametrize("count", [0, 1, 2, 255, 256, 257, 400])
    def test_a_filter_is_of_any_number_of_sessions(self, indexes: Indexes, count: int) -> None:
        """Some fresh, some committed, some that are not there; let in, or left out."""

        async def check() -> None:
            plain = PlainIndex()
            async with indexes.fresh() as index:
                for number in range(300):
                    changes: list[IndexChange] = [learn(f"s{number}", "word", "other", "a word")]
                    await plain.apply(changes)
                    await index.apply(changes)
                    if number == 290:
                        await index.commit(Watermark(1))
                some = frozenset(f"s{number}" for number in range(20, 20 + count))
                for admitted in (IndexFilter(ids=some), IndexFilter(without=some)):
                    question = asking("word", admitted=admitted)
                    expected = await found(plain.observe(), question)
                    assert await found(index.observe(), question) == expected
                    best = await index.observe().rank(question, ENOUGH, distinct=True)
                    ids = [hit.session_id for hit in best.hits]
                    assert sorted(ids) == sorted({session_id for session_id, _, _ in expected})

        run(check())

    @given(data=st.data())
    def test_a_longer_ranking_begins_with_the_shorter_one(
        self, indexes: Indexes, data: st.DataObject
    ) -> None:
        words = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=6)
        logs = data.draw(st.lists(st.lists(words, max_size=20), min_size=1, max_size=6))
        mode = data.draw(modes)

        async def check() -> None:
            async with indexes.fresh() as index:
                fresh = data.draw(st.integers(0, len(logs)))
                for number, log in enumerate(logs):
                    said = [" ".join(each) for each in log]
                    await index.apply([learn(f"s{number}", *said)])
                    if number < fresh:
                        await index.commit(Watermark(number + 1))
                observation = index.observe()
                question = asking("a b", mode)
                whole = await observation.rank(question, ENOUGH, distinct=False)
                for distinct in (False, True):
                    seen: set[str] = set()
                    expected = [
                        hit
                        for hit in whole.hits
                        if not distinct or not (hit.session_id in seen or seen.add(hit.session_id))
                    ]
                    for least in (1, 2, 7):
                        ranking = await observation.rank(question, least, distinct=distinct)
                        assert list(ranking.hits) == expected[: len(ranking.hits)]
                        assert len(ranking.hits) >= min(least, len(expected))
                        assert not ranking.complete or len(ranking.hits) == len(expected)

        run(check())

    def test_an_index_is_opened_again_where_its_last_commit_was(self, indexes: Indexes) -> None:
        if not indexes.provider.durable:
            pytest.skip("this provider keeps nothing")
        path = indexes.folder / "again"

        async def check() -> None:
            async with indexes.at(path) as index:
                await told([learn("a", "word")], index)
                await index.commit(Watermark(5, 3, "mark"))
                await index.apply([learn("b", "word"), Forget("a")])
            async with indexes.at(path) as index:
                assert index.watermark == Watermark(5, 3, "mark")
                assert await found(index.observe(), asking("word")) == {("a", 1, 0)}
                await index.apply([learn("b", "word")])
                await index.commit(Watermark(6))
                assert await found(index.observe(), asking("word")) == {("a", 1, 0), ("b", 1, 0)}

        run(check())

    def test_many_observe_while_one_writes(self, indexes: Indexes) -> None:
        async def check() -> None:
            async with indexes.fresh() as index:
                await told([learn("a", "word")], index)

                async def look() -> None:
                    for _ in range(10):
                        observation = index.observe()
                        seen = await found(observation, asking("word"))
                        assert 1 <= len(seen) <= 7
                        assert await found(observation, asking("word")) == seen

                async def write() -> None:
                    for position in range(2, 8):
                        await told([learn(f"s{position}", "word")], index, position=position)

                await asyncio.gather(write(), *(look() for _ in range(4)))

        run(check())
