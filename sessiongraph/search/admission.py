"""Admission: the filters of one search that only the corpus can decide, in one observation of it.

Whether a log is still the one that the index knew, what lists show of its session, where an event
stands: all of it is looked up for the hits in question, many at a time.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Final

from sessiongraph.corpus import CorpusView, LogicalSession, admits_session, is_available
from sessiongraph.event import EventSurface, PlacedEvent, Seq
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
        by_session: defaultdict[str, list[Seq]] = defaultdict(list)
        for hit in hits:
            by_session[hit.session_id].append(hit.seq)
        there: set[tuple[str, Seq]] = set()
        for session_id, seqs in by_session.items():
            behind = walk.moved_on.get(session_id)
            log = self.session(session_id).log
            replacers = await log.replacers(seqs)
            shadowed = {seq for seq, by in replacers.items() if behind is None or by < behind}
            if EventSurface.CURRENT in self._surfaces:
                there.update((session_id, seq) for seq in seqs if seq not in shadowed)
                continue
            there.update((session_id, seq) for seq in shadowed)
            if EventSurface.LOG_ONLY in self._surfaces:
                there.update(
                    (session_id, seq)
                    for seq, placed in (await log.at(seqs)).items()
                    if placed.surface is EventSurface.LOG_ONLY
                )
        return [hit for hit in hits if (hit.session_id, hit.seq) in there]
