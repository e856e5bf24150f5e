"""Statements that write many rows at once.

Between two statements, and between two rows of ``executemany``, the interpreter changes hands. The
writer then waits for its turn behind whoever computes, which costs more than a row and adds up to
what an append beside an import can feel. So rows go out in a few statements of fixed sizes, whose
texts stay few enough to be kept prepared.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

_SIZES: Final = (64, 16, 4, 1)


class ManyRows:
    """One statement for any number of rows, which it takes in order.

    An error in the middle leaves the rows before it written, so that no statement needs a journal
    of its own, into which it would copy every page that it touches: give it OR FAIL, and take the
    whole transaction back. A function that is called, and an upsert in a trigger, bring the journal
    back; CASE and NOT EXISTS do not.

    before, after: of the rows. row: the marks of one.
    """

    def __init__(self, before: str, row: str, after: str = "") -> None:
        self.texts = [(size, f"{before} {','.join([row] * size)} {after}") for size in _SIZES]

    def execute(self, connection: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        """Write rows; none is fine."""
        start, left = 0, len(rows)
        for size, text in self.texts:
            while left >= size:
                values = list(chain.from_iterable(rows[start : start + size]))
                connection.execute(text, values)
                start, left = start + size, left - size
