"""Importing recorders' files: each file a session, all or nothing, in constant memory.

A reader yields a file's entries in order; they are folded through the surface here, so that a log
which breaks a rule is refused before anything of it can be seen, and written as staged rows that
become visible in one small transaction. Reading and writing overlap: the next batch is read in a
worker thread while the last one goes to the store. A file that cannot be read faithfully is
reported with its line and reason, and never stops the others.

What a file is to us depends on what the store knows:

* its session is new: it is imported;
* the file grew since it was read: what is new is appended;
* nothing changed, or the same log was read from elsewhere: nothing happens;
* the file was rewritten, or stands for a higher generation of its own session: it is read anew and
  takes the place of the stored log, under a new epoch;
* the id belongs to another log: it is refused as a conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sessiongraph.header import EpochMillis
from sessiongraph.ports import LogStore, RecordingReader


@dataclass(frozen=True, slots=True)
class ImportRefusal:
    """Why a file, or the part of it that is new, was not taken; line counts from 1."""

    path: str
    line: int | None
    reason: str


@dataclass(slots=True)
class ImportReport:
    """What an import did so far; ``bytes`` are of JSON, decompressed."""

    files: int = 0
    imported: int = 0
    resumed: int = 0
    unchanged: int = 0
    refused: list[ImportRefusal] = field(default_factory=list)
    events: int = 0
    bytes: int = 0
    done: bool = False


Progress = Callable[[ImportReport], None]


class Importer:
    """Brings recorders' files into a store."""

    def __init__(self, store: LogStore, now: Callable[[], EpochMillis]) -> None:
        self._store = store
        self._now = now

    async def run(
        self,
        recordings: Iterable[tuple[Path, RecordingReader | None]],
        *,
        dry_run: bool = False,
        restore_deleted: bool = False,
        on_progress: Progress | None = None,
    ) -> ImportReport:
        """Import every recording in order; a reader of None means nobody knows the format."""
        raise NotImplementedError
