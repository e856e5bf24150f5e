"""Rankings in which very many answers have one score: the newest first, in whatever way fetched."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from providers.tantivy.index import TantivyIndex
from sessiongraph.search.ports import Forget, Hit, Watermark
from sessiongraph.search.question import IndexFilter, Question
from tests.contracts.search_index import asking, learn, says
from tests.plain_store import run

SESSIONS = ["d", "a", "c", "b"]
EACH = 150


def time_of(session_id: str, seq: int) -> int:
    return (7 * seq + ord(session_id)) % 90


def test_a_few_lesser_answers_among_very_many_equal_ones_are_not_taken_for_equal(
    tmp_path: Path,
) -> None:
    """Wherever they lie in a long list of documents, none of which can be passed over."""

    async def check() -> None:
        index = TantivyIndex.open(tmp_path / "index", 16 << 20)
        lesser = {5, 700}
        said = [
            says(n, "same words in a longer text" if n in lesser else "same words", n)
            for n in range(1000)
        ]
        await index.apply([learn("a", *said[:900]), learn("b", *said[900:])])
        await index.commit(Watermark(1))
        equal = [seq for seq in reversed(range(1000)) if seq not in lesser]
        for least in (1, 400, 2000):
            ranking = await index.observe().rank(asking("same"), least, distinct=False)
            seqs = [hit.seq for hit in ranking.hits]
            assert seqs == [*equal, 700, 5][: len(seqs)]
            assert len(seqs) >= min(least, 1000)
        best = await index.observe().rank(asking("same"), 2, distinct=True)
        assert [hit.seq for hit in best.hits] == [999, 899]
        await index.close()

    run(check())


@pytest.mark.parametrize("longer", [0, 3])
@pytest.mark.parametrize("fresh", [0, 2])
def test_the_newest_of_equals_come_first(tmp_path: Path, longer: int, fresh: int) -> None:
    """``longer``: documents that match less well, so that not all are equal."""

    async def check() -> None:
        index = TantivyIndex.open(tmp_path / "index", 16 << 20)
        for number, session_id in enumerate(SESSIONS):
            said = [says(n, "same words", time_of(session_id, n)) for n in range(EACH)]
            await index.apply([learn(session_id, *said, epoch=5)])
            await index.commit(Watermark(number + 1))
        await index.apply([learn("gone", *["same words"] * 20)])
        await index.commit(Watermark(9))
        less = [says(n, "same words in a longer text", n) for n in range(longer)]
        await index.apply([Forget("gone"), learn("z", *less, epoch=5)])
        await index.commit(Watermark(10))
        await index.apply([learn("y", *["other"] * fresh, epoch=5)])
        order = [Hit(session_id, 5, seq) for session_id in SESSIONS for seq in range(EACH)]
        order.sort(key=lambda hit: (-time_of(hit.session_id, hit.seq), hit.session_id, hit.seq))
        order += [Hit("z", 5, seq) for seq in reversed(range(longer))]
        first = {hit.session_id: hit for hit in reversed(order)}
        best = sorted(first.values(), key=order.index)
        for least in (1, 4, 70, 1000):
            for distinct, expected in ((False, order), (True, best)):
                ranking = await index.observe().rank(asking("same"), least, distinct=distinct)
                assert list(ranking.hits) == expected[: len(ranking.hits)]
                assert len(ranking.hits) >= min(least, len(expected))
                assert not ranking.complete or len(ranking.hits) == len(expected)
        await index.close()

    run(check())


@pytest.mark.parametrize("fresh", [0, 1])
@pytest.mark.parametrize("by_time", [False, True])
@pytest.mark.parametrize("count", range(1, 13))
def test_few_answers_are_in_the_same_order_as_many(
    tmp_path: Path, count: int, by_time: bool, fresh: int
) -> None:
    """With equal scores and equal times among them, in logs whose ids are not ASCII."""

    async def check() -> None:
        index = TantivyIndex.open(tmp_path / "index", 16 << 20)
        said: list[tuple[int, str, int]] = []
        for n in range(count):
            session_id, better = "\udc80漢b"[n % 3], n % 4 == 0
            text = "same" if better else "same words"
            await index.apply([learn(session_id, says(n, text, n // 2 - 2), epoch=2**40)])
            await index.commit(Watermark(n + 1))
            said.append((0 if by_time or better else 1, session_id, n))
        await index.apply([learn("other", *["another word"] * fresh)])
        said.sort(key=lambda each: (each[0], -(each[2] // 2 - 2), each[1], each[2]))
        order = [Hit(session_id, 2**40, seq) for _, session_id, seq in said]
        question = replace(asking("same"), by_time=by_time)
        observation = index.observe()
        for least in (count, 1):
            ranking = await observation.rank(question, least, distinct=False)
            assert list(ranking.hits) == order[: len(ranking.hits)]
        first = {hit.session_id: hit for hit in reversed(order)}
        best = await observation.rank(question, 3, distinct=True)
        assert list(best.hits) == sorted(first.values(), key=order.index)
        await index.close()

    run(check())


def test_that_answers_are_equal_is_forgotten_with_the_commit_that_it_was_found_in(
    tmp_path: Path,
) -> None:
    """Asked again and again: before and after something else than equals is there, or gone."""

    async def check() -> None:
        index = TantivyIndex.open(tmp_path / "index", 16 << 20)
        everything = asking("same")
        of_b = replace(everything, admitted=IndexFilter(ids=frozenset({"b"})))

        async def newest(question: Question, least: int) -> list[tuple[str, int]]:
            ranking = await index.observe().rank(question, least, distinct=False)
            return [(hit.session_id, hit.seq) for hit in ranking.hits[:least]]

        await index.apply([learn("a", *[says(n, "same words", n) for n in range(300)])])
        await index.commit(Watermark(1))
        for _ in range(2):
            assert await newest(everything, 3) == [("a", 299), ("a", 298), ("a", 297)]
            assert await newest(of_b, 3) == []
        longer = [says(n, "same words in a longer text", 1000 + n) for n in range(300)]
        await index.apply([learn("b", *longer)])
        await index.commit(Watermark(2))
        for _ in range(2):
            assert await newest(everything, 3) == [("a", 299), ("a", 298), ("a", 297)]
            assert await newest(of_b, 3) == [("b", 299), ("b", 298), ("b", 297)]
            assert await newest(everything, 301) == [
                *(("a", seq) for seq in reversed(range(300))),
                ("b", 299),
            ]
        await index.apply([Forget("a")])
        assert await newest(everything, 3) == [("b", 299), ("b", 298), ("b", 297)]
        await index.commit(Watermark(3))
        for _ in range(2):
            assert await newest(everything, 3) == [("b", 299), ("b", 298), ("b", 297)]
        await index.close()

    run(check())
