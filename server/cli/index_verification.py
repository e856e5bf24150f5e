"""The full-text index in a check of the store: found where it lies, compared, and built anew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from providers.sqlite.verification import Fault
from providers.tantivy.folder import IndexFolder
from providers.tantivy.index import TantivyIndex
from server.cli.searching import bring_up
from server.data_directory import DataDirectory
from server.search_services import index_open
from server.wiring import Services
from sessiongraph.errors import IndexFailed, InvalidConfig
from sessiongraph.search.verification import index_faults

INDEX_FAULT: Final = "search"
"""What a fault says that is one of the full-text index."""


async def verify_index(services: Services, on_progress: Callable[[int], None]) -> list[Fault]:
    """What is wrong with the index; nothing where search is off, or none was made yet.

    Works beside whoever writes the index.

    Raises:
        PersistenceFailed: the store cannot be read.
    """
    if services.settings.search == "off":
        return []
    path = DataDirectory(services.settings.data_dir).index_path
    try:
        if not IndexFolder(path).has_index():
            return []
        index = await asyncio.to_thread(TantivyIndex.open_for_reading, path)
    except InvalidConfig as refusal:
        return [Fault(None, "file", refusal.message)]
    except IndexFailed as failure:
        return [Fault(None, INDEX_FAULT, failure.message)]
    try:
        return [
            Fault(fault.session_id, INDEX_FAULT, fault.detail)
            async for fault in index_faults(services.store, services.store, index, on_progress)
        ]
    except IndexFailed as failure:
        return [Fault(None, INDEX_FAULT, failure.message)]
    finally:
        await index.close()


async def rebuild_index(services: Services, *, show: bool) -> None:
    """Build the index anew, in a directory that is held already."""
    path = DataDirectory(services.settings.data_dir).index_path
    async with index_open(services.settings, path) as index:
        await index.clear()
        await bring_up(services.settings, services.store, index, show)
