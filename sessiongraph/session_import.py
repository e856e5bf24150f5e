"""One session of a recorder's file on its way into the store.

A reader yields a file's entries in order; they are folded through the surface here, so that a log
which breaks a rule is refused before anything of it can be seen, and written as staged rows that
become visible in one small transaction. Reading and writing overlap: the next batch is read in a
worker thread while the last one goes to the store.

What a file is to us depends on what the store knows:

* its session is new: it is imported;
* the file grew since it was read: what is new is appended;
* nothing changed, or the same log was read from elsewhere: nothing happens;
* the file was rewritten, or is a higher generation beside the one that was read: it is read anew
  and takes the place of the stored log, under a new epoch;
* the id belongs to another log: it is refused as a conflict.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from sessiongraph.event import Entry, Seq
from sessiongraph.header import EpochMillis, SessionHeader, SourceKind
from sessiongraph.import_report import ImportReport, OnSession, Progress
from sessiongraph.ports import LogStore, StagedLog, StoredSession
from sessiongraph.recorded_batches import RecordedBatches, compare, holds_all, is_held
from sessiongraph.recordings import (
    NEVER_UNCHANGED,
    MediaStore,
    OpenRecording,
    RecordedEntry,
    RecordedLog,
    RecordedPart,
    RecordingReader,
    RecordingRefused,
    RecordingRewritten,
    RecordingState,
)
from sessiongraph.redaction import Redaction
from sessiongraph.surface import SurfaceNode

SECRETS_REPLACED: Final = "Secrets were replaced when the file was read."

_Rule = Callable[[Iterator[RecordedEntry], AsyncIterator[list[Entry]]], Awaitable[bool]]
"""How a file relates to a stored log that it differs from."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How an import was asked for; see :class:`sessiongraph.importing.Importer`."""

    dry_run: bool
    restore_deleted: bool
    on_progress: Progress | None
    on_session: OnSession | None
    redact: bool
    open_recording: OpenRecording


