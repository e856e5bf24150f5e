"""Every live session of this server, and the way of their events to the disk.

Each session has at most one write on its way; what is appended meanwhile goes with the next one, so
that many appenders share a commit and order never has to be restored. A DURABLE append waits for
that write; an ACCEPTED one is acknowledged at once and written within the write delay. When a
write fails, everybody who waits is told so (trying again can help), what nobody was promised is
withdrawn, and what was promised is tried again until the disk takes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, Final

import structlog

from sessiongraph.errors import NotLive, PersistenceFailed, SessionGraphError
from sessiongraph.event import Seq, SessionEvent
from sessiongraph.header import EpochMillis, SessionHeader
from sessiongraph.live_session import LiveCapture, LiveSession
from sessiongraph.new_event import NewEvent
from sessiongraph.ports import LogStore
from sessiongraph.recent_events import RecentEvents

_log: Final = structlog.get_logger(__name__)


class Durability(StrEnum):
    """DURABLE: acknowledged after the commit is on disk. ACCEPTED: once in the live log."""

    DURABLE = "durable"
    ACCEPTED = "accepted"


@dataclass(frozen=True, slots=True)
class LiveLimits:
    """Limits of live sessions, named as in the configuration.

    write_delay_ms: within which accepted events are written.
    write_retry_ms: after which a failed write is tried again.
    unwritten_max_bytes: how much of one session may wait for the disk, about, in memory.
    """

    write_delay_ms: int = 50
    write_retry_ms: int = 500
    unwritten_max_bytes: int = 64 << 20


@dataclass(slots=True, eq=False)
class _Held:
    """A live session and who waits for it.

    used_at: when it was last appended to, by the event loop's clock.
    waiting: (seq, future) of those who wait until that seq is on disk.
    writing: the write that is on its way, or the rest after one that failed.
    paused: no write may begin.
    """

    session: LiveSession
    used_at: float
    waiting: list[tuple[Seq, asyncio.Future[None]]] = field(default_factory=list)
    writing: asyncio.Future[Any] | None = None
    paused: bool = False
    delayed: asyncio.TimerHandle | None = None


@dataclass(frozen=True, slots=True)
class _View:
    sessions: Mapping[str, _Held]
    ahead: Mapping[str, LiveCapture]
    followed: Collection[str]

    @property
    def ids(self) -> Collection[str]:
        return self.sessions.keys()

    def header(self, session_id: str) -> SessionHeader | None:
        held = self.sessions.get(session_id)
        return None if held is None else held.session.header

    def capture(self, session_id: str) -> LiveCapture:
        return self.sessions[session_id].session.capture()


class LiveSessions:
    """The live half of the corpus.

    dropped: called with the id of a session that had to be given up, because its log was changed
        by somebody else.
    recent: is given what was committed.
    """

    def __init__(
        self,
        store: LogStore,
        limits: LiveLimits,
        dropped: Callable[[str], None] | None = None,
        recent: RecentEvents | None = None,
    ) -> None:
        self._store = store
        self._limits = limits
        self._dropped = dropped
        self._recent = recent or RecentEvents()
        # Replaced, not changed, when a session comes or goes: an observation keeps what it began
        # with.
        self._held: dict[str, _Held] = {}
        self._ahead: dict[str, LiveSession] = {}
        self._ready: list[_Held] = []
        self._followed: frozenset[str] = frozenset()

    def view(self) -> _View:
        """The live sessions as they are now; costs only those that are ahead of the store."""
        captures = {key: session.capture() for key, session in self._ahead.items()}
        return _View(self._held, captures, self._followed)

    def follow(self, session_id: str) -> bool:
        """A session's file grows; False when that was known."""
        if session_id in self._followed:
            return False
        self._followed |= {session_id}
        return True

    def unfollow(self, session_id: str) -> bool:
        """A session's file does not grow any more; False when that was known."""
        if session_id not in self._followed:
            return False
        self._followed -= {session_id}
        return True

    def get(self, session_id: str) -> LiveSession | None:
        """The live session with this id."""
        held = self._held.get(session_id)
        return None if held is None else held.session

    def all(self) -> list[LiveSession]:
        """Every live session."""
        return [held.session for held in self._held.values()]

    def add(self, session: LiveSession) -> None:
        """Make a session live; its id must not be."""
        assert session.session_id not in self._held
        now = asyncio.get_running_loop().time()
        self._held = {**self._held, session.session_id: _Held(session, now)}
        self._note_ahead(session)

    async def pause(self, session: LiveSession) -> None:
        """Begin no further write, and let the one that is on its way end."""
        held = self._held[session.session_id]
        held.paused = True
        if held.writing is not None:
            await asyncio.wait([held.writing])

    def go_on(self, session: LiveSession) -> None:
        """Write again after a pause; one that has ended meanwhile stays ended."""
        held = self._held.get(session.session_id)
        if held is not None:
            held.paused = False
            self._write_now(held)

    def idle(self, idle_ms: int) -> list[str]:
        """Sessions that nobody appended to for so long."""
        return [key for key in self._held if self.is_idle(key, idle_ms)]

    def is_idle(self, session_id: str, idle_ms: int) -> bool:
        """Whether a session is live and nobody appended to it for so long."""
        held = self._held.get(session_id)
        oldest = asyncio.get_running_loop().time() - idle_ms / 1000
        return held is not None and held.used_at < oldest

    def discard(self, session_id: str, why: SessionGraphError | None = None) -> None:
        """End a session without writing what it still holds.

        why: what those are told who wait for it; without, that it is not live any more.
        """
        held = self._held.get(session_id)
        if held is None:
            return
        others = dict(self._held)
        del others[session_id]
        self._held = others
        self._ahead.pop(session_id, None)
        if held.delayed is not None:
            held.delayed.cancel()
        if held.writing is not None:
            held.writing.cancel()
        why = why or NotLive(f"{session_id!r} was closed meanwhile")
        for _, future in held.waiting:
            if not future.done():
                future.set_exception(type(why)(why.message))

    async def append(
        self,
        session: LiveSession,
        events: Sequence[NewEvent],
        durability: Durability,
        now: EpochMillis,
        replaced_data: Mapping[Seq, Mapping[str, Any]],
    ) -> list[SessionEvent]:
        """Append all or nothing.

        Raises:
            NotLive: the session was closed meanwhile.
            InvalidEvent: an event breaks a rule; nothing was appended.
            PersistenceFailed: too much waits for the disk already, and nothing was appended; or the
                write failed, and the outcome is open until the same append is sent again.
        """
        held = self._held.get(session.session_id)
        if held is None or held.session is not session:
            raise NotLive(f"{session.session_id!r} was closed meanwhile")
        held.used_at = asyncio.get_running_loop().time()
        octets = sum(event.octets for event in events)
        most = self._limits.unwritten_max_bytes
        if session.unwritten_octets and session.unwritten_octets + octets > most:
            raise PersistenceFailed(
                f"{session.unwritten_octets} bytes of {session.session_id!r} wait for the disk "
                f"(unwritten_max_bytes is {most})"
            )
        batch = session.plan(events, now, replaced_data)
        if durability is Durability.ACCEPTED:
            session.acknowledge(batch)
            self._note_ahead(session)
            self._write_later(session)
        else:
            await self.committed(session, batch.last_seq)
        return batch.events()

    def accept(self, session: LiveSession) -> None:
        """Have a session written within the write delay."""
        self._write_later(session)

    async def committed(self, session: LiveSession, seq: Seq) -> None:
        """Wait until the session, up to ``seq``, is on disk.

        Raises:
            NotLive, SessionNotFound: the session has ended meanwhile, or was deleted.
            PersistenceFailed: the next write failed, or an earlier one did and took it back.
        """
        if session.epoch is not None and session.committed_seq >= seq:
            return
        held = self._holding(session, seq)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        held.waiting.append((seq, future))
        self._write_now(held)
        await future

    def promise(self, session: LiveSession, seq: Seq) -> None:
        """Acknowledge what is in the log up to ``seq``, as if it had been accepted.

        Raises:
            NotLive, PersistenceFailed: it is not in the log any more.
        """
        if session.visible_seq < seq:
            self._holding(session, seq)
            session.acknowledge(next(each for each in session.batches if each.last_seq >= seq))
            self._note_ahead(session)

    def _holding(self, session: LiveSession, seq: Seq) -> _Held:
        held = self._held.get(session.session_id)
        if held is None or held.session is not session:
            raise NotLive(f"{session.session_id!r} was closed meanwhile")
        if seq > session.planned_seq:
            raise PersistenceFailed(f"event {seq} of {session.session_id!r} was withdrawn")
        return held

    async def flush(self, session: LiveSession) -> None:
        """Wait until everything appended so far is on disk.

        Raises:
            NotLive, SessionNotFound: the session has ended meanwhile, or was deleted.
            PersistenceFailed: the next write failed.
        """
        await self.committed(session, session.planned_seq)

    async def commit_accepted(self) -> None:
        """Wait until everything accepted so far, in every session, is on disk.

        Raises:
            PersistenceFailed: a write failed.
        """
        await asyncio.gather(*(self.flush(session) for session in list(self._ahead.values())))

    def _write_later(self, session: LiveSession) -> None:
        held = self._held[session.session_id]
        if held.writing is None and held.delayed is None:
            held.delayed = asyncio.get_running_loop().call_later(
                self._limits.write_delay_ms / 1000, self._write_now, held
            )

    def _write_now(self, held: _Held) -> None:
        """Begin a write of what is in the log when everybody who is running now has appended."""
        if held.delayed is not None:
            held.delayed.cancel()
            held.delayed = None
        if held.writing is None and not held.paused:
            if not self._ready:
                asyncio.get_running_loop().call_soon(self._write_ready)
            self._ready.append(held)

    def _write_ready(self) -> None:
        ready, self._ready = self._ready, []
        for held in ready:
            is_live = self._held.get(held.session.session_id) is held
            if is_live and held.writing is None and not (held.paused or held.session.is_written):
                self._write(held)

    def _write(self, held: _Held) -> None:
        session = held.session
        count = len(session.batches)
        entries = [entry for batch in session.batches for entry in batch.entries]
        write: Awaitable[int]
        try:
            if session.epoch is None:
                write = self._store.create(session.header, entries)
            else:
                write = self._store.append(session.session_id, session.epoch, entries)
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            self._write_failed(held, error)
        else:
            held.writing = asyncio.ensure_future(write)
            held.writing.add_done_callback(partial(self._write_ended, held, count))

    def _write_ended(self, held: _Held, count: int, write: asyncio.Future[int]) -> None:
        """The first ``count`` batches are on disk, or nothing of them is."""
        held.writing = None
        if write.cancelled():
            return
        error = write.exception()
        if error is not None:
            self._write_failed(held, error)
            return
        session = held.session
        if session.epoch is None:
            session.epoch = write.result()
        for batch in session.settle(count):
            events = batch.events()
            self._recent.add(session.session_id, session.epoch, events, batch.octets)
        self._note_ahead(session)
        still: list[tuple[Seq, asyncio.Future[None]]] = []
        for seq, future in held.waiting:
            if seq > session.committed_seq:
                still.append((seq, future))
            elif not future.done():
                future.set_result(None)
        held.waiting = still
        if not session.is_written:
            self._write_now(held)

    def _write_failed(self, held: _Held, error: BaseException) -> None:
        session = held.session
        if isinstance(error, PersistenceFailed):
            self._try_again(held, error)
        elif isinstance(error, SessionGraphError):
            _log.error(
                "a live session was given up: its log was changed by somebody else",
                session=session.session_id,
                error=error.message,
            )
            self._fail(held, error)
            self.discard(session.session_id)
            if self._dropped is not None:
                self._dropped(session.session_id)
        else:
            _log.error("events could not be written", session=session.session_id, exc_info=error)
            self._try_again(held, PersistenceFailed(f"a write failed: {error}"))

    def _try_again(self, held: _Held, error: PersistenceFailed) -> None:
        """Tell those who wait, and write again in a while what was promised to anybody."""
        self._fail(held, error)
        if not held.session.is_written:
            held.writing = asyncio.ensure_future(asyncio.sleep(self._limits.write_retry_ms / 1000))
            held.writing.add_done_callback(partial(self._rested, held))

    def _rested(self, held: _Held, rest: asyncio.Future[None]) -> None:
        held.writing = None
        if not rest.cancelled():
            self._write_now(held)

    def _fail(self, held: _Held, error: SessionGraphError) -> None:
        held.session.withdraw()
        waiting, held.waiting = held.waiting, []
        for _, future in waiting:
            if not future.done():
                future.set_exception(type(error)(error.message))

    def _note_ahead(self, session: LiveSession) -> None:
        if session.is_ahead:
            self._ahead[session.session_id] = session
        else:
            self._ahead.pop(session.session_id, None)
