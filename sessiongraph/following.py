"""Following logs as they grow: every committed event, in order, without a gap or a repeat.

A follower has no queue, only a place: the seq that it was given last. What comes next it takes
from a ring of recent events that all followers of a session share, and, when it is too slow for the
ring, from the store, at its own pace. So a slow follower costs nothing and loses nothing.

One task reads the feed of commits and, for the sessions that somebody follows, the new events, once
for all followers. Closing and resuming a session end nothing; its deletion ends its followers, and
when its log is read anew they are told so (projections.md, "Pushing").
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

import structlog
from typing_extensions import override

from sessiongraph.errors import LogConflict, LogReplaced, SessionGraphError, SessionNotFound
from sessiongraph.event import PlacedEvent, Seq
from sessiongraph.filters import ALL_EVENTS
from sessiongraph.ports import (
    Commit,
    CommitFeed,
    CommitKind,
    LogStore,
    Position,
    StoredSession,
    WindowRequest,
)

_log: Final = structlog.get_logger(__name__)

RING_EVENTS: Final = 1024
"""Recent events kept for the followers of one session."""

RING_OCTETS: Final = 4 << 20
"""Of their payloads; a larger event is fed to each follower from the store."""

PAGE_EVENTS: Final = 100
"""Events read from the store at a time."""

_RETRY_S: Final = 0.5


class Following:
    """The followers of one server.

    on_commit: called with every commit, in order, after the followers were served.
    ring_events: recent events kept for the followers of one session.
    refeeds: pages of the store that were given to followers who had everything once, and were too
        slow for the ring since.
    """

    def __init__(
        self,
        store: LogStore,
        feed: CommitFeed,
        on_commit: Callable[[Commit], None] | None = None,
        ring_events: int = RING_EVENTS,
    ) -> None:
        self._store = store
        self._feed = feed
        self.refeeds = 0
        self._on_commit = on_commit
        self._ring_events = ring_events
        self._rings: dict[str, _Ring] = {}
        self._served: Position | None = None
        self._stopped = False

    async def run(self) -> None:
        """Follow the feed until it ends or the task is cancelled; the position is kept by us."""
        while not self._stopped:
            try:
                position = await self._begin() if self._served is None else self._served
                async with aclosing(self._feed.follow(position)) as batches:  # type: ignore[type-var]
                    async for commits in batches:
                        await self._serve(commits)
                        self._served = commits[-1].position
                return
            except SessionGraphError as error:
                _log.warning("the feed of commits is read again later", error=error.message)
                await asyncio.sleep(_RETRY_S)

    @property
    def followers(self) -> int:
        """How many follow a log at the moment."""
        return sum(ring.followers for ring in self._rings.values())

    def stop(self) -> None:
        """End every follower cleanly."""
        self._stopped = True
        for ring in list(self._rings.values()):
            ring.wake()

    def events(self, session_id: str, after_seq: Seq) -> EventStream:
        """Every committed event after ``after_seq``, stored ones first, then as they come.

        Ends when the session is deleted or the server stops.

        Raises, from the stream:
            SessionNotFound: there is no such session.
            LogConflict: the log is not that long.
            LogReplaced: the log was read anew.
            PersistenceFailed: the store cannot be read.
        """
        place = FollowerPlace(after_seq)
        return EventStream(place, self._events(session_id, place))

    async def _events(
        self, session_id: str, at: FollowerPlace
    ) -> AsyncGenerator[PlacedEvent, None]:
        ring = self._rings.setdefault(session_id, _Ring(self._ring_events))
        ring.followers += 1
        try:
            stored = await self._require(session_id)
            if at.seq > stored.last_seq:
                raise LogConflict(f"{session_id!r} ends at {stored.last_seq}, not at {at.seq}")
            at.end = LogEnd(ring, stored.epoch)
            caught_up = False
            while True:
                # Taken before looking: what comes after the look wakes us.
                news = ring.news()
                events = ring.after(stored.epoch, at.seq)
                if events is None:
                    events = await self._page(session_id, stored.epoch, at.seq)
                    self.refeeds += caught_up and bool(events)
                for event in events:
                    # Who took part in a broadcast meanwhile has had some of them.
                    if event.seq > at.seq:
                        at.seq = event.seq
                        yield event
                if not events:
                    caught_up = True
                    has_ended = stored.epoch <= ring.ended_epoch
                    if has_ended and ring.error is not None:
                        raise ring.error
                    if has_ended or self._stopped:
                        return
                    await news.wait()
        finally:
            ring.followers -= 1
            if not ring.followers:
                del self._rings[session_id]

    async def _begin(self) -> Position:
        async with self._store.observe() as reader:
            self._served = reader.position
        for ring in self._rings.values():
            ring.wake()  # what was committed before is no longer announced
        return self._served

    async def _require(self, session_id: str) -> StoredSession:
        async with self._store.observe() as reader:
            stored = (await reader.find([session_id])).get(session_id)
        if stored is None:
            raise SessionNotFound(f"no stored session has the id {session_id!r}")
        return stored

    async def _page(self, session_id: str, epoch: int, after_seq: Seq) -> list[PlacedEvent]:
        """The next events out of the store; none when the log ends here or is another now."""
        async with self._store.observe() as reader:
            stored = (await reader.find([session_id])).get(session_id)
            if stored is None or stored.epoch != epoch:
                return []
            window = WindowRequest(PAGE_EVENTS, after=after_seq)
            return await reader.events(stored, ALL_EVENTS, window)

    async def _serve(self, commits: list[Commit]) -> None:
        """Give the rings of followed sessions what the commits brought."""
        grown: dict[str, list[Commit]] = {}
        for commit in commits:
            if commit.session_id in self._rings and commit.last_seq >= commit.first_seq:
                grown.setdefault(commit.session_id, []).append(commit)
        if grown:
            async with self._store.observe() as reader:
                found = await reader.find(list(grown))
                for session_id, stored in found.items():
                    ring = self._rings.get(session_id)
                    ours = [each for each in grown[session_id] if each.epoch == stored.epoch]
                    if ring is None or not ours:
                        continue
                    most = self._ring_events
                    first = max(ours[0].first_seq, stored.last_seq + 1 - most)
                    after = max(first, ring.next_of(stored.epoch)) - 1
                    while after < stored.last_seq:
                        window = WindowRequest(PAGE_EVENTS, after=after)
                        page = await reader.events(stored, ALL_EVENTS, window)
                        ring.add(stored.epoch, page)
                        after = page[-1].seq
        for commit in commits:
            ring = self._rings.get(commit.session_id)
            if ring is not None:
                if commit.kind is CommitKind.DELETED:
                    ring.end(commit.epoch, None)
                elif commit.kind is CommitKind.REPLACED:
                    error = LogReplaced(f"the log of {commit.session_id!r} was read anew")
                    ring.end(commit.epoch - 1, error)
            if self._on_commit is not None:
                self._on_commit(commit)


class FollowerPlace:
    """How far a follower has come.

    seq: of the last event that it was given.
    end: where its log grows; None before it is known.
    """

    __slots__ = ("end", "seq")

    def __init__(self, seq: Seq) -> None:
        self.seq = seq
        self.end: LogEnd | None = None


class EventStream(AsyncIterator[PlacedEvent]):
    """The events that one follower is given; whoever stops early closes it.

    A follower that has everything can be given what comes next by somebody who gives the same to
    many (:attr:`end`), who then moves its :attr:`place`; the stream goes on behind that.
    """

    def __init__(self, place: FollowerPlace, events: AsyncGenerator[PlacedEvent, None]) -> None:
        self._at = place
        self._events = events

    @override
    def __anext__(self) -> Awaitable[PlacedEvent]:
        return self._events.__anext__()

    async def aclose(self) -> None:
        """Follow no longer."""
        await self._events.aclose()

    @property
    def place(self) -> Seq:
        """The seq of the last event that the follower was given."""
        return self._at.seq

    @place.setter
    def place(self, seq: Seq) -> None:
        self._at.seq = seq

    @property
    def end(self) -> LogEnd | None:
        """Where the log grows, when the follower was given everything that has come there."""
        end = self._at.end
        return end if end is not None and end.after(self._at.seq) == [] else None


@dataclass(frozen=True, slots=True)
class LogEnd:
    """Where a followed log grows; equal for all followers of one log."""

    _ring: _Ring
    _epoch: int

    def news(self) -> asyncio.Event:
        """An event that is set when something has come since it was asked for, or has ended."""
        if self._epoch > self._ring.ended_epoch:
            return self._ring.news()
        # There is no news any more; who waited for it would wait for ever.
        over = asyncio.Event()
        over.set()
        return over

    def after(self, seq: Seq) -> list[tuple[Seq, PlacedEvent]] | None:
        """The events behind a seq, each with its own; None when only the store has them."""
        events = self._ring.after(self._epoch, seq)
        return None if events is None else [(event.seq, event) for event in events]


class _Ring:
    """The latest events of one followed session, without a gap, all of one epoch.

    An id can get another log while the feed still tells of the old one; followers of either wait
    here, and each gets and ends with its own.

    ended_epoch: followers of this epoch and of older ones end.
    error: why they end; None for a clean end.
    """

    def __init__(self, size: int) -> None:
        self.followers = 0
        self.ended_epoch = -1
        self.error: SessionGraphError | None = None
        self._epoch = -1
        self._next_seq: Seq = 0
        self._size = size
        self._octets = 0
        self._events: deque[PlacedEvent] = deque()
        self._news = asyncio.Event()

    def news(self) -> asyncio.Event:
        """An event that is set when something has come since it was asked for."""
        return self._news

    def next_of(self, epoch: int) -> Seq:
        """The seq that the next event of a log must have to follow those in the ring."""
        return self._next_seq if epoch == self._epoch else 0

    def add(self, epoch: int, events: list[PlacedEvent]) -> None:
        for event in events:
            if (epoch, event.seq) != (self._epoch, self._next_seq):
                self._events.clear()
                self._octets = 0
            self._events.append(event)
            self._octets += len(event.event.payload)
            while len(self._events) > self._size or self._octets > RING_OCTETS:
                self._octets -= len(self._events.popleft().event.payload)
            self._epoch, self._next_seq = epoch, event.seq + 1
        self.wake()

    def end(self, epoch: int, error: SessionGraphError | None) -> None:
        self.ended_epoch = epoch
        self.error = error
        self.wake()

    def after(self, epoch: int, seq: Seq) -> list[PlacedEvent] | None:
        """The events of a log behind a seq; None when only the store has them."""
        if epoch != self._epoch or not self._events or seq < self._events[0].seq - 1:
            return None
        # By index: most followers stand near the end, which is near in a deque too.
        start = seq + 1 - self._events[0].seq
        return [self._events[index] for index in range(start, len(self._events))]

    def wake(self) -> None:
        """Let every follower look again."""
        news, self._news = self._news, asyncio.Event()
        news.set()
