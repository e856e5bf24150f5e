"""The logical corpus: every session once, wherever it can be read from.

A session can be *live* (open in this server, the authority for its id, or followed here while its
recorder writes it), *persisted* (in the log store), or both; a live one is preferred, and neither
place hides the other. One observation is a read transaction of the store together with what every
live session had accepted beyond it at the same moment; everything asked of it is answered from
these two (log.md, "The two places").
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from types import TracebackType
from typing import Any, Protocol

import msgspec

from sessiongraph.citations import CitedKey, SessionCitation
from sessiongraph.cover_query import CoverQuery
from sessiongraph.directories import lies_within
from sessiongraph.errors import PersistenceFailed, SourceConflict
from sessiongraph.event import Seq
from sessiongraph.filters import Availability, SessionSelection, contains_title
from sessiongraph.header import EpochMillis, SessionHeader
from sessiongraph.lineage import known_ancestors
from sessiongraph.live_session import LiveCapture
from sessiongraph.live_tail import NO_TAIL, LiveTail, TailedLog
from sessiongraph.ports import (
    ChildLink,
    CorpusCounts,
    LogReader,
    LogStore,
    SessionKey,
    SessionOrder,
    StoredSession,
)
from sessiongraph.visibility import EVERYWHERE, Visibility


class LogicalSession(msgspec.Struct, eq=False):
    """One session of the corpus as one observation sees it.

    header: the live one when the session is live, else the stored one.
    last_seq: -1 for an empty log.
    epoch: of the log; 0 while nothing of it is on disk.
    conflict: the stored log with this id is another one; it cannot be read while the session lives.
    """

    session_id: str
    header: SessionHeader
    live: bool
    persisted: bool
    last_seq: Seq
    title: str | None
    prompted_at: EpochMillis | None
    epoch: int
    log: TailedLog
    conflict: SourceConflict | None = None

    def key(self) -> SessionKey:
        """Its place in every order of the corpus."""
        return SessionKey(self.header.created_at, self.session_id, self.prompted_at)


class LiveView(Protocol):
    """The live sessions at one moment."""

    @property
    def ids(self) -> Collection[str]:
        """Every session that is open here."""
        ...

    @property
    def followed(self) -> Collection[str]:
        """Sessions that are live elsewhere and are followed by their files, which grow."""
        ...

    @property
    def ahead(self) -> Mapping[str, LiveCapture]:
        """Those that have accepted what the store may not hold yet."""
        ...

    def header(self, session_id: str) -> SessionHeader | None:
        """The header of a live session, None when it is not live."""
        ...

    def capture(self, session_id: str) -> LiveCapture:
        """Any live session."""
        ...


class LiveCorpus(Protocol):
    """Whoever knows the live sessions."""

    def view(self) -> LiveView: ...


class CorpusView:
    """One observation of the whole corpus."""

    seen: Visibility = EVERYWHERE
    """Which sessions exist here."""

    def __init__(
        self, reader: LogReader | None, live: LiveView, failure: PersistenceFailed | None = None
    ) -> None:
        self._reader = reader
        self._live = live
        self._failure = failure
        self._only_live = {
            session_id: capture
            for session_id, capture in live.ahead.items()
            if capture.epoch is None
        }

    @property
    def is_ahead(self) -> bool:
        """Whether sessions have accepted what the store may not hold yet."""
        return bool(self._live.ahead)

    @property
    def reader(self) -> LogReader:
        """The store's part.

        Raises:
            PersistenceFailed: the store cannot be read.
        """
        if self._reader is None:
            raise self._failure or PersistenceFailed("the store cannot be read")
        return self._reader

    def narrowed(self, selection: SessionSelection) -> SessionSelection:
        """A selection of the sessions that exist here."""
        return selection

    async def counts(self) -> CorpusCounts:
        """How many sessions and events there are."""
        counts = await self.reader.counts(self.seen.within)
        ahead = await self.find(self._live.ahead)
        unstored = sum(1 for session in ahead.values() if not session.persisted)
        beyond = sum(session.log.tail_length for session in ahead.values())
        return CorpusCounts(counts.sessions + unstored, counts.events + beyond)

    async def find(self, ids: Collection[str]) -> dict[str, LogicalSession]:
        """The sessions among ``ids``, by id.

        Raises:
            PersistenceFailed: the store cannot be read and not all of them are live.
        """
        try:
            stored = await self.reader.find(ids)
        except PersistenceFailed:
            if not all(map(self._is_open, ids)):
                raise
            return {session_id: self._from_memory(session_id) for session_id in ids}
        here, ahead, followed = self._live.ids, self._live.ahead, self._live.followed
        found: dict[str, LogicalSession] = {}
        for session_id in ids:
            row = stored.get(session_id)
            session: LogicalSession | None = None
            if session_id in here or session_id in ahead:
                session = self._session(session_id, row)
            elif row is not None:
                session = self._as_stored(row, live=session_id in followed)
            if session is not None:
                found[session_id] = session
        return found

    async def sessions(
        self,
        selection: SessionSelection,
        order: SessionOrder,
        *,
        limit: int,
        after: SessionKey | None = None,
        before: SessionKey | None = None,
    ) -> list[LogicalSession]:
        """The next ``limit`` sessions in order, or with ``before`` those just before it."""
        if selection.impossible:
            return []
        wanted = selection.availability
        if wanted is not None and Availability.PERSISTED not in wanted:
            candidates = [self._from_memory(session_id) for session_id in self._live.ids]
            followed = [each for each in self._live.followed if each not in self._live.ids]
            candidates += (await self.find(followed)).values() if followed else ()
            page = _page(candidates, selection, order, limit, after, before)
            # Their older events lie in the store, where it can be read.
            found = await self.find([session.session_id for session in page])
            return [found[each.session_id] for each in page if each.session_id in found]
        moved = self._moved()
        rows = await self.reader.sessions(
            selection, order, limit=limit + len(moved), after=after, before=before
        )
        if not moved:
            return self._all_of(rows)
        listed = self._all_of(row for row in rows if row.header.session_id not in moved)
        again = list((await self.find(moved)).values())
        if wanted is not None:
            again = [session for session in again if is_available(session, wanted)]
        return _page([*listed, *again], selection, order, limit, after, before)

    async def covered(self, query: CoverQuery) -> list[LogicalSession]:
        """The first sessions with a cover that is asked for, in the order of the query."""
        moved = self._moved()
        rows = await self.reader.covered(replace(query, without=query.without | moved))
        found = self._all_of(rows)
        if moved:
            again = (await self.find(moved)).values()
            found += [session for session in again if query.admits(session.header, session.title)]
            found.sort(key=lambda session: query.order_key(session.header))
        return found[: query.limit]

    async def cited_by(
        self, target_id: str, *, limit: int, after: CitedKey | None = None
    ) -> list[SessionCitation]:
        """Citations of a session by committed events: a crash could take back the others."""
        within = self.seen.within
        return await self.reader.cited_by(target_id, limit=limit, after=after, within=within)

    async def ancestors(self, ids: Collection[str]) -> dict[str, list[LogicalSession]]:
        """For each id its known ancestors, nearest first, up to the first that repeats."""
        unstored = self._only_live
        if not unstored:
            found = await self.reader.ancestors(ids)
            return {session_id: self._all_of(rows) for session_id, rows in found.items()}
        starts = set(ids)
        starts.update(
            capture.header.parent_session
            for capture in unstored.values()
            if capture.header.parent_session is not None
        )
        stored = await self.reader.ancestors(starts)
        known = await self.find(starts | unstored.keys())
        for rows in stored.values():
            known.update((session.session_id, session) for session in self._all_of(rows))
        return {session_id: known_ancestors(session_id, known) for session_id in ids}

    async def descendants(self, session_id: str) -> list[ChildLink]:
        """Every edge below a session, in no order."""
        within = self.seen.within
        links = await self.reader.descendants(session_id, within)
        known = {session_id, *(link.session_id for link in links)}
        pending = dict(self._only_live)
        while pending:
            below = [each for each in pending.values() if each.header.parent_session in known]
            if not below:
                break
            for capture in below:
                header = capture.header
                del pending[header.session_id]
                assert header.parent_session is not None
                more = [ChildLink(header.session_id, header.parent_session, header.created_at)]
                more += await self.reader.descendants(header.session_id, within)
                more = [link for link in more if link.session_id not in known]
                known.update(link.session_id for link in more)
                links += more
        return links

    async def rewritten(self, most: int) -> frozenset[str] | None:
        """The sessions that have shadowed events, others among them; None when there are more."""
        stored = await self.reader.rewritten(most + 1)
        return None if len(stored) > most else frozenset(stored).union(self._live.ahead)

    def _moved(self) -> frozenset[str]:
        """Sessions that may be listed elsewhere, or otherwise, than the store says.

        They are taken out of the store's answer and put in where they belong now.
        """
        return frozenset(
            session_id
            for session_id, capture in self._live.ahead.items()
            if capture.epoch is None or capture.relisted
        )

    def _all_of(self, rows: Iterable[StoredSession]) -> list[LogicalSession]:
        here, ahead, followed = self._live.ids, self._live.ahead, self._live.followed
        sessions: list[LogicalSession] = []
        for row in rows:
            session_id = row.header.session_id
            session: LogicalSession | None
            if session_id in here or session_id in ahead:
                session = self._session(session_id, row)
            else:
                session = self._as_stored(row, live=session_id in followed)
            if session is not None:
                sessions.append(session)
        return sessions

    def _session(self, session_id: str, stored: StoredSession | None) -> LogicalSession | None:
        """One session out of its two places; None when it is in neither."""
        header = self._live.header(session_id)
        if header is not None and stored is not None and header.conflicts_with(stored.header):
            if not self.seen.admits(stored.header):
                return self._session(session_id, None)
            return self._conflicting(session_id, header, stored)
        capture = self._live.ahead.get(session_id)
        if capture is None or _is_outdated(capture, stored):
            if stored is None:
                return None
            return self._as_stored(stored, live=self._is_live(session_id))
        return self._beyond(capture, stored)

    def _as_stored(self, stored: StoredSession, *, live: bool) -> LogicalSession:
        """A session of which nothing lies beyond the store."""
        return LogicalSession(
            stored.header.session_id,
            stored.header,
            live,
            True,
            stored.last_seq,
            stored.title,
            stored.prompted_at,
            stored.epoch,
            TailedLog(self._reader, stored, NO_TAIL, self._failure),
        )

    def _is_open(self, session_id: str) -> bool:
        """Whether a session can be seen without the store."""
        return session_id in self._live.ids

    def _is_live(self, session_id: str) -> bool:
        return session_id in self._live.ids or session_id in self._live.followed

    def _conflicting(
        self, session_id: str, header: SessionHeader, stored: StoredSession
    ) -> LogicalSession:
        """A live session under whose id the store holds another log: the live one is preferred."""
        capture = self._live.capture(session_id)
        conflict = SourceConflict(
            f"the live {session_id!r} and the stored one differ in "
            f"{', '.join(header.conflicts_with(stored.header))}"
        )
        tail = LiveTail.of(session_id, capture.entries)
        return LogicalSession(
            session_id,
            header,
            True,
            True,
            capture.visible_seq,
            capture.title,
            capture.prompted_at,
            capture.epoch or 0,
            TailedLog(None, stored, tail, conflict),
            conflict,
        )

    def _from_memory(self, session_id: str) -> LogicalSession:
        """A live session without a look at the store."""
        capture = self._live.ahead.get(session_id) or self._live.capture(session_id)
        stored = None
        if capture.epoch is not None:
            first = capture.entries[0].entry.seq if capture.entries else capture.visible_seq + 1
            stored = StoredSession(
                -1,
                capture.epoch,
                capture.header,
                first - 1,
                capture.title,
                capture.prompted_at,
            )
        return self._beyond(capture, stored, readable=False)

    def _beyond(
        self, capture: LiveCapture, stored: StoredSession | None, *, readable: bool = True
    ) -> LogicalSession:
        session_id = capture.header.session_id
        stored_seq = -1 if stored is None else stored.last_seq
        tail = LiveTail.of(session_id, capture.after(stored_seq))
        return LogicalSession(
            session_id,
            capture.header,
            self._is_live(session_id),
            stored is not None,
            max(capture.visible_seq, stored_seq),
            capture.title,
            capture.prompted_at,
            0 if stored is None else stored.epoch,
            TailedLog(self._reader if readable else None, stored, tail, self._failure),
        )


def _is_outdated(capture: LiveCapture, stored: StoredSession | None) -> bool:
    """Whether the store, observed later, holds all of it by now, or another log, or none."""
    if stored is None:
        return capture.epoch is not None
    return capture.epoch not in (None, stored.epoch) or stored.last_seq >= capture.visible_seq


def is_available(session: LogicalSession, wanted: Collection[Availability]) -> bool:
    """Whether a session passes an availability filter."""
    return (session.live and Availability.LIVE in wanted) or (
        session.persisted and Availability.PERSISTED in wanted
    )


def _page(
    candidates: Iterable[LogicalSession],
    selection: SessionSelection,
    order: SessionOrder,
    limit: int,
    after: SessionKey | None,
    before: SessionKey | None,
) -> list[LogicalSession]:
    """The page of a list that is held in memory."""
    low = None if after is None else order_key(after, order)
    high = None if before is None else order_key(before, order)
    keyed = [(order_key(session.key(), order), session) for session in candidates]
    keyed = [
        (key, session)
        for key, session in keyed
        if (low is None or key > low)
        and (high is None or key < high)
        and admits_session(selection, session)
    ]
    pick = heapq.nlargest if before is not None else heapq.nsmallest
    chosen = pick(limit, keyed, key=lambda pair: pair[0])
    return [session for _, session in sorted(chosen, key=lambda pair: pair[0])]


def order_key(key: SessionKey, order: SessionOrder) -> tuple[Any, ...]:
    """The place of a session in an order, as something that sorts."""
    created = (-key.created_at, key.session_id)
    if order is SessionOrder.CREATED:
        return created
    return (key.prompted_at is None, -(key.prompted_at or 0), *created)


def admits_session(selection: SessionSelection, session: LogicalSession) -> bool:
    """Whether a session passes every filter but availability."""
    header = session.header
    return (
        (selection.ids is None or session.session_id in selection.ids)
        and (selection.cwds is None or header.cwd in selection.cwds)
        and selection.created_at.holds(header.created_at)
        and (selection.parents is None or header.parent_session in selection.parents)
        and (selection.sources is None or header.source.kind in selection.sources)
        and (selection.origins is None or header.origin in selection.origins)
        and (selection.within is None or lies_within(header.cwd, selection.within))
        and all(contains_title(session.title, part) for part in selection.titles)
    )


ShowCorpus = Callable[[LogReader | None, LiveView, PersistenceFailed | None], CorpusView]
"""Makes a view of what the store and the live sessions hold; the store may not be readable."""


class _NothingLive:
    """The live half of a program that opens no sessions."""

    ids: Collection[str] = frozenset()
    followed: Collection[str] = frozenset()
    ahead: Mapping[str, LiveCapture] = {}

    def view(self) -> LiveView:
        return self

    def header(self, session_id: str) -> SessionHeader | None:  # noqa: ARG002
        return None

    def capture(self, session_id: str) -> LiveCapture:
        raise KeyError(session_id)


class Corpus:
    """The live-preferred corpus of one program.

    live: None where no session can be live, as in a command that only reads.
    """

    def __init__(self, store: LogStore, live: LiveCorpus | None = None) -> None:
        self._store = store
        self._live: LiveCorpus = live or _NothingLive()

    def observe(self, show: ShowCorpus = CorpusView) -> AbstractAsyncContextManager[CorpusView]:
        """One observation: everything read through it is of the same moment.

        When the store cannot be read, what is live can still be seen.

        show: makes the view of the two places.
        """
        return _Observing(self._store, self._live, show)


class _Observing:
    """One observation of the corpus, which lasts as long as its block."""

    __slots__ = ("_live", "_reading", "_show")

    def __init__(self, store: LogStore, live: LiveCorpus, show: ShowCorpus) -> None:
        self._reading: AbstractAsyncContextManager[LogReader] | None = store.observe()
        self._live = live
        self._show = show

    async def __aenter__(self) -> CorpusView:
        # The live half is captured first: what is committed in between is then in both parts,
        # never in neither, and a tail begins where the stored log ends.
        live = self._live.view()
        assert self._reading is not None, "entered twice"
        try:
            reader = await self._reading.__aenter__()
        except PersistenceFailed as failure:
            self._reading = None
            return self._show(None, live, failure)
        return self._show(reader, live, None)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        if self._reading is None:
            return None
        return await self._reading.__aexit__(kind, error, trace)
