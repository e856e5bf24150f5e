"""What is gone is gone at once; its rows follow, a bounded transaction at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessiongraph.event import Entry
from sessiongraph.filters import EventSelection, Range
from tests.contracts.log_stage import EVERYTHING, append, conversation, one, publish, stored, write
from tests.plain_store import run
from tests.providers.sqlite.raw import connected, queued, rows, settled, strays
from tests.providers.sqlite.stores import fill, full_log, sqlite_at, told, told_plainly
from tests.strategies import delta_run, event, header, message, placed


def long_log(length: int) -> list[Entry]:
    """Events with everything that is derived from events."""
    log: list[Entry] = [message(0, "user/message")]
    for seq in range(1, length):
        if seq % 3:
            log.append(event(seq, "x/y", time=seq))
        else:
            log.append(message(seq, replaces=(seq - 3, seq - 3), sources=range(seq)))
    return log


def test_a_deleted_log_leaves_no_rows(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await fill(store)
            await write(store, header("long"), long_log(2_300))
            await store.delete("long")
            await settled(store)
            assert strays(tmp_path / "log.db") == {}
            assert await told(store) == await told_plainly()

    run(scenario())


def test_a_replaced_log_leaves_no_rows(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await write(store, header("a"), long_log(2_300))
            await publish(store, header("a"), conversation(2))
            await settled(store)
            assert strays(tmp_path / "log.db") == {}
            assert rows(tmp_path / "log.db", "SELECT count(*) FROM events") == [(2,)]

    run(scenario())


def test_rows_are_removed_by_a_thousand_and_appends_go_between(tmp_path: Path) -> None:
    statements: list[str] = []

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await write(store, header("long"), long_log(4_500))
            await write(store, header("a"), conversation(1))
            await store._write().run(
                lambda connection: connection.set_trace_callback(statements.append)
            )
            await store.delete("long")
            await append(store, "a", [placed(conversation(2))[1:]])
            await settled(store)

    run(scenario())
    transactions = "\n".join(statements).split("COMMIT")
    removing = [each for each in transactions if "DELETE FROM events" in each]
    assert len(removing) == 5
    assert {each.count("DELETE FROM events") for each in removing} == {1}
    appended = next(n for n, each in enumerate(transactions) if " INTO events (" in each)
    assert "DELETE FROM events" in "".join(transactions[appended:])


@pytest.mark.parametrize("kind", ["deleted", "replaced", "abandoned", "growth"])
def test_a_store_that_was_closed_while_sweeping_goes_on_at_its_next_opening(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            await write(store, header("a"), long_log(3_400)[:10])
            if kind == "growth":
                growth = await store.stage_growth(await stored(store, "a"))
                await growth.append(placed(long_log(3_400))[10:])
            elif kind == "abandoned":
                staged = await store.stage(header("b"))
                await staged.append(placed(long_log(3_400)))
                await staged.abandon()
            else:
                await write(store, header("b"), long_log(3_400))
                if kind == "deleted":
                    await store.delete("b")
                else:
                    await publish(store, header("b"), conversation(1))
        assert strays(path) != {}, "nothing was left to sweep, so nothing is tested"
        async with sqlite_at(path) as store:
            assert await store.check() == []
            await settled(store)
            assert await store.check() == []
        assert strays(path) == {}

    run(scenario())


def test_growth_that_somebody_else_took_over_is_not_swept_away(tmp_path: Path) -> None:
    """An append behind abandoned growth belongs to the log."""

    async def scenario() -> None:
        path = tmp_path / "log.db"
        async with sqlite_at(path) as store:
            await write(store, header("a"), long_log(9))
            growth = await store.stage_growth(await stored(store, "a"))
            await growth.append(placed(long_log(2_500))[9:])
        async with sqlite_at(path) as store:
            await append(store, "a", [placed(long_log(12))[9:]])
            await settled(store)
            assert (await stored(store, "a")).last_seq == 11
            assert await store.check() == []
        assert strays(path) == {}
        assert rows(path, "SELECT count(*) FROM events") == [(12,)]

    run(scenario())


def test_spans_that_are_left_too_wide_hide_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            log: list[Entry] = [event(seq, "x/y", time=10) for seq in range(3)]
            await write(store, header("a"), log)
            growth = await store.stage_growth(await stored(store, "a"))
            late = [event(seq, "x/y", time=10**6 * seq) for seq in range(3, 900)]
            await growth.append(placed([*log, *late])[3:])
            await growth.abandon()
            await append(store, "a", [placed([*log, event(3, "x/y", time=12)])[3:]])
            async with store.observe() as reader:
                session = await one(reader, "a")
                for low, seqs in ((10, [0, 1, 2, 3]), (11, [3]), (13, [])):
                    wanted = EventSelection(times=Range(low, None))
                    found = await reader.events(session, wanted, EVERYTHING)
                    assert [each.seq for each in found] == seqs
            assert await store.check() == []

    run(scenario())


def test_numbers_of_removed_logs_are_never_given_again(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        for _ in range(3):
            async with sqlite_at(path) as store:
                await store.create(header("a"), placed([*full_log()[:3], delta_run(3, ["x"])]))
                (number,) = (await queued(store, "SELECT log FROM logs"))[-1]
                seen.append(number)
                await store.delete("a")
                await settled(store)

    seen: list[int] = []
    run(scenario())
    assert seen == [1, 2, 3]
    with connected(path) as connection:
        assert connection.execute("SELECT count(*) FROM logs").fetchone() == (0,)
