"""Making a stored session live again: its surface in memory, its crashed tail closed."""

from __future__ import annotations

from collections.abc import Callable

from sessiongraph.corpus import Corpus
from sessiongraph.errors import SessionNotFound
from sessiongraph.header import EpochMillis
from sessiongraph.live_session import LiveSession
from sessiongraph.live_sessions import LiveSessions
from sessiongraph.log_tails import tail_of
from sessiongraph.new_event import NewEvent
from sessiongraph.ports import LogStore, StoredSession
from sessiongraph.repair import closing_events


class Resuming:
    """Brings stored sessions back.

    now: the clock, in ms since the epoch.
    """

    def __init__(
        self,
        store: LogStore,
        corpus: Corpus,
        live: LiveSessions,
        now: Callable[[], EpochMillis],
    ) -> None:
        self._store = store
        self._corpus = corpus
        self._live = live
        self._now = now

    async def resume(self, session_id: str) -> LiveSession:
        """Make a session live that is not; one that was read from a file leaves that file.

        Raises:
            SessionNotFound: there is no such session.
            PersistenceFailed: the disk refused.
        """
        stored = await self._stored(session_id)
        if stored.header.source.path is not None:
            stored = await self._detach(stored)
        async with self._corpus.observe() as view:
            nodes = await view.reader.surface_nodes(stored)
            tail = await tail_of(view.reader, stored)
        session = LiveSession(
            stored.header,
            stored.epoch,
            nodes,
            stored.last_seq,
            tail,
            stored.title,
            stored.prompted_at,
        )
        closing = closing_events(tail, session_id, stored.header.version, stored.last_seq + 1)
        if closing:
            repairs = [
                NewEvent(
                    each.type, each.payload, each.time, each.surface_op, each.source_event_seqs
                )
                for each in closing
            ]
            # On disk before anybody can append behind them.
            batch = session.plan(repairs, self._now(), {})
            await self._store.append(session_id, stored.epoch, batch.entries)
            session.settle(1)
        self._live.add(session)
        return session

    async def _detach(self, stored: StoredSession) -> StoredSession:
        source = stored.header.source
        note = f"Detached from {source.path}, which is no longer followed."
        await self._store.detach(stored.header.session_id, stored.epoch, (*source.notes, note))
        return await self._stored(stored.header.session_id)

    async def _stored(self, session_id: str) -> StoredSession:
        async with self._store.observe() as reader:
            stored = (await reader.find([session_id])).get(session_id)
        if stored is None:
            raise SessionNotFound(f"no session has the id {session_id!r}")
        return stored