class SessionImport:
    """One session of a file on its way into the store; part: None for the first one."""

    def __init__(
        self,
        store: LogStore,
        now: Callable[[], EpochMillis],
        media: MediaStore | None,
        report: ImportReport,
        path: Path,
        options: ImportOptions,
        part: RecordedPart | None,
    ) -> None:
        self._store = store
        self._now = now
        self._media = None if options.dry_run else media
        self._report = report
        self._path = path
        self._options = options
        self._part = part
        self._redaction = Redaction() if options.redact else None

    async def take(self, reader: RecordingReader) -> RecordedLog | None:
        """Import the session; answers what was read, None where nothing had to be.

        Raises:
            RecordingRefused: with the reason.
        """
        key = str(self._path) if self._part is None else f"{self._path}#{self._part.key}"
        async with self._store.observe() as view:
            state = await view.recording(key)
            known, rewritten = None, True
            if state is not None:
                known = (await view.find([state.session_id])).get(state.session_id)
        if state is not None and known is not None:
            if _is_unchanged(self._path, state):
                self._report.unchanged += 1
                return None
            rewritten = state.size != NEVER_UNCHANGED
            if rewritten and not _is_detached(known.header):
                try:
                    log = await self._open(reader, state)
                    if state.next_seq == known.last_seq + 1:
                        await self._resume(known, log)
                        return log
                    rewritten = False
                except RecordingRewritten:
                    pass
        return await self._take_whole(reader, rewritten=rewritten)

    async def _open(self, reader: RecordingReader, resume: RecordingState | None) -> RecordedLog:
        return await asyncio.to_thread(
            self._options.open_recording, reader, self._path, resume, self._part, self._redaction
        )

    async def _take_whole(self, reader: RecordingReader, *, rewritten: bool) -> RecordedLog:
        log = await self._open(reader, None)
        session_id = log.header.session_id
        async with self._store.observe() as view:
            stored = (await view.find([session_id])).get(session_id)
            deleted = await view.tombstones([session_id])
        if stored is None:
            if deleted and not self._options.restore_deleted:
                raise RecordingRefused(
                    self._path, None, "its session was deleted here: --restore-deleted takes it"
                )
            await self._import(log)
        elif _is_detached(stored.header):
            self._report.unchanged += 1
        elif self._takes_the_place_of(log.header, stored, rewritten=rewritten):
            await self._import(log)
        elif self._is_beside(stored) and log.header.version < stored.header.version:
            self._report.unchanged += 1
        else:
            return await self._compare(reader, log, stored)
        return log

    async def _import(self, log: RecordedLog) -> None:
        staged = None if self._options.dry_run else await self._store.stage(log.header)
        async with _abandoned_on_failure(staged), _closed_after(log.entries()) as entries:
            batches = self._batches(entries, (), 0, staged, None)
            notes = await self._write(staged, batches, log)
            if staged is not None:
                notes = (*log.header.source.notes, *notes)
                source = replace(log.header.source, imported_at=self._now(), notes=notes)
                await staged.publish(replace(log.header, source=source), _reached(log))
        self._report.imported += 1
        self._tell(log.header.session_id)

    async def _resume(self, stored: StoredSession, log: RecordedLog) -> None:
        async with _closed_after(log.entries()) as entries:
            await self._grow(stored, log, entries)

    async def _compare(
        self, reader: RecordingReader, log: RecordedLog, stored: StoredSession
    ) -> RecordedLog:
        """Meet a log under an id that was read from elsewhere: the same log, or a conflict.

        One that holds all that is stored and more in between takes its place, and one of which all
        is stored is an older copy: recorders write some of their records late.
        """
        if stored.header.source.kind is SourceKind.API:
            raise self._conflict(stored, "it was made through the API")
        if conflicts := _known_conflicts(log.header, stored.header):
            raise self._conflict(stored, f"{', '.join(conflicts)} differ")
        async with _closed_after(log.entries()) as entries:
            async with self._store.observe() as view:
                comparison = await compare(entries, view.entries(stored))
            if comparison.surplus:
                await self._grow(stored, log, chain(comparison.surplus, entries))
                return log
        if comparison.difference is None:
            await self._remember(log)
            return log
        if await self._stands(holds_all, await self._open(reader, None), stored):
            log = await self._open(reader, None)
            await self._import(log)
        elif await self._stands(is_held, log := await self._open(reader, None), stored):
            await self._remember(log)
        else:
            raise self._conflict(stored, comparison.difference)
        return log

    async def _stands(self, rule: _Rule, log: RecordedLog, stored: StoredSession) -> bool:
        async with _closed_after(log.entries()) as entries, self._store.observe() as view:
            return await rule(entries, view.entries(stored))

    def _conflict(self, stored: StoredSession, difference: str) -> RecordingRefused:
        place = stored.header.source.path or "elsewhere"
        return RecordingRefused(
            self._path,
            None,
            f"another log with the id {stored.header.session_id!r} is stored already "
            f"(from {place}): {difference}",
        )

    async def _grow(
        self, stored: StoredSession, log: RecordedLog, entries: Iterable[RecordedEntry]
    ) -> None:
        async with self._store.observe() as view:
            nodes = await view.surface_nodes(stored)
        staged = None if self._options.dry_run else await self._store.stage_growth(stored)
        async with _abandoned_on_failure(staged):
            batches = self._batches(entries, nodes, stored.last_seq + 1, staged, stored)
            notes = await self._write(staged, batches, log)
            header = _grown_header(stored.header, log, notes)
            told_anew = set(header.source.notes) != set(stored.header.source.notes)
            if batches.next_seq == stored.last_seq + 1 and not told_anew:
                if staged is not None:
                    await staged.abandon()
                await self._remember(log)
                return
            if staged is not None:
                await staged.publish(header, _reached(log))
        self._report.resumed += 1
        self._tell(stored.header.session_id)

    def _tell(self, session_id: str) -> None:
        if self._options.on_session is not None:
            self._options.on_session(self._path, session_id)

    def _batches(
        self,
        entries: Iterable[RecordedEntry],
        nodes: Iterable[SurfaceNode],
        next_seq: Seq,
        staged: StagedLog | None,
        stored: StoredSession | None,
    ) -> RecordedBatches:
        payload_of: Callable[[Seq], Awaitable[bytes]] | None = None
        if staged is not None:
            payload_of = staged.payload
        elif stored is not None:
            payload_of = partial(self._stored_payload, stored)
        return RecordedBatches(
            self._path,
            entries,
            nodes,
            next_seq,
            payload_of,
            keep_results=staged is None,
            media=self._media,
        )

    async def _stored_payload(self, stored: StoredSession, seq: Seq) -> bytes:
        async with self._store.observe() as view:
            return (await view.payloads(stored, [seq]))[seq]

    async def _write(
        self, staged: StagedLog | None, batches: RecordedBatches, log: RecordedLog
    ) -> tuple[str, ...]:
        """Read batch after batch; each is written while the next is being read.

        What is computed for both comes one after the other: two threads that compute would only
        have everybody else wait longer for a turn.

        Answers what is worth saying of what was replaced meanwhile.
        """
        replaced = Counter() if self._redaction is None else self._redaction.counts
        before = Counter(replaced)
        events, octets, begun = self._report.events, self._report.bytes, batches.next_seq
        reading = asyncio.ensure_future(batches.read())
        try:
            while batch := await asyncio.shield(reading):
                if staged is not None:
                    await staged.append(batch)
                reading = asyncio.ensure_future(batches.read())
                self._report.events = events + batch[-1].entry.last_seq + 1 - begun
                self._report.bytes = octets + log.bytes_read
                if self._options.on_progress is not None:
                    self._options.on_progress(self._report)
        except BaseException:
            self._report.events, self._report.bytes = events, octets
            await asyncio.gather(reading, return_exceptions=True)
            raise
        self._report.bytes = octets + log.bytes_read
        self._report.redacted += replaced - before
        return (SECRETS_REPLACED,) if replaced != before else ()

    async def _remember(self, log: RecordedLog) -> None:
        if not self._options.dry_run:
            await self._store.remember_recording(_reached(log))
        self._report.unchanged += 1

    def _is_source_of(self, stored: StoredSession) -> bool:
        return stored.header.source.path == str(self._path)

    def _is_beside(self, stored: StoredSession) -> bool:
        source = stored.header.source.path
        return source is not None and Path(source).parent == self._path.parent

    def _takes_the_place_of(
        self, header: SessionHeader, stored: StoredSession, *, rewritten: bool
    ) -> bool:
        """Whether the file is the stored session's own, rewritten or in a higher generation."""
        if header.created_at != stored.header.created_at:
            return False
        if self._is_source_of(stored):
            return rewritten
        return self._is_beside(stored) and header.version > stored.header.version


