"""What the program is made of: settings in, services out. The one place that names providers."""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from providers.media.folder import MediaFolder
from providers.recordings.claude_code import ClaudeCodeReader
from providers.recordings.codex import CodexReader
from providers.recordings.discovery import find_recordings
from providers.recordings.dsh import DshReader
from providers.recordings.reading_apart import ReadingApart
from providers.sqlite.checkpoints import SqliteCheckpointStore
from providers.sqlite.log_store import SqliteLogStore
from providers.sqlite.preparing import prepare_entry
from resolvers.context import Services as OperationServices
from server.data_directory import DataDirectory
from server.live_services import LiveServices
from server.loop_delay import LoopDelay
from server.search_services import searching
from server.settings import Settings
from server.traced_providers import TracedLogStore
from server.tracing import NO_SPANS, Spans, spans_to
from server.version import program_version
from server.watching import Watching
from sessiongraph.allowance import EventBytes
from sessiongraph.corpus import Corpus
from sessiongraph.cursor import KEY_BYTES, CursorCodec
from sessiongraph.header import EpochMillis
from sessiongraph.import_jobs import ImportJobs
from sessiongraph.importing import Importer
from sessiongraph.projections.registry import Registry, register_installed
from sessiongraph.projections.units import first_party_registry
from sessiongraph.query import QueryLimits, SessionQuery
from sessiongraph.recordings import OpenRecording, RecordingReader
from sessiongraph.references.limits import ReferenceLimits
from sessiongraph.references.prepare import ReferenceService
from sessiongraph.search.service import Search

THREAD_SWITCH_S: Final = 0.0005
"""After how long a thread that computes must let another one run, a tenth of Python's default.

The writing thread needs its turn again after every statement; behind a busy import, each turn would
cost it up to this long.
"""

READERS: Final[tuple[RecordingReader, ...]] = (
    DshReader(),
    CodexReader(),
    ClaudeCodeReader(),
)
"""The recorders whose files are understood, asked in this order."""


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that a server or a command works with, over one open store.

    live, imports: None in a command, which opens no sessions. search: None where it is turned off.
    watching: None where no folder is watched. delay: of the event loop, in a server.
    spans: where the spans of what is done go.
    """

    settings: Settings
    store: SqliteLogStore
    query: SessionQuery
    importer: Importer
    live: LiveServices | None = None
    search: Search | None = None
    watching: Watching | None = None
    imports: ImportJobs | None = None
    delay: LoopDelay | None = None
    spans: Spans = NO_SPANS

    def of_operations(self) -> OperationServices:
        """What is offered to every GraphQL operation."""
        limits = ReferenceLimits(
            self.settings.max_references,
            self.settings.max_reference_bytes,
            self.settings.candidate_limit,
        )
        references = ReferenceService(self.query, limits)
        event_bytes = EventBytes(self.settings.max_answer_bytes, self.settings.max_running_bytes)
        if self.live is None:
            return OperationServices(
                self.query,
                program_version(),
                references=references,
                search=self.search,
                event_bytes=event_bytes,
            )
        return OperationServices(
            self.query,
            program_version(),
            self.live.writing,
            self.live.following,
            self.live.changes,
            self.live.writes,
            self.live.projections,
            references,
            self.search,
            imports=self.imports,
            event_bytes=event_bytes,
        )


@asynccontextmanager
async def open_for_serving(settings: Settings, directory: DataDirectory) -> AsyncIterator[Services]:
    """The services of a server, its live half included, over a directory that this process holds.

    At the end everything that was accepted is written before the store is closed.

    Raises:
        InvalidConfig: the files in the directory are not ours, or of a newer version.
        PersistenceFailed: the store cannot be opened.
    """
    async with AsyncExitStack() as held:
        spans = spans_to(settings.otel_endpoint)
        held.push_async_callback(asyncio.to_thread, spans.close)
        store = await held.enter_async_context(_opened(directory, spans))
        cursors = CursorCodec(directory.cursor_key())
        checkpoints = SqliteCheckpointStore(store)
        registry = all_projections()
        live = LiveServices(settings, store, store, checkpoints, registry, cursors, now_ms)
        async with AsyncExitStack() as running:
            apart = ReadingApart(settings.import_processes, prepare=prepare_entry)
            reading = running.enter_context(apart)
            search = await running.enter_async_context(
                searching(
                    settings,
                    store,
                    store,
                    directory.index_path,
                    cursors,
                    live.settle,
                    live.precedence,
                    live.recent,
                    spans,
                )
            )
            services = _services(settings, store, cursors, reading, live, search)
            imports = ImportJobs(
                services.importer, lambda paths: list(find_recordings(paths, READERS))
            )
            live.stopping.append(imports.stop)
            delay = LoopDelay()
            await running.enter_async_context(delay.measuring())
            services = replace(services, imports=imports, delay=delay, spans=spans)
            await running.enter_async_context(live.running())
            await running.enter_async_context(imports.running())
            if settings.watch:
                watching = Watching(settings, services.importer, live.files, READERS)
                await running.enter_async_context(watching.running())
                services = replace(services, watching=watching)
            yield services


@asynccontextmanager
async def open_for_writing(settings: Settings, directory: DataDirectory) -> AsyncIterator[Services]:
    """The services of a command over a directory that this process holds.

    Raises:
        InvalidConfig: the files in the directory are not ours, or of a newer version.
        PersistenceFailed: the store cannot be opened.
    """
    async with _opened(directory) as store:
        with ReadingApart(settings.import_processes, prepare=prepare_entry) as reading:
            yield _services(settings, store, CursorCodec(directory.cursor_key()), reading)


@asynccontextmanager
async def open_for_reading(settings: Settings) -> AsyncIterator[Services]:
    """The services beside whoever holds the directory; their cursors end with the process.

    Raises:
        InvalidConfig: there is no store yet, or it is not ours.
    """
    path = DataDirectory(settings.data_dir).log_path
    store = await asyncio.to_thread(SqliteLogStore.open, path, read_only=True)
    try:
        with ReadingApart(processes=0) as reading:
            yield _services(settings, store, CursorCodec(secrets.token_bytes(KEY_BYTES)), reading)
    finally:
        await store.close()


@asynccontextmanager
async def _opened(
    directory: DataDirectory, spans: Spans = NO_SPANS
) -> AsyncIterator[SqliteLogStore]:
    sys.setswitchinterval(THREAD_SWITCH_S)
    kind = SqliteLogStore if spans is NO_SPANS else TracedLogStore
    store = await asyncio.to_thread(kind.open, directory.log_path)
    if isinstance(store, TracedLogStore):
        store.spans = spans
    try:
        yield store
    finally:
        await store.close()


def _services(
    settings: Settings,
    store: SqliteLogStore,
    cursors: CursorCodec,
    reading: OpenRecording,
    live: LiveServices | None = None,
    search: Search | None = None,
) -> Services:
    limits = QueryLimits(
        page_max=settings.page_max,
        read_window_max=settings.read_window_max,
        lineage_page_max=settings.lineage_page_max,
    )
    corpus = Corpus(store) if live is None else live.corpus
    query = SessionQuery(corpus, cursors, limits)
    media = MediaFolder(DataDirectory(settings.data_dir).media_path)
    importer = Importer(store, now_ms, media, redact=settings.redact, open_recording=reading)
    return Services(settings, store, query, importer, live, search)


def all_projections() -> Registry:
    """Our own projections and those of installed packages."""
    registry = first_party_registry()
    register_installed(registry)
    return registry


def now_ms() -> EpochMillis:
    """The present moment by the system's clock."""
    return time.time_ns() // 1_000_000
