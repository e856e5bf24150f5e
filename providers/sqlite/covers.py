"""Sessions found by a part of their covers: id, working directory, latest title.

Each visible log has one line of text, the three in one case, beside what puts it in order, and an
index of the trigrams of these lines (FTS5), kept by triggers whoever writes the list of sessions.
What is near is looked at first, since a part that is frequent is found soon there; what is rare is
found by its trigrams, of which its first and its last are mostly enough to leave few lines. A part
of one or two characters is the beginning of trigrams, of few when it is rare, for every line
ends in two separators; only one that begins too many is looked for in all lines.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

from providers.sqlite import directories
from providers.sqlite.codec import from_octets, to_octets
from providers.sqlite.headers import COLUMNS, session_of
from sessiongraph.cover_query import CoverQuery
from sessiongraph.directories import lies_within
from sessiongraph.ports import StoredSession

_LOOKED_AT_FIRST: Final = 500
"""Lines of each degree of nearness that are looked at before the index is asked."""

_GRAM: Final = 3
_GRAMS_AT_MOST: Final = 128
"""Trigrams that one question to the index names."""

_MANY: Final = 20_000
"""Lines up to which two trigrams are enough; beyond, all of a part are asked for, in order."""

_FETCHED_AT_ONCE: Final = 64
"""Rows that are put in order and read first; a page of candidates has fifty."""

_PLACE_NAME: Final = "place{}"
_PLACE: Final = f":{_PLACE_NAME}"

_LAST: Final = "\U0010ffff"
_BETWEEN: Final = "\ufffe"
_UNREADABLE: Final = "\ufffd"
_REPLACED: Final = str.maketrans(
    {"\0": _UNREADABLE, _BETWEEN: _UNREADABLE}
    | {chr(code): _UNREADABLE for code in range(0xD800, 0xE000)}
)

TABLES: Final = (
    """
    CREATE TABLE covers (
        log INTEGER PRIMARY KEY,
        newest INTEGER NOT NULL,
        id BLOB NOT NULL,
        cwd BLOB,
        line TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE VIRTUAL TABLE cover_grams USING fts5(
        line, content='covers', content_rowid='log', columnsize=0,
        tokenize='trigram case_sensitive 1'
    )
    """,
    "CREATE VIRTUAL TABLE cover_terms USING fts5vocab('cover_grams', 'row')",
    """
    CREATE TRIGGER covers_added AFTER INSERT ON covers BEGIN
        INSERT INTO cover_grams (rowid, line) VALUES (NEW.log, NEW.line);
    END
    """,
    """
    CREATE TRIGGER covers_removed AFTER DELETE ON covers BEGIN
        INSERT INTO cover_grams (cover_grams, rowid, line) VALUES ('delete', OLD.log, OLD.line);
    END
    """,
    """
    CREATE TRIGGER covers_of_new_logs AFTER INSERT ON logs WHEN NEW.state = 1 BEGIN
        INSERT INTO covers VALUES (
            NEW.log, -NEW.created_at, NEW.id, NEW.cwd, cover_line(NEW.id, NEW.cwd, NEW.title)
        );
    END
    """,
    """
    CREATE TRIGGER covers_of_logs AFTER UPDATE OF state, created_at, id, cwd, title ON logs
    WHEN (OLD.state, OLD.created_at, OLD.id, OLD.cwd, OLD.title)
        IS NOT (NEW.state, NEW.created_at, NEW.id, NEW.cwd, NEW.title)
    BEGIN
        DELETE FROM covers WHERE log = OLD.log;
        INSERT INTO covers
        SELECT NEW.log, -NEW.created_at, NEW.id, NEW.cwd, cover_line(NEW.id, NEW.cwd, NEW.title)
        WHERE NEW.state = 1;
    END
    """,
    """
    CREATE TRIGGER covers_of_gone_logs AFTER DELETE ON logs BEGIN
        DELETE FROM covers WHERE log = OLD.log;
    END
    """,
)

_COLUMNS: Final = ", ".join(f"logs.{name}" for name in COLUMNS.split(", "))
_SAME: Final = "cwd IS :cwd"
_NONE: Final = "cwd IS NULL"
_REST: Final = "cwd IS NOT NULL AND cwd IS NOT :cwd"

_LISTED: Final = f"SELECT {_COLUMNS} FROM {{logs}} WHERE state = 1 AND {{near}} ORDER BY {{key}}"
_LOOKED_THROUGH: Final = f"""
    SELECT {_COLUMNS} FROM (
        SELECT log, newest, id FROM {{logs}} WHERE state = 1 AND {{near}}
        ORDER BY {{key}} LIMIT :first
    ) AS first JOIN covers USING (log) JOIN logs USING (log)
    WHERE instr(line, :part) ORDER BY first.newest, first.id
    """
_MORE_THAN_LOOKED_AT: Final = """
    SELECT 1 FROM {logs} WHERE state = 1 AND {near} LIMIT 1 OFFSET :first
    """
_FOUND: Final = """
    SELECT covers.log FROM ({found}) AS found CROSS JOIN covers ON covers.log = found.log
    WHERE instr(line, :part) AND {inside}
    ORDER BY CASE WHEN cwd IS :cwd THEN 0 WHEN cwd IS NULL THEN 1 ELSE 2 END, newest, id
    LIMIT :most OFFSET :skipped
    """
_BY_GRAMS: Final = "SELECT rowid AS log FROM cover_grams WHERE cover_grams MATCH :grams"
_BY_LINES: Final = "SELECT log FROM covers"
_MATCHED_BY_MANY: Final = """
    SELECT 1 FROM cover_grams WHERE cover_grams MATCH :grams LIMIT 1 OFFSET :many
    """
_GRAMS_THAT_BEGIN: Final = f"""
    SELECT term FROM cover_terms WHERE term >= :part AND term < :part || '{_LAST}'
    LIMIT {_GRAMS_AT_MOST + 1}
    """


def teach(connection: sqlite3.Connection) -> None:
    """Give a connection the function that the triggers call; nobody writes logs without it."""
    connection.create_function("cover_line", 3, _line, deterministic=True)


def fill(connection: sqlite3.Connection) -> None:
    """Write the line of every visible log anew."""
    connection.execute("DELETE FROM covers")
    connection.execute(
        "INSERT INTO covers SELECT log, -created_at, id, cwd, cover_line(id, cwd, title) "
        "FROM logs WHERE state = 1"
    )


def rebuild(connection: sqlite3.Connection) -> None:
    """Make the lines and their index anew, whatever is left of them."""
    connection.execute("DROP TABLE IF EXISTS cover_terms")
    connection.execute("DROP TABLE IF EXISTS cover_grams")
    connection.execute("DROP TABLE IF EXISTS covers")
    for statement in TABLES:
        if statement.split()[1] != "TRIGGER" or " ON covers " in statement:
            connection.execute(statement)
    fill(connection)


def faults(connection: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with the lines and their index."""
    teach(connection)
    (wrong,) = connection.execute(
        "SELECT count(*) FROM logs LEFT JOIN covers USING (log) WHERE state = 1 "
        "AND (covers.newest, covers.id, covers.cwd, line) "
        "IS NOT (-created_at, logs.id, logs.cwd, cover_line(logs.id, logs.cwd, title))"
    ).fetchone()
    (strays,) = connection.execute(
        "SELECT count(*) FROM covers LEFT JOIN logs USING (log) WHERE state IS NOT 1"
    ).fetchone()
    if wrong or strays:
        yield f"{wrong} covers are not kept as they are, {strays} are of no session"


def find(connection: sqlite3.Connection, query: CoverQuery) -> list[StoredSession]:
    """See :meth:`sessiongraph.ports.LogReader.covered`."""
    part = _folded(query.part)
    values = {
        "cwd": None if query.cwd is None else to_octets(query.cwd),
        "part": part,
        "first": _LOOKED_AT_FIRST,
    }
    look, inside = _LOOKED_THROUGH if part else _LISTED, "1"
    if query.within is not None:
        inside = directories.is_within(query.within, _PLACE, "covers")
        places = enumerate(directories.values_of(query.within))
        values |= {_PLACE_NAME.format(number): place for number, place in places}
    found: list[StoredSession] = []
    for stretch in _stretches(query):
        rows = connection.execute(look.format(**stretch), values)
        found += _admitted(rows, query, query.limit - len(found))
        if len(found) == query.limit:
            return found
        if part and connection.execute(_MORE_THAN_LOOKED_AT.format(**stretch), values).fetchone():
            return _admitted(_found(connection, part, values, inside), query, query.limit)
    return found


def _stretches(query: CoverQuery) -> Iterator[dict[str, str]]:
    """Where the sessions of each degree of nearness lie, the nearest first."""
    everywhere = {"logs": "logs", "key": "newest, id"}
    if query.cwd is not None and (query.within is None or lies_within(query.cwd, query.within)):
        yield {**everywhere, "near": _SAME}
    if query.within is None:
        yield {**everywhere, "near": _NONE}
        yield {**everywhere, "near": _REST}
    else:
        inside = directories.one_of(query.within, _PLACE)
        key = ", ".join(directories.KEY)
        yield {"logs": directories.WITHIN, "key": key, "near": f"{_REST} AND {inside}"}


def _found(
    connection: sqlite3.Connection, part: str, values: dict[str, Any], inside: str
) -> Iterator[tuple[Any, ...]]:
    """Rows of logs whose line holds a part, in order, read as they are asked for."""
    way = _way_to(connection, part)
    if way is None:
        return
    found, grams = way
    sql = _FOUND.format(found=found, inside=inside)
    values = {**values, "grams": grams}
    for page in (
        {"most": _FETCHED_AT_ONCE, "skipped": 0},
        {"most": -1, "skipped": _FETCHED_AT_ONCE},
    ):
        logs = connection.execute(sql, {**values, **page}).fetchall()
        yield from _rows(connection, [log for (log,) in logs])


def _way_to(connection: sqlite3.Connection, part: str) -> tuple[str, str] | None:
    """Where lines with a part are looked for, and what that asks of the index.

    None where the index has no trigram that begins with the part.
    """
    if len(part) >= _GRAM:
        ends = f"{_phrase(part[:_GRAM])} AND {_phrase(part[-_GRAM:])}"
        asked = {"grams": ends, "many": _MANY}
        are_many = connection.execute(_MATCHED_BY_MANY, asked).fetchone() is not None
        return _BY_GRAMS, _phrase(part) if are_many else ends
    terms = connection.execute(_GRAMS_THAT_BEGIN, {"part": part}).fetchall()
    if not terms:
        return None
    if len(terms) > _GRAMS_AT_MOST:
        return _BY_LINES, ""
    return _BY_GRAMS, " OR ".join(_phrase(term) for (term,) in terms)


def _phrase(text: str) -> str:
    """A text in the index's language for questions, where it means itself."""
    return '"' + text.replace('"', '""') + '"'


def _rows(connection: sqlite3.Connection, logs: list[int]) -> Iterator[tuple[Any, ...]]:
    """The rows of some logs, in this order."""
    for start in range(0, len(logs), _FETCHED_AT_ONCE):
        numbers = logs[start : start + _FETCHED_AT_ONCE]
        marks = ",".join("?" * len(numbers))
        sql = f"SELECT log, {COLUMNS} FROM logs WHERE log IN ({marks})"
        rows = {row[0]: row[1:] for row in connection.execute(sql, numbers)}
        yield from (rows[number] for number in numbers)


def _admitted(
    rows: Iterable[tuple[Any, ...]], query: CoverQuery, limit: int
) -> list[StoredSession]:
    """The first sessions that are meant; what SQLite cannot hold was looked for by a stand-in."""
    sessions = map(session_of, rows)
    meant = (each for each in sessions if query.admits(each.header, each.title))
    return list(islice(meant, limit))


def _line(*parts: bytes | None) -> str:
    """The cover of a log as one line in one case; none of its parts can reach into another."""
    return "".join(_folded(_text(part)) + _BETWEEN for part in parts) + _BETWEEN


def _text(octets: bytes | None) -> str:
    if octets is None:
        return ""
    try:
        return from_octets(octets)
    except UnicodeDecodeError:
        return octets.decode("utf-8", "replace")  # as the list of sessions shows it


def _folded(text: str) -> str:
    """Text in one case, as SQLite can hold it."""
    return text.casefold().translate(_REPLACED)
