"""Walks: page after page of one search, over the observation that it began with.

A walk keeps the index's observation and the hits that it has accepted so far, in rank order, so
that a whole walk costs about one ranking of everything. It is held from the moment that somebody is
given a cursor into it, for ``ttl_s``, and gives way to newer ones when there are too many or when
they hold too much. A deletion ends all walks: what is gone must not be shown from an old
observation. It does not end those of people who could not see what is gone, and so do not learn
that it was there.
"""

from __future__ import annotations

import asyncio
import secrets
import weakref
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import msgspec
from msgspec.structs import replace

from sessiongraph.errors import StaleCursor
from sessiongraph.event import Seq
from sessiongraph.filters import EventSelection, SessionSelection
from sessiongraph.ports import Commit, CommitKind, Position
from sessiongraph.search.ports import Hit, IndexObservation
from sessiongraph.search.question import Question, SearchText
from sessiongraph.visibility import Visibility

_LEAST_RANKED: Final = 64
_MORE: Final = 4
_MOST_TOGETHER: Final = 500
"""Hits that are looked up before others get their turn on the event loop."""


class Asked(msgspec.Struct, frozen=True, dict=True):
    """What all pages of one walk are asked with.

    field: whose answer they are. limit: hits of a page.
    seen: the sessions that exist for those who walk.
    """

    field: str
    text: SearchText
    sessions: SessionSelection
    events: EventSelection
    include_inherited: bool
    limit: int
    seen: Visibility

    @cached_property
    def digest(self) -> str:
        """Equal for what finds the same on every page; cursors are bound to it."""
        parts = (self.text.digest(), self.sessions.digest(), self.events.digest())
        scope = self.seen.scope()
        return f"{':'.join(parts)}:{self.include_inherited}:{scope}:{self.limit}"


@dataclass(slots=True, eq=False, weakref_slot=True)
class Walk:
    """One search and how far its ranking is known.

    position: of the log when it began.
    distinct: the ranking holds the best of each log only.
    grouped: one hit of each session is accepted.
    accepted: hits that passed every filter, in rank order.
    moved_on: for logs that have grown since the observation, their first event behind it.
    """

    observation: IndexObservation
    position: Position
    asked: Asked
    question: Question
    distinct: bool
    grouped: bool
    accepted: list[Hit] = field(default_factory=list)
    moved_on: dict[str, Seq] = field(default_factory=dict)
    _looked_at: set[Hit] = field(default_factory=set)
    _complete: bool = False
    _seen: set[str] = field(default_factory=set)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def extend(
        self, count: int, passing: Callable[[list[Hit]], Awaitable[list[Hit]]]
    ) -> None:
        """Accept hits until there are ``count``, or no more.

        passing: those of some hits that pass the filters that an index does not know, in order.
        """
        async with self._lock:
            least = max(count, len(self._looked_at))
            while len(self.accepted) < count and not self._complete:
                ranking = await self.observation.rank(self._left(), least, distinct=self.distinct)
                # By what they are, not by their number: sums of scores may differ in their last
                # bit with the number of hits asked for, and two neighbours change places.
                new = [hit for hit in ranking.hits if hit not in self._looked_at]
                for some in _portions(new, max(_LEAST_RANKED, min(count, _MOST_TOGETHER))):
                    if len(self.accepted) >= count:
                        break
                    if self._looked_at:
                        await asyncio.sleep(0)
                    await self._look_at(some, passing)
                else:
                    self._complete = ranking.complete
                least = _MORE * max(least, len(self._looked_at))

    def _left(self) -> Question:
        """The question without the sessions that need no second hit."""
        if self.distinct or not self.grouped or not self._seen:
            return self.question
        admitted = replace(self.question.admitted, without=frozenset(self._seen))
        return replace(self.question, admitted=admitted)

    async def _look_at(
        self, hits: list[Hit], passing: Callable[[list[Hit]], Awaitable[list[Hit]]]
    ) -> None:
        for hit in await passing(hits):
            if not self.grouped or hit.session_id not in self._seen:
                self._seen.add(hit.session_id)
                self.accepted.append(hit)
        self._looked_at.update(hits)

    def is_like(self, other: Walk) -> bool:
        """Whether both are walks of one question through one state of everything."""
        return (
            self.asked == other.asked
            and self.position == other.position
            and self.observation == other.observation
        )

    def commit(self, commit: Commit) -> None:
        """Note where a log was when the observation began."""
        if commit.last_seq >= commit.first_seq:
            self.moved_on.setdefault(commit.session_id, commit.first_seq)


def _portions(hits: list[Hit], size: int) -> Iterator[list[Hit]]:
    """Hits in order, a few first and more together where few of them pass."""
    at = 0
    while at < len(hits):
        yield hits[at : at + size]
        at += size
        size = min(2 * size, _MOST_TOGETHER)


@dataclass(slots=True, eq=False)
class _Held:
    walk: Walk
    until: float


class Walks:
    """The walks that somebody has a cursor into.

    most: walks. most_hits: accepted hits of all of them together.
    """

    def __init__(self, ttl_s: float, most: int, most_hits: int) -> None:
        self._ttl_s = ttl_s
        self._most = most
        self._most_hits = most_hits
        self._held: dict[str, _Held] = {}
        self._watched: weakref.WeakSet[Walk] = weakref.WeakSet()

    def __len__(self) -> int:
        return len(self._held)

    def watch(self, walk: Walk) -> None:
        """Tell a walk of every commit from now on, for as long as anybody has it."""
        self._watched.add(walk)

    def hold(self, walk: Walk) -> str:
        """Keep a walk; answers its name. One that is kept already serves whoever asks the same."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._ttl_s
        for name, held in self._held.items():
            if held.walk is walk:
                return name
            if held.walk.is_like(walk):
                held.until = until
                return name
        name = secrets.token_urlsafe(9)
        self._held[name] = _Held(walk, until)
        loop.call_at(until, self._expire, name)
        self._make_room()
        return name

    def _expire(self, name: str) -> None:
        """Let a walk go at its time, or look again when that has moved."""
        loop = asyncio.get_running_loop()
        held = self._held.get(name)
        if held is not None and held.until > loop.time():
            loop.call_at(held.until, self._expire, name)
        else:
            self._held.pop(name, None)

    def find(self, name: str) -> Walk:
        """The walk with a name.

        Raises:
            StaleCursor: it has ended.
        """
        held = self._held.get(name)
        if held is None or held.until <= asyncio.get_running_loop().time():
            raise StaleCursor("the observation of this search has ended: search again")
        return held.walk

    def commit(self, commit: Commit) -> None:
        """Take one commit of the feed into account."""
        if commit.kind in (CommitKind.DELETED, CommitKind.REPLACED):
            cwd = commit.removed_cwd
            for name, held in list(self._held.items()):
                if held.walk.asked.seen.admits_directory(cwd):
                    del self._held[name]
        for walk in self._watched:
            walk.commit(commit)

    def _make_room(self) -> None:
        """Let the oldest go; the newest always stays."""
        hits = sum(len(held.walk.accepted) for held in self._held.values())
        while len(self._held) > 1 and (len(self._held) > self._most or hits > self._most_hits):
            oldest = next(iter(self._held))
            hits -= len(self._held.pop(oldest).walk.accepted)