@asynccontextmanager
async def _abandoned_on_failure(staged: StagedLog | None) -> AsyncIterator[None]:
    """Drop what was staged when it cannot be published, also when the import is cancelled."""
    try:
        yield
    except BaseException:
        if staged is not None:
            await asyncio.shield(staged.abandon())
        raise


@asynccontextmanager
async def _closed_after(entries: Iterator[RecordedEntry]) -> AsyncIterator[Iterator[RecordedEntry]]:
    """Release the file, whether it was read to its end or not."""
    try:
        yield entries
    finally:
        await asyncio.to_thread(_close, entries)


def _reached(log: RecordedLog) -> RecordingState:
    """How far the file was read, as long as there are further sessions in it to be taken."""
    return replace(log.state, size=NEVER_UNCHANGED) if log.parts else log.state


def _is_unchanged(path: Path, state: RecordingState) -> bool:
    try:
        found = path.stat()
    except OSError as error:
        raise RecordingRefused(path, None, error.strerror or str(error)) from error
    return (found.st_size, found.st_mtime_ns) == (state.size, state.modified_ns)


def _known_conflicts(header: SessionHeader, stored: SessionHeader) -> list[str]:
    """Identity fields that differ, as far as the first line of a file tells.

    From generation 2 on the seed length follows from an event, and is compared with the events.
    """
    differing = header.conflicts_with(stored)
    return [name for name in differing if name != "seedLength" or header.version < 2]


def _close(entries: Iterator[RecordedEntry]) -> None:
    """Release the file of a reading that is not finished."""
    if isinstance(entries, Generator):
        entries.close()


def _is_detached(header: SessionHeader) -> bool:
    """Whether the session was read from a file once and stands by itself since."""
    return header.source.kind is not SourceKind.API and header.source.path is None


def _grown_header(
    header: SessionHeader, log: RecordedLog, further: tuple[str, ...]
) -> SessionHeader:
    """The header of a log that grew.

    A reader tells all notes of a file however it was read; it does not know of secrets.
    """
    earlier = (note for note in header.source.notes if note == SECRETS_REPLACED)
    notes = dict.fromkeys((*log.header.source.notes, *earlier, *further))
    path = log.header.source.path
    return replace(header, source=replace(header.source, path=path, notes=tuple(notes)))
