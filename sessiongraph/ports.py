"""What a provider must be able to do: the log store and the readers of recorders' files.

The domain speaks to the outside through these protocols only. All of them are asynchronous, so that
a provider may answer from this process or from across a network; nothing here assumes that every
commit was made by this process. Each provider of a port passes the suite of that port in
``tests/contracts/``.

A *position* is a number that only grows, assigned in the order of commits. Whoever has processed
everything up to a position has missed nothing.
"""

from __future__ import annotations

from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from sessiongraph.citations import CitedKey, CitingKey, SessionCitation
from sessiongraph.directories import lies_within
from sessiongraph.event import Entry, PlacedEvent, Seq
from sessiongraph.filters import EventSelection, SessionSelection
from sessiongraph.header import EpochMillis, SessionHeader, SourceKind
from sessiongraph.redaction import Redaction
from sessiongraph.surface import SurfaceNode, Transition

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
class CoverQuery:
    """Which sessions to find by their covers: id, working directory and latest title.

    part: what one of the three must contain, in any case; empty admits every session.
    cwd: sessions of it come first, then those without any, then the rest; the newest first within
        each.
    limit: the most to answer.
    without: ids that are not meant.
    within: places at or below which a session's working directory must lie; None: anywhere.
    """

    part: str
    cwd: str | None
    limit: int
    without: frozenset[str] = frozenset()
    within: frozenset[str] | None = None

    def admits(self, header: SessionHeader, title: str | None) -> bool:
        """Whether a session is meant."""
        if header.session_id in self.without:
            return False
        if self.within is not None and not lies_within(header.cwd, self.within):
            return False
        part = self.part.casefold()
        covers = (header.session_id, header.cwd or "", title or "")
        return not part or any(part in cover.casefold() for cover in covers)

    def order_key(self, header: SessionHeader) -> tuple[int, EpochMillis, str]:
        """The place of a session in the answer."""
        near = 0 if header.cwd == self.cwd else 1 if header.cwd is None else 2
        return (near, -header.created_at, header.session_id)


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

    async def surface(self, session: StoredSession, window: WindowRequest) -> list[PlacedEvent]:
        """Current nodes in model order; the window is over positions."""
        ...

    async def at(self, session: StoredSession, seqs: Collection[Seq]) -> dict[Seq, PlacedEvent]:
        """The events with these seqs, those that exist."""
        ...

    async def at_each(
        self, wanted: Sequence[tuple[StoredSession, Collection[Seq]]]
    ) -> list[dict[Seq, PlacedEvent]]:
        """What :meth:`at` answers for each of some logs, read in one go."""
        ...

    async def payloads(self, session: StoredSession, seqs: Collection[Seq]) -> dict[Seq, bytes]:
        """Whole payloads, streams included."""
        ...

    async def replaced_by(self, session: StoredSession, seq: Seq) -> list[Seq]:
        """The nodes that the event removed itself, in model order."""
        ...

    async def replacers(self, session: StoredSession, seqs: Collection[Seq]) -> dict[Seq, Seq]:
        """For those of ``seqs`` that are shadowed, the event that removed each."""
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


Prepared = Any
"""What a store makes of an entry alone, before it knows where the entry goes; see :data:`Prepare`.

It consists of plain values that can be sent to another process, and only the store that made it
understands it.
"""

Prepare = Callable[[Entry], Prepared]
"""Does the part of storing an entry that can be done anywhere, by whoever has the entry first.

A function of a module, so that another process finds it by its name.
"""


class PlacedEntry(msgspec.Struct, frozen=True, gc=False):
    """An entry and what it does to the surface: what a store appends.

    prepared: what the store made of it before; None where that is still to be done.
    """

    entry: Entry
    transition: Transition
    prepared: Prepared = None


class RecordingState(msgspec.Struct, frozen=True):
    """How far a recorder's file has been read.

    size, modified_ns: of the file when it was last looked at; equal ones mean it is unchanged.
    offset: bytes of the file that have been read for good, in the file as it lies on disk.
    line: lines read for good, the header's included.
    next_seq: the seq that the next event of the file must have.
    fingerprint: of the part already read, to tell growth from rewriting.
    memory: what else the reader must know to go on; only the reader that wrote it understands it.
    """

    path: str
    session_id: str
    size: int
    modified_ns: int
    offset: int
    line: int
    next_seq: Seq
    fingerprint: str
    memory: bytes = b""


NEVER_UNCHANGED: Final = -1
"""As a size: the file is to be read anew, whatever it looks like."""


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


