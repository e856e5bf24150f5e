"""The places of logs: kept with the list of sessions, and made anew when they are damaged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sessiongraph.filters import ALL_SESSIONS
from sessiongraph.ports import SessionOrder
from tests.plain_store import run
from tests.providers.sqlite.raw import change, rows
from tests.providers.sqlite.stores import filled, sqlite_at
from tests.strategies import header

WITHIN = frozenset({"/p/"})


async def found(store: object) -> list[str]:
    async with store.observe() as reader:  # type: ignore[attr-defined]
        within = replace(ALL_SESSIONS, within=WITHIN)
        listed = await reader.sessions(within, SessionOrder.CREATED, limit=9)
        return [each.header.session_id for each in listed]


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM directories",
        "UPDATE directories SET directory = x'2f'  WHERE directory = x'2f702f'",
        "UPDATE directories SET since = since + 1",
        "UPDATE directories SET session = x'61'  WHERE directory = x'2f702f'",
        "UPDATE directories SET log = log + 100",
        "INSERT INTO directories VALUES (x'2f702f', 0, x'6f66206e6f626f6479', 999)",
    ],
)
def test_places_are_found_wrong_and_made_anew(tmp_path: Path, sql: str) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        await filled(path)
        async with sqlite_at(path) as store:
            await store.create(header("mine", cwd="/p/q"))
        kept = rows(path, "SELECT * FROM directories")
        assert change(path, sql.replace("= x'2f' ", "= x'2f712f'")) > 0
        async with sqlite_at(path) as store:
            faults = await store.check()
            assert {(each.session_id, each.what) for each in faults} == {(None, "directories")}
            await store.repair(faults)
            assert await store.check() == []
            assert await found(store) == ["mine"]
        assert rows(path, "SELECT * FROM directories") == kept

    run(scenario())


def test_a_session_costs_a_bounded_number_of_rows_however_deep_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            await store.create(header("deep", cwd="/p" + "/a" * 50_000))
            assert await found(store) == ["deep"]
            assert await store.check() == []

    run(scenario())
    ((count,),) = rows(path, "SELECT count(*) FROM directories")
    assert count < 100
