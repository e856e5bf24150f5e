"""An import that stops in the middle leaves nothing visible, nothing staged and no open file."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.import_report import ImportReport
from sessiongraph.ports import LogStore
from tests.contracts.log_stage import Stores
from tests.contracts.test_log_store import PROVIDERS
from tests.plain_store import run
from tests.providers.recordings.dsh_writing import Json, header_row, row
from tests.providers.recordings.dsh_writing import write as write_file
from tests.providers.sqlite.imports import (
    IMPORTED,
    REFUSED,
    RESUMED,
    UNCHANGED,
    counted,
    prompts,
    replacing,
    take,
    told_store,
    touch,
)
from tests.providers.sqlite.raw import logical, queued, settled, strays
from tests.strategies import wrapped_result


@pytest.fixture(scope="module", params=PROVIDERS)
def stores(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(request.param, tmp_path_factory.mktemp("stores"))


def result(seq: int, text: str = "x", **members: Any) -> Json:
    data = wrapped_result("c", [{"type": "text", "text": text}])
    return row(seq, "tool/result", data, **{"surfaceOp": "append", **members})


def long_log(count: int) -> list[Json]:
    """A result, prompts, a compaction far back, and a result that asks the store for the first."""
    op = {"op": "replace", "start": 0, "end": 0}
    return [
        header_row(),
        result(0),
        *prompts(count, first=1),
        replacing(count + 1, 1, count // 2, [[1, count // 2]]),
        result(count + 2, "pruned", surfaceOp=op, sourceEventSeqs=[0]),
    ]


async def cancelled_at(store: LogStore, path: Path, batch: int) -> bool:
    """Import and be cancelled when this batch was read; whether there was one."""
    seen = 0

    def watch(report: ImportReport) -> None:
        nonlocal seen
        seen += 1
        if seen == batch:
            task.cancel()

    task = asyncio.create_task(take(store, path, on_progress=watch))
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False


@asynccontextmanager
async def sqlite_at(path: Path) -> AsyncIterator[SqliteLogStore]:
    store = SqliteLogStore.open(path)
    try:
        yield store
    finally:
        await store.close()


# Cancelled


def test_a_cancelled_import_leaves_nothing_visible(stores: Stores, tmp_path: Path) -> None:
    path = write_file(tmp_path / "log.jsonl", long_log(3_400))

    async def scenario() -> None:
        async with stores.new() as store:
            before = await told_store(store)
            for batch in (1, 2, 3, 4):
                assert await cancelled_at(store, path, batch)
                assert await told_store(store) == before
            assert counted(await take(store, path)) == IMPORTED

    run(scenario())


def test_a_cancelled_growth_leaves_the_session_as_it_was(stores: Stores, tmp_path: Path) -> None:
    path = write_file(tmp_path / "log.jsonl", long_log(2_400)[:20])

    async def scenario() -> None:
        async with stores.new() as store, stores.new() as fresh:
            await take(store, path)
            before = await told_store(store)
            write_file(path, long_log(2_400))
            for batch in (1, 2, 3):
                assert await cancelled_at(store, path, batch)
                assert await told_store(store) == before
            assert counted(await take(store, path)) == RESUMED
            await take(fresh, path)
            assert await surface_of(store) == await surface_of(fresh)

    run(scenario())


async def surface_of(store: LogStore) -> list[int]:
    async with store.observe() as reader:
        session = (await reader.find(["s"]))["s"]
        return [node.seq for node in await reader.surface_nodes(session)]


@pytest.mark.parametrize("kind", ["new", "growing", "rewritten"])
def test_nothing_stays_staged_after_a_cancelled_import(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "log.jsonl"
    log = tmp_path / "log.db"

    async def scenario() -> None:
        if kind != "new":
            write_file(path, long_log(2_400)[:20])
            async with sqlite_at(log) as store:
                await take(store, path)
            if kind == "rewritten":
                write_file(path, [header_row(), *prompts(5)])
        before = logical(log) if log.exists() else None
        write_file(path, long_log(2_400))
        async with sqlite_at(log) as store:
            for batch in (1, 2, 3):
                assert await cancelled_at(store, path, batch)
            await settled(store)
            assert strays(log) == {}
            assert await store.check() == []
        assert before is None or logical(log) == before

    run(scenario())


@pytest.mark.parametrize("kind", ["new", "rewritten", "growing"])
def test_an_import_cancelled_at_any_step_leaves_everything_or_nothing(
    stores: Stores, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "log.jsonl"
    first = {"new": None, "rewritten": [header_row(), *prompts(9)], "growing": long_log(40)[:9]}

    async def import_first(store: LogStore) -> dict[str, Any]:
        rows = first[kind]
        if rows is not None:
            write_file(path, rows)
            await take(store, path)
        write_file(path, long_log(40))
        return await told_store(store)

    async def scenario() -> None:
        async with stores.new() as store:
            before = await import_first(store)
            await take(store, path)
            after = await told_store(store)
        steps, finished = 0, False
        while not finished:
            async with stores.new() as store:
                await import_first(store)
                finished = await cancelled_after(steps, take(store, path))
                assert await told_store(store) in (before, after)
                counted(await take(store, path))
                assert await told_store(store) == after
            steps += 1 + steps // 2

    run(scenario())


async def cancelled_after(steps: int, work: Any) -> bool:
    """Let something run for so many turns of the loop, cancel it, and say whether it was done."""
    task = asyncio.ensure_future(work)
    for _ in range(steps):
        await asyncio.sleep(0)
    finished = task.done()
    task.cancel()
    await asyncio.wait([task])
    return finished


# Refused


def open_files() -> list[str]:
    return [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="the system does not show open files"
)


@needs_proc
def test_a_refused_file_is_closed_at_once(stores: Stores, tmp_path: Path) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), replacing(0, 1, 1, []), *prompts(2)])

    async def scenario() -> None:
        async with stores.new() as store:
            gc.collect()
            gc.disable()
            try:
                assert counted(await take(store, path)) == REFUSED
                left = [name for name in open_files() if name == str(path)]
            finally:
                gc.enable()
            assert left == []

    run(scenario())


def test_nothing_stays_staged_after_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    wrong = replacing(2_500, 9_999, 9_999, [1])

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            write_file(path, [header_row(), *prompts(2_500), wrong])
            assert counted(await take(store, path)) == REFUSED
            await settled(store)
            assert strays(tmp_path / "log.db") == {}
            write_file(path, [header_row(), *prompts(3)])
            await take(store, path)
            write_file(path, [header_row(), *prompts(2_500), wrong])
            assert counted(await take(store, path)) == REFUSED
            await settled(store)
            assert strays(tmp_path / "log.db") == {}

    run(scenario())


def test_nothing_stays_staged_after_a_look_that_found_nothing_new(tmp_path: Path) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(3)])

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await take(store, path)
            touch(path, 5_000_000_000)
            assert counted(await take(store, path)) == UNCHANGED
            assert await queued(store, "SELECT staged_by FROM logs") == [(None,)]

    run(scenario())
