"""Writing: what each mutation does, and what it shows of the session afterwards.

Root fields of a mutation run one after the other. Each begins by giving back what those before it
have read, so that nothing is held open while the disk is waited for. What a client then asks of the
payload is read from an observation that begins after the write; what nobody asks for is not read.

Once begun, a write goes on when its client leaves. An append needs no protection for that: it is
in the log, or it is not, before anybody waits.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from resolvers.context import RequestContext
from resolvers.projections import checkpoint_closed
from sessiongraph.corpus import LogicalSession
from sessiongraph.errors import (
    BadUserInput,
    EventNotFound,
    Forbidden,
    LogReadOnly,
    SessionNotFound,
)
from sessiongraph.event import PlacedEvent, Seq
from sessiongraph.filters import ALL_EVENTS
from sessiongraph.live_sessions import Durability
from sessiongraph.new_event import NewEvent
from sessiongraph.new_session import NewSession
from sessiongraph.ports import WindowRequest
from sessiongraph.writing import SessionWriting

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Written:
    """A session that was written to, not read yet."""

    session_id: str


@dataclass(frozen=True, slots=True)
class Appended(Written):
    """A session that events were appended to: those from ``first_seq`` through ``last_seq``."""

    first_seq: Seq
    last_seq: Seq


@dataclass(frozen=True, slots=True)
class Deleted:
    """A session that is gone."""

    deleted_id: str


async def create_session(
    context: RequestContext, new: NewSession, durability: Durability
) -> Written:
    """Make a session live.

    Raises:
        Forbidden: the caller could not see it afterwards.
        SessionNotFound: a confined caller does not see the parent; a repeated call would tell
            whether it was guessed.
        BadUserInput, LogConflict, PersistenceFailed: see :meth:`SessionWriting.create`.
    """
    if not context.seen.admits_directory(new.cwd):
        raise Forbidden("this token makes sessions in its own directories only: give such a cwd")
    if new.parent_session is not None:
        await context.require_seen(new.parent_session)
    return Written(await _write(context, lambda writing: writing.create(new, durability)))


async def resume_session(context: RequestContext, session_id: str) -> Written:
    """Make a stored session live again.

    Raises:
        SessionNotFound, PersistenceFailed: see :meth:`SessionWriting.resume`.
    """
    await context.require_seen(session_id)
    await _write(context, lambda writing: writing.resume(session_id))
    return Written(session_id)


async def append_events(
    context: RequestContext,
    session_id: str,
    events: Sequence[NewEvent],
    expected_seq: Seq | None,
    durability: Durability,
) -> Appended:
    """Append all events or none.

    Raises:
        SessionNotFound, NotLive, LogReadOnly, LogConflict, InvalidEvent, PersistenceFailed: see
            :meth:`SessionWriting.append`.
    """
    await context.renew()
    await context.require_seen(session_id)
    with naming_no_file(context, session_id):
        appended = await context.writing.append(session_id, events, expected_seq, durability)
    return Appended(session_id, appended[0].seq, appended[-1].seq)


async def fork_session(
    context: RequestContext, source_id: str, boundary: Seq | None, session_id: str | None
) -> Written:
    """Make a live child of a session.

    Raises:
        BadUserInput: the id is empty.
        SessionNotFound, EventNotFound, OpenTurn, LogConflict, PersistenceFailed: see
            :meth:`SessionWriting.fork`.
    """
    if session_id == "":
        raise BadUserInput("a session id cannot be empty")
    await context.require_seen(source_id)
    seen = context.seen
    return Written(
        await _write(context, lambda writing: writing.fork(source_id, boundary, session_id, seen))
    )


async def rename_session(context: RequestContext, session_id: str, title: str) -> Written:
    """Give a session a title.

    Raises:
        SessionNotFound, LogReadOnly, BadUserInput, PersistenceFailed: see
            :meth:`SessionWriting.rename`.
    """
    await context.require_seen(session_id)
    with naming_no_file(context, session_id):
        await _write(context, lambda writing: writing.rename(session_id, title))
    return Written(session_id)


async def flush_session(context: RequestContext, session_id: str) -> Written:
    """Wait until everything appended so far is on disk.

    Raises:
        SessionNotFound, PersistenceFailed: see :meth:`SessionWriting.flush`.
    """
    await context.renew()
    await context.require_seen(session_id)
    await context.writing.flush(session_id)
    return Written(session_id)


async def close_session(context: RequestContext, session_id: str) -> Written:
    """Let a session go cold, its projections written down.

    Raises:
        SessionNotFound, PersistenceFailed: see :meth:`SessionWriting.close`.
    """
    await context.require_seen(session_id)
    await _write(context, lambda writing: writing.close(session_id))
    await checkpoint_closed(context, session_id)
    return Written(session_id)


async def delete_session(context: RequestContext, session_id: str) -> Deleted:
    """Remove a session for good; one that does not exist for the caller is gone already.

    Raises:
        PersistenceFailed: see :meth:`SessionWriting.delete`.
    """
    try:
        await context.require_seen(session_id)
    except SessionNotFound:
        return Deleted(session_id)
    await _write(context, lambda writing: writing.delete(session_id))
    return Deleted(session_id)


@contextmanager
def naming_no_file(context: RequestContext, session_id: str) -> Iterator[None]:
    """Refuse to write to a recorder's session as always, to confined callers without its file."""
    try:
        yield
    except LogReadOnly:
        if not context.seen.is_confined:
            raise
        raise LogReadOnly(
            f"{session_id!r} was read from a recorder's file: fork it, or resume it to detach it"
        ) from None


async def session_after(context: RequestContext, written: Written) -> LogicalSession:
    """The session as it is after the write.

    Raises:
        SessionNotFound: it was deleted meanwhile.
    """
    session = await context.loaders.sessions.load(written.session_id)
    if session is None:
        raise SessionNotFound(f"{written.session_id!r} was deleted meanwhile")
    return session


async def appended_events(context: RequestContext, appended: Appended) -> list[PlacedEvent]:
    """The events of an append, with the places that they have now.

    Raises:
        SessionNotFound, EventNotFound: the log was deleted or replaced meanwhile.
    """
    session = await session_after(context, appended)
    count = appended.last_seq - appended.first_seq + 1
    window = WindowRequest(count, after=appended.first_seq - 1, before=appended.last_seq + 1)
    events = await session.log.events(ALL_EVENTS, window)
    if len(events) != count:
        raise EventNotFound(f"the log of {appended.session_id!r} was replaced meanwhile")
    return events


async def _write(
    context: RequestContext, work: Callable[[SessionWriting], Coroutine[Any, Any, T]]
) -> T:
    """The result of a write that is not broken off."""
    await context.renew()
    return await context.services.writes.run(work(context.writing))
