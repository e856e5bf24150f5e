"""Projections: a cut of the views of one session, and their changes as they are committed."""

from __future__ import annotations

from collections.abc import Sequence

from resolvers.context import RequestContext
from resolvers.view_loading import WantedViews
from sessiongraph.corpus import LogicalSession
from sessiongraph.projections.pushing import Keys, ViewStream
from sessiongraph.projections.views import Freshness, Snapshot


async def read_views(
    context: RequestContext,
    session: LogicalSession,
    keys: Sequence[str] | None,
    freshness: Freshness,
) -> Snapshot | None:
    """One consistent cut of the views of a session, or of those that are named.

    Raises:
        SourceConflict: the live session and the stored log are two.
        SessionNotFound: it was deleted meanwhile.
        CorruptSession, PersistenceFailed: its log cannot be read.
    """
    if session.conflict is not None:
        raise session.conflict
    wanted = WantedViews(session, _named(keys), freshness)
    return await context.loaders.views.load(wanted)


async def follow_views(
    context: RequestContext, session_id: str, keys: Sequence[str] | None
) -> ViewStream:
    """A snapshot, then every change of a view by a committed event.

    What was accepted before is committed first: nobody is shown less than they were told.

    Raises:
        SessionNotFound: there is no such session.
        PersistenceFailed: the disk refused.
        LogReplaced, CorruptSession: from the stream, see :meth:`Projections.subscribe`.
    """
    projections = context.projections
    await context.require_seen(session_id)
    await context.writing.flush(session_id)
    return projections.subscribe(session_id, _named(keys))


async def checkpoint_closed(context: RequestContext, session_id: str) -> None:
    """Have the states of a session that has gone cold on disk; softly, a cold read heals it."""
    projections = context.services.projections
    if projections is not None:
        await projections.save(session_id)


def _named(keys: Sequence[str] | None) -> Keys | None:
    return None if keys is None else Keys(keys)
