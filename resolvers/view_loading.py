"""What the fields of one operation ask of projections, asked of them together.

A CURRENT value reflects everything that was acknowledged: what a live session has accepted is
written first. It may be of a later moment than the rest of its operation, and says so by its seq. A
STORED one is what the last checkpoints say, of all sessions of an operation in one statement.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from sessiongraph.corpus import LogicalSession
from sessiongraph.errors import PersistenceFailed, SessionGraphError
from sessiongraph.ports import StoredSession
from sessiongraph.projections.pushing import Keys
from sessiongraph.projections.service import Projections
from sessiongraph.projections.views import Freshness, Snapshot
from sessiongraph.writing import SessionWriting

T = TypeVar("T")

_NOT_ON_DISK: Final = 0
"""The log and the epoch of a session of which nothing is stored."""


@dataclass(frozen=True, slots=True)
class WantedViews:
    """What one field asks for; sessions are told apart by their identity in one observation."""

    session: LogicalSession
    keys: Keys | None
    freshness: Freshness


@dataclass(frozen=True, slots=True)
class ViewLoading:
    """Loads what is wanted, the like together.

    projections: None in a program that serves none. writing: None where no session is live.
    """

    projections: Projections | None
    writing: SessionWriting | None

    async def load(
        self, wanted: Sequence[WantedViews]
    ) -> Mapping[WantedViews, Snapshot | SessionGraphError]:
        """A snapshot for each question, or why there is none.

        Raises:
            PersistenceFailed: the store cannot be read, or no projections are served.
        """
        alike: defaultdict[tuple[Keys | None, Freshness], list[WantedViews]] = defaultdict(list)
        for each in wanted:
            alike[each.keys, each.freshness].append(each)
        answers: dict[WantedViews, Snapshot | SessionGraphError] = {}
        for (keys, freshness), questions in alike.items():
            sessions = {each.session.session_id: each.session for each in questions}
            found: Mapping[str, Snapshot | SessionGraphError]
            if freshness is Freshness.STORED:
                stored = [_stored(session) for session in sessions.values()]
                found = await required(self.projections).stored(stored, keys)
            else:
                found = await self._current(sessions.values(), keys)
            answers.update({each: found[each.session.session_id] for each in questions})
        return answers

    async def _current(
        self, sessions: Collection[LogicalSession], keys: Keys | None
    ) -> Mapping[str, Snapshot | SessionGraphError]:
        live = [session.session_id for session in sessions if session.live]
        written = zip(live, await asyncio.gather(*map(self._flush, live)), strict=True)
        refused = {session_id: error for session_id, error in written if error is not None}
        rest = [each.session_id for each in sessions if each.session_id not in refused]
        return {**await required(self.projections).snapshots(rest, keys), **refused}

    async def _flush(self, session_id: str) -> SessionGraphError | None:
        """Have what a live session has accepted written; answers why it could not be."""
        try:
            await required(self.writing).flush(session_id)
        except SessionGraphError as error:
            return error
        return None


def _stored(session: LogicalSession) -> StoredSession:
    """What the store holds of a session; of one that was only accepted, an empty log."""
    stored = session.log.stored
    if stored is not None:
        return stored
    return StoredSession(_NOT_ON_DISK, _NOT_ON_DISK, session.header, -1, None, None)


def required(service: T | None) -> T:
    """A service that an operation cannot do without.

    Raises:
        PersistenceFailed: this program does not have it.
    """
    if service is None:
        raise PersistenceFailed("this program only reads")
    return service
