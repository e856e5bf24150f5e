"""Importing recorders' files: each session of a file all or nothing, in constant memory.

A file that cannot be read faithfully is reported with its line and reason, and never stops the
others. What becomes of each session of a file is told in :mod:`sessiongraph.session_import`.

A file can hold further sessions between the lines of its first one. They are met while the first
one is read and are taken after it, one by one; until they are, the file counts as changed, so that
a crash in between loses none of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

from sessiongraph.errors import SessionGraphError
from sessiongraph.header import EpochMillis
from sessiongraph.import_report import (
    ImportCounts,
    ImportRefusal,
    ImportReport,
    OnSession,
    Progress,
)
from sessiongraph.ports import LogStore
from sessiongraph.recordings import (
    MediaStore,
    OpenRecording,
    RecordedLog,
    RecordedPart,
    RecordingReader,
    RecordingRefused,
    RecordingState,
)
from sessiongraph.redaction import Redaction
from sessiongraph.session_import import ImportOptions, SessionImport
from sessiongraph.turns import Turns


def _open_here(
    reader: RecordingReader,
    path: Path,
    resume: RecordingState | None,
    part: RecordedPart | None,
    redaction: Redaction | None,
) -> RecordedLog:
    """Have a recording read in this process."""
    return reader.open(path, resume, part, redaction)


class Importer:
    """Brings recorders' files into a store.

    media: keeps the images in them; None where nothing does. redact: replace secrets in them.
    open_recording: opens each file; by default it is read in this process.
    """

    def __init__(
        self,
        store: LogStore,
        now: Callable[[], EpochMillis],
        media: MediaStore | None = None,
        *,
        redact: bool = False,
        open_recording: OpenRecording = _open_here,
    ) -> None:
        self._store = store
        self._now = now
        self._media = media
        self._redact = redact
        self._open_recording = open_recording
        self._finished = ImportCounts()
        self._running: list[ImportReport] = []
        # One import of a file at a time: a watched file may be imported by hand as well.
        self._turns: Turns[Path] = Turns()

    @property
    def counts(self) -> ImportCounts:
        """What all imports did since this importer was made, those that run included."""
        counts = self._finished
        for report in self._running:
            counts = counts.plus(report)
        return counts

    async def run(
        self,
        recordings: Iterable[tuple[Path, RecordingReader | None]],
        *,
        dry_run: bool = False,
        restore_deleted: bool = False,
        on_progress: Progress | None = None,
        on_session: OnSession | None = None,
    ) -> ImportReport:
        """Import every recording in order; a reader of None means nobody knows the format.

        dry_run: read and check everything, write nothing.
        restore_deleted: also take sessions that were deleted here.
        """
        options = ImportOptions(
            dry_run, restore_deleted, on_progress, on_session, self._redact, self._open_recording
        )
        report = ImportReport()
        self._running.append(report)
        try:
            await self._run(list(recordings), report, options)
        finally:
            self._running = [each for each in self._running if each is not report]
            self._finished = self._finished.plus(report)
        return report

    async def _run(
        self,
        found: list[tuple[Path, RecordingReader | None]],
        report: ImportReport,
        options: ImportOptions,
    ) -> None:
        superseded = _superseded(found)
        for path, reader in found:
            report.files += 1
            try:
                if reader is None:
                    line = 1 if await asyncio.to_thread(path.is_file) else None
                    raise RecordingRefused(path, line, "no reader knows this format")
                if path in superseded:
                    report.unchanged += 1
                else:
                    real = await asyncio.to_thread(path.resolve)
                    async with self._turns.alone(real):
                        await self._take(real, reader, report, options)
            except RecordingRefused as refusal:
                report.refused.append(
                    ImportRefusal(str(refusal.path), refusal.line, refusal.reason)
                )
            except SessionGraphError as error:
                report.refused.append(ImportRefusal(str(path), None, error.message))
            if options.on_progress is not None:
                options.on_progress(report)
        report.done = True
        if options.on_progress is not None:
            options.on_progress(report)

    async def _take(
        self, path: Path, reader: RecordingReader, report: ImportReport, options: ImportOptions
    ) -> None:
        first = SessionImport(self._store, self._now, self._media, report, path, options, None)
        log = await first.take(reader)
        if log is None or not log.parts:
            return
        for part in log.parts:
            further = SessionImport(
                self._store, self._now, self._media, report, path, options, part
            )
            try:
                await further.take(reader)
            except RecordingRefused as refusal:
                report.refused.append(ImportRefusal(str(path), refusal.line, refusal.reason))
        if not options.dry_run:
            await self._store.remember_recording(log.state)


def _superseded(found: list[tuple[Path, RecordingReader | None]]) -> set[Path]:
    by_reader: dict[int, tuple[RecordingReader, list[Path]]] = {}
    for path, reader in found:
        if reader is not None:
            by_reader.setdefault(id(reader), (reader, []))[1].append(path)
    return {old for reader, paths in by_reader.values() for old in reader.superseded(paths)}
