"""Work that goes on when nobody waits for it any more."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from resolvers.unbroken import Unbroken
from sessiongraph.errors import LogConflict


class Work:
    """Something that takes as long as it is told to."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.release = asyncio.Event()
        self.done = False
        self._failure = failure

    async def do(self) -> int:
        await self.release.wait()
        self.done = True
        if self._failure is not None:
            raise self._failure
        return 7


def test_whoever_stays_gets_the_result_or_the_failure() -> None:
    async def run() -> None:
        unbroken = Unbroken()
        good, bad = Work(), Work(LogConflict("taken"))
        good.release.set()
        bad.release.set()
        assert await unbroken.run(good.do()) == 7
        with pytest.raises(LogConflict, match="taken"):
            await unbroken.run(bad.do())

    asyncio.run(run())


def test_whoever_leaves_does_not_stop_it() -> None:
    async def run() -> None:
        unbroken, work = Unbroken(), Work()
        leaving = asyncio.create_task(unbroken.run(work.do()))
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert not work.done
        finishing = asyncio.create_task(unbroken.finished())
        await asyncio.sleep(0)
        assert not finishing.done()
        work.release.set()
        await finishing
        assert work.done
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


def test_a_failure_that_nobody_hears_is_logged() -> None:
    async def run() -> None:
        unbroken, work = Unbroken(), Work(LogConflict("taken"))
        leaving = asyncio.create_task(unbroken.run(work.do()))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.wait({leaving})
        work.release.set()
        await unbroken.finished()
        await asyncio.sleep(0)

    with capture_logs() as logged:
        asyncio.run(run())
    assert [(entry["log_level"], entry["error"]) for entry in logged] == [("warning", "taken")]


def test_when_nothing_runs_everything_is_finished() -> None:
    asyncio.run(Unbroken().finished())
