"""The numbers of event types: assigned once by the writer, never reused, known to every reader."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping

from providers.sqlite.codec import from_octets, to_octets
from providers.sqlite.numbering import LANE_SHIFT, TYPE_SHIFT
from sessiongraph.errors import CorruptSession

_TYPE_MASK = (1 << (LANE_SHIFT - TYPE_SHIFT)) - 1
_MOST_TYPES = _TYPE_MASK


class TypeNames:
    """Names and numbers, shared by all threads.

    Numbers only come to exist, so a number once seen holds for every observation; a name that an
    observation does not know yet has no row in it either.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}

    def load(self, connection: sqlite3.Connection) -> None:
        """Read every pair that is committed."""
        for number, name in connection.execute("SELECT type, name FROM types"):
            self._remember(number, from_octets(name))

    def unknown(self, names: Collection[str]) -> set[str]:
        """Those of ``names`` that have no number yet."""
        return {name for name in names if name not in self._numbers}

    def assign(self, connection: sqlite3.Connection, names: Collection[str]) -> Mapping[str, int]:
        """Give numbers to new names, in the writer's transaction; see :meth:`remember`.

        Raises:
            OverflowError: there are more types than a lane has room for.
        """
        assigned: dict[str, int] = {}
        for name in sorted(names):
            row = connection.execute(
                "SELECT type FROM types WHERE name = ?", (to_octets(name),)
            ).fetchone()
            if row is None:
                cursor = connection.execute(
                    "INSERT INTO types (name) VALUES (?)", (to_octets(name),)
                )
                row = (cursor.lastrowid,)
            if row[0] > _MOST_TYPES:
                raise OverflowError(f"more than {_MOST_TYPES} event types")
            assigned[name] = row[0]
        return assigned

    def remember(self, assigned: Mapping[str, int]) -> None:
        """Make numbers known whose transaction is on disk."""
        for name, number in assigned.items():
            self._remember(number, name)

    def numbers(self) -> Mapping[str, int]:
        """Every known name with its number."""
        return self._numbers

    def number(self, connection: sqlite3.Connection, name: str) -> int | None:
        """The number of a name, None when no event has this type."""
        if name not in self._numbers:
            row = connection.execute(
                "SELECT type FROM types WHERE name = ?", (to_octets(name),)
            ).fetchone()
            if row is None:
                return None
            self._remember(row[0], name)
        return self._numbers[name]

    def name_in(self, connection: sqlite3.Connection, lane: int) -> str:
        """The type of an event by its lane.

        Raises:
            CorruptSession: the lane has a number that no type has.
        """
        number = lane >> TYPE_SHIFT & _TYPE_MASK
        name = self._names.get(number)
        if name is None:
            self.load(connection)
            name = self._names.get(number)
        if name is None:
            raise CorruptSession(f"a stored event has the unknown type number {number}")
        return name

    def _remember(self, number: int, name: str) -> None:
        self._names[number] = name
        self._numbers[name] = number
