"""The store and the index with a span around each read, commit and ranking of an operation.

What nobody traces is not recorded: a span is made only where one is open already, so the tasks that
go on in the background make none.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from typing_extensions import override

from providers.sqlite.log_store import SqliteLogStore
from providers.tantivy.index import TantivyIndex
from server.tracing import NO_SPANS, Spans
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.ports import LogReader, Position
from sessiongraph.search.ports import Held, IndexObservation, Ranking
from sessiongraph.search.question import Question


class TracedLogStore(SqliteLogStore):
    """A store whose observations and appends are spans."""

    spans: Spans = NO_SPANS

    @override
    @asynccontextmanager
    async def observe(self) -> AsyncIterator[LogReader]:
        with self.spans.leaf("store read"):
            async with super().observe() as reader:
                yield reader

    @override
    async def append(self, session_id: str, epoch: int, entries: Sequence[PlacedEntry]) -> Position:
        with self.spans.leaf("store commit"):
            return await super().append(session_id, epoch, entries)


class TracedIndex(TantivyIndex):
    """An index whose rankings are spans."""

    spans: Spans = NO_SPANS

    @override
    def observe(self) -> IndexObservation:
        return _TracedObservation(super().observe(), self.spans)


class _TracedObservation(IndexObservation):
    def __init__(self, observation: IndexObservation, spans: Spans) -> None:
        self._observation = observation
        self._spans = spans

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, _TracedObservation) and self._observation == other._observation

    @override
    def __hash__(self) -> int:
        return hash(self._observation)

    @property
    @override
    def documents(self) -> int:
        return self._observation.documents

    @override
    async def held(self, logs: Sequence[tuple[str, int]]) -> list[Held]:
        return await self._observation.held(logs)

    @override
    async def rank(self, question: Question, least: int, *, distinct: bool) -> Ranking:
        with self._spans.leaf("index search"):
            return await self._observation.rank(question, least, distinct=distinct)
