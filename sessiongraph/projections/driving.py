"""Driving every unit over every session from one feed of commits.

One task reads the feed, whatever the number of units, sessions and subscribers, and each committed
event is folded once through each unit. A session is opened when somebody first asks for it or an
event of it is committed, from its checkpoint and the tail of its log; those that nobody has used
for longest are written down and let go again. Sessions that are open are moved on as their commits
are heard of; what is cold, or has grown by much at once, waits for a second task, so that an import
of ten thousand sessions holds nobody up.

Everything is read from the store, or is what the store would give, still in memory since it was
written. A commit that was made elsewhere is as good as one of our own, and a feed that broke is
followed again from where it broke: folding goes by seq, and what an observation has shown already
is not heard of again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final

import structlog

from sessiongraph.errors import (
    CorruptSession,
    LogReplaced,
    PersistenceFailed,
    SessionGraphError,
    SessionNotFound,
)
from sessiongraph.event import Seq
from sessiongraph.ports import Commit, CommitFeed, CommitKind, LogStore, Position
from sessiongraph.projections.checkpointing import CheckpointLimits
from sessiongraph.projections.cold_queue import ColdQueue
from sessiongraph.projections.ladder import Ladder, ReadRows
from sessiongraph.projections.open_session import SLICE_S, SMALL_GAP, OpenSession
from sessiongraph.projections.ports import CheckpointStore
from sessiongraph.projections.registry import Registry
from sessiongraph.recent_events import RecentEvents

_log: Final = structlog.get_logger(__name__)

_RETRY_S: Final = 0.5
_SAVED_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class ProjectionLimits:
    """Limits of the drive, named as in the configuration.

    projection_sessions: sessions kept open that nobody watches.
    checkpoints: when states are written.
    """

    projection_sessions: int = 500
    checkpoints: CheckpointLimits = field(default_factory=CheckpointLimits)


class Drive:
    """The open sessions of one server, moved on by its commits.

    recent: what need not be read.
    cold: sessions that wait to be looked at.
    """

    def __init__(
        self,
        registry: Registry,
        store: LogStore,
        feed: CommitFeed,
        checkpoints: CheckpointStore,
        limits: ProjectionLimits,
        recent: RecentEvents,
    ) -> None:
        self.registry = registry
        self.ladder = Ladder(store, checkpoints)
        self.cold = ColdQueue()
        self.stopped = False
        self._store = store
        self._feed = feed
        self._checkpoints = checkpoints
        self._limits = limits
        self._recent = recent
        # Least recently used first.
        self._sessions: OrderedDict[str, OpenSession] = OrderedDict()
        # Watched sessions whose log is gone; the feed has yet to tell how.
        self._parted: dict[str, list[OpenSession]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._trimming = False
        self._served: Position | None = None

    def get(self, session_id: str) -> OpenSession | None:
        """The session, if it is open."""
        session = self._sessions.get(session_id)
        return session if session is not None and session.is_open else None

    async def ready(self, session_id: str, read: ReadRows | None = None) -> OpenSession:
        """The session, open and as far as the store is now.

        read: its checkpoint rows, when they are at hand already.

        Raises:
            SessionNotFound: there is no such stored session.
            CorruptSession, PersistenceFailed: its log cannot be read.
        """
        while True:
            async with self._store.observe() as reader:
                stored = (await reader.find([session_id])).get(session_id)
            session = self._sessions.get(session_id)
            if stored is None:
                if session is not None:
                    self._end(session, None)
                raise SessionNotFound(f"no stored session has the id {session_id!r}")
            if session is not None and session.epoch not in (None, stored.epoch):
                self._part(session)
                session = None
            if session is None:
                limits = self._limits.checkpoints
                session = OpenSession(session_id, self.ladder, self.registry, limits)
                self._sessions[session_id] = session
            self._use(session)
            if session.is_current(stored):
                return session
            try:
                await session.bring_up(stored.last_seq, read)
            except SessionNotFound:
                continue  # deleted or replaced meanwhile: look again
            except SessionGraphError:
                if not session.is_open and not session.is_busy:
                    self._let_go(session)
                raise
            else:
                self.trim()
                return session

    async def run(self) -> None:
        """Follow the feed until it ends or the task is cancelled."""
        worker = asyncio.create_task(self._work_off())
        try:
            await self._follow()
        finally:
            worker.cancel()
            await asyncio.wait([worker])

    def stop(self) -> None:
        """End every subscription cleanly."""
        self.stopped = True
        parted = [session for each in self._parted.values() for session in each]
        for session in (*self._sessions.values(), *parted):
            session.channel.end(None)

    async def aclose(self) -> None:
        """Write what is not written and end what runs in the background; after :meth:`run`.

        Who has no time for that cancels it, and nothing of it goes on.
        """
        self.stop()
        try:
            while self._tasks:
                await asyncio.wait(set(self._tasks))
            # Many at a time, so that a store can write them in one transaction.
            sessions = list(self._sessions.values())
            for start in range(0, len(sessions), _SAVED_AT_ONCE):
                part = sessions[start : start + _SAVED_AT_ONCE]
                await asyncio.gather(*(session.save() for session in part))
                await asyncio.gather(*(session.stop_saving() for session in part))
        except asyncio.CancelledError:
            await self._abandon()
            raise
        finally:
            self._sessions.clear()

    async def _abandon(self) -> None:
        for task in self._tasks:
            task.cancel()
        saving = (session.abandon_saving() for session in self._sessions.values())
        ending = {*self._tasks, *(task for task in saving if task is not None)}
        if ending:
            await asyncio.wait(ending)

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Do some work that :meth:`aclose` waits for."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def trim(self) -> None:
        """Let go of what nobody has used for longest, if too many sessions are open."""
        if not self._trimming and len(self._sessions) > self._limits.projection_sessions:
            self._trimming = True
            self.in_background(self._trim_down())

    async def _trim_down(self) -> None:
        try:
            for session in list(self._sessions.values()):
                if len(self._sessions) <= self._limits.projection_sessions:
                    return
                if session.is_busy:
                    continue
                touched = session.touched
                await session.save()
                if not session.is_busy and session.touched == touched:
                    session.remember_failures()
                    self._let_go(session)
                    await session.stop_saving()
        finally:
            self._trimming = False

    async def _follow(self) -> None:
        while not self.stopped:
            try:
                position = await self._begin() if self._served is None else self._served
                async with aclosing(self._feed.follow(position)) as batches:  # type: ignore[type-var]
                    async for commits in batches:
                        await self._advance(self._sorted(commits))
                        self._served = commits[-1].position
                return
            except SessionGraphError as error:
                _log.warning("the feed of commits is read again later", error=error.message)
                await asyncio.sleep(_RETRY_S)

    async def _begin(self) -> Position:
        async with self._store.observe() as reader:
            self._served = reader.position
        # What was opened before may lack what was committed before.
        for session_id in self._sessions:
            self.cold.put(session_id, first=True)
        return self._served

    def _sorted(self, commits: Sequence[Commit]) -> dict[str, tuple[OpenSession, Seq]]:
        """End what ended, let wait what is cold; answers what is open and grew, and to where."""
        grown: dict[str, tuple[OpenSession, Seq]] = {}
        for commit in commits:
            session_id = commit.session_id
            self._end_parted(commit)
            session = self._sessions.get(session_id)
            if session is not None and session.has_seen(commit):
                continue
            if session is not None and session.is_open and session.epoch != commit.epoch:
                self._end(session, _replaced(session_id))
                grown.pop(session_id, None)
                session = None
            if commit.kind is CommitKind.DELETED:
                grown.pop(session_id, None)
                self._delete(session_id, session)
            elif session is not None and session.is_open:
                grown[session_id] = session, commit.last_seq
            else:
                if session is not None:
                    session.doubt()
                is_written_to = commit.kind in (CommitKind.APPENDED, CommitKind.CREATED)
                self.cold.put(session_id, first=is_written_to)
        return grown

    def _part(self, session: OpenSession) -> None:
        """Go on without a session that has another log now."""
        self._let_go(session)
        self.in_background(session.stop_saving())
        if session.channel.is_watched:
            self._parted.setdefault(session.session_id, []).append(session)

    def _end_parted(self, commit: Commit) -> None:
        """End the subscribers of a log that is gone as the feed says it went."""
        parted = self._parted.pop(commit.session_id, [])
        for session in parted:
            if commit.kind is CommitKind.DELETED and session.epoch == commit.epoch:
                session.end(None)
            elif commit.kind is CommitKind.REPLACED and session.epoch != commit.epoch:
                session.end(_replaced(commit.session_id))
            else:
                self._parted.setdefault(commit.session_id, []).append(session)

    def _delete(self, session_id: str, session: OpenSession | None) -> None:
        self.cold.discard(session_id)
        if session is not None and session.is_open:
            self._end(session, None)
        elif session is not None:
            session.doubt()
        self.in_background(self._forget(session_id, session))

    async def _advance(self, grown: Mapping[str, tuple[OpenSession, Seq]]) -> None:
        """Move open sessions on by what is in memory; the others are read."""
        unread: dict[str, OpenSession] = {}
        started = perf_counter()
        for session_id, (session, last) in grown.items():
            started = await _in_turn(started)
            events = session.handed_over(self._recent, last)
            if events is None:
                unread[session_id] = session
            else:
                await self._moved_on(session, session.fold(events))
        if unread:
            await self._read_on(unread)

    async def _read_on(self, grown: Mapping[str, OpenSession]) -> None:
        """Move open sessions on, all in one observation; what is long waits."""
        async with self._store.observe() as reader:
            found = await reader.find(grown)
            started = perf_counter()
            for session_id, session in grown.items():
                started = await _in_turn(started)
                stored = found.get(session_id)
                if stored is None or stored.epoch != session.epoch or session.is_current(stored):
                    continue  # a later commit of the feed says what became of it
                if session.is_moving or stored.last_seq - session.seq > SMALL_GAP:
                    self.cold.put(session_id, first=True)
                    continue
                await self._moved_on(session, session.advance(reader, stored))

    async def _moved_on(self, session: OpenSession, folding: Awaitable[None]) -> None:
        self._use(session)
        try:
            await folding
        except PersistenceFailed:
            raise
        except Exception as error:  # noqa: BLE001 - the other sessions go on
            self._give_up(session.session_id, error)

    async def _work_off(self) -> None:
        """Look at what is cold, one session after the other."""
        while True:
            session_id = await self.cold.take()
            try:
                await self.ready(session_id)
            except SessionNotFound:
                pass  # deleted since
            except PersistenceFailed as error:
                _log.warning("cold sessions are looked at again later", error=error.message)
                self.cold.put(session_id, first=True)
                await asyncio.sleep(_RETRY_S)
            except Exception as error:  # noqa: BLE001 - the other sessions go on
                self._give_up(session_id, error)
            await asyncio.sleep(0)

    def _use(self, session: OpenSession) -> None:
        session.touched += 1
        if session.session_id in self._sessions:
            self._sessions.move_to_end(session.session_id)

    def _end(self, session: OpenSession, error: SessionGraphError | None) -> None:
        session.end(error)
        self._let_go(session)
        self.in_background(session.stop_saving())

    def _give_up(self, session_id: str, error: Exception) -> None:
        """Let go of a session whose log cannot be folded; the next one who asks tries again."""
        _log.error(
            "the projections of a session cannot be driven",
            session=session_id,
            error=f"{type(error).__name__}: {error}",
        )
        session = self._sessions.get(session_id)
        if session is not None:
            if not isinstance(error, SessionGraphError):
                error = CorruptSession(f"the log of {session_id!r} cannot be folded")
            self._end(session, error)

    def _let_go(self, session: OpenSession) -> None:
        if self._sessions.get(session.session_id) is session:
            del self._sessions[session.session_id]

    async def _forget(self, session_id: str, session: OpenSession | None) -> None:
        """Remove the checkpoints of a deleted session, none of them written afterwards."""
        if session is not None and session.is_open:
            await session.stop_saving()
        try:
            await self._checkpoints.delete(session_id)
        except SessionGraphError as error:
            _log.warning(
                "the checkpoints of a deleted session are still there",
                session=session_id,
                error=error.message,
            )


async def _in_turn(started: float) -> float:
    """Let others have their turn when it is time to; answers since when the loop is ours."""
    if perf_counter() - started <= SLICE_S:
        return started
    await asyncio.sleep(0)
    return perf_counter()


def _replaced(session_id: str) -> LogReplaced:
    return LogReplaced(f"the log of {session_id!r} was read anew")
