"""What a provider must be able to do: the log store and its feed of commits.

The domain speaks to the outside through these protocols only. All of them are asynchronous, so that
a provider may answer from this process or from across a network; nothing here assumes that every
commit was made by this process. Each provider of a port passes the suite of that port in
``tests/contracts/``.

A *position* is a number that only grows, assigned in the order of commits. Whoever has processed
everything up to a position has missed nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import msgspec

from sessiongraph.citations import CitedKey, CitingKey, SessionCitation
from sessiongraph.cover_query import CoverQuery
from sessiongraph.event import Entry, EventEnvelope, PlacedEvent, Seq
from sessiongraph.filters import EventSelection, SessionSelection
from sessiongraph.header import EpochMillis, SessionHeader
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.recordings import RecordingState
from sessiongraph.surface import SurfaceNode

Position = int

Within = frozenset[str] | None
"""Places (:mod:`sessiongraph.directories`) at or below which the working directory of a session
must lie to be counted or shown, none of them below another; None: anywhere."""


class SessionOrder(StrEnum):
    """CREATED: newest first, ties by id. ACTIVE: latest prompt of a person first, then CREATED."""

    CREATED = "created"
    ACTIVE = "active"


class SessionKey(msgspec.Struct, frozen=True, gc=False):
    """The place of a session in an order; what a list cursor holds."""

    created_at: EpochMillis
    session_id: str
    prompted_at: EpochMillis | None = None


class StoredSession(msgspec.Struct, frozen=True):
    """A stored log as one observation sees it, without its events.

    log: the provider's own handle, meaningless outside it.
    epoch: changes whenever stored events are replaced, cut, or created anew under a known id.
    last_seq: the last visible event, -1 for an empty log.
    prompted_at: time of the latest message by a person.
    """

    log: int
    epoch: int
    header: SessionHeader
    last_seq: Seq
    title: str | None
    prompted_at: EpochMillis | None

    def key(self) -> SessionKey:
        return SessionKey(self.header.created_at, self.header.session_id, self.prompted_at)


@dataclass(frozen=True, slots=True)
class ChildLink:
    """One edge of the lineage: a session and what its place among its siblings depends on."""

    session_id: str
    parent_id: str
    created_at: EpochMillis


@dataclass(frozen=True, slots=True)
class CorpusCounts:
    """How much is stored and visible."""

    sessions: int
    events: int


class CommitKind(StrEnum):
    """What a commit did to a log.

    DETACHED: it stands by itself now, without the recorder's file that it was read from.
    """

    CREATED = "created"
    APPENDED = "appended"
    IMPORTED = "imported"
    REPLACED = "replaced"
    DETACHED = "detached"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Commit:
    """One entry of the feed: what happened to one log in one transaction.

    first_seq, last_seq: the events that came; last_seq is before first_seq when none did.
    relisted: the latest title or prompt changed.
    removed_cwd: the working directory of the log that is gone with a deletion or a replacement.
    """

    position: Position
    kind: CommitKind
    session_id: str
    epoch: int
    first_seq: Seq
    last_seq: Seq
    relisted: bool
    removed_cwd: str | None = None


class CommitFeed(Protocol):
    """Commits in order, for whoever derives something from them."""

    def follow(self, after: Position) -> AsyncIterator[list[Commit]]:
        """Every commit after a position, in order, without a hole; ends with the store."""
        ...


@dataclass(frozen=True, slots=True)
class WindowRequest:
    """A page of a list that has two ends.

    after, before: exclusive bounds, in the list's own key. newest: take from the far end.
    take: told the size of each payload when it is read, and ends the reading when it raises.
    """

    limit: int
    after: int | None = None
    before: int | None = None
    newest: bool = False
    take: Callable[[int], None] | None = None


@dataclass(frozen=True, slots=True)
class ConversationTotals:
    """What can be carried from a surface to another session, known without reading it.

    messages, octets: how many messages that is, and the UTF-8 bytes of their texts.
    checkpoints: the seqs of those that are compaction checkpoints, ascending.
    """

    messages: int
    octets: int
    checkpoints: tuple[Seq, ...] = ()


class LogReader(Protocol):
    """One observation of the store: every answer is of the same moment."""

    @property
    def position(self) -> Position: ...

    async def counts(self, within: Within = None) -> CorpusCounts:
        """How much there is; O(1) everywhere, and as much as the sessions within some places."""
        ...

    async def find(self, ids: Collection[str]) -> dict[str, StoredSession]:
        """The stored sessions among ``ids``, by id."""
        ...

    async def sessions(
        self,
        selection: SessionSelection,
        order: SessionOrder,
        *,
        limit: int,
        after: SessionKey | None = None,
        before: SessionKey | None = None,
    ) -> list[StoredSession]:
        """In order. With ``before`` the ``limit`` sessions nearest before it, still in order."""
        ...

    async def covered(self, query: CoverQuery) -> list[StoredSession]:
        """The first sessions with a cover that is asked for, in the order of the query."""
        ...

    async def ancestors(self, ids: Collection[str]) -> dict[str, list[StoredSession]]:
        """For each id its known ancestors, nearest first, up to the first that repeats."""
        ...

    async def descendants(self, session_id: str, within: Within = None) -> list[ChildLink]:
        """Every edge below a session, each session once, in no order.

        What is elsewhere is left out, with all that is reached through it alone.
        """
        ...

    async def events(
        self, session: StoredSession, selection: EventSelection, window: WindowRequest
    ) -> list[PlacedEvent]:
        """Events that pass all but the text filters, ascending by seq; the window is over seqs."""
        ...

    async def envelopes(
        self, session: StoredSession, selection: EventSelection, window: WindowRequest
    ) -> list[EventEnvelope]:
        """The envelopes of what :meth:`events` answers; no payload is read or weighed for them."""
        ...

    async def surface(self, session: StoredSession, window: WindowRequest) -> list[PlacedEvent]:
        """Current nodes in model order; the window is over positions."""
        ...

    async def at(self, session: StoredSession, seqs: Collection[Seq]) -> dict[Seq, PlacedEvent]:
        """The events with these seqs, those that exist."""
        ...

    async def each_at(
        self, wanted: Sequence[tuple[StoredSession, Seq]]
    ) -> list[PlacedEvent | None]:
        """The event with some seq in each of some logs, read together; None where there is none."""
        ...

    async def payloads(self, session: StoredSession, seqs: Collection[Seq]) -> dict[Seq, bytes]:
        """Whole payloads, streams included."""
        ...

    async def replaced_by(self, session: StoredSession, seq: Seq) -> list[Seq]:
        """The nodes that the event removed itself, in model order."""
        ...

    async def each_replacer(self, wanted: Sequence[tuple[StoredSession, Seq]]) -> list[Seq | None]:
        """What removed the event with some seq in each of some logs, read together; None where it
        stands, or there is none."""
        ...

    async def rewritten(self, limit: int) -> list[str]:
        """Sessions that have shadowed events, at most so many of them, in no order."""
        ...

    async def replacement_chain(self, session: StoredSession, seq: Seq) -> list[Seq]:
        """From the direct replacer to the one that stands now."""
        ...

    async def citers(self, session: StoredSession, seq: Seq) -> list[Seq]:
        """Later events whose sources include this one, in log order."""
        ...

    async def surface_nodes(self, session: StoredSession) -> list[SurfaceNode]:
        """The whole current surface without its events, in model order."""
        ...

    async def conversation_totals(self, session: StoredSession) -> ConversationTotals:
        """What can be carried from the current surface (:mod:`sessiongraph.carried`)."""
        ...

    def entries(
        self, session: StoredSession, first: Seq = 0, last: Seq | None = None
    ) -> AsyncIterator[list[Entry]]:
        """The log in order, in bounded pages, payloads whole."""
        ...

    async def recording(self, path: str) -> RecordingState | None:
        """What the last import of a recorder's file left behind."""
        ...

    async def citations(
        self, session: StoredSession, *, limit: int, after: CitingKey | None = None
    ) -> list[SessionCitation]:
        """Sessions that a log cites, in its order, each with its ``log``."""
        ...

    async def cited_by(
        self,
        target_id: str,
        *,
        limit: int,
        after: CitedKey | None = None,
        within: Within = None,
    ) -> list[SessionCitation]:
        """Citations of a session, which need not be stored, by log, seq and ordinal."""
        ...

    async def tombstones(self, ids: Collection[str]) -> set[str]:
        """Those of ``ids`` that were deleted and not restored."""
        ...


