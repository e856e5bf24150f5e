"""The log store as anybody would write it who had no disk and no hurry: the model of the others.

Everything is kept in plain tuples that never change; a commit builds a new tuple, so an observation
is nothing but a copy of the dictionary of logs. Every question is answered by brute force over the
whole log. Placement is folded here by a list of seqs and ``list.index``, without a look at
``sessiongraph.surface``; what a store is told of transitions is ignored on purpose.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from msgspec.structs import replace as changed

from sessiongraph.carried import carried_in
from sessiongraph.citations import CitedKey, CitingKey, SessionCitation, cited_key
from sessiongraph.cover_query import CoverQuery
from sessiongraph.errors import LogConflict
from sessiongraph.event import (
    DeltaRun,
    Entry,
    EventEnvelope,
    EventSurface,
    PlacedEvent,
    Placement,
    Seq,
    SessionEvent,
    events_of,
)
from sessiongraph.filters import Availability, EventSelection, Range, SessionSelection
from sessiongraph.header import EpochMillis, SessionHeader
from sessiongraph.payloads import Shape, citations_of, is_human_prompt, shape_of
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.ports import (
    ChildLink,
    Commit,
    CommitKind,
    ConversationTotals,
    CorpusCounts,
    Position,
    SessionKey,
    SessionOrder,
    StoredSession,
    WindowRequest,
    Within,
)
from sessiongraph.recordings import RecordingState
from sessiongraph.surface import SurfaceNode
from tests.plain_directories import plain_within

T = TypeVar("T")

_ENTRIES_PAGE = 50


@dataclass
class PlainFold:
    """What a log's events do to the surface, told as lists and dictionaries.

    order: the current nodes in model order.
    positions: of every node that ever stood on the surface.
    replacer: for each shadowed node the event that removed it.
    removed: for each replacement the nodes that it removed, in model order.
    """

    order: list[Seq] = field(default_factory=list)
    positions: dict[Seq, int] = field(default_factory=dict)
    replacer: dict[Seq, Seq] = field(default_factory=dict)
    removed: dict[Seq, list[Seq]] = field(default_factory=dict)

    def placement(self, seq: Seq) -> Placement:
        return Placement(self.positions.get(seq), self.replacer.get(seq))

    def surface_of(self, seq: Seq) -> EventSurface:
        if seq in self.order:
            return EventSurface.CURRENT
        return EventSurface.SHADOWED if seq in self.replacer else EventSurface.LOG_ONLY


def plain_fold(events: Iterable[SessionEvent]) -> PlainFold:
    """The surface of a valid log from scratch."""
    fold = PlainFold()
    for event in events:
        op = event.surface_op
        if op is None:
            continue
        if op.start is None or op.end is None:
            fold.order.append(event.seq)
            fold.positions[event.seq] = event.seq
            continue
        first, last = fold.order.index(op.start), fold.order.index(op.end)
        gone = fold.order[first : last + 1]
        fold.order[first : last + 1] = [event.seq]
        fold.removed[event.seq] = gone
        fold.positions[event.seq] = fold.positions[gone[0]]
        for seq in gone:
            fold.replacer[seq] = event.seq
    return fold


@dataclass(frozen=True)
class PlainLog:
    """One log at one moment; never changed."""

    handle: int
    epoch: int
    header: SessionHeader
    entries: tuple[Entry, ...] = ()

    @cached_property
    def events(self) -> list[SessionEvent]:
        return [event for entry in self.entries for event in events_of(entry)]

    @cached_property
    def fold(self) -> PlainFold:
        return plain_fold(self.events)

    @property
    def last_seq(self) -> Seq:
        return len(self.events) - 1

    @cached_property
    def title(self) -> str | None:
        titles: list[str] = [
            event.data["title"]
            for event in self.events
            if event.type == "session/title" and shape_of(event.type, event.data) is Shape.TITLE
        ]
        return titles[-1] if titles else None

    @cached_property
    def prompted_at(self) -> EpochMillis | None:
        prompts = [
            event.time
            for event in self.events
            if event.type == "user/message"
            and shape_of(event.type, event.data) is Shape.USER_MESSAGE
            and is_human_prompt(event.data)
        ]
        return prompts[-1] if prompts else None

    @cached_property
    def stored(self) -> StoredSession:
        return StoredSession(
            self.handle, self.epoch, self.header, self.last_seq, self.title, self.prompted_at
        )

    @cached_property
    def citations(self) -> list[SessionCitation]:
        return [
            SessionCitation(
                self.header.session_id, event.seq, ordinal, each.target_id, each.label,
                each.captured_through_seq, self.handle,
            )
            for event in self.events
            if event.type == "user/message"
            and shape_of(event.type, event.data) is Shape.USER_MESSAGE
            for ordinal, each in enumerate(citations_of(event.data))
        ]  # fmt: skip

    def placed(self, event: SessionEvent) -> PlacedEvent:
        return PlacedEvent(self.header.session_id, event, self.fold.placement(event.seq))


class PlainReader:
    """One observation: what the dictionary of logs was when it was made."""

    def __init__(
        self,
        position: Position,
        logs: dict[str, PlainLog],
        recordings: dict[str, RecordingState],
        tombstones: set[str],
    ) -> None:
        self._position = position
        self._logs = logs
        self._recordings = recordings
        self._tombstones = tombstones

    @property
    def position(self) -> Position:
        return self._position

    async def counts(self, within: Within = None) -> CorpusCounts:
        logs = [log for log in self._logs.values() if plain_within(log.header.cwd, within)]
        return CorpusCounts(len(logs), sum(len(log.events) for log in logs))

    async def find(self, ids: Collection[str]) -> dict[str, StoredSession]:
        return {each: self._logs[each].stored for each in ids if each in self._logs}

    async def sessions(
        self,
        selection: SessionSelection,
        order: SessionOrder,
        *,
        limit: int,
        after: SessionKey | None = None,
        before: SessionKey | None = None,
    ) -> list[StoredSession]:
        rows = [log.stored for log in self._logs.values() if admits_session(selection, log.stored)]
        rows.sort(key=lambda row: session_sort_key(order, row.key()))
        if after is not None:
            low = session_sort_key(order, after)
            rows = [row for row in rows if session_sort_key(order, row.key()) > low]
        if before is not None:
            high = session_sort_key(order, before)
            rows = [row for row in rows if session_sort_key(order, row.key()) < high]
        return take(rows, limit, from_end=before is not None)

    async def covered(self, query: CoverQuery) -> list[StoredSession]:
        stored = [log.stored for log in self._logs.values()]
        meant = [each for each in stored if query.admits(each.header, each.title)]
        meant.sort(key=lambda session: query.order_key(session.header))
        return meant[: query.limit]

    async def citations(
        self, session: StoredSession, *, limit: int, after: CitingKey | None = None
    ) -> list[SessionCitation]:
        log = self.log_of(session)
        found = [
            each for each in log.citations if after is None or (each.seq, each.ordinal) > after
        ]
        return found[:limit]

    async def cited_by(
        self,
        target_id: str,
        *,
        limit: int,
        after: CitedKey | None = None,
        within: Within = None,
    ) -> list[SessionCitation]:
        logs = [log for log in self._logs.values() if plain_within(log.header.cwd, within)]
        found = [
            each
            for log in sorted(logs, key=lambda log: log.stored.log)
            for each in log.citations
            if each.target_id == target_id
        ]
        return [each for each in found if after is None or cited_key(each) > after][:limit]

    async def ancestors(self, ids: Collection[str]) -> dict[str, list[StoredSession]]:
        return {each: self._ancestors_of(each) for each in ids if each in self._logs}

    def _ancestors_of(self, session_id: str) -> list[StoredSession]:
        path: list[StoredSession] = []
        seen = {session_id}
        parent = self._logs[session_id].header.parent_session
        while parent is not None and parent in self._logs and parent not in seen:
            seen.add(parent)
            path.append(self._logs[parent].stored)
            parent = self._logs[parent].header.parent_session
        return path

    async def descendants(self, session_id: str, within: Within = None) -> list[ChildLink]:
        children: dict[str, list[ChildLink]] = {}
        for log in self._logs.values():
            header = log.header
            if header.parent_session is not None and plain_within(header.cwd, within):
                link = ChildLink(header.session_id, header.parent_session, header.created_at)
                children.setdefault(header.parent_session, []).append(link)
        found: list[ChildLink] = []
        seen = {session_id}
        pending = [session_id]
        while pending:
            for link in children.get(pending.pop(), ()):
                if link.session_id not in seen:
                    seen.add(link.session_id)
                    found.append(link)
                    pending.append(link.session_id)
        return found

    async def events(
        self, session: StoredSession, selection: EventSelection, window: WindowRequest
    ) -> list[PlacedEvent]:
        log = self.log_of(session)
        placed = [log.placed(event) for event in log.events if admits_event(selection, log, event)]
        return weighed(cut_window(placed, [each.seq for each in placed], window), window)

    async def envelopes(
        self, session: StoredSession, selection: EventSelection, window: WindowRequest
    ) -> list[EventEnvelope]:
        found = await self.events(session, selection, replace(window, take=None))
        return [EventEnvelope.of(each) for each in found]

    async def surface(self, session: StoredSession, window: WindowRequest) -> list[PlacedEvent]:
        log = self.log_of(session)
        placed = [log.placed(log.events[seq]) for seq in log.fold.order]
        positions = [log.fold.positions[each.seq] for each in placed]
        return weighed(cut_window(placed, positions, window), window)

    async def at(self, session: StoredSession, seqs: Collection[Seq]) -> dict[Seq, PlacedEvent]:
        log, wanted = self.log_of(session), set(seqs)
        return {event.seq: log.placed(event) for event in log.events if event.seq in wanted}

    async def each_at(
        self, wanted: Sequence[tuple[StoredSession, Seq]]
    ) -> list[PlacedEvent | None]:
        return [(await self.at(session, [seq])).get(seq) for session, seq in wanted]

    async def payloads(self, session: StoredSession, seqs: Collection[Seq]) -> dict[Seq, bytes]:
        log, wanted = self.log_of(session), set(seqs)
        return {event.seq: event.payload for event in log.events if event.seq in wanted}

    async def replaced_by(self, session: StoredSession, seq: Seq) -> list[Seq]:
        return list(self.log_of(session).fold.removed.get(seq, ()))

    async def each_replacer(self, wanted: Sequence[tuple[StoredSession, Seq]]) -> list[Seq | None]:
        return [self.log_of(session).fold.replacer.get(seq) for session, seq in wanted]

    async def rewritten(self, limit: int) -> list[str]:
        names = [name for name, log in self._logs.items() if log.fold.replacer]
        return names[:limit]

    async def replacement_chain(self, session: StoredSession, seq: Seq) -> list[Seq]:
        replacer = self.log_of(session).fold.replacer
        chain: list[Seq] = []
        while seq in replacer:
            seq = replacer[seq]
            chain.append(seq)
        return chain

    async def citers(self, session: StoredSession, seq: Seq) -> list[Seq]:
        events = self.log_of(session).events
        return [event.seq for event in events if seq in (event.source_event_seqs or ())]

    async def surface_nodes(self, session: StoredSession) -> list[SurfaceNode]:
        log = self.log_of(session)
        return [
            SurfaceNode(log.fold.positions[seq], seq, log.events[seq].type)
            for seq in log.fold.order
        ]

    async def conversation_totals(self, session: StoredSession) -> ConversationTotals:
        log = self.log_of(session)
        found = [(seq, carried_in(log.events[seq])) for seq in log.fold.order]
        carried = [(seq, each) for seq, each in found if each is not None]
        return ConversationTotals(
            len(carried),
            sum(len(each.text.encode("utf-8", "surrogatepass")) for _, each in carried),
            tuple(sorted(seq for seq, each in carried if each.checkpoint)),
        )

    async def entries(
        self, session: StoredSession, first: Seq = 0, last: Seq | None = None
    ) -> AsyncIterator[list[Entry]]:
        entries = [
            entry
            for entry in self.log_of(session).entries
            if entry.last_seq >= first and (last is None or entry.seq <= last)
        ]
        for start in range(0, len(entries), _ENTRIES_PAGE):
            yield entries[start : start + _ENTRIES_PAGE]

    async def recording(self, path: str) -> RecordingState | None:
        return self._recordings.get(path)

    async def tombstones(self, ids: Collection[str]) -> set[str]:
        return self._tombstones & set(ids)

    def log_of(self, session: StoredSession) -> PlainLog:
        (log,) = (each for each in self._logs.values() if each.handle == session.log)
        return log


class PlainLogStore:
    """Canonical logs in memory.

    Epochs and handles come from one counter that never repeats; a position is one commit.
    """

    def __init__(self) -> None:
        self._commits: list[Commit] = []
        self._news = asyncio.Event()
        self._closed = False
        self._last_number = 0
        self._logs: dict[str, PlainLog] = {}
        self._recordings: dict[str, RecordingState] = {}
        self._tombstones: set[str] = set()

    @asynccontextmanager
    async def observe(self) -> AsyncIterator[PlainReader]:
        yield PlainReader(
            len(self._commits), dict(self._logs), dict(self._recordings), set(self._tombstones)
        )

    async def create(self, header: SessionHeader, entries: Sequence[PlacedEntry] = ()) -> int:
        if header.session_id in self._logs:
            raise LogConflict(f"the id {header.session_id!r} is taken")
        self._put_new(header, ())
        self._commit(CommitKind.CREATED, header.session_id, 0)
        epoch = self._logs[header.session_id].epoch
        if entries:
            await self.append(header.session_id, epoch, entries)
        return epoch

    async def append(self, session_id: str, epoch: int, entries: Sequence[PlacedEntry]) -> Position:
        log = self._log_under(session_id, epoch)
        if entries and entries[0].entry.seq != log.last_seq + 1:
            raise LogConflict(f"{session_id!r} is at {log.last_seq}, not before {entries[0]}")
        added = tuple(placed.entry for placed in entries)
        self._logs[session_id] = replace(log, entries=log.entries + added)
        return self._commit(CommitKind.APPENDED, session_id, log.last_seq + 1)

    async def fork(
        self, source: StoredSession, boundary: Seq, header: SessionHeader
    ) -> PlainStagedLog:
        log = self._log_under(source.header.session_id, source.epoch)
        return PlainStagedLog(self, None, prefix_of(log.entries, boundary), must_be_new=True)

    async def detach(self, session_id: str, epoch: int, notes: Sequence[str]) -> Position:
        log = self._log_under(session_id, epoch)
        source = changed(log.header.source, path=None, notes=tuple(notes))
        self._logs[session_id] = replace(log, header=changed(log.header, source=source))
        for path, state in list(self._recordings.items()):
            if state.session_id == session_id:
                del self._recordings[path]
        return self._commit(CommitKind.DETACHED, session_id, log.last_seq + 1)

    async def stage(self, header: SessionHeader) -> PlainStagedLog:
        return PlainStagedLog(self, None)

    async def stage_growth(self, session: StoredSession) -> PlainStagedLog:
        return PlainStagedLog(self, session)

    async def remember_recording(self, recording: RecordingState) -> None:
        self._recordings[recording.path] = recording

    async def delete(self, session_id: str) -> bool:
        if session_id not in self._logs:
            return False
        self._commit(CommitKind.DELETED, session_id, 0, self._logs[session_id].header.cwd)
        del self._logs[session_id]
        self._tombstones.add(session_id)
        return True

    async def follow(self, after: Position) -> AsyncIterator[list[Commit]]:
        while not self._closed:
            news = self._news
            commits = self._commits[after:]
            if commits:
                yield commits
                after = commits[-1].position
            else:
                await news.wait()

    async def close(self) -> None:
        """Nothing is queued and no file is open; followers end."""
        self._closed = True
        self._wake()

    def entries_of(self, base: StoredSession) -> tuple[Entry, ...]:
        """What the log holds that a growth was staged for."""
        return self._logs[base.header.session_id].entries

    def publish(
        self,
        base: StoredSession | None,
        header: SessionHeader,
        entries: tuple[Entry, ...],
        recording: RecordingState | None,
        *,
        must_be_new: bool,
    ) -> Position:
        """Make staged entries visible: as a whole log, or behind ``base``."""
        if must_be_new and header.session_id in self._logs:
            raise LogConflict(f"the id {header.session_id!r} is taken")
        first, removed_cwd = 0, None
        if base is None:
            if header.session_id in self._logs:
                removed_cwd = self._logs[header.session_id].header.cwd
            kind = CommitKind.REPLACED if header.session_id in self._logs else CommitKind.IMPORTED
            kind = CommitKind.CREATED if must_be_new else kind
            self._recordings = {
                path: state
                for path, state in self._recordings.items()
                if kind is not CommitKind.REPLACED or state.session_id != header.session_id
            }
            self._put_new(header, entries)
        else:
            kind, first = CommitKind.APPENDED, base.last_seq + 1
            log = self._logs.get(base.header.session_id)
            if log is None or (log.epoch, log.last_seq) != (base.epoch, base.last_seq):
                raise LogConflict(f"{base.header.session_id!r} has changed meanwhile")
            self._logs[base.header.session_id] = replace(
                log, header=header, entries=log.entries + entries
            )
        if recording is not None:
            self._recordings[recording.path] = recording
        return self._commit(kind, header.session_id, first, removed_cwd)

    def _log_under(self, session_id: str, epoch: int) -> PlainLog:
        log = self._logs.get(session_id)
        if log is None or log.epoch != epoch:
            raise LogConflict(f"{session_id!r} has no log of epoch {epoch}")
        return log

    def _put_new(self, header: SessionHeader, entries: tuple[Entry, ...]) -> None:
        self._logs[header.session_id] = PlainLog(
            self._next_number(), self._next_number(), header, entries
        )
        self._tombstones.discard(header.session_id)

    def _next_number(self) -> int:
        self._last_number += 1
        return self._last_number

    def _commit(
        self,
        kind: CommitKind,
        session_id: str,
        first_seq: Seq,
        removed_cwd: str | None = None,
    ) -> Position:
        """One more entry of the feed, about the events of a log from ``first_seq`` on."""
        log = self._logs[session_id]
        position = len(self._commits) + 1
        listed = any(
            (each.type == "session/title" and shape_of(each.type, each.data) is Shape.TITLE)
            or (
                each.type == "user/message"
                and shape_of(each.type, each.data) is Shape.USER_MESSAGE
                and is_human_prompt(each.data)
            )
            for each in log.events[first_seq:]
        )
        relisted = listed and kind is CommitKind.APPENDED
        self._commits.append(
            Commit(
                position,
                kind,
                session_id,
                log.epoch,
                first_seq,
                log.last_seq,
                relisted,
                removed_cwd,
            )
        )
        self._wake()
        return position

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


class PlainStagedLog:
    """Entries that nobody sees until they are published."""

    def __init__(
        self,
        store: PlainLogStore,
        base: StoredSession | None,
        entries: Sequence[Entry] = (),
        *,
        must_be_new: bool = False,
    ) -> None:
        self._store = store
        self._base = base
        self._entries: list[Entry] = list(entries)
        self._must_be_new = must_be_new

    async def append(self, entries: Sequence[PlacedEntry]) -> None:
        self._entries.extend(placed.entry for placed in entries)

    async def payload(self, seq: Seq) -> bytes:
        held = () if self._base is None else self._store.entries_of(self._base)
        events = [event for entry in (*held, *self._entries) for event in events_of(entry)]
        return events[seq].payload

    async def publish(
        self, header: SessionHeader, recording: RecordingState | None = None
    ) -> Position:
        return self._store.publish(
            self._base, header, tuple(self._entries), recording, must_be_new=self._must_be_new
        )

    async def abandon(self) -> None:
        self._entries.clear()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run one coroutine to its end on a loop of its own."""
    return asyncio.run(work)


