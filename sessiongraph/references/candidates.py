"""Candidates: the sessions that could be referenced from one, while a mention is being typed.

All sessions but the one itself, filtered by a part of id, cwd or latest title in any case, ordered
by how near they are: the same cwd, then no cwd, then any other, and the newest first within each.
Covers may be seen, contents not: nothing that was said in a session is searched, read or shown
here, and a candidate is made of its header and its title alone (references.md, "Candidates").
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from sessiongraph.corpus import LogicalSession
from sessiongraph.errors import InvalidLimit, SessionNotFound
from sessiongraph.filters import ALL_SESSIONS, SessionSelection
from sessiongraph.header import EpochMillis
from sessiongraph.paging import PageRequest
from sessiongraph.ports import SessionOrder
from sessiongraph.query import Observation
from sessiongraph.references.limits import ReferenceLimits
from sessiongraph.references.mention import ReferenceInput, mention_of


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """What is asked of an index.

    asking_id, cwd: the session that the mention is typed in, and its working directory.
    part: what id, cwd or title must contain, in any case; empty admits every session.
    limit: the most to answer, at least 1.
    """

    asking_id: str
    cwd: str | None
    part: str
    limit: int

    def admits(self, session_id: str, cwd: str | None, title: str | None) -> bool:
        """Whether a session is a candidate."""
        if session_id == self.asking_id:
            return False
        part = self.part.casefold()
        covers = (session_id, cwd or "", title or "")
        return not part or any(part in cover.casefold() for cover in covers)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A session that could be referenced.

    label: its latest title, or its id.
    same_cwd: it has a working directory, and it is that of the asking session.
    """

    session_id: str
    label: str
    cwd: str | None
    created_at: EpochMillis
    same_cwd: bool

    @property
    def mention(self) -> str:
        """The canonical mention to insert."""
        return mention_of(ReferenceInput(self.session_id, self.label))


class CandidateIndex(Protocol):
    """Finds candidates within one observation of the corpus."""

    async def find(
        self, observation: Observation, wanted: CandidateQuery
    ) -> Sequence[LogicalSession]:
        """The first ``wanted.limit`` sessions that :meth:`CandidateQuery.admits`, in order."""
        ...


class ListedCandidates:
    """Candidates out of the list of sessions: right on every corpus, without an index of their own.

    What is near is listed first, so frequent parts are found soon; a part that occurs nowhere
    costs a look at every session.
    """

    async def find(
        self, observation: Observation, wanted: CandidateQuery
    ) -> Sequence[LogicalSession]:
        """See :class:`CandidateIndex`."""
        found: list[LogicalSession] = []
        near: dict[str | None, None] = dict.fromkeys((wanted.cwd, None))
        groups = [ALL_SESSIONS.narrowed(cwds=[cwd]) for cwd in near]
        for selection in (*groups, ALL_SESSIONS):
            async with aclosing(_listed(observation, selection)) as sessions:
                async for session in sessions:
                    cwd = session.header.cwd
                    if selection is ALL_SESSIONS and cwd in near:
                        continue
                    if wanted.admits(session.session_id, cwd, session.title):
                        found.append(session)
                        if len(found) == wanted.limit:
                            return found
        return found


class ReferenceCandidates:
    """Offers candidates."""

    def __init__(
        self, index: CandidateIndex | None = None, limits: ReferenceLimits | None = None
    ) -> None:
        self._index: CandidateIndex = index or ListedCandidates()
        self.limits = limits or ReferenceLimits()

    async def offer(
        self, observation: Observation, session_id: str, part: str = "", limit: int | None = None
    ) -> list[Candidate]:
        """What could be referenced from a session, nearest first.

        limit: at most ``candidate_limit`` are answered in any case.

        Raises:
            SessionNotFound: there is no such session.
            InvalidLimit: ``limit`` is below 1.
            PersistenceFailed: the store cannot be read.
        """
        most = self.limits.candidate_limit
        if limit is not None and limit < 1:
            raise InvalidLimit(f"at least 1 candidate must be asked for, not {limit}")
        asking = (await observation.find([session_id])).get(session_id)
        if asking is None:
            raise SessionNotFound(f"no session has the id {session_id!r}")
        cwd = asking.header.cwd
        wanted = CandidateQuery(session_id, cwd, part, most if limit is None else min(limit, most))
        return [
            Candidate(
                session.session_id,
                session.session_id if session.title is None else session.title,
                session.header.cwd,
                session.header.created_at,
                cwd is not None and session.header.cwd == cwd,
            )
            for session in await self._index.find(observation, wanted)
        ]


async def _listed(
    observation: Observation, selection: SessionSelection
) -> AsyncGenerator[LogicalSession, None]:
    """Every session that passes a filter, newest first, read page by page."""
    after: str | None = None
    while True:
        request = PageRequest(first=observation.limits.page_max, after=after)
        page = await observation.list_sessions(selection, SessionOrder.CREATED, request)
        for session in page.items:
            yield session
        if not page.has_next_page:
            return
        after = page.end_cursor
