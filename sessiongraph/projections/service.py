"""Everything that is asked of projections, in one object: snapshots, states, subscriptions.

Only committed events are reflected. Whoever wants to see what was accepted a moment ago has the
session written first.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from typing import Any, Final

import structlog

from sessiongraph.errors import SessionGraphError, SessionNotFound
from sessiongraph.ports import CommitFeed, LogStore, StoredSession
from sessiongraph.projections.driving import Drive, ProjectionLimits
from sessiongraph.projections.open_session import OpenSession
from sessiongraph.projections.ports import CheckpointStore
from sessiongraph.projections.pushing import Keys, Place, ViewStream
from sessiongraph.projections.registry import Registry
from sessiongraph.projections.views import Change, Snapshot
from sessiongraph.recent_events import RecentEvents

_log: Final = structlog.get_logger(__name__)


class Projections:
    """The projections of one server.

    A program that only reads can use one without ever calling :meth:`run`.

    recent: what need not be read from the store; where nobody writes, nothing.
    """

    def __init__(
        self,
        registry: Registry,
        store: LogStore,
        feed: CommitFeed,
        checkpoints: CheckpointStore,
        limits: ProjectionLimits | None = None,
        recent: RecentEvents | None = None,
    ) -> None:
        self.registry = registry
        self._store = store
        self._drive = Drive(
            registry,
            store,
            feed,
            checkpoints,
            limits or ProjectionLimits(),
            recent or RecentEvents(),
        )

    async def snapshot(self, session_id: str, keys: Collection[str] | None = None) -> Snapshot:
        """All views or the named ones, as of everything that is committed now.

        Raises:
            SessionNotFound: there is no such stored session.
            CorruptSession, PersistenceFailed: its log cannot be read.
        """
        return (await self._drive.ready(session_id)).snapshot(keys)

    async def snapshots(
        self, session_ids: Collection[str], keys: Collection[str] | None = None
    ) -> dict[str, Snapshot | SessionGraphError]:
        """Many snapshots, or why there is none, by id; cold ones read their rows in one statement.

        Raises:
            PersistenceFailed: the store cannot be read.
        """
        drive = self._drive
        async with self._store.observe() as reader:
            found = await reader.find(session_ids)
        cold = [stored for session_id, stored in found.items() if drive.get(session_id) is None]
        read = await drive.ladder.rows_of(cold, self.registry.routes)
        answers: dict[str, Snapshot | SessionGraphError] = {}
        for session_id in session_ids:
            try:
                session = await drive.ready(session_id, read.get(session_id))
                answers[session_id] = session.snapshot(keys)
            except SessionGraphError as error:
                answers[session_id] = error
        return answers

    async def stored(
        self, sessions: Collection[StoredSession], keys: Collection[str] | None = None
    ) -> dict[str, Snapshot]:
        """What the last checkpoints say, by id, in one statement and without reading a log.

        Raises:
            PersistenceFailed: the checkpoints cannot be read.
        """
        return await self._drive.ladder.stored(sessions, self.registry.routes.units, keys)

    def state_of(self, session_id: str, key: str) -> Any:
        """The state of one unit, borrowed; no view is computed.

        Raises:
            LookupError: the session is not open, or there is no such state.
        """
        return self._open(session_id).cells.state_of(key)

    def checkpoint(self, session_id: str) -> dict[str, Any]:
        """The states of an open session by key, as copies that nobody shares.

        Raises:
            LookupError: the session is not open.
        """
        return self._open(session_id).cells.checkpoint()

    def subscribe(self, session_id: str, keys: Collection[str] | None = None) -> ViewStream:
        """A snapshot, then every change of a view by a committed event; no gap, no overlap.

        Ends when the session is deleted or the server stops. The changes are the same objects for
        every subscriber of the session.

        Raises, from the stream:
            SessionNotFound: there is no such stored session.
            LogReplaced: the log was read anew.
            CorruptSession, PersistenceFailed: its log cannot be read.
        """
        place, named = Place(), None if keys is None else frozenset(keys)
        return ViewStream(place, named, self._frames(session_id, place, named))

    async def _frames(
        self, session_id: str, place: Place, keys: Keys | None
    ) -> AsyncGenerator[Snapshot | Change, None]:
        session = await self._drive.ready(session_id)
        # From here to the first frame nothing waits: the place and the snapshot are of one moment.
        channel = session.channel
        channel.join(place)
        try:
            if self._drive.stopped:
                channel.end(None)
            yield session.snapshot(keys)
            async with aclosing(channel.changes(place, keys)) as changes:  # type: ignore[type-var]
                async for change in changes:
                    yield change
        finally:
            channel.leave()
            self._drive.trim()

    def closed(self, session_id: str) -> None:
        """A live session went cold: its states are written soon."""
        self._drive.in_background(self.save(session_id))

    async def save(self, session_id: str) -> None:
        """Write the states of a session, as of everything committed; softly."""
        try:
            await (await self._drive.ready(session_id)).save()
        except SessionNotFound:
            pass  # nothing of it was ever on disk, or it is deleted
        except SessionGraphError as error:
            _log.warning(
                "the projections of a session could not be written",
                session=session_id,
                error=error.message,
            )

    def look_at(self, session_id: str) -> None:
        """Have a session folded and its checkpoint written when there is time."""
        self._drive.cold.put(session_id, first=False)

    async def fewer_waiting_than(self, most: int) -> None:
        """Return when fewer than so many sessions wait to be looked at."""
        await self._drive.cold.shorter_than(most)

    async def run(self) -> None:
        """Follow the feed of commits until it ends or the task is cancelled."""
        await self._drive.run()

    def stop(self) -> None:
        """End every subscription cleanly."""
        self._drive.stop()

    async def aclose(self) -> None:
        """Write what is not written; after :meth:`run` has ended."""
        await self._drive.aclose()

    def _open(self, session_id: str) -> OpenSession:
        session = self._drive.get(session_id)
        if session is None:
            raise LookupError(f"{session_id!r} is not open")
        return session
