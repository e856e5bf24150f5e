"""The index follows the log from wherever it is, and is always what a rebuilt one would be."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from providers.sqlite.log_store import SqliteLogStore
from providers.tantivy.index import TantivyIndex
from sessiongraph.errors import IndexFailed
from sessiongraph.event import APPEND
from sessiongraph.precedence import Precedence
from sessiongraph.search.indexing import Indexing
from sessiongraph.search.ports import IndexChange, Learn, Ranking, SearchIndex, Watermark
from sessiongraph.search.progress import Progress
from sessiongraph.search.question import Question
from tests.contracts.search_index import asking, found
from tests.plain_search import PlainDocument, PlainIndex, PlainIndexObservation
from tests.plain_store import run
from tests.sessiongraph.live_engine import fresh, opened
from tests.sessiongraph.search.engine import searched
from tests.strategies import event, header, placed, user_message


class FailingIndex(PlainIndex):
    """A plain index that fails when told to, and counts what it took."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[str] = []
        self.learned = 0
        self.commits = 0
        self.recovered = 0

    async def apply(self, changes: Sequence[IndexChange]) -> None:
        await super().apply(changes)
        self.learned += sum(len(each.events) for each in changes if isinstance(each, Learn))
        if "apply" in self.failures:
            self.failures.remove("apply")
            raise IndexFailed("the disk of the index is full")

    async def commit(self, watermark: Watermark) -> None:
        if "commit" in self.failures:
            self.failures.remove("commit")
            raise IndexFailed("the disk of the index is full")
        await super().commit(watermark)
        self.commits += 1

    async def recover(self) -> None:
        await super().recover()
        self.recovered += 1

    @property
    def state(self) -> Sequence[PlainDocument]:
        return self.observe().taken

    def begin_with(self, other: PlainIndex) -> None:
        """Take over the last commit of another index."""
        self._committed = other.observe().taken
        self._taken = list(self._committed)
        self._watermark = other.watermark


async def catch_up(path: Path, index: SearchIndex) -> list[Progress]:
    """Bring an index up with a store; answers the progress that was told."""
    store = SqliteLogStore.open(path / "log.db")
    told: list[Progress] = []
    try:
        await Indexing(store, store, index, commit_ms=0).catch_up(told.append)
    finally:
        await store.close()
    return told


async def all_words(index: SearchIndex) -> set[tuple[str, int, int]]:
    return await found(index.observe(), asking("word"))


@pytest.mark.parametrize("failures", [["apply"], ["commit"], ["apply", "commit", "apply"]])
def test_after_a_failure_the_index_goes_on_from_its_watermark(
    tmp_path: Path, failures: list[str]
) -> None:
    index = FailingIndex()

    async def check() -> None:
        async with searched(tmp_path, index_at=lambda _: index, commit_ms=20) as one:
            await one.engine.begin()
            await one.engine.say("word")
            assert await one.found("word") == {"a"}
            index.failures += failures
            await one.engine.say("word", "word")
            async with asyncio.timeout(20):
                while index.failures or not index.recovered:
                    try:
                        assert await one.found_inside("a", "word") == {0, 1, 2}
                    except IndexFailed as failure:
                        assert failure.retriable
                        assert await one.engine.heard() == ["word"] * 3
                    await asyncio.sleep(0.05)
            assert await one.found_inside("a", "word") == {0, 1, 2}
            assert len(await all_words(index)) == 3

    run(check())


def test_an_index_that_cannot_be_written_says_so_until_it_can(tmp_path: Path) -> None:
    index = FailingIndex()

    async def check() -> None:
        async with searched(tmp_path, index_at=lambda _: index, commit_ms=20) as one:
            await one.engine.begin()
            await one.engine.say("word")
            assert await one.found("word") == {"a"}
            assert not (await one.indexing.progress()).failing
            index.failures += ["apply"] * 3
            await one.engine.say("word")
            async with asyncio.timeout(20):
                while not (await one.indexing.progress()).failing:  # noqa: ASYNC110 - nothing tells
                    await asyncio.sleep(0.01)
                found: set[int] = set()
                while found != {0, 1}:
                    with suppress(IndexFailed):
                        found = await one.found_inside("a", "word")
                while (await one.indexing.progress()).failing:  # noqa: ASYNC110 - nothing tells
                    await asyncio.sleep(0.01)

    run(check())


