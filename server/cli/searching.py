"""Search in a command: over an index that is brought up first, or over the one of a server.

Beside a running server the index is only read; what the server has acknowledged becomes part of it
within ``search_commit_ms``, which is waited for. Where nobody holds the data directory, the command
holds it for as long as it brings the index up.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from providers.sqlite.log_store import SqliteLogStore
from providers.tantivy.index import TantivyIndex
from server.cli.failures import CommandFailed
from server.cli.output import stderr_console
from server.data_directory import DataDirectory, DirectoryInUse
from server.search_services import index_open, search_over
from server.settings import Settings
from server.wiring import Services, open_for_reading
from sessiongraph.cursor import KEY_BYTES, CursorCodec
from sessiongraph.errors import IndexFailed, SearchDisabled
from sessiongraph.ports import Position
from sessiongraph.search.ports import SearchIndex
from sessiongraph.search.progress import Progress as HowFar
from sessiongraph.search.service import Search

_LOOKED_EVERY_S = 0.05


@asynccontextmanager
async def search_open(settings: Settings, *, show: bool) -> AsyncIterator[tuple[Services, Search]]:
    """The services of a command and a search that finds everything in the store.

    show: with a progress bar while the index is brought up, on a terminal.

    Raises:
        SearchDisabled: it is turned off.
        InvalidConfig: there is no store, or files are not ours.
        CommandFailed: whoever holds the data directory does not keep the index up.
    """
    if settings.search == "off":
        raise SearchDisabled("full-text search is turned off by the setting `search`")
    directory = DataDirectory(settings.data_dir)
    async with AsyncExitStack() as resources:
        services = await resources.enter_async_context(open_for_reading(settings))
        # What comes later may be missing: it could be waited for without an end.
        async with services.store.observe() as reader:
            begun_at = reader.position
        index = await _kept_by_others(settings, services, directory, begun_at, show)
        resources.push_async_callback(index.close)
        yield services, _search(settings, services.store, index, begun_at)


async def rebuild_index(settings: Settings, *, show: bool) -> HowFar:
    """Drop the index and build it anew; answers how far it came.

    Raises:
        DirectoryInUse: a server, or another command, holds the data directory.
        SearchDisabled, InvalidConfig: see :func:`search_open`.
    """
    if settings.search == "off":
        raise SearchDisabled("full-text search is turned off by the setting `search`")
    directory = DataDirectory(settings.data_dir)
    async with open_for_reading(settings) as services:
        with directory.hold("reindex"):
            async with index_open(settings, directory.index_path) as index:
                await index.clear()
                return await bring_up(settings, services.store, index, show)


async def _kept_by_others(
    settings: Settings, services: Services, directory: DataDirectory, through: Position, show: bool
) -> TantivyIndex:
    """An index to read that has everything up to a position, brought up by us or by whoever holds
    the directory.
    """
    deadline = asyncio.get_running_loop().time() + settings.search_wait_ms / 1000
    while True:
        behind: IndexFailed | None = None
        try:
            index = await asyncio.to_thread(TantivyIndex.open_for_reading, directory.index_path)
        except IndexFailed as failure:
            behind = failure
        else:
            indexing = _search(settings, services.store, index).indexing
            if await indexing.has_reached(through):
                return index
            progress = await indexing.progress()
            behind = IndexFailed(f"it is {progress.behind} commits behind")
            await index.close()
        try:
            with directory.hold("search"):
                async with index_open(settings, directory.index_path) as writable:
                    await bring_up(settings, services.store, writable, show)
        except DirectoryInUse as holder:
            if asyncio.get_running_loop().time() > deadline:
                raise CommandFailed(
                    f"the full-text index cannot be used yet: {behind.message}; {holder}"
                ) from holder
            await asyncio.sleep(_LOOKED_EVERY_S)


async def bring_up(
    settings: Settings, store: SqliteLogStore, index: SearchIndex, show: bool
) -> HowFar:
    """Bring an index to where the log is now; ``show``: with progress, on a terminal.

    Raises:
        IndexFailed, PersistenceFailed: see :meth:`Indexing.catch_up`.
    """
    console = stderr_console()
    reached: list[HowFar] = []
    with Progress(
        SpinnerColumn(),
        TextColumn("indexing"),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,} commits"),
        TextColumn("{task.fields[documents]:,} documents"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not (show and console.is_terminal),
    ) as progress:
        task = progress.add_task("indexing", total=1, documents=0)

        def on_progress(how_far: HowFar) -> None:
            reached.append(how_far)
            progress.update(
                task,
                completed=how_far.position,
                total=how_far.target,
                documents=how_far.documents,
            )

        await _search(settings, store, index).indexing.catch_up(on_progress)
    return reached[-1]


def _search(
    settings: Settings, store: SqliteLogStore, index: SearchIndex, through: Position | None = None
) -> Search:
    cursors = CursorCodec(secrets.token_bytes(KEY_BYTES))
    return search_over(settings, store, store, index, cursors, _nothing_to_settle, through=through)


async def _nothing_to_settle() -> None:
    """A command accepts nothing that is not on disk."""
