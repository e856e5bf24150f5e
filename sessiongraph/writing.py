"""Writing sessions: create, resume, append, fork, rename, flush, close, delete.

Each operation is safe to repeat when its answer was lost: the same creation finds the session as
it made it, the same append finds its events where it put them, closing what is closed and deleting
what is gone are no errors. What changes whether a session is live is done one at a time for each
id.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import structlog

from sessiongraph.appends import Appends
from sessiongraph.corpus import Corpus, LogicalSession
from sessiongraph.errors import (
    BadUserInput,
    EventNotFound,
    LogConflict,
    LogReadOnly,
    NotLive,
    OpenTurn,
    SessionGraphError,
    SessionNotFound,
)
from sessiongraph.event import PlacedEvent, Seq, SessionEvent
from sessiongraph.filters import ALL_EVENTS
from sessiongraph.header import EpochMillis, SessionHeader, SessionSource
from sessiongraph.live_session import LiveSession
from sessiongraph.live_sessions import Durability, LiveSessions
from sessiongraph.log_tails import turn_is_open
from sessiongraph.new_event import NewEvent
from sessiongraph.new_session import NewSession
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.ports import LogStore, StoredSession, WindowRequest
from sessiongraph.precedence import Precedence
from sessiongraph.resuming import Resuming
from sessiongraph.surface import Transition
from sessiongraph.turns import Turns
from sessiongraph.visibility import EVERYWHERE, Visibility

_TITLE: Final = "session/title"

_log: Final = structlog.get_logger(__name__)


class Lifecycle:
    """Told what happens to sessions beyond their logs; the default tells nobody."""

    def created(self, session_id: str) -> None:
        """A session was made."""

    def resumed(self, session_id: str) -> None:
        """A stored session became live again."""

    def closed(self, session_id: str) -> None:
        """A live session went cold."""

    def deleted(self, session_id: str, cwd: str | None) -> None:
        """A live session is gone of which nothing was on disk, so that no commit tells of it."""


class SessionWriting:
    """The writing service of one server.

    now: the clock, in ms since the epoch.
    precedence: what appends have over other work.
    """

    def __init__(
        self,
        store: LogStore,
        corpus: Corpus,
        live: LiveSessions,
        now: Callable[[], EpochMillis],
        lifecycle: Lifecycle | None = None,
        precedence: Precedence | None = None,
    ) -> None:
        self._store = store
        self._corpus = corpus
        self._live = live
        self._appends = Appends(corpus, live, now)
        self._resuming = Resuming(store, corpus, live, now)
        self._now = now
        self._lifecycle = lifecycle or Lifecycle()
        self._precedence = precedence or Precedence()
        # One change at a time of whether a session is live.
        self._turns: Turns[str] = Turns()

    async def create(self, new: NewSession, durability: Durability) -> str:
        """Make a session live; answers its id.

        Raises:
            BadUserInput: a field makes no sense.
            LogConflict: the id is taken by another session, or by one that has events.
            PersistenceFailed: the disk refused.
        """
        header = new.header(self._now())
        session_id = header.session_id
        async with self._turns.alone(session_id):
            known = await self._find(session_id)
            if known is not None:
                is_ours = known.header.source.path is None and new.has_made(known.header)
                if known.last_seq >= 0 or not is_ours:
                    raise LogConflict(f"the id {session_id!r} is taken")
                session = self._live.get(session_id) or await self._resuming.resume(session_id)
                if durability is Durability.DURABLE:
                    await self._live.flush(session)
                return session_id
            if durability is Durability.DURABLE:
                epoch = await self._store.create(header)
                self._live.add(LiveSession(header, epoch))
            else:
                session = LiveSession(header, None)
                self._live.add(session)
                self._live.accept(session)
            self._lifecycle.created(session_id)
        return session_id

    async def resume(self, session_id: str) -> None:
        """Make a stored session live, its crashed tail closed; one that is live stays as it is.

        A session that was read from a file is detached from it.

        Raises:
            SessionNotFound: there is no such session.
            PersistenceFailed: the disk refused.
        """
        async with self._turns.alone(session_id):
            if self._live.get(session_id) is None:
                await self._resuming.resume(session_id)
                self._lifecycle.resumed(session_id)

    async def append(
        self,
        session_id: str,
        events: Sequence[NewEvent],
        expected_seq: Seq | None,
        durability: Durability,
    ) -> list[SessionEvent]:
        """Append all events or none.

        Raises:
            SessionNotFound, NotLive, LogReadOnly: it cannot be appended to, or was deleted or
                closed before it could be.
            LogConflict: the log is not at ``expected_seq``, and these events are not what is there.
            InvalidEvent: an event breaks a rule.
            PersistenceFailed: the disk refused; the outcome is open until the same append is sent
                again.
        """
        if not events:
            raise BadUserInput("there is nothing to append")
        session = self._live.get(session_id)
        if session is None:
            await self._require_own(session_id)
            raise NotLive(f"{session_id!r} is not live: resume it first")
        with self._precedence:
            return await self._appends.append(session, events, expected_seq, durability)

    async def fork(
        self,
        source_id: str,
        boundary: Seq | None,
        session_id: str | None,
        seen: Visibility = EVERYWHERE,
    ) -> str:
        """Make a live child from the events of a session up to and including ``boundary``.

        seen: a child that was made before is found among these sessions only.

        Raises:
            SessionNotFound, EventNotFound: there is no such source or event.
            OpenTurn: the boundary lies inside an open turn.
            LogConflict: the id is taken.
            PersistenceFailed: the disk refused.
        """
        child_id = session_id or str(uuid.uuid4())
        if self._live.get(source_id) is not None:
            await self.flush(source_id)
        async with self._turns.alone(child_id):
            child = await self._find(child_id)
            if child is not None:
                if not seen.admits(child.header):
                    raise LogConflict(f"the id {child_id!r} is taken")
                return await self._forked_before(child, source_id, boundary)
            async with self._store.observe() as reader:
                stored = (await reader.find([source_id])).get(source_id)
                if stored is None:
                    raise SessionNotFound(f"no session has the id {source_id!r}")
                last = stored.last_seq if boundary is None else boundary
                if not 0 <= last <= stored.last_seq:
                    raise EventNotFound(f"{source_id!r} has no event {last}")
                if await turn_is_open(reader, stored, last):
                    raise OpenTurn(f"event {last} of {source_id!r} lies inside an open turn")
                ending = (await reader.at(stored, [last]))[last]
            await self._write_fork(stored, last, ending, child_id)
            self._lifecycle.created(child_id)
        return child_id

    async def rename(self, session_id: str, title: str) -> None:
        """Give a session a title; one that is cold is opened for as long as it takes.

        The title that a person gave it last is not given again.

        Raises:
            SessionNotFound, LogReadOnly: it cannot be written to.
            BadUserInput: the title is blank.
            PersistenceFailed: the disk refused.
        """
        if not title.strip():
            raise BadUserInput("a title cannot be blank")
        event = NewEvent.of(_TITLE, {"title": title, "messageSeqs": [], "source": {"kind": "user"}})
        async with self._turns.alone(session_id):
            session = self._live.get(session_id)
            was_cold = session is None
            if session is None:
                await self._require_own(session_id)
            if await self._newest_title(session_id) == event.payload:
                return
            if session is None:
                session = await self._resuming.resume(session_id)
            try:
                await self._live.append(session, [event], Durability.DURABLE, self._now(), {})
            finally:
                if was_cold:
                    await self._close(session)

    async def flush(self, session_id: str) -> None:
        """Return once everything appended so far is on disk.

        Raises:
            SessionNotFound: there is no such session.
            PersistenceFailed: the disk refused.
        """
        session = self._live.get(session_id)
        if session is not None:
            with suppress(NotLive):  # it was closed meanwhile, and everything written
                await self._live.flush(session)
                return
        await self._require(session_id)

    async def close(self, session_id: str) -> None:
        """Write what is left and let the session go cold; a cold one stays as it is.

        Raises:
            SessionNotFound: there is no such session.
            PersistenceFailed: the disk refused; the session is still live.
        """
        async with self._turns.alone(session_id):
            session = self._live.get(session_id)
            if session is None:
                await self._require(session_id)
                return
            await self._close(session)
            self._lifecycle.closed(session_id)

    async def delete(self, session_id: str) -> None:
        """Remove a session for good; one that is gone already is no error.

        Raises:
            PersistenceFailed: the disk refused; the session is still there.
        """
        async with self._turns.alone(session_id):
            session = self._live.get(session_id)
            try:
                if session is not None:
                    await self._live.pause(session)
                was_stored = await self._store.delete(session_id)
            except BaseException:
                if session is not None:
                    self._live.go_on(session)
                raise
            self._live.discard(session_id, SessionNotFound(f"{session_id!r} was deleted meanwhile"))
            if session is not None and not was_stored:
                self._lifecycle.deleted(session_id, session.header.cwd)

    async def close_idle(self, idle_ms: int) -> None:
        """Close every session that was not appended to for so long; softly, one at a time."""
        for session_id in self._live.idle(idle_ms):
            if not self._live.is_idle(session_id, idle_ms):
                continue  # it was used while others were being closed
            await asyncio.sleep(0)  # there may be many, and most have nothing left to write
            try:
                await self.close(session_id)
            except SessionGraphError as error:
                _log.warning(
                    "an idle session could not be closed and stays live",
                    session=session_id,
                    error=error.message,
                )

    async def close_all(self) -> None:
        """Write what every live session still holds, as far as it goes; part of a clean stop.

        Raises:
            PersistenceFailed: the disk refused.
        """
        unwritten = [session for session in self._live.all() if not session.is_written]
        flushes = (self._live.flush(session) for session in unwritten)
        for answer in await asyncio.gather(*flushes, return_exceptions=True):
            if isinstance(answer, BaseException):
                raise answer

    async def _close(self, session: LiveSession) -> None:
        # Between the end of a write and here, more may have been accepted.
        while not session.is_written:
            await self._live.flush(session)
        self._live.discard(session.session_id)

    async def _write_fork(
        self, source: StoredSession, last: Seq, ending: PlacedEvent, child_id: str
    ) -> None:
        now = self._now()
        parent = source.header
        header = SessionHeader(
            parent.version,
            child_id,
            now,
            parent.cwd,
            parent.session_id,
            last + 1,
            None,
            parent.delegation_depth,
            parent.agent_preset,
            SessionSource(),
        )
        marker = None
        if parent.version >= 2:
            marker = NewEvent.of("session/end-seed", {"inherited": True}, time=now)
        elif ending.type != "session/end-seed":
            marker = NewEvent.of("session/end-seed", {}, time=now)
        staged = await self._store.fork(source, last, header)
        try:
            if marker is not None:
                event = marker.at(last + 1, now)
                transition = Transition(event.seq, event.seq, None)
                await staged.append([PlacedEntry(event, transition)])
            await staged.publish(header)
        except BaseException:
            await asyncio.shield(staged.abandon())
            raise
        await self._resuming.resume(child_id)

    async def _forked_before(
        self, child: LogicalSession, source_id: str, boundary: Seq | None
    ) -> str:
        """A child that the same call made before, its answer lost; anything else is a conflict."""
        length = child.header.seed_length or 0
        is_ours = child.header.source.path is None and child.header.parent_session == source_id
        is_untouched = length > 0 and child.last_seq <= length
        if not (is_ours and is_untouched and boundary in (None, length - 1)):
            raise LogConflict(f"the id {child.session_id!r} is taken")
        if not child.live:
            await self._resuming.resume(child.session_id)
            self._lifecycle.resumed(child.session_id)
        return child.session_id

    async def _find(self, session_id: str) -> LogicalSession | None:
        async with self._corpus.observe() as view:
            return (await view.find([session_id])).get(session_id)

    async def _newest_title(self, session_id: str) -> bytes | None:
        """The payload of the newest title event of a session; None where the log cannot tell."""
        titles = ALL_EVENTS.narrowed(types=[_TITLE])
        async with self._corpus.observe() as view:
            session = (await view.find([session_id])).get(session_id)
            if session is None or session.conflict is not None:
                return None
            newest = await session.log.events(titles, WindowRequest(1, newest=True))
        return newest[0].event.payload if newest else None

    async def _require(self, session_id: str) -> LogicalSession:
        session = await self._find(session_id)
        if session is None:
            raise SessionNotFound(f"no session has the id {session_id!r}")
        return session

    async def _require_own(self, session_id: str) -> None:
        """Refuse to write to a session that belongs to a recorder's file."""
        header = (await self._require(session_id)).header
        if header.source.path is not None:
            raise LogReadOnly(
                f"{session_id!r} was read from {header.source.path}: fork it, or resume it to "
                "detach it from its file"
            )