def test_an_index_that_was_opened_again_works_though_nothing_is_left_to_be_taken(
    tmp_path: Path,
) -> None:
    index = FailingIndex()

    async def check() -> None:
        async with searched(tmp_path, index_at=lambda _: index, commit_ms=20) as one:
            await one.engine.begin()
            await one.engine.say("word")
            assert await one.found("word") == {"a"}
            async with asyncio.timeout(20):
                last = (await one.indexing.progress()).target
                while index.watermark is None or index.watermark.position < last:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                committed = index.commits
                one.indexing.doubt()
                while not index.recovered or one.indexing.behind_s:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            assert not (await one.indexing.progress()).failing
            assert index.commits == committed
            assert await one.found("word") == {"a"}

    run(check())


def test_what_was_indexed_is_not_read_again_after_a_restart(tmp_path: Path) -> None:
    async def check() -> None:
        index = FailingIndex()
        for round_number in range(1, 4):
            async with opened(tmp_path / "log.db") as engine:
                if round_number == 1:
                    await engine.begin()
                else:
                    await engine.writing.resume("a")
                await engine.say("word", "word")
            await catch_up(tmp_path, index)
            assert index.learned == 2 * round_number
            assert len(await all_words(index)) == 2 * round_number
        await catch_up(tmp_path, index)
        assert index.learned == 6

    run(check())


@pytest.mark.parametrize("events", [1, 40])
def test_an_index_that_gives_way_all_the_time_is_searched_all_the_same(
    tmp_path: Path, events: int
) -> None:
    async def check() -> None:
        precedence = Precedence()
        async with searched(tmp_path, precedence=precedence) as one:
            for name in ("a", "b", "c"):
                await one.engine.begin(name)
            with precedence:
                for name in ("a", "b", "c"):
                    await one.engine.say(*["word"] * events, to=name)
                assert await one.found("word") == {"a", "b", "c"}
                assert await one.found_inside("c", "word") == set(range(events))

    run(check())


class Stopped(Exception):
    """Where a test stops an index."""


def test_a_large_commit_becomes_visible_in_parts_and_is_taken_up_where_it_was(
    tmp_path: Path,
) -> None:
    class Stopping(FailingIndex):
        async def apply(self, changes: Sequence[IndexChange]) -> None:
            if self.learned > 5000:
                raise Stopped
            await super().apply(changes)

    async def check() -> None:
        store = SqliteLogStore.open(tmp_path / "log.db")
        try:
            log = [event(seq, data=user_message("word"), op=APPEND) for seq in range(9000)]
            await store.create(header("big"), placed(log))
            await store.create(header("small"), placed(log[:2]))
            stopped = Stopping()
            with pytest.raises(Stopped):
                await Indexing(store, store, stopped, commit_ms=0).catch_up()
            await stopped.recover()
            reached = stopped.watermark
            assert reached is not None
            assert 5000 < len(stopped.state) < 9000
            assert reached.through == len(stopped.state) - 1
            again = FailingIndex()
            again.begin_with(stopped)
            told: list[Progress] = []
            await Indexing(store, store, again, commit_ms=0).catch_up(told.append)
            assert again.learned == 9002 - len(stopped.state)
            keys = [(each.header.session_id, each.event.seq) for each in again.state]
            assert len(keys) == len(set(keys)) == 9002
            positions = [progress.position for progress in told]
            assert positions == sorted(positions)
            assert told[-1].behind == 0
        finally:
            await store.close()

    run(check())


