"""References: what could be cited, what citing would carry, posting it, and who cites whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from resolvers.context import RequestContext
from resolvers.writing import Appended, appended_events, naming_no_file
from sessiongraph.citations import SessionCitation
from sessiongraph.corpus import LogicalSession
from sessiongraph.errors import SessionNotFound
from sessiongraph.event import PlacedEvent, Seq
from sessiongraph.live_sessions import Durability
from sessiongraph.paging import Page, PageRequest
from sessiongraph.references import candidates
from sessiongraph.references.candidates import Candidate
from sessiongraph.references.mention import ReferenceInput
from sessiongraph.references.posting import events_to_post, posted_before
from sessiongraph.references.prepare import PreparedMessage


@dataclass(frozen=True, slots=True)
class Posted(Appended):
    """A message that was appended, with its context behind it when it references anything."""


async def reference_candidates(
    context: RequestContext, session_id: str, part: str, limit: int | None
) -> list[Candidate]:
    """What could be referenced from a session, nearest first.

    Raises:
        SessionNotFound, InvalidLimit: see :func:`sessiongraph.references.candidates.candidates`.
    """
    observation = await context.observation()
    limits = context.references.limits
    return await candidates.candidates(observation, limits, session_id, part, limit)


async def prepare_message(
    context: RequestContext, session_id: str, text: str, references: Sequence[ReferenceInput]
) -> PreparedMessage:
    """What sending a text would log; changes nothing.

    Raises:
        SessionNotFound: there is no session to send it from.
        InvalidReference, SelfReference, TooManyReferences, ReferenceReadFailed,
            ReferenceBudgetExceeded: see :meth:`ReferenceService.prepare`.
    """
    if await context.loaders.sessions.load(session_id) is None:
        raise SessionNotFound(f"no session has the id {session_id!r}")
    return await context.references.prepare(session_id, text, references, context.seen)


async def post_message(
    context: RequestContext,
    session_id: str,
    text: str,
    references: Sequence[ReferenceInput],
    expected_seq: Seq | None,
    durability: Durability,
) -> Posted:
    """Append a message and what it carries, both or neither.

    With the same ``expected_seq`` and words again, what was posted the first time is found, though
    its sources may say something else by now.

    Raises:
        InvalidReference, SelfReference, TooManyReferences, ReferenceReadFailed,
            ReferenceBudgetExceeded: see :meth:`ReferenceService.prepare`.
        SessionNotFound, NotLive, LogReadOnly, LogConflict, InvalidEvent, PersistenceFailed: see
            :meth:`SessionWriting.append`.
    """
    await context.renew()
    await context.require_seen(session_id)
    if expected_seq is not None:
        session = await context.loaders.sessions.load(session_id)
        before = session and await posted_before(session, expected_seq, text, references)
        if before:
            return Posted(session_id, before[0].seq, before[-1].seq)
        await context.renew()
    prepared = await context.references.prepare(session_id, text, references, context.seen)
    events = events_to_post(session_id, prepared, expected_seq)
    with naming_no_file(context, session_id):
        appended = await context.writing.append(session_id, events, expected_seq, durability)
    return Posted(session_id, appended[0].seq, appended[-1].seq)


async def posted_message(context: RequestContext, posted: Posted) -> PlacedEvent:
    """The readable message."""
    return (await appended_events(context, posted))[0]


async def posted_context(context: RequestContext, posted: Posted) -> PlacedEvent | None:
    """The context behind it; None when nothing is referenced."""
    if posted.last_seq == posted.first_seq:
        return None
    return (await appended_events(context, posted))[-1]


async def list_references(
    context: RequestContext, session: LogicalSession, request: PageRequest
) -> Page[SessionCitation]:
    """A page of the sessions that a session cites.

    Raises:
        InvalidLimit, InvalidCursor, StaleCursor: see there.
    """
    return await (await context.observation()).list_citations(session, request)


async def list_referenced_by(
    context: RequestContext, session: LogicalSession, request: PageRequest
) -> Page[SessionCitation]:
    """A page of the citations of a session by others.

    Raises:
        InvalidLimit, InvalidCursor, StaleCursor: see there.
    """
    return await (await context.observation()).list_citing(session, request)


async def cited_session(
    context: RequestContext, citation: SessionCitation
) -> LogicalSession | None:
    """The cited session, None when it is not in the corpus."""
    return await context.loaders.sessions.load(citation.target_id)
