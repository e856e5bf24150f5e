"""Reading connections are lent again and again, however many observe at once."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from providers.sqlite.connections import IDLE_READERS, SPARE_READERS, Readers
from sessiongraph.errors import PersistenceFailed
from tests.plain_store import run
from tests.providers.sqlite.stores import filled

_AT_ONCE = IDLE_READERS + SPARE_READERS


@pytest.fixture
def readers(tmp_path: Path) -> Readers:
    path = tmp_path / "log.db"
    run(filled(path))
    return Readers(path)


def test_those_lent_at_once_are_lent_again(readers: Readers) -> None:
    first = [readers.borrow() for _ in range(_AT_ONCE)]
    assert [each.is_spare for each in first] == [False] * IDLE_READERS + [True] * SPARE_READERS
    for each in first:
        readers.give_back(each)
    again = [readers.borrow() for _ in range(_AT_ONCE)]
    assert set(again) == set(first)
    assert not any(each.is_spare for each in again[:IDLE_READERS])
    one_more = readers.borrow()
    assert one_more not in first
    for each in (*again, one_more):
        readers.give_back(each)
    readers.close()


def test_no_more_are_kept_than_these(readers: Readers) -> None:
    lent = [readers.borrow() for _ in range(_AT_ONCE + 3)]
    for each in lent:
        readers.give_back(each)
    closed = [each for each in lent if is_closed(each)]
    assert len(closed) == 3
    assert all(each.is_spare for each in closed)
    readers.close()
    assert all(map(is_closed, lent))


def test_one_that_was_closed_makes_room_for_another(readers: Readers) -> None:
    """Who finds a connection broken closes it and does not give it back."""
    for _ in range(3):
        lent = [readers.borrow() for _ in range(IDLE_READERS)]
        assert not any(each.is_spare for each in lent)
        for each in lent:
            each.close()
            each.close()
    readers.close()


def test_what_cannot_be_opened_takes_no_room(readers: Readers, tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    path.rename(tmp_path / "away.db")
    for _ in range(2 * IDLE_READERS):
        with pytest.raises(PersistenceFailed):
            readers.borrow()
    (tmp_path / "away.db").rename(path)
    lent = [readers.borrow() for _ in range(IDLE_READERS)]
    assert not any(each.is_spare for each in lent)
    for each in lent:
        readers.give_back(each)
    readers.close()


def test_nothing_is_lent_when_they_are_closed(readers: Readers) -> None:
    lent = readers.borrow()
    readers.close()
    with pytest.raises(PersistenceFailed, match="closed"):
        readers.borrow()
    readers.give_back(lent)
    assert is_closed(lent)


def is_closed(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return True
    return False
