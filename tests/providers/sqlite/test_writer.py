"""One thread writes: what waits is committed together, and nobody's failure is another's."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from providers.sqlite.writer import Writer
from sessiongraph.errors import LogConflict, PersistenceFailed
from tests.contracts.log_stage import conversation, stored, write
from tests.plain_store import run
from tests.providers.sqlite.raw import rows
from tests.providers.sqlite.stores import sqlite_at
from tests.strategies import header, placed


class Pen:
    """A writer over a table of numbers, that can be held up, and what it has executed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE numbers (number INTEGER PRIMARY KEY)")
        self.statements: list[str] = []
        connection.set_trace_callback(self.statements.append)
        self.writer = Writer(connection)

    def held(self) -> list[int]:
        return [number for (number,) in rows(self.path, "SELECT number FROM numbers")]

    def transactions(self) -> list[list[str]]:
        """The inserts of each transaction that was committed."""
        found: list[list[str]] = [[]]
        for sql in self.statements:
            if sql.startswith("INSERT"):
                found[-1].append(sql.split()[-1])
            elif sql == "COMMIT":
                found.append([])
        return [each for each in found if each]

    @contextmanager
    def held_up(self) -> Iterator[None]:
        """Queue within the block what is to be there when the writer looks again."""
        begun, go_on = threading.Event(), threading.Event()
        holding = self.writer.submit(lambda _: (begun.set(), go_on.wait()))
        begun.wait()
        try:
            yield
        finally:
            go_on.set()
        holding.result()


@pytest.fixture
def pen(tmp_path: Path) -> Iterator[Pen]:
    pen = Pen(tmp_path / "numbers.db")
    yield pen
    pen.writer.close()


def insert(number: int, error: Exception | None = None) -> Callable[[sqlite3.Connection], int]:
    def job(connection: sqlite3.Connection) -> int:
        connection.execute(f"INSERT INTO numbers VALUES ({number})")
        if error is not None:
            raise error
        return number

    return job


def test_what_waits_is_committed_in_one_transaction(pen: Pen) -> None:
    with pen.held_up():
        futures = [pen.writer.submit(insert(number)) for number in range(5)]
    assert [future.result() for future in futures] == list(range(5))
    assert [len(each) for each in pen.transactions()] == [5]


def test_a_job_sees_what_the_jobs_before_it_wrote(pen: Pen) -> None:
    def count(connection: sqlite3.Connection) -> int:
        (found,) = connection.execute("SELECT count(*) FROM numbers").fetchone()
        return int(found)

    with pen.held_up():
        futures = [pen.writer.submit(job) for job in (count, insert(1), count, insert(2), count)]
    assert [future.result() for future in futures] == [0, 1, 1, 2, 2]


def test_a_job_that_fails_is_undone_and_leaves_its_neighbours_alone(pen: Pen) -> None:
    with pen.held_up():
        before = pen.writer.submit(insert(1))
        failing = pen.writer.submit(insert(2, LogConflict("not now")))
        after = pen.writer.submit(insert(3))
    assert (before.result(), after.result()) == (1, 3)
    with pytest.raises(LogConflict, match="not now"):
        failing.result()
    assert pen.held() == [1, 3]
    assert [len(each) for each in pen.transactions()] == [3]


def test_a_job_that_the_database_refuses_fails_all_of_its_transaction(pen: Pen) -> None:
    pen.writer.submit(insert(1)).result()
    with pen.held_up():
        futures = [pen.writer.submit(insert(number)) for number in (2, 1, 3)]
    for future in futures:
        with pytest.raises(PersistenceFailed, match="UNIQUE"):
            future.result()
    assert pen.held() == [1]
    assert pen.writer.submit(insert(2)).result() == 2
    assert pen.held() == [1, 2]


def test_large_work_waits_for_small_and_is_committed_piece_by_piece(pen: Pen) -> None:
    with pen.held_up():
        bulk = [pen.writer.submit(insert(number), bulk=True) for number in (1, 2)]
        small = [pen.writer.submit(insert(number)) for number in (3, 4)]
    for future in (*small, *bulk):
        future.result()
    assert [len(each) for each in pen.transactions()] == [2, 1, 1]
    assert [sql for each in pen.transactions() for sql in each] == ["(3)", "(4)", "(1)", "(2)"]


def test_closing_commits_what_is_queued_and_takes_nothing_more(tmp_path: Path) -> None:
    pen = Pen(tmp_path / "numbers.db")
    with pen.held_up():
        futures = [pen.writer.submit(insert(number), bulk=number > 2) for number in range(5)]
        closing = threading.Thread(target=pen.writer.close)
        closing.start()
    closing.join()
    assert sorted(future.result() for future in futures) == list(range(5))
    assert pen.held() == list(range(5))
    with pytest.raises(PersistenceFailed, match="closed"):
        pen.writer.submit(insert(9))


def test_every_transaction_on_disk_is_told_and_no_failed_one(pen: Pen) -> None:
    told: list[list[int]] = []
    pen.writer.committed = lambda: told.append(pen.held())
    pen.writer.submit(insert(1)).result()
    with pytest.raises(PersistenceFailed):
        pen.writer.submit(insert(1)).result()
    pen.writer.submit(insert(2)).result()
    pen.writer.close()
    assert told == [[1], [1, 2]]


def test_whoever_stops_waiting_does_not_disturb_the_others(pen: Pen) -> None:
    async def scenario() -> None:
        with pen.held_up():
            gone = pen.writer.run(insert(1))
            stays = pen.writer.run(insert(2))
            gone.cancel()
        assert await stays == 2
        assert gone.cancelled()

    run(scenario())
    assert 2 in pen.held()


def test_answers_of_a_loop_that_is_gone_are_dropped(pen: Pen) -> None:
    async def ask() -> asyncio.Future[int]:
        return pen.writer.run(insert(1))

    with pen.held_up():
        lost = run(ask())
    assert pen.writer.submit(insert(2)).result() == 2
    assert pen.held() == [1, 2]
    assert not lost.done() or lost.cancelled()


# In a store


def test_appends_that_wait_together_fail_alone(tmp_path: Path) -> None:
    ids = [f"session {number}" for number in range(6)]

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            for each in ids:
                await write(store, header(each), conversation(2))
            epochs = [(await stored(store, each)).epoch for each in ids]
            begun, go_on = threading.Event(), threading.Event()
            store._write().submit(lambda _: (begun.set(), go_on.wait()))
            await asyncio.to_thread(begun.wait)
            good, late = placed(conversation(3))[2:], placed(conversation(9))[8:]
            work = [
                asyncio.ensure_future(
                    store.append(each, epoch, late if each in ids[1::2] else good)
                )
                for each, epoch in zip(ids, epochs, strict=True)
            ]
            await asyncio.sleep(0)
            go_on.set()
            ends = await asyncio.gather(*work, return_exceptions=True)
            assert [isinstance(end, LogConflict) for end in ends] == [False, True] * 3
            lengths = [(await stored(store, each)).last_seq for each in ids]
            assert lengths == [2, 1] * 3
            assert await store.check() == []

    run(scenario())
