"""Search in a server: the index, what keeps it up with the log, and the service over both.

The index is opened before the server listens and is brought up in the background, so that exact
reads never wait for it. It is closed after the last write and before the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from providers.tantivy.analysing_apart import AnalysingApart
from providers.tantivy.index import TantivyIndex
from server.kept_up import kept_up
from server.settings import Settings
from server.traced_providers import TracedIndex
from server.tracing import NO_SPANS, Spans
from sessiongraph.cursor import CursorCodec
from sessiongraph.ports import CommitFeed, LogStore, Position
from sessiongraph.precedence import Precedence
from sessiongraph.recent_events import RecentEvents
from sessiongraph.search.indexing import Indexing
from sessiongraph.search.ports import SearchIndex
from sessiongraph.search.service import Search, SearchLimits
from sessiongraph.search.walks import Walks


@asynccontextmanager
async def index_open(
    settings: Settings, path: Path, spans: Spans = NO_SPANS
) -> AsyncIterator[TantivyIndex]:
    """The index of a folder, for whoever holds the data directory.

    Raises:
        InvalidConfig: the folder is somebody else's.
        IndexFailed: no index can be made there.
    """
    kind = TantivyIndex if spans is NO_SPANS else TracedIndex
    apart = AnalysingApart(settings.search_processes)
    index = await asyncio.to_thread(kind.open, path, settings.search_writer_bytes, apart)
    if isinstance(index, TracedIndex):
        index.spans = spans
    try:
        yield index
    finally:
        await index.close()


def search_over(
    settings: Settings,
    store: LogStore,
    feed: CommitFeed,
    index: SearchIndex,
    cursors: CursorCodec,
    settle: Callable[[], Awaitable[None]],
    precedence: Precedence | None = None,
    recent: RecentEvents | None = None,
    through: Position | None = None,
) -> Search:
    """The searching service over an index; its indexing is for the caller to run.

    through: the position that must be searched; None: everything that was acknowledged.
    """
    walks = Walks(settings.cursor_ttl_s, settings.search_walks_max, settings.search_walk_hits_max)
    indexing = Indexing(
        store,
        feed,
        index,
        commit_ms=settings.search_commit_ms,
        wait_ms=settings.search_wait_ms,
        on_commit=walks.commit,
        precedence=precedence,
        recent=recent,
    )
    limits = SearchLimits(settings.page_max, settings.snippet_chars, settings.search_query_max)
    return Search(indexing, walks, cursors, limits, settle, through)


@asynccontextmanager
async def searching(
    settings: Settings,
    store: LogStore,
    feed: CommitFeed,
    path: Path,
    cursors: CursorCodec,
    settle: Callable[[], Awaitable[None]],
    precedence: Precedence,
    recent: RecentEvents,
    spans: Spans = NO_SPANS,
) -> AsyncIterator[Search | None]:
    """The searching service of a server while the block lasts; None where it is turned off.

    Raises:
        InvalidConfig, IndexFailed: see :func:`index_open`.
    """
    if settings.search == "off":
        yield None
        return
    async with index_open(settings, path, spans) as index:
        search = search_over(settings, store, feed, index, cursors, settle, precedence, recent)
        running = asyncio.create_task(kept_up("indexing", search.indexing.run), name="indexing")
        try:
            yield search
        finally:
            running.cancel()
            await asyncio.wait([running])