class RecordingRefused(Exception):
    """A recorder's file that cannot be read faithfully; never half-read.

    line: counted from 1, None when the file as a whole is meant.
    """

    def __init__(self, path: Path, line: int | None, reason: str) -> None:
        place = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{place}: {reason}")
        self.path = path
        self.line = line
        self.reason = reason


@dataclass(frozen=True, slots=True)
class RecordedMedia:
    """An image or another thing that a file holds in full and a log only names.

    name: the SHA-256 of its content, in hexadecimal digits.
    """

    name: str
    content: bytes


class MediaStore(Protocol):
    """Keeps media by their content: the same content is kept once."""

    def keep(self, media: RecordedMedia) -> None:
        """Keep it, on disk when this returns.

        Raises:
            PersistenceFailed: the disk refused.
        """
        ...


class RecordedEntry(msgspec.Struct, gc=False):
    """An entry and the line of the file that it came from, counted from 1.

    media: what was taken out of the entry, to be kept before the entry can be seen.
    prepared: what the store has made of the entry already; None where nobody asked it.
    """

    entry: Entry
    line: int
    media: tuple[RecordedMedia, ...] = ()
    prepared: Prepared = None


@dataclass(frozen=True, slots=True)
class RecordedPart:
    """A further session inside of a file, between the lines of the first one.

    key: names it in the file, at every reading alike.
    lines: those that belong to it and were not read before, counted from 1.
    place: where the first of them begins; only the reader that found it understands it.
    """

    key: str
    lines: Sequence[int]
    place: tuple[int, int]


UNFINISHED_LINE: Final = "The last line was not finished when the file was read."
"""The note of a torn tail; it goes when the file has grown."""

BROKEN_TAIL: Final = "is broken and the log ends before it"
"""What the note of a tail says that was cut; it goes like the other."""


def is_about_the_tail(note: str) -> bool:
    """Whether a note speaks of the end that a file had when it was read."""
    return note == UNFINISHED_LINE or BROKEN_TAIL in note


class RecordedLog(Protocol):
    """One session as its file tells it, read once from front to back, in constant memory."""

    @property
    def header(self) -> SessionHeader:
        """The header; its notes and seed length are final once :meth:`entries` is exhausted.

        A reading that was resumed sees the tail only: its seed length and notes are of the tail.
        """
        ...

    @property
    def state(self) -> RecordingState:
        """How far the file has been read, for the next time; final once exhausted."""
        ...

    @property
    def bytes_read(self) -> int:
        """Bytes of JSON read so far, decompressed; for progress."""
        ...

    @property
    def parts(self) -> Sequence[RecordedPart]:
        """Further sessions of which this reading saw something; final once exhausted."""
        ...

    def entries(self) -> Iterator[RecordedEntry]:
        """What the file holds, in order.

        Raises:
            RecordingRefused: what comes next cannot be read faithfully.
            RecordingRewritten: a resumed reading met something that changes the header.
        """
        ...


class RecordingReader(Protocol):
    """Reads the files of one recorder."""

    @property
    def kind(self) -> SourceKind: ...

    def recognises(self, path: Path, beginning: Sequence[bytes]) -> bool:
        """Whether a file is this recorder's, by its first lines (decompressed)."""
        ...

    def superseded(self, paths: Sequence[Path]) -> Mapping[Path, Path]:  # noqa: ARG002
        """Files that another one in ``paths`` takes the place of; none, where nothing is said."""
        return {}

    def open(
        self,
        path: Path,
        resume: RecordingState | None,
        part: RecordedPart | None = None,
        redaction: Redaction | None = None,
    ) -> RecordedLog:
        """Begin to read; with ``resume`` from where an earlier import stopped.

        part: read this further session of the file instead of the first one.
        redaction: what replaces the secrets in every line; None leaves them.

        Raises:
            RecordingRefused: the file cannot be read faithfully. Iterating raises it too.
            RecordingRewritten: the part that was read before has changed.
        """
        ...


class OpenRecording(Protocol):
    """How recordings are opened for an import: read where they are opened, or elsewhere."""

    def __call__(
        self,
        reader: RecordingReader,
        path: Path,
        resume: RecordingState | None,
        part: RecordedPart | None,
        redaction: Redaction | None,
    ) -> RecordedLog:
        """What ``reader.open`` answers for these arguments, or raises; alike in what it tells."""
        ...


class RecordingRewritten(Exception):
    """The part of a file that was read before is no longer the same."""