def prefix_of(entries: Sequence[Entry], boundary: Seq) -> list[Entry]:
    """The entries up to and including an event; a run that reaches beyond it is cut."""
    prefix: list[Entry] = []
    for entry in entries:
        if entry.seq > boundary:
            break
        if isinstance(entry, DeltaRun) and entry.last_seq > boundary:
            count = boundary - entry.seq + 1
            entry = changed(entry, texts=entry.texts[:count], gaps=entry.gaps[: count - 1])
        prefix.append(entry)
    return prefix


def take(rows: list[T], limit: int, *, from_end: bool) -> list[T]:
    """The first or the last ``limit`` rows, in the order they have."""
    return rows[max(0, len(rows) - limit) :] if from_end else rows[:limit]


def cut_window(rows: list[T], keys: list[int], window: WindowRequest) -> list[T]:
    """The rows whose keys lie strictly between the bounds, as many as asked, from the asked end."""
    inside = [
        row
        for row, key in zip(rows, keys, strict=True)
        if (window.after is None or key > window.after)
        and (window.before is None or key < window.before)
    ]
    return take(inside, window.limit, from_end=window.newest)


def weighed(events: list[PlacedEvent], window: WindowRequest) -> list[PlacedEvent]:
    """Events of a window, of which each was told to whoever weighs them."""
    for each in events if window.take is not None else ():
        window.take(len(each.event.payload))
    return events


