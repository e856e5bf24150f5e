"""``sessiongraph check`` and checkpoints: each is what a fold of its log says, or is told of."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from providers.sqlite.checkpoints import SqliteCheckpointStore
from sessiongraph.filters import ALL_SESSIONS
from sessiongraph.ports import SessionOrder, StoredSession
from sessiongraph.projections.cells import SessionCells
from sessiongraph.projections.ladder import part_through
from sessiongraph.projections.ports import LogIdentity
from sessiongraph.projections.units import first_party_registry
from tests.providers.sqlite.stores import sqlite_at
from tests.server.processes import run


async def write_checkpoints(path: Path, *, backwards: int) -> None:
    """Rows of every session at its end, or so many events before it."""
    routes = first_party_registry().routes
    async with sqlite_at(path) as store:
        checkpoints = SqliteCheckpointStore(store)
        async with store.observe() as reader:
            sessions: list[StoredSession] = await reader.sessions(
                ALL_SESSIONS, SessionOrder.CREATED, limit=100, after=None
            )
            for stored in sessions:
                last = max(0, stored.last_seq - backwards)
                cells = SessionCells(stored.header.session_id, routes)
                async for page in reader.entries(stored, 0, last):
                    cells.fold_all(part_through(page, last))
                await checkpoints.write(LogIdentity.of(stored), cells.rows())


@pytest.fixture
def data_dir(tmp_path: Path, sample_store: Path) -> Path:
    copy = tmp_path / "data"
    shutil.copytree(sample_store, copy)
    asyncio.run(write_checkpoints(copy / "log.db", backwards=0))
    return copy


def tamper(data_dir: Path, statement: str) -> int:
    with closing(sqlite3.connect(data_dir / "log.db")) as connection, connection:
        return connection.execute(statement).rowcount


def rows_in(data_dir: Path) -> int:
    with closing(sqlite3.connect(data_dir / "log.db")) as connection:
        (count,) = connection.execute("SELECT count(*) FROM checkpoints").fetchone()
    return int(count)


@pytest.mark.parametrize("backwards", [0, 7])
def test_rows_of_any_event_are_held_to_the_state_at_that_event(
    data_dir: Path, backwards: int
) -> None:
    asyncio.run(write_checkpoints(data_dir / "log.db", backwards=backwards))
    assert rows_in(data_dir) > 50
    done = run("check", "--json", "--data-dir", data_dir)
    assert (done.returncode, json.loads(done.stdout)["faults"]) == (0, [])


def test_a_state_that_is_well_formed_and_wrong_is_found_and_removed(data_dir: Path) -> None:
    before = rows_in(data_dir)
    wrong = tamper(
        data_dir,
        "UPDATE checkpoints SET state = CAST(replace(CAST(state AS TEXT), 'a', 'b') AS BLOB) "
        "WHERE CAST(key AS TEXT) = 'title' AND instr(CAST(state AS TEXT), ' a') > 0",
    )
    beyond = tamper(
        data_dir,
        "UPDATE checkpoints SET seq = seq + 5 WHERE CAST(key AS TEXT) = 'activity' "
        "AND log = (SELECT min(log) FROM checkpoints)",
    )
    assert wrong > 0
    assert beyond == 1
    done = run("check", "--json", "--data-dir", data_dir)
    assert done.returncode == 1
    faults = json.loads(done.stdout)["faults"]
    assert {fault["what"] for fault in faults} == {"checkpoints"}
    assert len(faults) == wrong + beyond
    assert all(fault["repairable"] for fault in faults)
    assert sum("the log ends before" in fault["detail"] for fault in faults) == 1
    done = run("check", "--repair", "--json", "--data-dir", data_dir)
    repaired = json.loads(done.stdout)
    assert (done.returncode, repaired["faults"]) == (0, [])
    assert len(repaired["repaired"]) == wrong + beyond
    assert rows_in(data_dir) == before - wrong - beyond


def test_rows_that_nobody_reads_are_left_alone(data_dir: Path) -> None:
    tamper(data_dir, "UPDATE checkpoints SET version = version + 1, state = x'00'")
    done = run("check", "--json", "--data-dir", data_dir)
    assert done.returncode == 0, done.stdout
