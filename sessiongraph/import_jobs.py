"""Imports that run by themselves in a server, and those who follow how far they are.

An import is begun and answered at once; it goes on whether anybody follows it or not. Whoever does
is shown where it stands and then every change, newest first to arrive: a slow follower sees fewer
frames, never older ones. The last one says that it is done.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import structlog

from sessiongraph.errors import BadUserInput
from sessiongraph.import_report import ImportRefusal, ImportReport
from sessiongraph.importing import Importer
from sessiongraph.recordings import RecordingReader

_log: Final = structlog.get_logger(__name__)

_KEPT: Final = 100
"""Imports that are done and can still be followed."""

_BETWEEN_FRAMES_S: Final = 0.1

Found = Sequence[tuple[Path, RecordingReader | None]]


@dataclass(slots=True, eq=False)
class ImportJob:
    """One import.

    report: how far it is; changes while it runs.
    """

    id: str
    report: ImportReport = field(default_factory=ImportReport)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self) -> None:
        """Wake those who follow."""
        news, self.news = self.news, asyncio.Event()
        news.set()

    def shown(self) -> ImportStatus:
        """The report as it is now."""
        report = replace(
            self.report,
            refused=list(self.report.refused),
            redacted=Counter(self.report.redacted),
        )
        return ImportStatus(self.id, report)


@dataclass(frozen=True, slots=True)
class ImportStatus:
    """How far an import was at one moment."""

    id: str
    report: ImportReport


class ImportJobs:
    """The imports of one server.

    find: the recordings below some paths, with their readers; may take long, run in a thread.
    """

    def __init__(self, importer: Importer, find: Callable[[Sequence[Path]], Found]) -> None:
        self._importer = importer
        self._find = find
        self._jobs: dict[str, ImportJob] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = False

    def begin(
        self, paths: Sequence[Path], *, dry_run: bool = False, restore_deleted: bool = False
    ) -> ImportStatus:
        """Begin an import.

        Raises:
            BadUserInput: there is no path, or one that is not absolute.
        """
        if not paths:
            raise BadUserInput("paths: name at least one file or folder")
        for number, path in enumerate(paths):
            if not path.is_absolute():
                raise BadUserInput(f"paths[{number}] must be absolute on the server's own disk")
        job = ImportJob(secrets.token_hex(8))
        self._jobs[job.id] = job
        self._forget_old()
        task = asyncio.create_task(self._run(job, paths, dry_run, restore_deleted))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return job.shown()

    def follow(self, job_id: str) -> AsyncIterator[ImportStatus]:
        """How far an import is, now and whenever that changes, until it is done.

        Raises:
            BadUserInput: there is none with this id, or it was done long ago.
        """
        job = self._jobs.get(job_id)
        if job is None:
            raise BadUserInput(f"there is no import {job_id!r}")
        return self._follow(job)

    def stop(self) -> None:
        """End every follower cleanly."""
        self._stopped = True
        for job in self._jobs.values():
            job.tell()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Import while the block lasts; what is not done by then is given up, file by file."""
        try:
            yield
        finally:
            self.stop()
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)

    async def _follow(self, job: ImportJob) -> AsyncIterator[ImportStatus]:
        while True:
            news, status = job.news, job.shown()
            yield status
            if status.report.done or self._stopped:
                return
            await asyncio.sleep(_BETWEEN_FRAMES_S)
            await news.wait()

    async def _run(
        self, job: ImportJob, paths: Sequence[Path], dry_run: bool, restore_deleted: bool
    ) -> None:
        def on_progress(report: ImportReport) -> None:
            job.report = report
            job.tell()

        try:
            found = await asyncio.to_thread(self._find, paths)
            await self._importer.run(
                found, dry_run=dry_run, restore_deleted=restore_deleted, on_progress=on_progress
            )
        except Exception as error:  # noqa: BLE001 - nobody else would hear of it
            _log.exception("an import failed", paths=[str(path) for path in paths])
            refusal = ImportRefusal(str(paths[0]), None, f"the import failed: {error}")
            job.report.refused.append(refusal)
            job.report.done = True
            job.tell()

    def _forget_old(self) -> None:
        done = [job_id for job_id, job in self._jobs.items() if job.report.done]
        for job_id in done[: max(0, len(done) - _KEPT)]:
            del self._jobs[job_id]
