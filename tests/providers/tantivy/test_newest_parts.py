"""The newest of very many equal answers, wherever their times lie: those that sorting finds."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import tantivy
from msgspec.structs import replace

from providers.tantivy.documents import PERIODS
from providers.tantivy.index import TantivyIndex
from providers.tantivy.periods import FEW_ANSWERS, NewestPart, NewestParts
from sessiongraph.search.ports import Forget, Hit, IndexObservation, Watermark
from sessiongraph.search.question import IndexFilter, Question
from tests.contracts.search_index import asking, learn, says
from tests.plain_store import run

NOW = 1_780_000_000_000
YEAR_MS = 365 * 86_400_000
MANY = 2 * FEW_ANSWERS
SESSIONS = ("a", "b", "c", "d")

Said = dict[tuple[str, int], int]
"""Times by session and seq."""


def spread(kind: str, dice: random.Random) -> int:
    """The time of one event."""
    if kind == "within a minute":
        return NOW + dice.randrange(60_000)
    if kind == "on both sides of a period":
        return (NOW >> PERIODS[-1] << PERIODS[-1]) + dice.randrange(-1000, 1000)
    if kind == "before 1970":
        return -dice.randrange(YEAR_MS)
    if kind == "all at once":
        return NOW
    return NOW - int(YEAR_MS * dice.random() ** 4)


async def assert_as_sorted(
    observation: IndexObservation, question: Question, said: Said, sessions: tuple[str, ...]
) -> None:
    expected = sorted(
        (Hit(session_id, 1, seq) for session_id, seq in said if session_id in sessions),
        key=lambda hit: (-said[hit.session_id, hit.seq], hit.session_id, hit.seq),
    )
    first = {hit.session_id: hit for hit in reversed(expected)}
    best = sorted(first.values(), key=expected.index)
    for least in (1, 20, 200):
        for distinct, order in ((False, expected), (True, best)):
            ranking = await observation.rank(question, least, distinct=distinct)
            assert list(ranking.hits) == order[: len(ranking.hits)]
            assert len(ranking.hits) >= min(least, len(order))
            assert not ranking.complete or len(ranking.hits) == len(order)


@pytest.mark.parametrize("by_time", [True, False])
@pytest.mark.parametrize(
    "kind",
    [
        "over years",
        "within a minute",
        "on both sides of a period",
        "before 1970",
        "all at once",
        "one far ahead",
    ],
)
def test_the_newest_are_those_that_sorting_finds(tmp_path: Path, kind: str, by_time: bool) -> None:
    async def check() -> None:
        dice = random.Random(kind)
        said: Said = {}
        index = TantivyIndex.open(tmp_path / "index", 16 << 20)
        for number, session_id in enumerate(SESSIONS):
            times = [spread(kind, dice) for _ in range(MANY // len(SESSIONS))]
            if kind == "one far ahead" and number == 0:
                times[0] = 2**53 - 1
            events = [says(seq, "same words", time) for seq, time in enumerate(times)]
            said.update(((session_id, seq), time) for seq, time in enumerate(times))
            await index.apply([learn(session_id, *events)])
            await index.commit(Watermark(number + 1))
        everything = replace(asking("same"), by_time=by_time)
        of_two = replace(everything, admitted=IndexFilter(ids=frozenset({"b", "c"})))
        await assert_as_sorted(index.observe(), everything, said, SESSIONS)
        await assert_as_sorted(index.observe(), of_two, said, ("b", "c"))
        await index.close()

        index = TantivyIndex.open(tmp_path / "index", 16 << 20)
        await assert_as_sorted(index.observe(), everything, said, SESSIONS)
        newer = [says(seq, "same words", NOW + 2 * YEAR_MS + seq) for seq in range(30)]
        said.update((("z", event.seq), event.time) for event in newer)
        await index.apply([Forget("a"), learn("z", *newer)])
        await assert_as_sorted(index.observe(), everything, said, ("b", "c", "d", "z"))
        await index.commit(Watermark(9))
        await assert_as_sorted(index.observe(), everything, said, ("b", "c", "d", "z"))
        await index.close()

    run(check())


def test_what_is_opened_with_nothing_but_a_watermark_takes_documents(tmp_path: Path) -> None:
    async def check() -> None:
        index = TantivyIndex.open(tmp_path / "index", 16 << 20)
        await index.commit(Watermark(1))
        await index.close()
        index = TantivyIndex.open(tmp_path / "index", 16 << 20)
        await index.apply([learn("a", "same words")])
        await index.commit(Watermark(2))
        ranking = await index.observe().rank(asking("same"), 1, distinct=False)
        assert ranking.hits == [Hit("a", 1, 0)]
        await index.close()

    run(check())


def test_of_many_answers_few_are_looked_at(tmp_path: Path) -> None:
    async def check() -> None:
        index = TantivyIndex.open(tmp_path / "index", 16 << 20)
        events = [says(seq, "same words", NOW + seq * 60_000) for seq in range(2 * MANY)]
        await index.apply([learn("a", *events)])
        await index.commit(Watermark(1))
        await index.close()
        searcher = tantivy.Index.open(str(tmp_path / "index" / "segments")).searcher()
        parts = NewestParts(searcher)

        def begins_at(part: NewestPart) -> int:
            length, number = map(int, part.tokens[-1].split(":"))
            return number << length

        first, *longer = parts.holding(10, 2 * MANY)
        assert 20 <= first.documents <= 200
        held = [sum(event.time >= begins_at(part) for event in events) for part in (first, *longer)]
        assert held == [part.documents for part in (first, *longer)]
        assert list(parts.holding(10, FEW_ANSWERS)) == []

    run(check())
