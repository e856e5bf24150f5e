"""Preparing a message: its readable text, and what it carries of the sessions that it references.

References are resolved once for each message: mentions in the text first, then those named beside
it, each session once, in order of first mention. Then all sources are read at the same time, each
from one observation, so that a snapshot is of one moment even while its source is appended to and
compacted. A message gets everything it references or is refused (references.md, "Prepare").

A source is read from its newest end, in pages, off the event loop, in memory bounded by the
budget. How much there is in all must be told exactly; the store keeps these totals, so the walk
ends as soon as nothing older can be kept. Only a session with events that are not on disk yet is
walked to the beginning of its surface.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from sessiongraph.corpus import LogicalSession
from sessiongraph.errors import SessionGraphError
from sessiongraph.event import PlacedEvent, Seq
from sessiongraph.query import FailedObservation, SessionQuery
from sessiongraph.references.conversation import messages_of, said_in
from sessiongraph.references.errors import (
    InvalidReference,
    ReferenceBudgetExceeded,
    ReferenceCancelled,
    ReferenceReadFailed,
    SelfReference,
    TooManyReferences,
)
from sessiongraph.references.limits import ReferenceLimits
from sessiongraph.references.mention import MessageText, ReferenceInput, parse_text
from sessiongraph.references.rendering import context_text, opening
from sessiongraph.references.retention import Retained, Retention
from sessiongraph.visibility import EVERYWHERE, Visibility

_SHORT_TEXT: Final = 10_000
"""Characters up to which a message is parsed where it is asked for."""


@dataclass(frozen=True, slots=True)
class ReferenceStats:
    """What was carried of one referenced session, and what was not.

    captured_through_seq: the last event that the snapshot saw, None when the log was empty.
    compacted: a checkpoint was on the surface.
    original_messages: before anything was dropped. omitted_bytes: UTF-8 bytes of the texts of
        dropped messages, and of what was cut out of kept ones.
    """

    session_id: str
    label: str
    captured_through_seq: Seq | None
    compacted: bool
    original_messages: int
    retained_messages: int
    omitted_messages: int
    omitted_bytes: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class ReferenceContext:
    """The message that carries the snapshots, in order of first mention.

    size: UTF-8 bytes of the content.
    """

    content: str
    size: int
    references: tuple[ReferenceStats, ...]


@dataclass(frozen=True, slots=True)
class PreparedMessage:
    """What a message comes to: its readable text, and a context when it references anything."""

    text: str
    context: ReferenceContext | None = None


class ReferenceService:
    """Prepares messages."""

    def __init__(self, query: SessionQuery, limits: ReferenceLimits | None = None) -> None:
        self._query = query
        self.limits = limits or ReferenceLimits()

    async def prepare(
        self,
        session_id: str,
        text: str,
        references: Iterable[ReferenceInput] = (),
        seen: Visibility = EVERYWHERE,
    ) -> PreparedMessage:
        """What sending ``text`` from a session would log; changes nothing.

        seen: the sessions that exist for whoever sends it.

        Raises:
            InvalidReference: something that means to be a reference is not spelled as one.
            SelfReference, TooManyReferences: the references cannot be carried by this message.
            ReferenceReadFailed: a source does not exist or cannot be read.
            ReferenceBudgetExceeded: a snapshot has no room for its fixed fields.
            ReferenceCancelled: the task was cancelled while it read.
        """
        try:
            parsed = await _parsed(text)
            wanted = self._distinct(session_id, (*parsed.references, *references))
            if not wanted:
                return PreparedMessage(parsed.text)
            results = await asyncio.gather(
                *(self._snapshot(each, seen) for each in wanted), return_exceptions=True
            )
        except asyncio.CancelledError as error:
            raise ReferenceCancelled("the message was withdrawn before it was prepared") from error
        snapshots: list[tuple[ReferenceStats, bytes]] = []
        for result in results:
            if isinstance(result, BaseException):
                raise result  # of several failures that of the first mention
            snapshots.append(result)
        content = context_text(octets for _, octets in snapshots)
        stats = tuple(each for each, _ in snapshots)
        context = ReferenceContext(content, len(content.encode("utf-8")), stats)
        return PreparedMessage(parsed.text, context)

    def _distinct(
        self, session_id: str, references: Iterable[ReferenceInput]
    ) -> list[ReferenceInput]:
        """Each referenced session once, under the label of its first mention."""
        distinct: dict[str, ReferenceInput] = {}
        for reference in references:
            if not isinstance(reference.session_id, str):
                raise InvalidReference("a reference names a session by its id")
            if reference.session_id == session_id:
                raise SelfReference(f"{session_id!r} cannot reference itself")
            distinct.setdefault(reference.session_id, reference)
        most = self.limits.max_references
        if len(distinct) > most:
            raise TooManyReferences(f"a message references at most {most} sessions")
        return list(distinct.values())

    async def _snapshot(
        self, reference: ReferenceInput, seen: Visibility
    ) -> tuple[ReferenceStats, bytes]:
        """The JSON object of one source, as of one observation, and its accounting."""
        source_id = reference.session_id
        try:
            async with self._query.observe(seen) as observation:
                (found,) = await observation.observe_each([source_id])
                if isinstance(found, FailedObservation):
                    raise found.error
                through = found.last_seq if found.last_seq >= 0 else None
                head = opening(source_id, reference.shown, found.header.cwd, through)
                retained = await self._retained(found, head)
        except ReferenceBudgetExceeded:
            raise
        except SessionGraphError as error:
            raise ReferenceReadFailed(f"{source_id!r} cannot be read: {error.message}") from error
        stats = ReferenceStats(
            source_id,
            reference.shown,
            through,
            retained.compacted,
            retained.original_messages,
            retained.retained_messages,
            retained.omitted_messages,
            retained.omitted_bytes,
            retained.truncated,
        )
        return stats, retained.octets

    async def _retained(self, session: LogicalSession, head: bytes) -> Retained:
        retention = Retention(head, self.limits.max_reference_bytes)
        checkpoints: Collection[Seq] = ()
        totals = await session.log.conversation_totals()
        if totals is not None:
            checkpoints = frozenset(totals.checkpoints)
            found = await session.log.at(checkpoints)
            await asyncio.to_thread(_add, retention, found.values())
        async with aclosing(messages_of(session.log)) as pages:
            async for page in pages:
                rest = [placed for placed in page if placed.seq not in checkpoints]
                await asyncio.to_thread(_add, retention, rest)
                if totals is not None and retention.settled_before(page[-1].seq):
                    break
        return await asyncio.to_thread(retention.finish, totals)


async def _parsed(text: str) -> MessageText:
    """A parsed message; a long one is parsed off the event loop."""
    if len(text) <= _SHORT_TEXT:
        return parse_text(text)
    return await asyncio.to_thread(parse_text, text)


def _add(retention: Retention, events: Iterable[PlacedEvent]) -> None:
    for placed in events:
        said = said_in(placed)
        if said is not None:
            retention.add(said)
