"""Where each session is, for those who see the sessions of some directories only.

A row says that a visible log is at or below a place (:mod:`sessiongraph.directories`): one for the
place of its working directory and one for each above it. So the sessions within a place, newest
first, are one stretch of one B-tree, however many are elsewhere. The rows are kept by triggers,
whoever writes the list of sessions; a log whose working directory is not absolute has none.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Final

from providers.sqlite.codec import to_octets
from providers.sqlite.headers import shown_text
from sessiongraph.directories import octets_of, place_of, places_above

WITHIN: Final = "directories CROSS JOIN logs USING (log)"
"""The logs within some places, for a condition on ``directory``."""

KEY: Final = ("since", "session")
"""What those within one place are in order of: newest first, ties by id."""

_PLACES: Final = """
    SELECT substr(place_of_cwd({row}cwd), 1, each.value) AS directory,
        -{row}created_at AS since, {row}id AS session, {row}log AS log
    """
_OF_NEW: Final = _PLACES.format(row="NEW.") + "FROM json_each(ends_of_places(NEW.cwd)) AS each"
_OF_OLD: Final = _PLACES.format(row="OLD.") + "FROM json_each(ends_of_places(OLD.cwd)) AS each"
_OF_ALL: Final = (
    _PLACES.format(row="logs.")
    + "FROM logs, json_each(ends_of_places(logs.cwd)) AS each WHERE logs.state = 1"
)
_ADD: Final = f"INSERT OR REPLACE INTO directories {_OF_NEW}"
_REMOVE: Final = (
    "DELETE FROM directories WHERE (directory, since, session) IN "
    f"(SELECT directory, since, session FROM ({_OF_OLD}))"
)

TABLES: Final = (
    """
    CREATE TABLE directories (
        directory BLOB NOT NULL,
        since INTEGER NOT NULL,
        session BLOB NOT NULL,
        log INTEGER NOT NULL,
        PRIMARY KEY (directory, since, session)
    ) STRICT, WITHOUT ROWID
    """,
    f"""
    CREATE TRIGGER directories_of_new_logs AFTER INSERT ON logs WHEN NEW.state = 1 BEGIN
        {_ADD};
    END
    """,
    f"""
    CREATE TRIGGER directories_of_shown_logs AFTER UPDATE OF state, created_at, id, cwd ON logs
    WHEN OLD.state <> 1 AND NEW.state = 1
    BEGIN
        {_ADD};
    END
    """,
    f"""
    CREATE TRIGGER directories_of_hidden_logs AFTER UPDATE OF state, created_at, id, cwd ON logs
    WHEN OLD.state = 1 AND NEW.state <> 1
    BEGIN
        {_REMOVE};
    END
    """,
    f"""
    CREATE TRIGGER directories_of_moved_logs AFTER UPDATE OF state, created_at, id, cwd ON logs
    WHEN OLD.state = 1 AND NEW.state = 1
        AND (OLD.created_at, OLD.id, OLD.cwd) IS NOT (NEW.created_at, NEW.id, NEW.cwd)
    BEGIN
        {_REMOVE};
        {_ADD};
    END
    """,
    f"""
    CREATE TRIGGER directories_of_gone_logs AFTER DELETE ON logs WHEN OLD.state = 1 BEGIN
        {_REMOVE};
    END
    """,
)


def teach(connection: sqlite3.Connection) -> None:
    """Give a connection the functions that the triggers call; nobody writes logs without them."""
    connection.create_function("place_of_cwd", 1, _place, deterministic=True)
    connection.create_function("ends_of_places", 1, _ends, deterministic=True)


def fill(connection: sqlite3.Connection) -> None:
    """Write the places of every visible log anew."""
    connection.execute("DELETE FROM directories")
    connection.execute(f"INSERT INTO directories {_OF_ALL}")


def rebuild(connection: sqlite3.Connection) -> None:
    """Make the table anew, whatever is left of it."""
    connection.execute("DROP TABLE IF EXISTS directories")
    connection.execute(TABLES[0])
    fill(connection)


def faults(connection: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with the places that are kept."""
    teach(connection)
    kept = "SELECT directory, since, session, log FROM directories"
    for sql, what in (
        (f"{_OF_ALL} EXCEPT {kept}", "are not kept"),
        (f"{kept} EXCEPT {_OF_ALL}", "are of no session"),
    ):
        (count,) = connection.execute(f"SELECT count(*) FROM ({sql})").fetchone()
        if count:
            yield f"{count} places of sessions {what}"


def one_of(places: Collection[str], names: str = "?") -> str:
    """A condition on ``directory``; ``names``: how its parameters are written, with their number
    for ``{}``."""
    marks = ", ".join(names.format(number) for number in range(len(places)))
    return f"directory IN ({marks})"


def is_within(places: Collection[str], names: str = "?", row: str = "logs") -> str:
    """A condition on a row that has ``newest`` and ``id``: the log of it is within some places."""
    return (
        f"EXISTS (SELECT 1 FROM directories WHERE {one_of(places, names)} "
        f"AND since = {row}.newest AND session = {row}.id)"
    )


def values_of(places: Collection[str]) -> list[bytes]:
    """What the parameters of both conditions are."""
    return [to_octets(place) for place in sorted(places)]


@lru_cache(maxsize=256)
def _place(octets: bytes | None) -> bytes | None:
    place = _place_of(octets)
    return None if place is None else to_octets(place)


@lru_cache(maxsize=256)
def _ends(octets: bytes | None) -> str:
    """The lengths of the places that a log is at or below, as a JSON array."""
    place = _place_of(octets)
    return json.dumps([octets_of(each) for each in places_above(place)] if place else [])


def _place_of(octets: bytes | None) -> str | None:
    directory = shown_text(octets)
    return None if directory is None else place_of(directory)
