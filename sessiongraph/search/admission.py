"""Admission: the filters of one search that only the corpus can decide, in one observation of it.

Whether a log is still the one that the index knew, what lists show of its session, where an event
stands: all of it is looked up for the hits in question, many at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Final

from sessiongraph.corpus import CorpusView, LogicalSession, admits_session, is_available
from sessiongraph.event import EventSurface, PlacedEvent
from sessiongraph.filters import ALL_SESSIONS, EventSelection, SessionSelection
from sessiongraph.live_tail import TailedLog
from sessiongraph.search.copies import Copies
from sessiongraph.search.ports import Hit
from sessiongraph.search.walks import Walk

_LARGE_PAYLOADS: Final = 256 << 10
"""Octets that are unpacked, about, before others get their turn on the event loop."""

_MOVING: Final = frozenset({EventSurface.CURRENT, EventSurface.SHADOWED})


class Admission:
    """The filters of one search that only the corpus can decide, in one observation of it."""

    def __init__(
        self,
        view: CorpusView,
        sessions: SessionSelection,
        events: EventSelection,
        include_inherited: bool,
    ) -> None:
        self._view = view
        self._sessions = sessions
        self._admits_all = sessions is ALL_SESSIONS
        self._include_inherited = include_inherited
        self._surfaces = events.surfaces
        self._known: dict[str, LogicalSession | None] = {}
        self._admitted: dict[str, LogicalSession] = {}
        self._copies = Copies(self._known, self._know)
        self.depends_on_placement = (
            events.surfaces is not None and len(events.surfaces & _MOVING) == 1
        )

    @property
    def looks_at_events(self) -> bool:
        """Whether one event of a session may pass where its best one does not."""
        return self.depends_on_placement or not self._include_inherited

    def session(self, session_id: str) -> LogicalSession:
        """The session of a hit that was read."""
        session = self._known[session_id]
        assert session is not None
        return session

    async def passing(self, hits: Sequence[Hit], walk: Walk) -> list[Hit]:
        """Those that pass, in order."""
        await self._know({hit.session_id for hit in hits})
        passing = self._still_there(hits)
        if not self._include_inherited:
            copies = await self._copies.among(passing)
            passing = [hit for hit in passing if hit not in copies]
        if self.depends_on_placement:
            passing = await self._placed(passing, walk)
        return passing

    async def read(self, hits: Sequence[Hit]) -> list[PlacedEvent]:
        """The events of some hits that are still there, in order."""
        await self._know({hit.session_id for hit in hits})
        there = self._still_there(hits)
        found: list[PlacedEvent] = []
        octets = 0
        logs = [(self.session(hit.session_id).log, hit.seq) for hit in there]
        for placed in await TailedLog.each_at(logs):
            if placed is None:
                continue
            found.append(placed)
            octets += len(placed.event.payload)
            if octets > _LARGE_PAYLOADS:
                await asyncio.sleep(0)
                octets = 0
        return found

    async def _know(self, ids: Collection[str]) -> None:
        unknown = [session_id for session_id in ids if session_id not in self._known]
        if unknown:
            found = await self._view.find(unknown)
            for session_id in unknown:
                session = self._known[session_id] = found.get(session_id)
                if session is not None and self._admits(session):
                    self._admitted[session_id] = session

    def _admits(self, session: LogicalSession) -> bool:
        if session.conflict is not None or self._admits_all:
            return session.conflict is None
        wanted = self._sessions.availability
        return admits_session(self._sessions, session) and (
            wanted is None or is_available(session, wanted)
        )

    def _still_there(self, hits: Sequence[Hit]) -> list[Hit]:
        """Those whose log is the one that the index knew, in this observation, and admitted."""
        admitted = self._admitted
        return [
            hit
            for hit in hits
            if (session := admitted.get(hit.session_id)) is not None
            and (session.epoch == hit.epoch or session.epoch == 0)
            and hit.seq <= session.last_seq
        ]

    async def _placed(self, hits: Sequence[Hit], walk: Walk) -> list[Hit]:
        """Those that stood where they are wanted when the walk began."""
        assert self._surfaces is not None
        replacers = await TailedLog.each_replacer(
            [(self.session(hit.session_id).log, hit.seq) for hit in hits]
        )
        shadowed: set[Hit] = set()
        standing: set[Hit] = set()
        for hit, by in zip(hits, replacers, strict=True):
            behind = walk.moved_on.get(hit.session_id)
            is_shadowed = by is not None and (behind is None or by < behind)
            (shadowed if is_shadowed else standing).add(hit)
        if EventSurface.CURRENT in self._surfaces:
            return [hit for hit in hits if hit in standing]
        if EventSurface.LOG_ONLY in self._surfaces:
            shadowed |= await self._log_only(standing)
        return [hit for hit in hits if hit in shadowed]

    async def _log_only(self, hits: Collection[Hit]) -> set[Hit]:
        """Those that never were on a surface."""
        wanted = list(hits)
        logs = [(self.session(hit.session_id).log, hit.seq) for hit in wanted]
        return {
            hit
            for hit, placed in zip(wanted, await TailedLog.each_at(logs), strict=True)
            if placed is not None and placed.surface is EventSurface.LOG_ONLY
        }
