"""How an index follows the log: commit by commit, from the watermark of its own last commit on.

Two tasks share one index. The *reader* takes the feed's commits in order, reads the new events of
each log from the store, and gives them to the index, which shows them from then on; it lets a few
come together first, unless a search waits for them. The *committer* makes durable what was taken,
every ``commit_ms``. So a search sees everything that was acknowledged before it, and nobody ever
waits for a commit of the index.

The log may have moved on when a commit of the feed is read: what was replaced or deleted since is
skipped, because the commit that did it comes later in the feed. After any failure both go back to
the watermark; an index whose watermark is not of this log is thrown away and built anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from typing import Final

import structlog

from sessiongraph.distribution import SECONDS, Distribution
from sessiongraph.errors import IndexFailed, SessionGraphError, first_of
from sessiongraph.ports import Commit, CommitFeed, LogStore, Position
from sessiongraph.precedence import Precedence
from sessiongraph.recent_events import RecentEvents
from sessiongraph.search.growth import (
    LEAST_PAGE,
    changes_of,
    commits_between,
    is_of_log,
    mark_of,
    next_size,
    outcome_of,
    page_of,
    portions_of,
    slices_of,
)
from sessiongraph.search.ports import IndexChange, Learn, SearchIndex, Watermark
from sessiongraph.search.progress import Progress, ProgressNotes

_log: Final = structlog.get_logger(__name__)

_RETRY_S: Final = 0.5
_MANY_COMMITS: Final = 500
_GATHERED_S: Final = 0.1
"""How long commits are let come together: each look at the store costs more than an event."""

_PATIENCE_S: Final = 0.01
"""How long, in all, what was read of the feed at once gives way to what has precedence."""

_PAUSE: Final = 4
_LONGEST_PAUSE_S: Final = 8.0
"""Between the commits of catching up: so many times as long as one takes, but no longer than that,
since what is not committed is in memory."""


class Indexing:
    """Keeps one index up with one log.

    commit_ms: within which what was taken is made durable; a crash costs indexing it again.
    wait_ms: how long a search waits for the index at most.
    on_commit: called with every commit of the feed when it is read, in order.
    commits: how long each commit of the index took (seconds).
    precedence: of what the index gives way to.
    recent: what need not be read.
    """

    def __init__(
        self,
        store: LogStore,
        feed: CommitFeed,
        index: SearchIndex,
        *,
        commit_ms: int = 2000,
        wait_ms: int = 5000,
        on_commit: Callable[[Commit], None] | None = None,
        precedence: Precedence | None = None,
        recent: RecentEvents | None = None,
    ) -> None:
        self._store = store
        self._feed = feed
        self._index = index
        self._commit_s = commit_ms / 1000
        self._wait_s = wait_ms / 1000
        self.commits = Distribution(SECONDS)
        self._on_commit = on_commit
        self._precedence = precedence or Precedence()
        self._recent = recent or RecentEvents()
        self._lock = asyncio.Lock()
        self._news = asyncio.Event()
        self._wanted: Position = 0
        self._taken: Watermark | None = None
        self._seen: Position = 0
        self._target: Position = 0
        self._building = True
        self._begun_at = self._due_at = self._patient_until = 0.0
        self._notes = ProgressNotes(self._now)
        self._is_dirty = self._is_doubted = False
        self._doubts = 0
        self._failed: SessionGraphError | None = None
        self._failing_since: float | None = None
        self._taking_since: float | None = None
        self._on_progress: Callable[[Progress], None] | None = None

    @property
    def index(self) -> SearchIndex:
        """What is kept up."""
        return self._index

    @property
    def position(self) -> Position:
        """The last commit that a search finds."""
        reached = self._index.watermark if self._taken is None else self._taken
        return 0 if reached is None or self._failed is not None else reached.position

    async def has_reached(self, position: Position) -> bool:
        """Whether the index is of this log and has what was there at a position of the past; asked
        without running it.

        Raises:
            PersistenceFailed: the store cannot be asked.
        """
        watermark = self._index.watermark
        if watermark is None or watermark.position < position:
            return False
        async with self._store.observe() as reader:
            target = reader.position
        return await is_of_log(watermark, self._feed, target)

    async def progress(self) -> Progress:
        """How far the index is now.

        Raises:
            PersistenceFailed: the store cannot be asked.
        """
        async with self._store.observe() as reader:
            target = reader.position
        is_failing, documents = self._failing_since is not None, self._index.documents
        return Progress(self.position, target, documents, self._building, is_failing)

    async def run(self) -> None:
        """Follow the feed until it ends or the task is cancelled."""
        while not await self._run_until_failure():
            assert self._failed is not None
            _log.warning("indexing begins again later", error=self._failed.message)
            self._tell()
            await asyncio.sleep(_RETRY_S)

    async def _run_until_failure(self) -> bool:
        """Whether the feed has ended; False after a failure that may pass."""
        try:
            await self._begin()
            async with asyncio.TaskGroup() as tasks:
                committer = tasks.create_task(self._commit_in_time())
                await self._read()
                committer.cancel()
            await self._commit()
        except* SessionGraphError as errors:
            self._failed = first_of(errors)
            self._failing_since = self._failing_since or self._now()
        return self._failed is None

    async def catch_up(self, on_progress: Callable[[Progress], None] | None = None) -> None:
        """Bring the index to where the log is now, without following further.

        Raises:
            IndexFailed: the index refused.
            PersistenceFailed: the store cannot be read.
        """
        await self._begin()
        self._on_progress = on_progress or (lambda _: None)
        self._due_at = self._now() + self._commit_s
        async with aclosing(self._feed.follow(self._start())) as batches:  # type: ignore[type-var]
            while self._start() < self._target:
                await self._take(await anext(batches))
        await self._commit()
        self._on_progress(await self.progress())

    @property
    def behind_s(self) -> float:
        """For how long something has been waiting for the index (seconds); 0 while nothing does."""
        since = [each for each in (self._taking_since, self._failing_since) if each is not None]
        return self._now() - min(since) if since else 0.0

    @property
    def seen(self) -> Position:
        """The last commit that was read from the feed; it may not be in the index yet."""
        return self._seen

    async def commits_between(self, after: Position, through: Position) -> list[Commit]:
        """The commits behind one position, up to and including another one of the past."""
        return [each async for each in commits_between(self._feed, after, through)]

    async def reach(self, position: Position) -> None:
        """Wait until a search finds everything up to a position.

        Raises:
            IndexFailed: the index is being built, or did not come so far in time.
        """
        if self.position >= position:
            return
        self._wanted = max(self._wanted, position)
        self._tell()
        # A search waits for an index that is being built, or fails, only while that may be over in
        # a moment.
        since = self._now()
        if self._building:
            since = self._begun_at
        if self._failing_since is not None:
            since = min(since, self._failing_since)
        try:
            async with asyncio.timeout_at(since + self._wait_s):
                while self.position < position:
                    await self._news.wait()
        except TimeoutError:
            raise await self._why_not() from None

    def doubt(self) -> None:
        """A search found the index unreadable: open it again, and build it anew the second time."""
        if not self._is_doubted:
            self._doubts += 1
            self._is_doubted = True
            self._tell()

    async def _why_not(self) -> IndexFailed:
        progress = await self.progress()
        if self._failed is not None:
            return IndexFailed("the full-text index cannot be kept up now; it is tried again")
        state = "is being built" if progress.building else "is behind"
        return IndexFailed(f"the full-text index {state}; try again later")

    async def _begin(self) -> None:
        """Take up where the index is, if that is a place of this log."""
        self._begun_at = self._now()
        self._notes.begin()
        if self._is_dirty or self._is_doubted:
            if self._doubts > 1:
                await self._index.clear()
                self._doubts = 0
            else:
                await self._index.recover()
            self._is_dirty = self._is_doubted = False
        self._taken = self._index.watermark
        async with self._store.observe() as reader:
            target = reader.position
        if self._taken is not None and not await is_of_log(self._taken, self._feed, target):
            _log.warning("the index is of another log and is built anew")
            await self._index.clear()
            self._taken = None
        self._building = self._taken is None and target > 0
        self._taking_since = self._begun_at if self._building else None
        self._taken = self._taken or Watermark(0)
        self._target = target
        self._failed = None
        if self._taken.position >= target:
            # Nothing is left to be taken, so that no commit would tell that it works again.
            self._failing_since = None

    async def _read(self) -> None:
        async with aclosing(self._feed.follow(self._start())) as batches:  # type: ignore[type-var]
            async for commits in batches:
                if self._taking_since is None:
                    self._taking_since = self._now()
                await self._take(commits)
                if len(commits) < _MANY_COMMITS:
                    self._taking_since = None
                    await self._gather()

    async def _gather(self) -> None:
        """Let more commits come together while nobody waits for them."""
        if not self._is_demanded():
            with suppress(TimeoutError):
                async with asyncio.timeout(min(_GATHERED_S, self._commit_s)):
                    while not self._is_demanded():
                        await self._news.wait()

    def _is_demanded(self) -> bool:
        return self._is_doubted or self._wanted > self._start()

    def _start(self) -> Position:
        assert self._taken is not None
        return self._taken.position

    async def _take(self, commits: Sequence[Commit]) -> None:
        """Give the index what some commits brought, in portions; the next is read meanwhile."""
        self._patient_until = self._now() + _PATIENCE_S
        for commit in commits:
            if commit.position > self._seen:
                self._seen = commit.position
                if self._on_commit is not None:
                    self._on_commit(commit)
        assert self._taken is not None
        applying: asyncio.Task[None] | None = None
        try:
            for portion in portions_of(commits, first_alone=self._taken.through >= 0):
                changes = None
                if len(portion) > 1:
                    changes = await changes_of(self._store, self._recent, portion, self._give_way)
                if applying is not None:
                    await applying
                    applying = None
                if changes is None:
                    await self._take_alone(portion[0])
                else:
                    reached = Watermark(portion[-1].position, mark=mark_of(portion[-1]))
                    applying = asyncio.create_task(self._apply(changes, reached))
            if applying is not None:
                await applying
        finally:
            if applying is not None:
                applying.cancel()
                await asyncio.gather(applying, return_exceptions=True)

    async def _give_way(self) -> None:
        await self._precedence.give_way(self._patient_until)

    async def _take_alone(self, commit: Commit) -> None:
        """Take one commit page by page, each at its own moment; parts of it become visible."""
        before = self._taken
        assert before is not None
        changes, grown = outcome_of([commit])
        through = before.through
        if through < 0:
            await self._apply(changes, before)
        for session_id, growth in grown.items():
            size = LEAST_PAGE
            while through < growth.last:
                async with self._store.observe() as reader:
                    stored = (await reader.find([session_id])).get(session_id)
                    if stored is None or stored.epoch != growth.epoch:
                        break
                    first = max(growth.first, through + 1)
                    events = await page_of(reader, stored, first, growth.last, size)
                if not events:
                    break
                through = events[-1].seq
                learned = Learn(stored.header, stored.epoch, events)
                await self._apply([learned], Watermark(before.position, through, before.mark))
                if len(events) < size:
                    break
                size = next_size(events)
        await self._apply([], Watermark(commit.position, mark=mark_of(commit)))

    async def _apply(self, changes: Sequence[IndexChange], watermark: Watermark) -> None:
        async with self._lock:
            if changes:
                self._is_dirty = True
                is_following = not self._building and self._on_progress is None
                for portion in slices_of(changes) if is_following else [changes]:
                    await self._give_way()
                    await self._index.apply(portion)
            self._taken = watermark
        if self._building and watermark.position >= self._target:
            self._building = False
            await self._commit()
            if self._on_progress is None:
                _log.info("the full-text index has caught up", documents=self._index.documents)
        if self._on_progress is not None and self._now() >= self._due_at:
            begun = self._now()
            await self._commit()
            # The next documents wait for a commit: it takes a part of the time of building only.
            took = self._now() - begun
            pause = min(_PAUSE * took, _LONGEST_PAUSE_S)
            self._due_at = self._now() + max(self._commit_s, pause)
            self._on_progress(await self.progress())
        if self._building and self._on_progress is None:
            self._notes.note(self._start(), self._target, self._index.documents)
        self._tell()

    async def _commit_in_time(self) -> None:
        """Commit what was taken, within the time."""
        while True:
            if self._is_doubted:
                raise IndexFailed("a search could not read it")
            if self._taken == self._index.watermark:
                await self._news.wait()
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(self._commit_s):
                    while not self._is_doubted:
                        await self._news.wait()
            await self._commit()

    async def _commit(self) -> None:
        async with self._lock:
            if self._taken is not None and self._taken != self._index.watermark:
                begun = self._now()
                await self._index.commit(self._taken)
                self.commits.add(self._now() - begun)
                self._is_dirty = False
        self._failing_since = None
        self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
