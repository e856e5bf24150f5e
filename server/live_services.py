"""The live half of a server: sessions that are written to and followed, and what runs for them.

Three tasks run as long as the server: one reads the feed of commits for all followers, one folds
what is committed into projections, one closes sessions that nobody uses; a fourth gives checkpoints
to the sessions that lack them, once. The end has an order: followers first, then the writes that
have begun, then everything that was accepted and is not on disk, then the checkpoints of what was
folded; the store is closed after that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import structlog
from typing_extensions import override

from resolvers.unbroken import Unbroken
from server.kept_up import kept_up
from server.settings import Settings
from sessiongraph.corpus import Corpus
from sessiongraph.corpus_changes import CorpusChanges
from sessiongraph.cursor import CursorCodec
from sessiongraph.errors import NotLive, PersistenceFailed, SessionGraphError, SessionNotFound
from sessiongraph.followed_files import FollowedFiles
from sessiongraph.following import Following
from sessiongraph.header import EpochMillis
from sessiongraph.live_sessions import LiveLimits, LiveSessions
from sessiongraph.ports import CommitFeed, LogStore
from sessiongraph.precedence import Precedence
from sessiongraph.projections.checkpointing import CheckpointLimits
from sessiongraph.projections.driving import ProjectionLimits
from sessiongraph.projections.filling import fill_checkpoints
from sessiongraph.projections.ports import CheckpointStore
from sessiongraph.projections.registry import Registry
from sessiongraph.projections.service import Projections
from sessiongraph.recent_events import RecentEvents
from sessiongraph.writing import Lifecycle, SessionWriting

_log: Final = structlog.get_logger(__name__)

_LEAST_SHARE: Final = 0.1
"""Of the time of a clean stop, what is left for the last writes however long the rest took."""

_LONGEST_PAUSE_S: Final = 60


class LiveServices:
    """The live half of one server."""

    def __init__(
        self,
        settings: Settings,
        store: LogStore,
        feed: CommitFeed,
        checkpoints: CheckpointStore,
        registry: Registry,
        cursors: CursorCodec,
        now: Callable[[], EpochMillis],
    ) -> None:
        self._idle_close_s = settings.live_idle_close_s
        self._grace_s = settings.shutdown_grace_s
        self._deadline: float | None = None
        self._store = store
        self._checkpoints = checkpoints
        self.changes = CorpusChanges(cursors, settings.corpus_backlog)
        limits = LiveLimits(
            settings.write_delay_ms, settings.write_retry_ms, settings.unwritten_max_bytes
        )
        self.recent = RecentEvents()
        self._sessions = LiveSessions(store, limits, self.changes.closed, self.recent)
        self.files = FollowedFiles(self._sessions, self.changes, time.monotonic)
        self.corpus = Corpus(store, self._sessions)
        self.projections = Projections(
            registry, store, feed, checkpoints, _projection_limits(settings), self.recent
        )
        told = _Told(self.changes, self.projections)
        self.precedence = Precedence()
        self.writing = SessionWriting(
            store, self.corpus, self._sessions, now, told, self.precedence
        )
        self.following = Following(store, feed, self.changes.commit, settings.follow_ring_events)
        self.writes = Unbroken()
        self.stopping: list[Callable[[], None]] = []

    @property
    def live_sessions(self) -> int:
        """Sessions that are written to through this server."""
        return len(self._sessions.all())

    @property
    def unwritten_octets(self) -> int:
        """What live sessions have acknowledged, or are about to, and is not on disk yet."""
        return sum(session.unwritten_octets for session in self._sessions.all())

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve followers and close idle sessions while the block lasts, then write the rest."""
        works = {
            "following": self.following.run,
            "projections": self.projections.run,
            "filling checkpoints": self._fill_checkpoints,
        }
        if self._idle_close_s:
            works["closing idle sessions"] = self._close_idle
        tasks = [
            asyncio.create_task(kept_up(name, work), name=name) for name, work in works.items()
        ]
        await asyncio.sleep(0)  # the feed is read from here on
        try:
            yield
        finally:
            self.end_streams()
            await self._write_the_rest()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await self._write_checkpoints()

    async def settle(self) -> None:
        """Have everything that was acknowledged by now written to the log.

        Raises:
            PersistenceFailed: the disk refused.
        """
        try:
            await self._sessions.commit_accepted()
        except (NotLive, PersistenceFailed, SessionNotFound):
            # A session may have been closed or deleted meanwhile; what is left is looked at again.
            await self._sessions.commit_accepted()

    def begin_stop(self) -> None:
        """The time of a clean stop runs from here on."""
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + self._grace_s

    def end_streams(self) -> None:
        """Let every follower end cleanly; its client hears that there is nothing more to come."""
        self.begin_stop()
        self.following.stop()
        self.changes.stop()
        self.projections.stop()
        for stop in self.stopping:
            stop()

    async def _close_idle(self) -> None:
        pause = min(_LONGEST_PAUSE_S, self._idle_close_s / 4)
        while True:
            await asyncio.sleep(pause)
            await self.writing.close_idle(self._idle_close_s * 1000)

    async def _fill_checkpoints(self) -> None:
        behind = await fill_checkpoints(self.projections, self._store, self._checkpoints)
        if behind:
            _log.info("sessions lack a checkpoint and are folded", sessions=behind)

    def _left_s(self) -> float:
        """How much time the end may still take."""
        assert self._deadline is not None
        left = self._deadline - asyncio.get_running_loop().time()
        return max(left, _LEAST_SHARE * self._grace_s)

    async def _write_checkpoints(self) -> None:
        try:
            async with asyncio.timeout(self._left_s()):
                await self.projections.aclose()
        except TimeoutError:
            _log.warning("not every checkpoint was written: some logs are replayed further")

    async def _write_the_rest(self) -> None:
        try:
            async with asyncio.timeout(self._left_s()):
                await self.writes.finished()
                await self.writing.close_all()
        except (SessionGraphError, TimeoutError) as error:
            unwritten = [each for each in self._sessions.all() if not each.is_written]
            _log.error(
                "the disk did not take everything before the end: accepted events are lost",
                sessions=len(unwritten),
                octets=sum(each.unwritten_octets for each in unwritten),
                error=str(error) or "no time left",
            )
        for session in self._sessions.all():
            if not session.is_written:
                lost = PersistenceFailed("the server has stopped, and the disk did not take it")
                self._sessions.discard(session.session_id, lost)


class _Told(Lifecycle):
    """Whoever must hear what happens to sessions: the list's followers, and the projections."""

    def __init__(self, changes: CorpusChanges, projections: Projections) -> None:
        self._changes = changes
        self._projections = projections

    @override
    def created(self, session_id: str) -> None:
        self._changes.created(session_id)

    @override
    def resumed(self, session_id: str) -> None:
        self._changes.resumed(session_id)

    @override
    def closed(self, session_id: str) -> None:
        self._changes.closed(session_id)
        self._projections.closed(session_id)

    @override
    def deleted(self, session_id: str, cwd: str | None) -> None:
        self._changes.deleted(session_id, cwd)


def _projection_limits(settings: Settings) -> ProjectionLimits:
    checkpoints = CheckpointLimits(settings.checkpoint_events, settings.checkpoint_ms)
    return ProjectionLimits(settings.projection_sessions, checkpoints)
