"""The logical corpus: every session once, wherever it can be read from.

A session can be *live* (open in this server, the authority for its id), *persisted* (in the log
store), or both; a live one is preferred, and neither place hides the other. This module gives the
rest of the product one kind of session and one kind of observation to read it through.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sessiongraph.event import Seq
from sessiongraph.filters import Availability, SessionSelection
from sessiongraph.header import EpochMillis, SessionHeader
from sessiongraph.ports import (
    LogReader,
    LogStore,
    SessionKey,
    SessionOrder,
    StoredSession,
)


@dataclass(slots=True, eq=False)
class LogicalSession:
    """One session of the corpus as one observation sees it.

    header: the live one when the session is live, else the stored one.
    last_seq: -1 for an empty log.
    """

    session_id: str
    header: SessionHeader
    live: bool
    persisted: bool
    last_seq: Seq
    title: str | None
    prompted_at: EpochMillis | None
    stored: StoredSession

    @classmethod
    def persisted_only(cls, stored: StoredSession) -> LogicalSession:
        """A session that is in the store and not open."""
        return cls(
            session_id=stored.header.session_id,
            header=stored.header,
            live=False,
            persisted=True,
            last_seq=stored.last_seq,
            title=stored.title,
            prompted_at=stored.prompted_at,
            stored=stored,
        )

    def key(self) -> SessionKey:
        """Its place in every order of the corpus."""
        return self.stored.key()


class CorpusView:
    """One observation of the whole corpus."""

    def __init__(self, reader: LogReader) -> None:
        self.reader = reader

    async def find(self, ids: Collection[str]) -> dict[str, LogicalSession]:
        """The sessions among ``ids``, by id."""
        stored = await self.reader.find(ids)
        return {
            session_id: LogicalSession.persisted_only(session)
            for session_id, session in stored.items()
        }

    async def sessions(
        self,
        selection: SessionSelection,
        order: SessionOrder,
        *,
        limit: int,
        after: SessionKey | None = None,
        before: SessionKey | None = None,
    ) -> list[LogicalSession]:
        """The next ``limit`` sessions in order, or with ``before`` those just before it."""
        if selection.impossible or not _can_be_persisted(selection):
            return []
        rows = await self.reader.sessions(selection, order, limit=limit, after=after, before=before)
        return [LogicalSession.persisted_only(row) for row in rows]

    async def ancestors(self, ids: Collection[str]) -> dict[str, list[LogicalSession]]:
        """Known ancestors of each id, nearest first."""
        found = await self.reader.ancestors(ids)
        return {
            session_id: [LogicalSession.persisted_only(row) for row in rows]
            for session_id, rows in found.items()
        }


def _can_be_persisted(selection: SessionSelection) -> bool:
    return selection.availability is None or Availability.PERSISTED in selection.availability


class Corpus:
    """The live-preferred corpus of one server."""

    def __init__(self, store: LogStore) -> None:
        self._store = store

    @asynccontextmanager
    async def observe(self) -> AsyncIterator[CorpusView]:
        """One observation: everything read through it is of the same moment."""
        async with self._store.observe() as reader:
            yield CorpusView(reader)
