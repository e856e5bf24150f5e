"""Sessions: one by its id, lists of them, several observed at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from resolvers.context import RequestContext
from sessiongraph.corpus import LogicalSession
from sessiongraph.filters import SessionSelection
from sessiongraph.paging import Page, PageRequest
from sessiongraph.ports import SessionOrder
from sessiongraph.query import FailedObservation
from sessiongraph.references.uri import encode_uri


@lru_cache(maxsize=1024)
def uri_of(session_id: str) -> str:
    """The canonical URI of a session id; remembered, since every event of a page needs it."""
    return encode_uri(session_id)


def session_uri(root: LogicalSession) -> str:
    """The canonical URI of a session."""
    return uri_of(root.session_id)


async def read_session(
    context: RequestContext, session_id: str, *, alone: bool = False
) -> LogicalSession | None:
    """The session with this id, None when it is neither live nor stored.

    alone: nothing else asks for a session at the same time, so that there is no batch to wait for.
    """
    if alone:
        return (await (await context.observation()).find([session_id])).get(session_id)
    return await context.loaders.sessions.load(session_id)


async def list_sessions(
    context: RequestContext,
    selection: SessionSelection,
    order: SessionOrder,
    request: PageRequest,
) -> Page[LogicalSession]:
    """A page of the corpus.

    Raises:
        InvalidLimit, InvalidCursor, StaleCursor: see there.
    """
    observation = await context.observation()
    return await observation.list_sessions(selection, order, request)


async def observe_sessions(
    context: RequestContext, ids: Sequence[str]
) -> list[LogicalSession | FailedObservation]:
    """One result per distinct id, in order of first occurrence."""
    return await (await context.observation()).observe_each(ids)


def failure_code(root: FailedObservation) -> str:
    """The public code of what went wrong with one observed session."""
    return root.error.code


def failure_message(root: FailedObservation) -> str:
    """What went wrong with one observed session, in a sentence."""
    return root.error.message
