"""Candidates: the sessions that could be referenced from one, while a mention is being typed.

All sessions but the one itself, filtered by a part of id, cwd or latest title in any case, ordered
by how near they are: the same cwd, then no cwd, then any other, and the newest first within each.
Covers may be seen, contents not: nothing that was said in a session is searched, read or shown
here, and a candidate is made of its header and its title alone (references.md, "Candidates").
"""

from __future__ import annotations

from dataclasses import dataclass

from sessiongraph.cover_query import CoverQuery
from sessiongraph.errors import InvalidLimit, SessionNotFound
from sessiongraph.header import EpochMillis
from sessiongraph.query import Observation
from sessiongraph.references.limits import ReferenceLimits
from sessiongraph.references.mention import ReferenceInput, mention_of


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


async def candidates(
    observation: Observation,
    limits: ReferenceLimits,
    session_id: str,
    part: str = "",
    limit: int | None = None,
) -> list[Candidate]:
    """What could be referenced from a session, nearest first.

    limit: at most ``candidate_limit`` are answered in any case.

    Raises:
        SessionNotFound: there is no such session.
        InvalidLimit: ``limit`` is below 1.
        PersistenceFailed: the store cannot be read.
    """
    most = limits.candidate_limit
    if limit is not None and limit < 1:
        raise InvalidLimit(f"at least 1 candidate must be asked for, not {limit}")
    asking = (await observation.find([session_id])).get(session_id)
    if asking is None:
        raise SessionNotFound(f"no session has the id {session_id!r}")
    cwd = asking.header.cwd
    wanted = most if limit is None else min(limit, most)
    query = CoverQuery(part, cwd, wanted, frozenset((session_id,)))
    return [
        Candidate(
            session.session_id,
            session.session_id if session.title is None else session.title,
            session.header.cwd,
            session.header.created_at,
            cwd is not None and session.header.cwd == cwd,
        )
        for session in await observation.covered(query)
    ]
