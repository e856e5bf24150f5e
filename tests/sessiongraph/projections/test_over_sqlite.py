"""The drive over a real file: elided streams, runs in rows, a feed that another thread wakes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.sqlite.checkpoints import SqliteCheckpointStore
from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.event import Entry
from sessiongraph.projections import Projection
from sessiongraph.projections.ports import LogIdentity
from sessiongraph.projections.registry import Registry
from sessiongraph.projections.service import Projections
from sessiongraph.projections.units import FIRST_PARTY
from sessiongraph.projections.views import Change, Snapshot
from tests.plain_store import prefix_of, run
from tests.providers.sqlite import raw
from tests.sessiongraph.projections.driven import until
from tests.sessiongraph.projections.plain_checkpoints import PlainCheckpointStore
from tests.sessiongraph.projections.random_units import plain_fold, told, unit_sets
from tests.strategies import delta_run, event, header, logs, message, placed, splits

_numbers = count()


@asynccontextmanager
async def serving(
    path: Path, units: Any, checkpoints: PlainCheckpointStore | None = None
) -> AsyncIterator[tuple[SqliteLogStore, Projections]]:
    """A running server over a file."""
    store = SqliteLogStore.open(path)
    kept = checkpoints or SqliteCheckpointStore(store)
    projections = Projections(Registry(units), store, store, kept)
    running = asyncio.ensure_future(projections.run())
    await asyncio.sleep(0)
    try:
        yield store, projections
    finally:
        projections.stop()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        await projections.aclose()
        await store.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("projections")


@settings(max_examples=15)
@given(data=st.data(), units=unit_sets(), log=logs(min_size=1))
def test_a_subscription_over_a_file_is_the_fold_after_every_event(
    folder: Path, data: st.DataObject, units: list[Projection[Any]], log: list[Entry]
) -> None:
    batches = data.draw(splits(log))
    entries = placed(log)

    async def scenario() -> None:
        frames: list[Any] = []
        async with serving(folder / f"{next(_numbers)}.db", units) as (store, projections):
            epoch = await store.create(header("a"))

            async def read() -> None:
                async for frame in projections.subscribe("a"):
                    frames.append(frame)  # noqa: PERF401 - looked at while it grows

            reading = asyncio.ensure_future(read())
            done = 0
            for batch in batches:
                await store.append("a", epoch, entries[done : done + len(batch)])
                done += len(batch)
            await until(lambda: bool(frames))
            plain = plain_fold(units, log)
            start = frames[0]
            assert isinstance(start, Snapshot)
            expected = [
                (change.seq, change.key, change.value)
                for change in plain.changes
                if change.seq > start.as_of_seq
            ]
            await until(lambda: len(frames) > len(expected))
            assert told(await projections.snapshot("a")) == plain.told()
            projections.stop()
            await reading
        changes = [frame.view for frame in frames[1:] if isinstance(frame, Change)]
        assert [(view.seq, view.key, view.value) for view in changes] == expected

    run(scenario())


def test_streams_that_are_kept_apart_are_read_for_the_units_that_need_them(folder: Path) -> None:
    stream = [
        {"type": "text-chunks", "time0": 1020, "dt": [], "texts": ["a"]},
        {"type": "chunk", "time": 1030, "chunk": {"type": "usage", "usage": {"inputTokens": 7}}},
    ]
    place = {"turn": 1, "step": 1}
    log: list[Entry] = [
        event(0, "step/start", place, time=1000),
        message(1, "assistant/message", {**place, "message": {"content": []}, "stream": stream}),
    ]

    async def scenario() -> None:
        async with serving(folder / "streams.db", FIRST_PARTY) as (store, projections):
            epoch = await store.create(header("a"))
            await projections.snapshot("a")
            for entry in placed(log):
                await store.append("a", epoch, [entry])
            values = (await projections.snapshot("a")).values()
            assert values["contextPressure"] == {"pressureTokens": 7}
            assert (values["sessionStats"]["ttftMs"], values["sessionStats"]["ttftSteps"]) == (
                20,
                1,
            )

    run(scenario())


def test_a_long_imported_log_is_folded_from_its_file_and_again_from_its_checkpoint(
    folder: Path,
) -> None:
    log: list[Entry] = []
    for turn in range(200):
        seq = log[-1].last_seq + 1 if log else 0
        log += [event(seq, "turn/start", {"turn": turn}), delta_run(seq + 1, ["a"] * 300)]
        log.append(event(seq + 301, "turn/end", {"turn": turn}))
    checkpoints = PlainCheckpointStore()

    async def scenario() -> None:
        path = folder / "long.db"
        async with serving(path, FIRST_PARTY, checkpoints) as (store, projections):
            staged = await store.stage(header("a"))
            await staged.append(placed(log))
            await staged.publish(header("a"))
            await until(lambda: checkpoints.writes > 0)
            first = await projections.snapshot("a")
            assert len(first.values()["turnOutline"]) == 200
        async with serving(path, FIRST_PARTY, checkpoints) as (store, projections):
            again = await projections.snapshot("a")
            assert (again.as_of_seq, again.views) == (first.as_of_seq, first.views)

    run(scenario())


DAMAGE = (
    "DELETE FROM checkpoints WHERE key = ?",
    "UPDATE checkpoints SET state = x'7b' WHERE key = ?",
    "UPDATE checkpoints SET state = x'c328' WHERE key = ?",
    "UPDATE checkpoints SET state = CAST('[1, \"another shape\"]' AS BLOB) WHERE key = ?",
    "UPDATE checkpoints SET version = version + 1 WHERE key = ?",
    "UPDATE checkpoints SET epoch = epoch + 1 WHERE key = ?",
    "UPDATE checkpoints SET changed_seq = seq + 1 WHERE key = ?",
    "UPDATE OR REPLACE checkpoints SET log = log + 1 WHERE key = ?",
)


@settings(max_examples=25)
@given(
    data=st.data(),
    units=unit_sets(),
    log=logs(min_size=1),
    damage=st.lists(st.tuples(st.sampled_from(DAMAGE), st.integers(0, 3)), max_size=3),
    replaced=st.booleans(),
)
def test_whatever_becomes_of_the_rows_in_a_file_a_value_is_that_of_a_fold_from_scratch(
    folder: Path,
    data: st.DataObject,
    units: list[Projection[Any]],
    log: list[Entry],
    damage: list[tuple[str, int]],
    replaced: bool,
) -> None:
    """Checkpoint at some event, damage, restore, continue; also when the log is another one."""
    path = folder / f"{next(_numbers)}.db"
    cut = data.draw(st.integers(0, len(log)))
    entries = placed(log)

    async def write() -> None:
        async with serving(path, units) as (store, projections):
            epoch = await store.create(header("a"), entries[:cut])
            await projections.save("a")
            if replaced:
                staged = await store.stage(header("a"))
                await staged.append(entries)
                await staged.publish(header("a"))
            elif entries[cut:]:
                await store.append("a", epoch, entries[cut:])

    async def read() -> None:
        async with serving(path, units) as (store, projections):
            async with store.observe() as reader:
                stored = (await reader.find(["a"]))["a"]
            rows = await SqliteCheckpointStore(store).rows(
                [LogIdentity.of(stored)], [unit.key for unit in units]
            )
            seqs = {row.key: row.seq for row in rows.get("a", ())}
            listed = (await projections.stored([stored]))["a"]
            for key, value in told(listed).items():
                assert value == plain_fold(units, prefix_of(log, seqs[key])).told()[key]
            assert told(await projections.snapshot("a")) == plain_fold(units, log).told()

    run(write())
    for statement, number in damage:
        raw.change(path, statement, units[number % len(units)].key.encode())
    run(read())
