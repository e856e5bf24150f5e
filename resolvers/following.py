"""Following: the streams behind subscriptions, and what each of their frames shows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace

from resolvers.context import RequestContext
from sessiongraph.corpus import LogicalSession
from sessiongraph.corpus_changes import ChangeKind, CorpusChange
from sessiongraph.errors import BadUserInput
from sessiongraph.event import PlacedEvent, Seq
from sessiongraph.query import SessionQuery
from sessiongraph.visibility import Visibility


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
    await context.require_seen(session_id)
    await context.writing.flush(session_id)
    return following.events(session_id, after_seq)


def follow_corpus(context: RequestContext, after: str | None) -> AsyncIterator[CorpusChange]:
    """Every change of the list of sessions, from now on or after a cursor.

    Raises:
        InvalidCursor, StaleCursor: from the stream, see :meth:`CorpusChanges.follow`.
    """
    changes = context.changes.follow(after, context.seen.scope())
    if context.seen.is_confined:
        is_of_this_life = context.changes.is_of_this_life
        return _seen_changes(changes, is_of_this_life, context.services.query, context.seen)
    return changes


async def _seen_changes(
    changes: AsyncIterator[CorpusChange],
    is_of_this_life: Callable[[CorpusChange], bool],
    query: SessionQuery,
    seen: Visibility,
) -> AsyncIterator[CorpusChange]:
    """The changes of sessions that exist for the caller, as they look to the caller.

    Where a session is now decides, and for what is gone where it was. A log that was read anew may
    have come from elsewhere, or have gone there; what was told of an id before it was deleted or
    read anew may be of a session elsewhere.
    """
    async with aclosing(changes):  # type: ignore[type-var]
        async for change in changes:
            was_there = seen.admits_directory(change.removed_cwd)
            if change.kind is ChangeKind.DELETED:
                if was_there:
                    yield change
                continue
            async with query.observe(seen) as observation:
                is_there = bool(await observation.find([change.session_id]))
            if change.kind is not ChangeKind.REPLACED:
                if is_there and is_of_this_life(change):
                    yield change
            elif is_there:
                yield change if was_there else replace(change, kind=ChangeKind.IMPORTED)
            elif was_there:
                yield replace(change, kind=ChangeKind.DELETED)


def change_cursor(context: RequestContext, change: CorpusChange) -> str:
    """The cursor after which the next change comes."""
    return context.changes.cursor(change, context.seen.scope())


async def changed_session(context: RequestContext, change: CorpusChange) -> LogicalSession | None:
    """The session that has changed, as it is now; None when it is gone."""
    return await context.loaders.sessions.load(change.session_id)
