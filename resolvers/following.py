"""Following: the streams behind subscriptions, and what each of their frames shows."""

from __future__ import annotations

from collections.abc import AsyncIterator

from resolvers.context import RequestContext
from sessiongraph.corpus import LogicalSession
from sessiongraph.corpus_changes import CorpusChange
from sessiongraph.errors import BadUserInput
from sessiongraph.event import PlacedEvent, Seq


async def follow_events(
    context: RequestContext, session_id: str, after_seq: Seq
) -> AsyncIterator[PlacedEvent]:
    """Every committed event after ``after_seq``, stored ones first.

    What was accepted before is committed first: who has just been shown an event can follow what
    comes after it.

    Raises:
        BadUserInput: ``after_seq`` is below -1.
        SessionNotFound: there is no such session.
        PersistenceFailed: the disk refused.
        LogConflict, LogReplaced: from the stream, see :meth:`Following.events`.
    """
    if after_seq < -1:
        raise BadUserInput(f"afterSeq is -1 (everything) or a seq, not {after_seq}")
    following = context.following
    await context.writing.flush(session_id)
    return following.events(session_id, after_seq)


def follow_corpus(context: RequestContext, after: str | None) -> AsyncIterator[CorpusChange]:
    """Every change of the list of sessions, from now on or after a cursor.

    Raises:
        InvalidCursor, StaleCursor: from the stream, see :meth:`CorpusChanges.follow`.
    """
    return context.changes.follow(after)


def change_cursor(context: RequestContext, change: CorpusChange) -> str:
    """The cursor after which the next change comes."""
    return context.changes.cursor(change)


async def changed_session(context: RequestContext, change: CorpusChange) -> LogicalSession | None:
    """The session that has changed, as it is now; None when it is gone."""
    return await context.loaders.sessions.load(change.session_id)