def test_an_index_of_another_log_is_built_anew(tmp_path: Path) -> None:
    async def check() -> None:
        index = PlainIndex()
        for name in ("one", "two"):
            folder = tmp_path / name
            folder.mkdir()
            async with opened(folder / "log.db") as engine:
                await engine.begin(name)
                await engine.say(*["word"] * 3, to=name)
            await catch_up(folder, index)
            assert {session_id for session_id, _, _ in await all_words(index)} == {name}

    run(check())


def test_a_log_that_was_set_back_makes_the_index_begin_anew(tmp_path: Path) -> None:
    async def check() -> None:
        index = PlainIndex()
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            await engine.say("word")
        shutil.copy(tmp_path / "log.db", tmp_path / "backup.db")
        async with opened(tmp_path / "log.db") as engine:
            await engine.writing.resume("a")
            await engine.say("word")
        await catch_up(tmp_path, index)
        assert len(await all_words(index)) == 2
        fresh(tmp_path)
        shutil.copy(tmp_path / "backup.db", tmp_path / "log.db")
        await catch_up(tmp_path, index)
        assert len(await all_words(index)) == 1

    run(check())


def test_searches_say_that_they_are_incomplete_while_the_index_is_built(tmp_path: Path) -> None:
    class Slow(PlainIndex):
        def __init__(self) -> None:
            super().__init__()
            self.go_on = asyncio.Event()

        async def apply(self, changes: Sequence[IndexChange]) -> None:
            if any(isinstance(change, Learn) for change in changes):
                await self.go_on.wait()
            await super().apply(changes)

    async def check() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            await engine.say("word")
        index = Slow()
        async with searched(tmp_path, index_at=lambda _: index, wait_ms=50) as one:
            with pytest.raises(IndexFailed, match="is being built"):
                await one.found("word")
            progress = await one.indexing.progress()
            assert progress.building
            assert progress.behind > 0
            assert await one.engine.heard() == ["word"]
            index.go_on.set()
            async with asyncio.timeout(5):
                while (await one.indexing.progress()).building:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            assert await one.found("word") == {"a"}
            assert (await one.indexing.progress()).behind == 0

    run(check())


def test_an_index_that_cannot_be_read_is_opened_again_and_then_built_anew(tmp_path: Path) -> None:
    class Torn(PlainIndexObservation):
        async def rank(self, question: Question, least: int, *, distinct: bool) -> Ranking:
            raise IndexFailed("torn")

    class Unreadable(FailingIndex):
        cleared = 0

        def observe(self) -> PlainIndexObservation:
            seen = super().observe()
            return seen if self.cleared else Torn(seen.taken)

        async def clear(self) -> None:
            await super().clear()
            self.cleared += 1

    async def check() -> None:
        index = Unreadable()
        async with searched(tmp_path, index_at=lambda _: index, wait_ms=3000) as one:
            await one.engine.begin()
            await one.engine.say("word")
            failures = 0
            async with asyncio.timeout(15):
                while True:
                    try:
                        assert await one.found("word") == {"a"}
                    except IndexFailed:
                        failures += 1
                        await asyncio.sleep(0.1)
                    else:
                        break
            assert failures >= 2
            assert (index.recovered, index.cleared) == (1, 1)

    run(check())


def test_a_rebuilt_index_answers_as_the_one_that_followed(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            for number in range(6):
                await one.engine.begin(f"s{number}")
                await one.engine.say("word a", "word b", to=f"s{number}")
                await one.found("word")
            await one.compact("s1", 0, 0, "word c")
            await one.engine.writing.fork("s1", 1, "child")
            await one.delete("s2")
            await one.found("word")
            followed = await all_words(one.indexing.index)
        rebuilt = TantivyIndex.open(tmp_path / "rebuilt", 16 << 20)
        try:
            await catch_up(tmp_path, rebuilt)
            assert await all_words(rebuilt) == followed
            assert len(followed) == 5 * 2 + 1 + 2
        finally:
            await rebuilt.close()

    run(check())
