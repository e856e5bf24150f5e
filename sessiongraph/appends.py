"""Appending to a live session, once, however often it is asked for.

An append that names the seq it must get can be sent again when its answer was lost: where the log
has moved on, and holds just these events at just that place, they are the answer. Anything else
there is a conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from sessiongraph.corpus import Corpus
from sessiongraph.errors import LogConflict
from sessiongraph.event import Seq, SessionEvent
from sessiongraph.header import EpochMillis
from sessiongraph.live_session import LiveSession
from sessiongraph.live_sessions import Durability, LiveSessions
from sessiongraph.new_event import NewEvent

_RETRY_PAGE: Final = 500


class Appends:
    """Appends to live sessions.

    now: the clock, in ms since the epoch.
    """

    def __init__(self, corpus: Corpus, live: LiveSessions, now: Callable[[], EpochMillis]) -> None:
        self._corpus = corpus
        self._live = live
        self._now = now

    async def append(
        self,
        session: LiveSession,
        events: Sequence[NewEvent],
        expected_seq: Seq | None,
        durability: Durability,
    ) -> list[SessionEvent]:
        """Append all events or none.

        Raises:
            LogConflict: the log is not at ``expected_seq``, and these events are not what is there.
            NotLive: the session was closed meanwhile.
            InvalidEvent: an event breaks a rule.
            PersistenceFailed: the disk refused; the outcome is open until the same append is sent
                again.
        """
        replaced = await self._replaced_results(session, events)
        if expected_seq is not None and expected_seq != session.planned_seq + 1:
            return await self._found_again(session, events, expected_seq, durability)
        return await self._live.append(session, events, durability, self._now(), replaced)

    async def _found_again(
        self,
        session: LiveSession,
        events: Sequence[NewEvent],
        expected_seq: Seq,
        durability: Durability,
    ) -> list[SessionEvent]:
        """The events of an append that was made before, its answer lost.

        Raises:
            LogConflict: something else is there.
        """
        last = expected_seq + len(events) - 1
        conflict = LogConflict(
            f"{session.session_id!r} is at seq {session.planned_seq + 1}, not at {expected_seq}"
        )
        if expected_seq < 0 or last > session.planned_seq:
            raise conflict
        in_memory = {event.seq: event for batch in session.batches for event in batch.events()}
        wanted = range(expected_seq, last + 1)
        found = {seq: in_memory[seq] for seq in wanted if seq in in_memory}
        rest = [seq for seq in wanted if seq not in found]
        for start in range(0, len(rest), _RETRY_PAGE):
            found.update(await self._stored_events(session.session_id, rest[start:][:_RETRY_PAGE]))
        ordered = [found[seq] for seq in wanted if seq in found]
        pairs = zip(events, ordered, strict=False)
        if len(ordered) != len(events) or not all(
            new.says_the_same_as(event) for new, event in pairs
        ):
            raise conflict
        if durability is Durability.DURABLE:
            await self._live.committed(session, last)
        else:
            self._live.promise(session, last)
        return ordered

    async def _stored_events(
        self, session_id: str, seqs: Collection[Seq]
    ) -> dict[Seq, SessionEvent]:
        async with self._corpus.observe() as view:
            session = (await view.find([session_id])).get(session_id)
            if session is None:
                return {}
            placed = await session.log.at(seqs)
            payloads = await session.log.payloads(seqs)
        return {seq: each.event.with_payload(payloads[seq]) for seq, each in placed.items()}

    async def _replaced_results(
        self, session: LiveSession, events: Sequence[NewEvent]
    ) -> Mapping[Seq, Mapping[str, Any]]:
        """Payloads of tool results that the events replace, which the surface compares."""
        wanted = {
            event.surface_op.start
            for event in events
            if event.type == "tool/result"
            and event.surface_op
            and event.surface_op.start is not None
        }
        seqs = [seq for seq in wanted if 0 <= seq <= session.planned_seq]
        if not seqs:
            return {}
        in_memory = {event.seq: event.data for batch in session.batches for event in batch.events()}
        found: dict[Seq, Mapping[str, Any]] = {
            seq: in_memory[seq] for seq in seqs if seq in in_memory
        }
        rest = [seq for seq in seqs if seq not in found]
        if rest:
            stored = await self._stored_events(session.session_id, rest)
            found.update((seq, event.data) for seq, event in stored.items())
        return found
