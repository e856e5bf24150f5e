"""Copies: which hits of a fork are of what it copied and its parent still says.

A fork begins with events of its parent. Such an event is a *copy* while the parent, as far as it is
in the corpus, has the original, and text is never left out that nothing else has:

* a parent that is younger than its fork only took the name of what was copied;
* of sessions of one age that name each other as parents, in a circle, the one with the least id has
  the original (a session that names itself is such a circle);
* where a fork keeps what it copies under the same number, the two events are compared. Forks made
  here do, and those of dsh in one format generation (they may rename what their payloads refer to,
  but say the same at the same time). Claude Code and Codex repeat records under other numbers or
  times, and their ids are not taken twice; there that the parent has so many events is believed.

Who the parent of a parent was is not known once that is gone: its forks' copies count as their own,
though a still older session may have the same text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Final

from sessiongraph.corpus import LogicalSession
from sessiongraph.event import PlacedEvent, Seq
from sessiongraph.header import SourceKind
from sessiongraph.live_tail import TailedLog
from sessiongraph.search.ports import Hit
from sessiongraph.text import semantic_text

_COMPARED_TOGETHER: Final = 32
"""Copies that are read, with what they may be of, before others get their turn."""

_LONGEST_CIRCLE: Final = 64
"""Sessions of one age that are looked through for a circle; in a longer one each that follows one
of a lesser id gives way to it, so that the least still does not."""


class Copies:
    """Tells copies from what sessions say themselves, in one observation of the corpus.

    known: what was looked up of sessions by their ids, those of all hits included.
    know: looks up more of them.
    """

    def __init__(
        self,
        known: Mapping[str, LogicalSession | None],
        know: Callable[[Collection[str]], Awaitable[None]],
    ) -> None:
        self._known = known
        self._know = know

    async def among(self, hits: Sequence[Hit]) -> set[Hit]:
        """Those that are copies."""
        inherited = {
            hit: parent
            for hit in hits
            if (parent := self._inherited_from(hit.session_id, hit.seq)) is not None
        }
        await self._know(set(inherited.values()))
        copies = {hit for hit, parent in inherited.items() if self._may_have(parent, hit)}
        copies -= await self._first_of_circles({hit: inherited[hit] for hit in copies})
        compared = [hit for hit in copies if self._keeps_numbers(hit)]
        return copies - set(compared) | await self._equal(compared)

    def _session(self, session_id: str) -> LogicalSession:
        session = self._known[session_id]
        assert session is not None
        return session

    def _inherited_from(self, session_id: str, seq: Seq) -> str | None:
        """The parent whose event a session has under a number; None where it has its own."""
        session = self._known[session_id]
        if session is None or seq >= (session.header.seed_length or 0):
            return None
        return session.header.parent_session

    def _may_have(self, parent_id: str, hit: Hit) -> bool:
        """Whether a parent is there, is old enough and has an event of this number."""
        parent, fork = self._known[parent_id], self._session(hit.session_id)
        return (
            parent is not None
            and hit.seq <= parent.last_seq
            and parent.header.created_at <= fork.header.created_at
        )

    async def _first_of_circles(self, parents: Mapping[Hit, str]) -> set[Hit]:
        """Those whose ancestry leads back to them, and whose id is the least on the way."""
        firsts: set[Hit] = set()
        ways = {hit: [hit.session_id, parent] for hit, parent in parents.items()}
        for _ in range(_LONGEST_CIRCLE):
            further: dict[Hit, list[str]] = {}
            for hit, way in ways.items():
                at = way[-1]
                if at == hit.session_id:
                    if at == min(way):
                        firsts.add(hit)
                elif at not in way[:-1] and self._is_of_one_age(hit.session_id, at):
                    above = self._inherited_from(at, hit.seq)
                    if above is not None:
                        further[hit] = [*way, above]
            if not further:
                return firsts
            ways = further
            await self._know({way[-1] for way in ways.values()})
            await asyncio.sleep(0)
        return firsts | {hit for hit in ways if hit.session_id < parents[hit]}

    def _is_of_one_age(self, session_id: str, other_id: str) -> bool:
        other, age = self._known[other_id], self._session(session_id).header.created_at
        return other is not None and other.header.created_at == age

    def _keeps_numbers(self, hit: Hit) -> bool:
        """Whether the fork of a hit has what it copied under the numbers that it had."""
        fork = self._session(hit.session_id)
        kind = fork.header.source.kind
        if kind is SourceKind.DSH:
            parent = self._session(fork.header.parent_session or "")
            return fork.header.version == parent.header.version
        return kind is SourceKind.API

    async def _equal(self, hits: Sequence[Hit]) -> set[Hit]:
        """Those whose parents say the same under the same number."""
        equal: set[Hit] = set()
        for first in range(0, len(hits), _COMPARED_TOGETHER):
            some = hits[first : first + _COMPARED_TOGETHER]
            forks = [self._session(hit.session_id) for hit in some]
            parents = [self._session(fork.header.parent_session or "") for fork in forks]
            copies = await _events(forks, some)
            originals = await _events(parents, some)
            equal.update(
                hit
                for hit, copy, original in zip(some, copies, originals, strict=True)
                if copy is not None and original is not None and _say_the_same(copy, original)
            )
            await asyncio.sleep(0)
        return equal


async def _events(
    sessions: Sequence[LogicalSession], hits: Sequence[Hit]
) -> list[PlacedEvent | None]:
    """What each session has under the number of each hit."""
    wanted = [(each.log, hit.seq) for each, hit in zip(sessions, hits, strict=True)]
    return await TailedLog.each_at(wanted)


def _say_the_same(one: PlacedEvent, other: PlacedEvent) -> bool:
    """Whether two events are alike in all that a search looks at."""
    if (one.type, one.time) != (other.type, other.time):
        return False
    if one.event.payload == other.event.payload:
        return True
    try:
        return semantic_text(one.event) == semantic_text(other.event)
    except ValueError:
        return False
