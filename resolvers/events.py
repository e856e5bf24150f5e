"""Events of one session: pages of them, windows, documents, the surface, traces."""

from __future__ import annotations

from dataclasses import dataclass

from resolvers.context import RequestContext
from resolvers.sessions import uri_of
from sessiongraph.corpus import LogicalSession
from sessiongraph.event import EventEnvelope, PlacedEvent, Seq
from sessiongraph.filters import EventSelection
from sessiongraph.header import SessionHeader
from sessiongraph.paging import Page, PageRequest
from sessiongraph.trace import EventDocument, EventTrace, EventWindow


@dataclass(frozen=True, slots=True)
class SessionWindow(EventWindow):
    """An event with its neighbours, and the session they are of."""

    session: SessionHeader


@dataclass(frozen=True, slots=True)
class SessionTrace(EventTrace):
    """The provenance of one event, and the session it is of."""

    session: SessionHeader


async def list_events(
    context: RequestContext,
    session: LogicalSession,
    selection: EventSelection,
    request: PageRequest,
) -> Page[PlacedEvent]:
    """A page of a session's events, ascending by seq.

    Raises:
        InvalidLimit, InvalidCursor, StaleCursor: see there.
    """
    return await (await context.observation()).list_events(session, selection, request)


async def list_envelopes(
    context: RequestContext,
    session: LogicalSession,
    selection: EventSelection,
    request: PageRequest,
) -> Page[EventEnvelope]:
    """The page of :func:`list_events`, of whose events nothing else is shown.

    Raises:
        InvalidLimit, InvalidCursor, StaleCursor: see there.
    """
    return await (await context.observation()).list_envelopes(session, selection, request)


async def list_documents(
    context: RequestContext,
    session: LogicalSession,
    selection: EventSelection,
    request: PageRequest,
) -> Page[EventDocument]:
    """A page of a session's semantic documents, ascending by seq.

    Raises:
        InvalidLimit, InvalidCursor, StaleCursor: see there.
    """
    return await (await context.observation()).list_documents(session, selection, request)


async def read_window(
    context: RequestContext, session: LogicalSession, seq: Seq, before: int, after: int
) -> SessionWindow:
    """An event and its raw neighbours.

    Raises:
        InvalidWindow: the neighbours are outside 0 to ``read_window_max``.
        EventNotFound: there is no such seq.
    """
    observation = await context.observation()
    window = await observation.event_window(session, seq, before, after)
    return SessionWindow(window.target, window.events, session.header)


async def trace_event(context: RequestContext, session: LogicalSession, seq: Seq) -> SessionTrace:
    """Where one event comes from and what became of it.

    Raises:
        EventNotFound: there is no such seq.
    """
    traced = await (await context.observation()).trace(session, seq)
    return SessionTrace(
        traced.target,
        traced.replacement_chain,
        traced.replaced_event_seqs,
        traced.source_event_seqs,
        traced.derived_event_seqs,
        session.header,
    )


async def list_surface(
    context: RequestContext, session: LogicalSession, request: PageRequest
) -> Page[PlacedEvent]:
    """A page of what the model sees, in model order.

    Raises:
        InvalidLimit, InvalidCursor, StaleCursor: see there.
    """
    return await (await context.observation()).list_surface(session, request)


def surface_of(root: LogicalSession) -> LogicalSession:
    """The surface of a session is read from the session itself, in the same observation."""
    return root


def captured_through_seq(root: LogicalSession) -> Seq | None:
    """The last seq that an observation of the log saw; None when the log is empty."""
    return None if root.last_seq < 0 else root.last_seq


def event_id(root: PlacedEvent | EventEnvelope) -> str:
    """The id of an event: its session's URI, ``#``, and its seq."""
    return f"{uri_of(root.session_id)}#{root.seq}"
