"""An import in a process of its own, to be killed: ``python -m … STORE FOLDER DIES_AT``.

Prints a line after every batch and file. With DIES_AT it kills itself, without a word, when its
writing connection begins that statement. Statements are counted from 1; the last line says how many
there were, and at which of them a transaction was committed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from pathlib import Path

from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.import_report import ImportReport
from tests.providers.sqlite.imports import take


class Statements:
    """Counts what a connection executes."""

    def __init__(self, dies_at: int) -> None:
        self.count = 0
        self.commits: list[int] = []
        self._dies_at = dies_at

    def __call__(self, sql: str) -> None:
        self.count += 1
        if sql.startswith("COMMIT"):
            self.commits.append(self.count)
        if self.count == self._dies_at:
            os.kill(os.getpid(), signal.SIGKILL)


def told(report: ImportReport) -> None:
    print(report.files, report.events, flush=True)  # noqa: T201


async def main(path: Path, folder: Path, dies_at: int) -> None:
    statements = Statements(dies_at)
    store = SqliteLogStore.open(path)
    await store._write().run(lambda connection: watch(connection, statements))
    try:
        await take(store, folder, on_progress=told)
    finally:
        await store.close()
    print(statements.count, *statements.commits, flush=True)  # noqa: T201


def watch(connection: sqlite3.Connection, statements: Statements) -> None:
    connection.set_trace_callback(statements)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
