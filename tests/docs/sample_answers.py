"""The bundled samples in a store of their own, and the answers that GraphQL gives about them."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from providers.recordings.discovery import find_recordings
from providers.recordings.dsh import DshReader
from providers.sqlite.checkpoints import SqliteCheckpointStore
from providers.sqlite.log_store import SqliteLogStore
from resolvers.context import Services
from schema.response import encode_response
from schema.served import build_schema
from server.samples import sample_sessions
from server.search_services import index_open, search_over
from server.settings import Settings
from sessiongraph.corpus import Corpus
from sessiongraph.cursor import KEY_BYTES, CursorCodec
from sessiongraph.importing import Importer
from sessiongraph.projections.service import Projections
from sessiongraph.projections.units import first_party_registry
from sessiongraph.query import SessionQuery
from sessiongraph.search.service import Search

CURSORS = CursorCodec(b"k" * KEY_BYTES)


async def _nothing() -> None:
    """Nothing was accepted that is not on disk."""


class SampleAnswers:
    """Asks the samples."""

    def __init__(self, store: SqliteLogStore, search: Search) -> None:
        query = SessionQuery(Corpus(store), CURSORS)
        checkpoints = SqliteCheckpointStore(store)
        self.projections = Projections(first_party_registry(), store, store, checkpoints)
        self._services = Services(
            query=query, version="0", projections=self.projections, search=search
        )
        self._schema = build_schema()

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[SampleAnswers]:
        """The samples, imported afresh."""
        with tempfile.TemporaryDirectory() as folder, sample_sessions() as samples:
            store = await asyncio.to_thread(SqliteLogStore.open, Path(folder) / "log.db")
            try:
                recordings = find_recordings([samples], [DshReader()])
                report = await Importer(store, lambda: 0).run(recordings)
                assert not report.refused
                settings = Settings(data_dir=Path(folder))
                async with index_open(settings, Path(folder) / "index") as index:
                    search = search_over(settings, store, store, index, CURSORS, _nothing)
                    await search.indexing.catch_up()
                    answers = cls(store, search)
                    yield answers
                    await answers.projections.aclose()
            finally:
                await store.close()

    async def ask(self, document: str) -> Any:
        """The answer to a query as a client gets it."""
        result = await self._schema.execute(document, context_value=self._services)
        body: dict[str, Any] = {"data": result.data}
        if result.errors:
            body["errors"] = [error.formatted for error in result.errors]
        return json.loads(encode_response(body))
