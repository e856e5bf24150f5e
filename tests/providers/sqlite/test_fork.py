"""A fork's rows are those that a log written event by event would have."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.sqlite import forking
from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.errors import LogConflict
from sessiongraph.event import Entry, SessionEvent, SurfaceOp
from tests.contracts.log_stage import conversation, publish, stored, write
from tests.plain_store import prefix_of, run
from tests.providers.sqlite import raw
from tests.providers.sqlite.stores import sqlite_at
from tests.sessiongraph.live_engine import each_in_a_file_of_its_own
from tests.strategies import event, header, logs, message, placed, prompt, user_message


def fresh(folder: Path, name: str) -> Path:
    for left in folder.glob(f"{name}*"):
        left.unlink()
    return folder / name


async def fork(store: SqliteLogStore, boundary: int, child: str) -> None:
    """A child of ``a`` with an event of its own."""
    new = header(child, parent_session="a", seed_length=boundary + 1)
    staged = await store.fork(await stored(store, "a"), boundary, new)
    own = placed([event(seq, "x/y") for seq in range(boundary + 2)])[-1:]
    await staged.append(own)
    await staged.publish(new)


async def write_plainly(store: SqliteLogStore, log: list[Entry], boundary: int) -> None:
    """The same child, as an import would write it."""
    new = header(f"child {boundary}", parent_session="a", seed_length=boundary + 1)
    await publish(store, new, [*prefix_of(log, boundary), event(boundary + 1, "x/y")])


@each_in_a_file_of_its_own
@given(
    log=logs(min_size=1, max_size=8),
    data=st.data(),
    rows_per_job=st.sampled_from((1, 3, 1000)),
    bytes_per_job=st.sampled_from((1, 100, 2 << 20)),
)
def test_rows_of_a_fork_equal_those_of_the_prefix_written_by_itself(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows_per_job: int,
    bytes_per_job: int,
    log: list[Entry],
    data: st.DataObject,
) -> None:
    monkeypatch.setattr(forking, "ROWS_PER_JOB", rows_per_job)
    monkeypatch.setattr(forking, "BYTES_PER_JOB", bytes_per_job)
    mine, model = fresh(tmp_path, "mine.db"), fresh(tmp_path, "model.db")
    boundaries = data.draw(st.sets(st.integers(0, log[-1].last_seq), min_size=1, max_size=3))

    async def scenario() -> None:
        async with sqlite_at(mine) as store:
            await write(store, header("a"), log)
            for boundary in boundaries:
                await fork(store, boundary, f"child {boundary}")
            assert await store.check() == []
        async with sqlite_at(model) as store:
            await write(store, header("a"), log)
            for boundary in boundaries:
                await write_plainly(store, log, boundary)

    run(scenario())
    assert raw.logical(mine) == raw.logical(model)
    assert raw.strays(mine) == {}


def cited(count: int) -> list[Entry]:
    """Prompts, then summaries that cite and replace ever more of them."""
    log: list[Entry] = [prompt(seq, f"{seq}", time=1000 + seq) for seq in range(count)]
    for turn in range(count // 10):
        seq = count + turn
        start = turn * 5
        sources = tuple(range(0, start + 5, 2)) + tuple(range(1, start + 5, 2))
        op = SurfaceOp(start, start + 4)
        log.append(
            SessionEvent(
                seq, "user/message", 2000 + turn, message(seq, data=user_message("s")).payload,
                op, sources,
            )
        )  # fmt: skip
    return log


def test_a_fork_that_takes_many_transactions_is_whole(tmp_path: Path) -> None:
    log = cited(1500)
    mine, model = tmp_path / "mine.db", tmp_path / "model.db"
    boundary = 1560

    async def scenario() -> None:
        for path in (mine, model):
            async with sqlite_at(path) as store:
                await publish(store, header("a"), log)
                if path == mine:
                    await fork(store, boundary, f"child {boundary}")
                else:
                    await write_plainly(store, log, boundary)
                assert await store.check() == []

    run(scenario())
    assert raw.logical(mine) == raw.logical(model)


@pytest.mark.parametrize("swept", [True, False])
def test_forking_what_was_deleted_is_a_conflict_whether_or_not_its_rows_are_still_there(
    tmp_path: Path, swept: bool
) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            await write(store, header("a"), conversation(5))
            source = await stored(store, "a")
            await store.delete("a")
            if swept:
                await raw.settled(store)
            with pytest.raises(LogConflict):
                await store.fork(source, 4, header("child"))
            await raw.settled(store)
        assert raw.strays(path) == {}

    run(scenario())


def test_what_a_crash_left_of_a_fork_is_cleared_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            await write(store, header("a"), conversation(20))
            await store.fork(await stored(store, "a"), 10, header("child"))
        async with sqlite_at(path) as store:
            assert await store.check() == []
            await raw.settled(store)
            await fork(store, 10, "child")
        assert raw.strays(path) == {}

    run(scenario())
