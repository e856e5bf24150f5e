"""The index: one thread writes it, in the order of the feed; anybody observes what it has taken.

Tantivy loses every uncommitted document when anything fails, and its writer cannot be used any
more. So after a failure the writer is dropped and whoever feeds it begins again at the watermark of
the last commit, which is the one thing that is always true of the files. When even that cannot be
read, the index is set aside and begins empty.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import structlog
import tantivy

from providers.tantivy.analysing_apart import AnalysingApart
from providers.tantivy.checksums import damaged_files, octets_of
from providers.tantivy.documents import (
    SCHEMA,
    TRAITS,
    DocumentMaker,
    forget_watermark,
    session_trait,
    watermark_document,
    watermark_in,
)
from providers.tantivy.failures import IndexFailures, is_written_by_others
from providers.tantivy.folder import IndexFolder
from providers.tantivy.fresh import FreshDocument, Statistics
from providers.tantivy.known import KnownLogs, KnownQuestions
from providers.tantivy.observations import FreshView, TantivyObservation
from providers.tantivy.periods import NewestParts
from sessiongraph.errors import IndexFailed
from sessiongraph.search.ports import (
    Forget,
    IndexChange,
    IndexObservation,
    Learn,
    Watermark,
)

T = TypeVar("T")

_log: Final = structlog.get_logger(__name__)

_PATIENCE: Final = 10
"""How nice the threads are that write segments; documents wait for them, nobody else does."""

_MERGED_SOON: Final = 100_000
"""Documents whose merging can be waited for at the end. More may take longer than a clean stop; a
merge that was cut off is begun again another time."""

_COMPARED_AT_OPENING: Final = 64 << 20
"""Octets of files up to which their checksums are compared whenever an index is opened for writing:
about a tenth of a second. Those of a larger one are compared once a search found it unreadable."""

WRITER_BYTES: Final = 64 << 20
"""Memory of the documents that are not in a segment yet."""


class TantivyIndex:
    """See :class:`sessiongraph.search.ports.SearchIndex`."""

    def __init__(
        self, folder: IndexFolder, writer_bytes: int | None, analyse: AnalysingApart | None = None
    ) -> None:
        self._folder = folder
        self._writer_bytes = writer_bytes
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="index-writer")
        self._slow_thread = ThreadPoolExecutor(
            1, thread_name_prefix="index-committer", initializer=give_way
        )
        self._analyse = analyse or AnalysingApart(processes=0)
        self._writing = threading.Lock()
        self._logs = KnownLogs()
        self._index: tantivy.Index | None = None
        self._writer: tantivy.IndexWriter | None = None
        self._state: _State | None = None

    @classmethod
    def open(
        cls,
        path: Path,
        writer_bytes: int = WRITER_BYTES,
        analyse: AnalysingApart | None = None,
    ) -> Self:
        """The index of a folder, empty where there is none or where it cannot be used.

        analyse: what takes texts apart; it ends with the index. None: this process.

        Raises:
            InvalidConfig: the folder is somebody else's.
            IndexFailed: no index can be made there.
        """
        folder = IndexFolder(path)
        folder.prepare()
        index = cls(folder, writer_bytes, analyse)
        try:
            index._slow_thread.submit(index._open_or_set_aside).result()
        except BaseException:
            index._end_threads()
            raise
        return index

    @classmethod
    def open_for_reading(cls, path: Path) -> TantivyIndex:
        """The index of a folder beside whoever writes it, as of now: open it again to see more.

        Whoever writes it may have put it away and begun another one in its place.

        Raises:
            InvalidConfig: the folder is somebody else's.
            IndexFailed: there is no index that could be read.
        """
        folder = IndexFolder(path)
        if not folder.is_usable():
            raise IndexFailed("there is no full-text index yet")
        index = cls(folder, None)
        try:
            with IndexFailures("opened"):
                index._open()
        except BaseException:
            index._end_threads()
            raise
        return index

    @property
    def watermark(self) -> Watermark | None:
        """Of the last commit."""
        return None if self._state is None else self._state.watermark

    @property
    def documents(self) -> int:
        """How many there are, the watermark aside."""
        state = self._state
        if state is None:
            return 0
        return max(0, state.searcher.num_docs - 1) + len(state.fresh)

    async def apply(self, changes: Sequence[IndexChange]) -> None:
        """Take changes, in order."""
        await self._in(self._thread, lambda: self._apply(changes))

    async def commit(self, watermark: Watermark) -> None:
        """Make everything taken durable and visible."""
        await self._in(self._slow_thread, lambda: self._commit(watermark))

    def observe(self) -> IndexObservation:
        """Everything that was taken until now."""
        state = self._state
        if state is None:
            raise IndexFailed("the index is being opened")
        fresh = state.fresh
        view = FreshView(fresh, len(fresh), state.forgotten, state.statistics)
        return TantivyObservation(state.searcher, self._logs, state.questions, state.parts, view)

    async def damages(self) -> list[str]:
        """What is wrong with the files of the last commit, found by reading all of them."""

        def read() -> list[str]:
            with IndexFailures("read"):
                return list(damaged_files(self._folder.segments))

        return await asyncio.to_thread(read)

    async def recover(self) -> None:
        """Go back to the last commit, or to nothing when a file of it is damaged."""
        await self._in(self._slow_thread, lambda: self._open_or_set_aside(whole=True))

    async def clear(self) -> None:
        """Throw everything away."""

        def empty() -> None:
            self._drop()
            self._folder.clear()
            self._open()

        await self._in(self._slow_thread, empty)

    async def close(self) -> None:
        """Release the files; what merges a large index goes on until the program ends.

        What was begun is done first, also where whoever began it has left.
        """

        def end() -> None:
            writer = self._writer
            if writer is not None and self.documents <= _MERGED_SOON:
                writer.wait_merging_threads()
            self._drop()

        self._analyse.stop()
        await self._in(self._thread, _nothing)
        await self._in(self._slow_thread, end)
        self._end_threads()

    def _end_threads(self) -> None:
        self._thread.shutdown()
        self._analyse.end()
        self._slow_thread.shutdown()

    async def _in(self, thread: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        """Run in a thread, one work at a time; a caller that leaves does not stop it."""

        def guarded() -> T:
            with self._writing, IndexFailures("written"):
                return work()

        future = asyncio.get_running_loop().run_in_executor(thread, guarded)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            future.add_done_callback(_note_failure)
            raise

    def _apply(self, changes: Sequence[IndexChange]) -> None:
        writer, state = self._write(), self._state
        assert state is not None
        for change in changes:
            if isinstance(change, Forget):
                writer.delete_documents_by_term(TRAITS, session_trait(change.session_id))
                state.forget(change.session_id)
            else:
                state.fresh.extend(self._learn(writer, change))

    def _learn(self, writer: tantivy.IndexWriter, change: Learn) -> Iterator[FreshDocument]:
        """Give the writer what there is to learn; the documents that it got."""
        maker = DocumentMaker(change.header, change.epoch)
        for event, outcome in zip(change.events, self._analyse(change.events), strict=True):
            tokens = outcome.tokens
            if tokens is None:
                _log.warning(
                    "an event cannot be read and is not searched",
                    session=change.header.session_id,
                    seq=event.seq,
                )
            elif tokens:
                seq, time, check = event.seq, event.time, outcome.check
                traits = maker.traits(event.type, time)
                writer.add_document(maker.document(traits, seq, time, tokens, check))
                yield FreshDocument(maker.key, seq, time, maker.created, tokens, traits, check)

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
        parts = NewestParts(searcher)
        self._state = _State(searcher, watermark_in(searcher), Statistics(searcher), parts)

    def _open_or_set_aside(self, *, whole: bool = False) -> None:
        """Open the index, or an empty one in its place; ``whole``: read it through, however large.

        Raises:
            IndexFailed: somebody else writes it, or none can be made.
        """
        try:
            with IndexFailures("opened"):
                self._open()
                self._compare_checksums(None if whole else _COMPARED_AT_OPENING)
                return
        except IndexFailed as failure:
            self._drop()
            if is_written_by_others(failure):
                raise
            self._folder.set_aside(failure.message)
        with IndexFailures("made"):
            self._open()

    def _compare_checksums(self, at_most: int | None) -> None:
        """Read the files through, unless there is more in them than that."""
        segments = self._folder.segments
        if at_most is None or octets_of(segments) <= at_most:
            for damage in damaged_files(segments):
                raise IndexFailed(f"the file {damage}")

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
        self._state = self._writer = self._index = None


def _nothing() -> None:
    """What is done once everything before it is."""


def _note_failure(work: asyncio.Future[Any]) -> None:
    """Log how a work ended whose caller has left, if it failed."""
    if not work.cancelled() and work.exception() is not None:
        _log.warning("the index could not do what nobody waits for", error=str(work.exception()))


def give_way() -> None:
    """Let everybody else have the processor first, where threads can be told so.

    Tantivy's own threads are begun by whoever opens or commits, and take after it.
    """
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _PATIENCE)


@dataclass(slots=True, eq=False)
class _State:
    """The last commit and what was taken since.

    fresh: only ever grows, so that an observation needs no more than its length; replaced when
        something of it is forgotten.
    forgotten: sessions whose committed documents are gone.
    """

    searcher: tantivy.Searcher
    watermark: Watermark | None
    statistics: Statistics
    parts: NewestParts
    questions: KnownQuestions = field(default_factory=KnownQuestions)
    fresh: list[FreshDocument] = field(default_factory=list)
    forgotten: frozenset[str] = frozenset()

    def forget(self, session_id: str) -> None:
        self.fresh = [each for each in self.fresh if each.key.session_id != session_id]
        self.forgotten |= {session_id}
