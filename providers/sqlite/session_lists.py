"""Lists of sessions: every filter and both orders by keyset, without a sort or an offset.

The order of a list is one index. Where a filter names values of an indexed column, the list is the
merge of that column's own lists, one for each value, each already in order; the most selective such
filter leads and the others are checked on its rows. The merge is SQLite's, of keys alone, and ends
with the page: however many lists there are, no more rows are read than are answered.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from providers.sqlite import directories
from providers.sqlite.codec import to_octets
from providers.sqlite.known_sessions import LISTED, KnownSessions
from sessiongraph.directories import lies_within
from sessiongraph.filters import Range, SessionSelection, fold_title
from sessiongraph.ports import SessionKey, SessionOrder, StoredSession

_NEVER_PROMPTED: Final = 0x3FFFFFFFFFFFFFFF
_MERGED_AT_MOST: Final = 64
"""Values of a leading filter up to which its lists are merged; beyond, the order's index leads."""

_KNOWN_OF_FEW: Final = frozenset({"parent", "origin"})
"""Columns whose index for the order of activity holds only the sessions that have a value."""

_KEYS: Final = {
    SessionOrder.CREATED: ("newest", "id"),
    SessionOrder.ACTIVE: ("idle", "newest", "id"),
}


def list_sessions(
    connection: sqlite3.Connection,
    known: KnownSessions,
    selection: SessionSelection,
    order: SessionOrder,
    *,
    limit: int,
    after: SessionKey | None,
    before: SessionKey | None,
) -> list[StoredSession]:
    """The next ``limit`` sessions after a key, or the last ``limit`` before one, in order."""
    selection = _by_directory(selection)
    if selection.impossible:
        return []
    backwards = before is not None
    conditions, condition_values = _conditions(selection)
    lists, values = [], []
    for lead in _leads(selection, order):
        clauses = ["state = 1", *lead.clauses, *conditions]
        values += [*lead.values, *condition_values]
        for key, sign in ((after, ">"), (before, "<")):
            if key is not None:
                marks = ", ".join("?" * len(lead.key))
                clauses.append(f"({', '.join(lead.key)}) {sign} ({marks})")
                values.extend(_key_values(key, order))
        lists.append((lead, " AND ".join(clauses)))
    values.append(limit)
    sql = _merged(lists, backwards=backwards)
    if len(lists) > 1:
        sql, values = _numbered(sql, values)
    found = known.of(connection, connection.execute(sql, values).fetchall())
    return found[::-1] if backwards else found


def _merged(lists: Sequence[tuple[_Lead, str]], *, backwards: bool) -> str:
    """One statement for lists that are each in order; of several, only the keys are merged."""
    direction = "DESC" if backwards else "ASC"
    if len(lists) == 1:
        ((lead, clauses),) = lists
        ordering = ", ".join(f"{column} {direction}" for column in lead.key)
        return f"SELECT {LISTED} FROM {lead.table} WHERE {clauses} ORDER BY {ordering} LIMIT ?"
    keys = [
        f"SELECT log AS chosen, {_as_places(lead.key)} FROM {lead.table} WHERE {clauses}"
        for lead, clauses in lists
    ]
    places = range(len(lists[0][0].key))
    ordering = ", ".join(f"place_{place} {direction}" for place in places)
    chosen = f"{' UNION ALL '.join(keys)} ORDER BY {ordering} LIMIT ?"
    return f"SELECT {LISTED} FROM ({chosen}) CROSS JOIN logs ON log = chosen ORDER BY {ordering}"


def _numbered(sql: str, values: Sequence[Any]) -> tuple[str, list[Any]]:
    """The same statement with each distinct value bound once, since how many can be is limited."""
    numbers: dict[Any, int] = {}
    each = iter(values)
    marked = re.sub(r"\?", lambda _: f"?{numbers.setdefault(next(each), len(numbers) + 1)}", sql)
    return marked, list(numbers)


def _as_places(key: Sequence[str]) -> str:
    return ", ".join(f"{column} AS place_{place}" for place, column in enumerate(key))


@dataclass(frozen=True, slots=True)
class _Lead:
    """One list to merge: where it lies, and the columns that it is in order of."""

    table: str
    clauses: list[str]
    values: list[Any]
    key: tuple[str, ...]


