"""An index that is not as the log says is found out, and one that is only behind is not blamed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from providers.sqlite.log_store import SqliteLogStore
from providers.tantivy.index import TantivyIndex
from sessiongraph.event import APPEND
from sessiongraph.ports import StoredSession
from sessiongraph.search.growth import commits_between, mark_of
from sessiongraph.search.indexing import Indexing
from sessiongraph.search.ports import Forget, SearchIndex, Watermark
from sessiongraph.search.verification import index_faults
from tests.contracts.search_index import learn, says
from tests.plain_search import PlainIndex
from tests.plain_store import run
from tests.strategies import event, header, placed, user_message

INDEXES = [
    pytest.param(lambda path: PlainIndex(), id="plain"),
    pytest.param(lambda path: TantivyIndex.open(path, 16 << 20), id="tantivy"),
]
Opened = Callable[[Path], SearchIndex]


class Kept:
    """A store of three sessions and an index that is kept up with it."""

    def __init__(self, store: SqliteLogStore, index: SearchIndex) -> None:
        self.store = store
        self.index = index

    async def catch_up(self) -> None:
        await Indexing(self.store, self.store, self.index, commit_ms=0).catch_up()

    async def say(self, session_id: str, *texts: str) -> None:
        """Append prompts to a stored session."""
        stored = await self.stored(session_id)
        first = stored.last_seq + 1
        said = [
            event(first + number, data=user_message(text), op=APPEND)
            for number, text in enumerate(texts)
        ]
        earlier = [event(seq, op=APPEND, data=user_message("x")) for seq in range(first)]
        await self.store.append(session_id, stored.epoch, placed([*earlier, *said])[first:])

    async def begin(self, session_id: str, *texts: str) -> None:
        await self.store.create(header(session_id))
        await self.say(session_id, *texts)

    async def stored(self, session_id: str) -> StoredSession:
        async with self.store.observe() as reader:
            return (await reader.find([session_id]))[session_id]

    async def replace(self, session_id: str, *texts: str) -> None:
        staged = await self.store.stage(header(session_id))
        said = [event(seq, data=user_message(text), op=APPEND) for seq, text in enumerate(texts)]
        await staged.append(placed(said))
        await staged.publish(header(session_id))

    async def mark_at(self, position: int) -> str:
        """What an index notes that has reached a commit."""
        commits = [each async for each in commits_between(self.store, position - 1, position)]
        return mark_of(commits[0])

    async def faults(self) -> list[tuple[str | None, str]]:
        seen: list[int] = []
        found = [
            (fault.session_id, fault.detail)
            async for fault in index_faults(self.store, self.store, self.index, seen.append)
        ]
        assert seen == sorted(seen)
        return found


@asynccontextmanager
async def kept(path: Path, opened: Opened) -> AsyncIterator[Kept]:
    store = SqliteLogStore.open(path / "log.db")
    index = opened(path / "index")
    try:
        one = Kept(store, index)
        await one.begin("a", "word one", "", "word two")
        await one.begin("b", *["word"] * 200)
        await one.begin("silent", "")
        await one.catch_up()
        assert await one.faults() == []
        yield one
    finally:
        await index.close()
        await store.close()


@pytest.mark.parametrize("opened", INDEXES)
def test_an_index_that_is_behind_is_held_to_what_the_log_was(
    tmp_path: Path, opened: Opened
) -> None:
    async def check() -> None:
        async with kept(tmp_path, opened) as one:
            await one.say("a", "more", "and more")
            await one.say("a", "still more")
            await one.begin("new", "word")
            assert await one.faults() == []
            await one.store.delete("b")
            assert await one.faults() == []
            await one.replace("a", "word other")
            assert await one.faults() == []
            await one.begin("b", "again")
            assert await one.faults() == []
            await one.catch_up()
            assert await one.faults() == []

    run(check())


@pytest.mark.parametrize("opened", INDEXES)
def test_an_index_without_a_commit_has_nothing_wrong_with_it(
    tmp_path: Path, opened: Opened
) -> None:
    async def check() -> None:
        async with kept(tmp_path, opened) as one:
            await one.index.clear()
            assert await one.faults() == []

    run(check())


@pytest.mark.parametrize("opened", INDEXES)
def test_documents_that_are_too_few_too_many_or_others_are_found_out(
    tmp_path: Path, opened: Opened
) -> None:
    async def check() -> None:
        async with kept(tmp_path, opened) as one:
            watermark = one.index.watermark
            assert watermark is not None
            epochs = {each: (await one.stored(each)).epoch for each in ("a", "b", "silent")}

            async def broken(*changes: object) -> list[tuple[str | None, str]]:
                await one.index.apply(changes)  # type: ignore[arg-type]
                await one.index.commit(watermark)
                return await one.faults()

            elsewhere = says(0, "word one"), says(1, "word two")
            other = says(0, "word one"), says(2, "word too")
            for said in (elsewhere, other):
                wrong = [Forget("a"), learn("a", *said, epoch=epochs["a"])]
                assert await broken(*wrong) == [
                    ("a", "the documents that are indexed are not those of the log")
                ]
            lost = ("a", "1 documents are indexed, 2 are in the log")
            assert await broken(Forget("a"), learn("a", "word", epoch=epochs["a"])) == [lost]
            double = ("silent", "1 documents are indexed, 0 are in the log")
            assert set(await broken(learn("silent", "word", epoch=epochs["silent"]))) == {
                lost,
                double,
            }
            old = ("b", "1 documents are of an earlier state of the log")
            stray = (None, "2 of its documents are of logs that are not there")
            changes = [learn("b", "word", epoch=10**6), learn("gone", "word", "word")]
            assert set(await broken(*changes)) == {lost, double, old, stray}

    run(check())


@pytest.mark.parametrize("opened", INDEXES)
def test_a_place_that_is_none_of_the_log_is_found_out(tmp_path: Path, opened: Opened) -> None:
    async def check() -> None:
        async with kept(tmp_path, opened) as one:
            watermark = one.index.watermark
            assert watermark is not None
            beyond = Watermark(watermark.position + 7, mark=watermark.mark)
            await one.index.commit(beyond)
            (fault,) = await one.faults()
            assert fault == (
                None,
                f"it has reached commit {beyond.position}, the log ends with {watermark.position}",
            )
            await one.index.commit(Watermark(watermark.position - 1, mark=watermark.mark))
            ((_, detail),) = await one.faults()
            assert "is one of another log" in detail

    run(check())


@pytest.mark.parametrize("opened", INDEXES)
def test_a_commit_that_is_indexed_in_part_is_held_to_that_part(
    tmp_path: Path, opened: Opened
) -> None:
    async def check() -> None:
        async with kept(tmp_path, opened) as one:
            before = one.index.watermark
            assert before is not None
            await one.begin("big", *["word"] * 10)
            epoch = (await one.stored("big")).epoch
            await one.index.apply([learn("big", *["word"] * 6, epoch=epoch)])
            created = Watermark(before.position + 1, 5, await one.mark_at(before.position + 1))
            await one.index.commit(created)
            assert await one.faults() == []
            await one.index.commit(Watermark(created.position, 6, created.mark))
            assert await one.faults() == [("big", "6 documents are indexed, 7 are in the log")]

    run(check())


def test_a_log_that_is_damaged_itself_is_for_the_store_to_tell(tmp_path: Path) -> None:
    async def check() -> None:
        async with kept(tmp_path, lambda _: PlainIndex()) as one:
            await one.store.writer.run(
                lambda raw: raw.execute("UPDATE events SET payload = x'00', flags = flags | 4")
            )
            assert await one.faults() == []

    run(check())


def test_files_that_are_damaged_are_all_that_is_told(tmp_path: Path) -> None:
    async def check() -> None:
        async with kept(tmp_path, lambda path: TantivyIndex.open(path, 16 << 20)) as one:
            files = sorted((tmp_path / "index" / "segments").glob("*.fast"))
            octets = await asyncio.to_thread(files[0].read_bytes)
            await asyncio.to_thread(files[0].write_bytes, octets[:9] + b"?" + octets[10:])
            await one.index.apply([Forget("a")])
            expected = f"the file {files[0].name} is not as it was written"
            assert await one.faults() == [(None, expected)]

    run(check())
