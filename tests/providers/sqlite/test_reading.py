"""An observation ends when nothing reads from it any more, whoever forgot to wait."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from sessiongraph.errors import PersistenceFailed
from tests.plain_store import run
from tests.providers.sqlite.stores import filled, sqlite_at

_ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_read_that_nobody_waits_for_is_over_when_its_observation_is(
    tmp_path: Path, cancelled: bool
) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        await filled(path)
        async with sqlite_at(path) as store:
            begun = threading.Event()
            async with store.observe() as reader:

                def read() -> Any:
                    begun.set()
                    return reader._connection.execute(_ENDLESS).fetchone()

                reading = asyncio.create_task(reader._aside(read))
                waiting = asyncio.create_task(reader._aside(read))
                short = asyncio.create_task(reader.find(["a"]))
                await asyncio.to_thread(begun.wait)
                if cancelled:
                    reading.cancel()
            for task in (reading, waiting, short):
                expected = asyncio.CancelledError if cancelled and task is reading else None
                with pytest.raises(expected or PersistenceFailed):
                    await task
            with pytest.raises(PersistenceFailed, match="has ended"):
                await reader.find(["a"])
            async with store.observe() as again:
                assert again._connection is reader._connection
                await again.find(["a"])

    run(scenario())


def test_who_ends_an_observation_and_is_cancelled_is_cancelled_when_it_has_ended(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        await filled(path)
        async with sqlite_at(path) as store:
            begun, go_on = threading.Event(), threading.Event()
            left: list[Any] = []

            async def observe() -> None:
                async with store.observe() as reader:
                    left.append(
                        asyncio.create_task(reader._aside(lambda: (begun.set(), go_on.wait())))
                    )
                    await asyncio.to_thread(begun.wait)

            observing = asyncio.create_task(observe())
            await asyncio.to_thread(begun.wait)
            observing.cancel()
            for _ in range(5):
                await asyncio.sleep(0)
            assert not observing.done()
            go_on.set()
            await asyncio.wait({observing})
            assert observing.cancelled()
            await asyncio.gather(*left, return_exceptions=True)
            assert store._observations.open == 0

    run(scenario())