def _by_directory(selection: SessionSelection) -> SessionSelection:
    """The same selection; of named working directories only those within the wanted places."""
    if selection.within is None or selection.cwds is None:
        return selection
    cwds = frozenset(cwd for cwd in selection.cwds if lies_within(cwd, selection.within))
    return replace(selection, cwds=cwds, within=None)


def _leads(selection: SessionSelection, order: SessionOrder) -> Iterable[_Lead]:
    """The lists to merge: one for each value of the leading filter, else the order's own index."""
    by_activity = order is SessionOrder.ACTIVE
    candidates: tuple[tuple[str, frozenset[Any] | None], ...] = (
        ("parent", selection.parents),
        ("cwd", selection.cwds),
        ("directory", None if by_activity else selection.within),
        ("origin", selection.origins),
        ("source_kind", selection.sources),
    )
    key, within = _KEYS[order], selection.within
    inside, places = [], []
    if within is not None:
        inside, places = [directories.is_within(within)], directories.values_of(within)
    if selection.ids is None:
        for column, wanted in candidates:
            if wanted is None or len(wanted) > _MERGED_AT_MOST:
                continue
            ordered = sorted(wanted, key=lambda value: (value is not None, value))
            if by_activity:
                return [_lead_by_activity(column, each, inside, places) for each in ordered]
            table = "logs"
            if column == "directory":
                table, key, inside, places = directories.WITHIN, directories.KEY, [], []
            return [
                _Lead(table, [f"{column} IS ?", *inside], [_octets(column, each), *places], key)
                for each in ordered
            ]
    if selection.ids is None and within is not None:
        return [_Lead(directories.WITHIN, [directories.one_of(within)], places, key)]
    return [_Lead("logs", inside, places, key)]


def _lead_by_activity(column: str, value: Any, inside: list[str], places: list[Any]) -> _Lead:
    """The sessions with one value of a column; of those without, which are many, the order leads.

    The index is named: without statistics SQLite would rather sort what another one finds.
    """
    key = _KEYS[SessionOrder.ACTIVE]
    if value is None and column in _KNOWN_OF_FEW:
        table, clauses, values = "logs INDEXED BY logs_by_activity", [f"{column} IS NULL"], []
    else:
        table, values = f"logs INDEXED BY logs_by_{column}_activity", [_octets(column, value)]
        clauses = [f"{column} {'IS' if value is None else '='} ?"]
    return _Lead(table, [*clauses, *inside], [*values, *places], key)


def _conditions(selection: SessionSelection) -> tuple[list[str], list[Any]]:
    clauses: list[str] = []
    values: list[Any] = []
    if selection.ids is not None:
        clauses.append(f"id IN ({', '.join('?' * len(selection.ids))})")
        values.extend(to_octets(session_id) for session_id in selection.ids)
    _add_range(clauses, values, selection.created_at)
    for column, wanted in (
        ("cwd", selection.cwds),
        ("parent", selection.parents),
        ("origin", selection.origins),
        ("source_kind", selection.sources),
    ):
        if wanted is not None:
            named = [_octets(column, value) for value in wanted if value is not None]
            parts = [f"{column} IN ({', '.join('?' * len(named))})"] if named else []
            if None in wanted:
                parts.append(f"{column} IS NULL")
            clauses.append(f"({' OR '.join(parts)})")
            values.extend(named)
    for title in selection.titles:
        clauses.append("instr(title_folded, ?) > 0")
        values.append(to_octets(fold_title(title)))
    return clauses, values


def _add_range(clauses: list[str], values: list[Any], created_at: Range) -> None:
    if created_at.high is not None:
        clauses.append("newest >= ?")
        values.append(-created_at.high)
    if created_at.low is not None:
        clauses.append("newest <= ?")
        values.append(-created_at.low)


def _key_values(key: SessionKey, order: SessionOrder) -> list[Any]:
    created = [-key.created_at, to_octets(key.session_id)]
    if order is SessionOrder.CREATED:
        return created
    return [_NEVER_PROMPTED if key.prompted_at is None else -key.prompted_at, *created]


def _octets(column: str, value: Any) -> Any:
    if value is None or column == "source_kind":
        return value
    return to_octets(value)
