"""The one thread that writes: everything waiting goes into one transaction.

A job is a function of the connection; it sees the jobs before it and is undone alone when it fails.
Waiting jobs are committed together, so that many writers share one wait for the disk. Jobs of large
work go through a second queue, one to a transaction and only when no other job waits, so that an
import never holds up an append for longer than one bounded job.

When a transaction fails as a whole (the disk is full, a sync fails) every job in it fails with
:class:`PersistenceFailed` and nothing of it is stored.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, TypeVar

import structlog

from sessiongraph.errors import PersistenceFailed

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], Any]

_log: Final = structlog.get_logger(__name__)

JOBS_PER_COMMIT: Final = 512
"""At most this many jobs share a transaction, so that the first of them does not wait for long."""


class Writer:
    """Owns the writing connection of one file.

    committed: called in the writer's thread after each transaction that is on disk.
    """

    committed: Callable[[], None] | None = None

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._urgent: deque[tuple[Job, Future[Any]]] = deque()
        self._bulk: deque[tuple[Job, Future[Any]]] = deque()
        self._ready = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="sessiongraph-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[sqlite3.Connection], T], *, bulk: bool = False) -> Future[T]:
        """Queue a job; the future resolves once its transaction is on disk.

        Raises:
            PersistenceFailed: the store is closed.
        """
        future: Future[T] = Future()
        with self._ready:
            if self._closing:
                raise PersistenceFailed("the store is closed")
            (self._bulk if bulk else self._urgent).append((job, future))
            self._ready.notify()
        return future

    def close(self) -> None:
        """Commit what is queued, stop the thread and close the connection."""
        with self._ready:
            self._closing = True
            self._ready.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._ready:
                while not (self._urgent or self._bulk or self._closing):
                    self._ready.wait()
                if self._urgent:
                    count = min(len(self._urgent), JOBS_PER_COMMIT)
                    jobs = [self._urgent.popleft() for _ in range(count)]
                elif self._bulk:
                    jobs = [self._bulk.popleft()]
                else:
                    break
            self._commit([job for job in jobs if job[1].set_running_or_notify_cancel()])
        self._connection.close()

    def _commit(self, jobs: list[tuple[Job, Future[Any]]]) -> None:
        if not jobs:
            return
        outcomes: list[tuple[Future[Any], Any, BaseException | None]] = []
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for job, future in jobs:
                outcomes.append((future, *self._attempt(job)))
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            _log.warning(
                "a transaction failed; its writes are answered as failed", error=str(error)
            )
            failure = PersistenceFailed(f"the store could not be written: {error}")
            for _, future in jobs:
                future.set_exception(failure)
            return
        if self.committed is not None:
            self.committed()
        for future, result, failed in outcomes:
            if failed is None:
                future.set_result(result)
            else:
                future.set_exception(failed)

    def _attempt(self, job: Job) -> tuple[Any, BaseException | None]:
        """Run one job; a job that fails is undone and leaves the others alone.

        An error of the database itself fails the whole transaction: after one, it cannot be known
        what of it still stands.
        """
        self._connection.execute("SAVEPOINT job")
        try:
            result = job(self._connection)
        except sqlite3.Error:
            raise
        except Exception as error:  # noqa: BLE001 - the caller of the job gets it
            self._connection.execute("ROLLBACK TO job")
            self._connection.execute("RELEASE job")
            return None, error
        self._connection.execute("RELEASE job")
        return result, None

    def _roll_back(self) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            _log.error("a failed transaction could not be rolled back", error=str(error))