class StagedLog(Protocol):
    """Rows that stay invisible until :meth:`publish`, written in bounded transactions."""

    async def append(self, entries: Sequence[PlacedEntry]) -> None:
        """Write one batch; waits while too much is on its way to the disk."""
        ...

    async def payload(self, seq: Seq) -> bytes:
        """The payload of an event that was staged, or that the log held before it grew."""
        ...

    async def publish(
        self,
        header: SessionHeader,
        recording: RecordingState | None = None,
    ) -> Position:
        """Make everything staged visible in one small transaction."""
        ...

    async def abandon(self) -> None:
        """Drop everything staged."""
        ...


class LogStore(Protocol):
    """The canonical logs."""

    def observe(self) -> AbstractAsyncContextManager[LogReader]:
        """One observation, to be closed soon."""
        ...

    async def create(self, header: SessionHeader, entries: Sequence[PlacedEntry] = ()) -> int:
        """A new log with its first entries, in one transaction; answers its epoch.

        Raises:
            LogConflict: the id is taken.
            PersistenceFailed: the disk refused; there is no log.
        """
        ...

    def append(
        self, session_id: str, epoch: int, entries: Sequence[PlacedEntry]
    ) -> Awaitable[Position]:
        """Append in one transaction, on disk when the position is there.

        Raises:
            LogConflict: the log is not at the first entry's seq, or has another epoch.
            PersistenceFailed: the disk refused; nothing was appended.
        """
        ...

    async def fork(self, source: StoredSession, boundary: Seq, header: SessionHeader) -> StagedLog:
        """A staged log that holds the events of ``source`` up to and including ``boundary``.

        Payloads are copied inside the store, in bounded transactions.

        Raises:
            LogConflict: on publishing, when the id is taken meanwhile.
        """
        ...

    async def detach(self, session_id: str, epoch: int, notes: Sequence[str]) -> Position:
        """Let a log that was read from a file stand by itself: the file is no longer followed.

        Raises:
            LogConflict: the log has another epoch or is gone.
        """
        ...

    async def stage(self, header: SessionHeader) -> StagedLog:
        """A log that, when published, takes the place of a stored one with its id, if any.

        What was remembered of the files that the stored one was read from is forgotten then.
        """
        ...

    async def stage_growth(self, session: StoredSession) -> StagedLog:
        """More events for a stored log, all visible at once when published.

        Raises:
            LogConflict: on publishing, when the log has changed meanwhile.
        """
        ...

    async def remember_recording(self, recording: RecordingState) -> None:
        """Note that a file was looked at and holds nothing new."""
        ...

    async def delete(self, session_id: str) -> bool:
        """Remove a log for good and leave a tombstone; False when there was none."""
        ...

    async def close(self) -> None:
        """Finish what is queued and release the files."""
        ...
