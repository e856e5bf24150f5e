"""Lists of sessions cost what they show: each is a walk along an index, whatever filter leads."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from providers.sqlite import covers, directories
from providers.sqlite.known_sessions import KnownSessions
from providers.sqlite.migrations import migrate
from providers.sqlite.session_lists import list_sessions
from sessiongraph.filters import ALL_SESSIONS
from sessiongraph.ports import SessionOrder

FILTERS: dict[str, dict[str, Any]] = {
    "all": {},
    "of a cwd": {"cwds": ["/p"]},
    "of two cwds": {"cwds": ["/p", "/q"]},
    "without a cwd": {"cwds": [None]},
    "of parents": {"parents": ["a", "b"]},
    "without a parent": {"parents": [None]},
    "with or without a parent": {"parents": [None, "a"]},
    "of an origin": {"origins": ["subagent"]},
    "without an origin": {"origins": [None]},
    "of a recorder": {"sources": ["dsh"]},
    "of a cwd and a recorder": {"cwds": ["/p"], "sources": ["dsh"]},
}


@pytest.mark.parametrize(("name", "order"), list(product(FILTERS, SessionOrder)))
def test_no_list_is_sorted_by_itself(tmp_path: Path, name: str, order: SessionOrder) -> None:
    with closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as connection:
        covers.teach(connection)
        directories.teach(connection)
        migrate(connection)
        asked: list[str] = []
        connection.set_trace_callback(asked.append)
        selection = ALL_SESSIONS.narrowed(**FILTERS[name])
        page = list_sessions(
            connection, KnownSessions(), selection, order, limit=50, after=None, before=None
        )
        assert page == []
        connection.set_trace_callback(None)
        (statement,) = asked
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
    assert plan
    # The keys of the page are merged; what each list adds to them it finds in their order.
    merged = " UNION ALL " in statement
    assert sum("USE TEMP B-TREE" in step for step in plan) == int(merged), plan
