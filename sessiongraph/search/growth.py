"""What came with some commits of the feed: which logs were forgotten, which have grown, by what.

Commits are taken together as long as they are small, since each look at the store costs more than
an event; what came to one log in several of them is read in one go. Events are read in pages of
about the same number of octets, so that large ones do not fill the memory.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from sessiongraph.event import Seq, SessionEvent
from sessiongraph.filters import ALL_EVENTS, Range
from sessiongraph.ports import (
    Commit,
    CommitFeed,
    CommitKind,
    LogReader,
    LogStore,
    Position,
    StoredSession,
    WindowRequest,
)
from sessiongraph.recent_events import RecentEvents
from sessiongraph.search.ports import Forget, IndexChange, Learn, Watermark
from sessiongraph.text import SEMANTIC_TYPES

_EVENTS_TOGETHER: Final = 4096
"""Events, of whatever type, up to which several commits are taken in one go."""

_EVENTS_OF_SLICE: Final = 16
"""Events that an index learns at a time while others wait for their turn."""

_PAGE_OCTETS: Final = 2 << 20
"""Payload that one page of events should hold, about."""

LEAST_PAGE, _MOST_PAGE = 64, 512
ENDING: Final = frozenset({CommitKind.DELETED, CommitKind.REPLACED})
"""Commits behind which events are gone that an older observation still shows."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Consecutive events that came to one log."""

    epoch: int
    first: Seq
    last: Seq


def mark_of(commit: Commit) -> str:
    """What tells a commit of this log from one of another log with the same position."""
    return f"{commit.kind.value} {commit.epoch} {commit.first_seq} {commit.last_seq} " + repr(
        commit.session_id
    )


async def is_of_log(watermark: Watermark, feed: CommitFeed, target: Position) -> bool:
    """Whether a log that ends at ``target`` has the commit that a watermark names."""
    if watermark.position > target:
        return False
    if watermark.position == 0:
        return True
    async with aclosing(feed.follow(watermark.position - 1)) as batches:  # type: ignore[type-var]
        first = (await anext(batches))[0]
    return first.position == watermark.position and watermark.mark == mark_of(first)


async def commits_between(
    feed: CommitFeed, after: Position, through: Position
) -> AsyncIterator[Commit]:
    """The commits behind one position, up to and including another one of the past."""
    if after >= through:
        return
    async with aclosing(feed.follow(after)) as batches:  # type: ignore[type-var]
        async for commits in batches:
            for commit in commits:
                if commit.position <= through:
                    yield commit
            if commits[-1].position >= through:
                return


def portions_of(commits: Sequence[Commit], *, first_alone: bool) -> list[list[Commit]]:
    """Commits in order, together as long as they are small.

    first_alone: the first was taken in part already.
    """
    portions: list[list[Commit]] = []
    size = 0
    for commit in commits:
        events = commit.last_seq - commit.first_seq + 1
        if not portions or size + events > _EVENTS_TOGETHER:
            portions.append([])
            size = 0
        portions[-1].append(commit)
        size += events
        if first_alone:
            size, first_alone = _EVENTS_TOGETHER + 1, False
    return portions


def outcome_of(commits: Sequence[Commit]) -> tuple[list[IndexChange], dict[str, Growth]]:
    """What some commits come down to: what is forgotten first, and what came to which log."""
    forgotten: dict[str, IndexChange] = {}
    grown: dict[str, Growth] = {}
    for commit in commits:
        session_id = commit.session_id
        if commit.kind in ENDING:
            forgotten[session_id] = Forget(session_id)
            grown.pop(session_id, None)
        if commit.kind is CommitKind.DELETED or commit.last_seq < commit.first_seq:
            continue
        before = grown.get(session_id)
        if before is not None and before.epoch == commit.epoch:
            grown[session_id] = Growth(commit.epoch, before.first, commit.last_seq)
        else:
            grown[session_id] = Growth(commit.epoch, commit.first_seq, commit.last_seq)
    return list(forgotten.values()), grown


def slices_of(changes: Sequence[IndexChange]) -> Iterator[list[IndexChange]]:
    """Changes in order, few enough together that others get their turn behind each slice."""
    slice_: list[IndexChange] = []
    events = 0
    for change in changes:
        slice_.append(change)
        events += len(change.events) if isinstance(change, Learn) else 1
        if events >= _EVENTS_OF_SLICE:
            yield slice_
            slice_, events = [], 0
    if slice_:
        yield slice_


async def changes_of(
    store: LogStore,
    recent: RecentEvents,
    commits: Sequence[Commit],
    give_way: Callable[[], Awaitable[None]],
) -> list[IndexChange]:
    """What several small commits brought, read in one go.

    recent: what need not be read.
    """
    changes, grown = outcome_of(commits)
    async with store.observe() as reader:
        found = await reader.find(list(grown))
        for session_id, growth in grown.items():
            stored = found.get(session_id)
            if stored is None or stored.epoch != growth.epoch:
                continue
            # There may be many, and each is read where we are.
            await give_way()
            handed_over = recent.between(session_id, growth.epoch, growth.first, growth.last)
            if handed_over is not None:
                with_text = [event for event in handed_over if event.type in SEMANTIC_TYPES]
                for start in range(0, len(with_text), _MOST_PAGE):
                    events = with_text[start : start + _MOST_PAGE]
                    changes.append(Learn(stored.header, stored.epoch, events))
                continue
            async for events in pages_of(reader, stored, growth.first, growth.last):
                changes.append(Learn(stored.header, stored.epoch, events))
    return changes


async def pages_of(
    reader: LogReader, stored: StoredSession, first: Seq, last: Seq
) -> AsyncIterator[list[SessionEvent]]:
    """Events that can have text, in pages."""
    size = LEAST_PAGE
    while events := await page_of(reader, stored, first, last, size):
        yield events
        if len(events) < size:
            return
        first, size = events[-1].seq + 1, next_size(events)


async def page_of(
    reader: LogReader, stored: StoredSession, first: Seq, last: Seq, size: int
) -> list[SessionEvent]:
    """The next events that can have text."""
    if first > last:
        return []
    selection = ALL_EVENTS.narrowed(seqs=Range(first, last))
    if last - first >= size:  # among few events, looking for types costs more than it saves
        selection = selection.narrowed(types=SEMANTIC_TYPES)
    placed = await reader.events(stored, selection, WindowRequest(size))
    return [each.event for each in placed if each.type in SEMANTIC_TYPES]


def next_size(events: Sequence[SessionEvent]) -> int:
    """How many events to read next, so that pages hold about the same number of octets."""
    octets = sum(len(event.payload) for event in events)
    wished = len(events) * _PAGE_OCTETS // max(octets, 1)
    return max(LEAST_PAGE, min(wished, 4 * len(events), _MOST_PAGE))
