"""The index: one thread writes it, in the order of the feed; anybody observes its last commit.

Tantivy loses every uncommitted document when anything fails, and its writer cannot be used any
more. So after a failure the writer is dropped and whoever feeds it begins again at the watermark of
the last commit, which is the one thing that is always true of the files. When even that cannot be
read, the index is set aside and begins empty.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

import structlog
import tantivy

from providers.tantivy.documents import (
    SCHEMA,
    TRAITS,
    DocumentMaker,
    forget_watermark,
    session_trait,
    watermark_document,
    watermark_in,
)
from providers.tantivy.failures import index_failures
from providers.tantivy.folder import IndexFolder
from providers.tantivy.observations import KnownLogs, TantivyObservation
from sessiongraph.errors import IndexFailed
from sessiongraph.search.ports import Forget, IndexChange, Learn, Watermark
from sessiongraph.text import semantic_text

T = TypeVar("T")

_log: Final = structlog.get_logger(__name__)

WRITER_BYTES: Final = 64 << 20
"""Memory of the documents that are not in a segment yet."""


class TantivyIndex:
    """See :class:`sessiongraph.search.ports.SearchIndex`."""

    def __init__(self, folder: IndexFolder, writer_bytes: int | None) -> None:
        self._folder = folder
        self._writer_bytes = writer_bytes
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="index-writer")
        self._logs = KnownLogs()
        self._index: tantivy.Index | None = None
        self._writer: tantivy.IndexWriter | None = None
        self._searcher: tantivy.Searcher | None = None
        self._watermark: Watermark | None = None

    @classmethod
    def open(cls, path: Path, writer_bytes: int = WRITER_BYTES) -> TantivyIndex:
        """The index of a folder, empty where there is none or where it cannot be used.

        Raises:
            InvalidConfig: the folder is somebody else's.
            IndexFailed: no index can be made there.
        """
        folder = IndexFolder(path)
        folder.prepare()
        index = cls(folder, writer_bytes)
        index._open_or_set_aside()
        return index

    @classmethod
    def open_for_reading(cls, path: Path) -> TantivyIndex:
        """The index of a folder beside whoever writes it; :meth:`refresh` shows later commits.

        Raises:
            InvalidConfig: the folder is somebody else's.
            IndexFailed: there is no index that could be read.
        """
        folder = IndexFolder(path)
        if not folder.is_usable():
            raise IndexFailed("there is no full-text index yet")
        index = cls(folder, None)
        with index_failures("opened"):
            index._open()
        return index

    @property
    def watermark(self) -> Watermark | None:
        """Of the last commit."""
        return self._watermark

    @property
    def documents(self) -> int:
        """How many there are, the watermark aside."""
        return 0 if self._searcher is None else max(0, self._searcher.num_docs - 1)

    async def apply(self, changes: Sequence[IndexChange]) -> None:
        """Take changes, in order."""
        await self._in_writer(lambda: self._apply(changes))

    async def commit(self, watermark: Watermark) -> None:
        """Make everything taken durable and visible."""
        await self._in_writer(lambda: self._commit(watermark))

    def observe(self) -> TantivyObservation:
        """The state of the last commit."""
        if self._searcher is None:
            raise IndexFailed("the index is being opened")
        position = 0 if self._watermark is None else self._watermark.position
        return TantivyObservation(self._searcher, position, self._logs)

    async def refresh(self) -> None:
        """Show what others have committed meanwhile.

        Raises:
            IndexFailed: it cannot be read.
        """
        await self._in_writer(self._look)

    async def recover(self) -> None:
        """Go back to the last commit, or to nothing."""
        await self._in_writer(self._open_or_set_aside)

    async def clear(self) -> None:
        """Throw everything away."""

        def empty() -> None:
            self._drop()
            self._folder.clear()
            self._open()

        await self._in_writer(empty)

    async def close(self) -> None:
        """Release the files."""
        await self._in_writer(self._drop)
        self._thread.shutdown()

    async def _in_writer(self, work: Callable[[], T]) -> T:
        """Run in the one thread that writes; a caller that leaves does not stop it."""

        def guarded() -> T:
            with index_failures("written"):
                return work()

        loop = asyncio.get_running_loop()
        return await asyncio.shield(loop.run_in_executor(self._thread, guarded))

    def _apply(self, changes: Sequence[IndexChange]) -> None:
        writer = self._write()
        for change in changes:
            if isinstance(change, Forget):
                writer.delete_documents_by_term(TRAITS, session_trait(change.session_id))
            else:
                _learn(writer, change)

    def _commit(self, watermark: Watermark) -> None:
        writer = self._write()
        forget_watermark(writer)
        writer.add_document(watermark_document(watermark))
        writer.commit()
        self._look()

    def _write(self) -> tantivy.IndexWriter:
        if self._writer is None:
            raise IndexFailed("the index is not open for writing")
        return self._writer

    def _look(self) -> None:
        assert self._index is not None
        self._index.reload()
        searcher = self._index.searcher()
        self._watermark = watermark_in(searcher)
        self._searcher = searcher

    def _open_or_set_aside(self) -> None:
        try:
            with index_failures("opened"):
                self._open()
                return
        except IndexFailed as failure:
            self._drop()
            self._folder.set_aside(failure.message)
        with index_failures("made"):
            self._open()

    def _open(self) -> None:
        self._drop()
        path = str(self._folder.segments)
        if self._writer_bytes is None:
            self._index = tantivy.Index.open(path)
        else:
            self._index = tantivy.Index(SCHEMA, path, reuse=True)
        self._index.config_reader("manual")
        self._look()
        if self._writer_bytes is not None:
            self._writer = self._index.writer(self._writer_bytes, 1)

    def _drop(self) -> None:
        self._searcher = self._writer = self._index = self._watermark = None


def _learn(writer: tantivy.IndexWriter, change: Learn) -> None:
    maker = DocumentMaker(change.header, change.epoch)
    for event in change.events:
        try:
            text = semantic_text(event)
        except ValueError:
            _log.warning(
                "an event cannot be read and is not searched",
                session=change.header.session_id,
                seq=event.seq,
            )
            continue
        if text:
            writer.add_document(maker.document(event.type, event.seq, event.time, text))
