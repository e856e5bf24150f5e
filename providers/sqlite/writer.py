"""The one thread that writes: everything waiting goes into one transaction.

A job is a function of the connection; it sees the jobs before it and is undone alone when it fails.
Waiting jobs are committed together, so that many writers share one wait for the disk. Jobs of large
work go through a second queue, one to a transaction and only when no other job waits, so that an
import never holds up an append for longer than one bounded job. What they write is nobody's to see
until a transaction of the first queue says so, and that one's wait for the disk is for everything
written before it: so theirs do not wait. A loss of power can take them, from the last of them on.

When a transaction fails as a whole (the disk is full, a sync fails) every job in it fails with
:class:`PersistenceFailed` and nothing of it is stored.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, TypeVar

import structlog

from sessiongraph.distribution import COUNTS, SECONDS, Distribution
from sessiongraph.errors import PersistenceFailed

T = TypeVar("T")
J = TypeVar("J")
Merge = Callable[[sqlite3.Connection, Sequence[Any]], Sequence[Any]]
"""Executes many jobs at once; answers each with its result, or with an error of its own."""

_log: Final = structlog.get_logger(__name__)

JOBS_PER_COMMIT: Final = 512
"""At most this many jobs share a transaction, so that the first of them does not wait for long."""

_WAIT: Final = "PRAGMA synchronous = FULL"
_DO_NOT_WAIT: Final = "PRAGMA synchronous = NORMAL"
"""Without waiting, the write-ahead log still reaches the disk before anything is taken from it."""


@dataclass(slots=True, eq=False)
class _Work:
    """A job on its way. Its outcome goes to a future of this thread or of an event loop.

    merge: executes this and other jobs of its kind together; the job is then what it is given.
    """

    job: Any
    future: Future[Any] | asyncio.Future[Any]
    merge: Merge | None = None
    result: Any = None
    error: BaseException | None = None

    def deliver(self) -> None:
        """Resolve the future, unless whoever waited has gone."""
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class Writer:
    """Owns the writing connection of one file.

    committed: called after each transaction, as soon as its jobs are answered: by the event loop
        that they came from, so that nothing comes between, or by the writer's thread.
    jobs_together: jobs of each transaction. transactions: how long each took (seconds).
    syncs: how long of that its COMMIT took, which waits for the disk (seconds).
    failures: transactions that the disk refused.
    """

    committed: Callable[[], None] | None = None

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.jobs_together = Distribution(COUNTS)
        self.transactions = Distribution(SECONDS)
        self.syncs = Distribution(SECONDS)
        self.failures = 0
        self._connection = connection
        self._urgent: deque[_Work] = deque()
        self._bulk: deque[_Work] = deque()
        self._ready = threading.Condition()
        self._closing = False
        self._waits_for_disk: bool | None = None
        self._thread = threading.Thread(target=self._run, name="sessiongraph-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[sqlite3.Connection], T], *, bulk: bool = False) -> Future[T]:
        """Queue a job; the future resolves, in the writer's thread, once it is committed.

        bulk: part of large work, which does not wait for the disk.

        Raises:
            PersistenceFailed: the store is closed.
        """
        future: Future[T] = Future()
        self._put(_Work(job, future), bulk=bulk)
        return future

    def run(
        self, job: Callable[[sqlite3.Connection], T], *, bulk: bool = False
    ) -> asyncio.Future[T]:
        """Queue a job; the future belongs to the running event loop.

        Jobs that were committed together are answered together, with one wake-up of the loop.

        Raises:
            PersistenceFailed: the store is closed; also what the future raises when the disk
                refused.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._put(_Work(job, future), bulk=bulk)
        return future

    def run_merged(
        self, job: J, merge: Callable[[sqlite3.Connection, Sequence[J]], Sequence[T | Exception]]
    ) -> asyncio.Future[T]:
        """Queue a job that is executed together with its like; otherwise as :meth:`run`.

        merge: checks everything before it writes anything, so that it needs no savepoint; when it
            raises, the whole transaction fails.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._put(_Work(job, future, merge), bulk=False)
        return future

    @property
    def waiting(self) -> tuple[int, int]:
        """Jobs that wait for a transaction: urgent ones, and portions of large work."""
        return len(self._urgent), len(self._bulk)

    def close(self) -> None:
        """Commit what is queued, stop the thread and close the connection."""
        with self._ready:
            self._closing = True
            self._ready.notify()
        self._thread.join()

    def _put(self, work: _Work, *, bulk: bool) -> None:
        with self._ready:
            if self._closing:
                raise PersistenceFailed("the store is closed")
            (self._bulk if bulk else self._urgent).append(work)
            self._ready.notify()

    def _run(self) -> None:
        while True:
            with self._ready:
                while not (self._urgent or self._bulk or self._closing):
                    self._ready.wait()
                if is_urgent := bool(self._urgent):
                    count = min(len(self._urgent), JOBS_PER_COMMIT)
                    works = [self._urgent.popleft() for _ in range(count)]
                elif self._bulk:
                    works = [self._bulk.popleft()]
                else:
                    break
            is_committed = self._commit(works, waits_for_disk=is_urgent)
            _deliver(works, self.committed if is_committed else None)
        self._connection.close()

    def _commit(self, works: list[_Work], *, waits_for_disk: bool) -> bool:
        """Execute some jobs in one transaction; False when the disk refused it."""
        begun = time.perf_counter()
        try:
            if waits_for_disk is not self._waits_for_disk:
                self._connection.execute(_WAIT if waits_for_disk else _DO_NOT_WAIT)
                self._waits_for_disk = waits_for_disk
            self._connection.execute("BEGIN IMMEDIATE")
            for merge, group in groupby(works, key=lambda work: work.merge):
                if merge is None:
                    for work in group:
                        self._attempt(work)
                else:
                    self._attempt_merged(merge, list(group))
            executed = time.perf_counter()
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self.failures += 1
            self._roll_back()
            _log.warning(
                "a transaction failed; its writes are answered as failed", error=str(error)
            )
            for work in works:
                work.error = PersistenceFailed(f"the store could not be written: {error}")
            return False
        ended = time.perf_counter()
        self.jobs_together.add(len(works))
        self.transactions.add(ended - begun)
        self.syncs.add(ended - executed)
        return True

    def _attempt(self, work: _Work) -> None:
        """Run one job; a job that fails is undone and leaves the others alone.

        An error of the database itself fails the whole transaction: after one, it cannot be known
        what of it still stands.
        """
        self._connection.execute("SAVEPOINT job")
        try:
            work.result = work.job(self._connection)
        except sqlite3.Error:
            raise
        except Exception as error:  # noqa: BLE001 - the caller of the job gets it
            work.error = error
            self._connection.execute("ROLLBACK TO job")
        self._connection.execute("RELEASE job")

    def _attempt_merged(self, merge: Merge, works: list[_Work]) -> None:
        try:
            answers = merge(self._connection, [work.job for work in works])
        except sqlite3.Error:
            raise
        except Exception as error:
            # It failed late after all, and part of it may be written.
            raise sqlite3.InternalError(f"a job failed: {error}") from error
        for work, answer in zip(works, answers, strict=True):
            if isinstance(answer, Exception):
                work.error = answer
            else:
                work.result = answer

    def _roll_back(self) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            _log.error("a failed transaction could not be rolled back", error=str(error))


def _deliver(works: list[_Work], then: Callable[[], None] | None) -> None:
    """Answer committed jobs: here, or with one wake-up in the event loop they came from.

    then: called once behind that.
    """
    by_loop: dict[asyncio.AbstractEventLoop, list[_Work]] = {}
    for work in works:
        if isinstance(work.future, asyncio.Future):
            by_loop.setdefault(work.future.get_loop(), []).append(work)
        else:
            work.deliver()
    for loop, group in by_loop.items():
        try:
            loop.call_soon_threadsafe(_deliver_here, group, then)
        except RuntimeError:
            _log.warning("an event loop closed before its writes were answered", jobs=len(group))
        else:
            then = None
    if then is not None:
        then()


def _deliver_here(works: list[_Work], then: Callable[[], None] | None) -> None:
    for work in works:
        work.deliver()
    if then is not None:
        then()
