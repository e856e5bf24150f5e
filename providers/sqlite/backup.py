"""A copy of the store's file of one moment, made beside the process that writes it.

The copy is SQLite's online backup under one read transaction. In WAL mode a reader holds nobody up,
so appends go on as ever; and because the transaction stays open between the steps, what is written
meanwhile neither changes the copy nor makes it begin again. Until it is done the write-ahead log
cannot begin anew: it grows by what is written in that time, and no further.

The copy is one file that needs no other: it is not in WAL mode until a server opens it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from providers.sqlite.connections import Readers
from sessiongraph.errors import PersistenceFailed

_PAGES_AT_ONCE: Final = 2048

Progress = Callable[[int, int], None]
"""Called with the pages that were copied, and how many there are."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy holds."""

    sessions: int
    events: int


def copy_store(source: Path, target: Path, on_progress: Progress | None = None) -> Copied:
    """Copy the store into a file that must be empty, and verify the copy.

    Raises:
        InvalidConfig: there is no store, or it is not ours.
        PersistenceFailed: it cannot be read, the copy cannot be written, or is not sound.
    """
    readers = Readers(source)
    readers.require_store()
    try:
        with closing(readers.borrow()) as reading, closing(sqlite3.connect(target)) as writing:
            _copy(reading, writing, on_progress)
            return _verified(writing)
    except sqlite3.Error as error:
        raise PersistenceFailed(f"the store could not be copied: {error}") from error
    finally:
        readers.close()


def _copy(
    reading: sqlite3.Connection, writing: sqlite3.Connection, on_progress: Progress | None
) -> None:
    def tell(_status: int, remaining: int, total: int) -> None:
        if on_progress is not None:
            on_progress(total - remaining, total)

    writing.execute("PRAGMA synchronous = OFF")  # the whole file is synced once, at the end
    reading.execute("BEGIN")
    reading.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()  # the snapshot begins here
    reading.backup(writing, pages=_PAGES_AT_ONCE, progress=tell)
    reading.execute("ROLLBACK")
    writing.execute("PRAGMA journal_mode = DELETE")


def _verified(copy: sqlite3.Connection) -> Copied:
    (answer,) = copy.execute("PRAGMA quick_check(1)").fetchone()
    if answer != "ok":
        raise PersistenceFailed(f"the copy is not sound, and so the store may not be: {answer}")
    sessions, events = copy.execute("SELECT sessions, events FROM totals").fetchone()
    return Copied(sessions, events)