def session_sort_key(order: SessionOrder, key: SessionKey) -> tuple[float, int, str]:
    """Ascending by this is the order; sessions without a prompt come last when ACTIVE."""
    prompted = 0.0
    if order is SessionOrder.ACTIVE:
        prompted = float("inf") if key.prompted_at is None else -key.prompted_at
    return (prompted, -key.created_at, key.session_id)


def in_range(bounds: Range, value: int) -> bool:
    """Whether a value lies between two ends, both included."""
    if bounds.low is not None and value < bounds.low:
        return False
    return bounds.high is None or value <= bounds.high


def contains_title(title: str, part: str) -> bool:
    """Whether ``part`` stands in a title, in any case, with any white space between its words."""
    return " ".join(part.split()).casefold() in " ".join(title.split()).casefold()


def admits_session(selection: SessionSelection, session: StoredSession) -> bool:
    """Whether a stored session passes every filter; what is stored is persisted."""
    header = session.header
    sets: list[tuple[frozenset[str | None] | frozenset[str] | None, str | None]] = [
        (selection.ids, header.session_id),
        (selection.cwds, header.cwd),
        (selection.parents, header.parent_session),
        (selection.origins, header.origin),
        (selection.sources, header.source.kind),
        (selection.availability, Availability.PERSISTED),
    ]
    if any(admitted is not None and value not in admitted for admitted, value in sets):
        return False
    if not plain_within(header.cwd, selection.within):
        return False
    if not in_range(selection.created_at, header.created_at):
        return False
    title = session.title
    return all(title is not None and contains_title(title, part) for part in selection.titles)


def admits_event(selection: EventSelection, log: PlainLog, event: SessionEvent) -> bool:
    """Whether an event passes every filter but those on text, which a store does not look at."""
    return (
        in_range(selection.seqs, event.seq)
        and in_range(selection.times, event.time)
        and (selection.types is None or event.type in selection.types)
        and (selection.surfaces is None or log.fold.surface_of(event.seq) in selection.surfaces)
    )
