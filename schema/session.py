"""Sessions: the record of one, its header, and what can be read from its log."""

from __future__ import annotations

import strawberry
from strawberry.types.lazy_type import LazyType

from resolvers.events import (
    SessionTrace,
    SessionWindow,
    captured_through_seq,
    list_documents,
    list_envelopes,
    list_events,
    list_surface,
    read_window,
    surface_of,
    trace_event,
)
from resolvers.lineage import read_lineage
from resolvers.projections import read_views
from resolvers.references import list_referenced_by, list_references
from resolvers.sessions import session_uri
from schema.connection import Connection, Edge, page_request
from schema.declaration import Info, asks_class, field, object_type, resolved
from schema.enums import EventSurface, Freshness, SourceKind
from schema.event import SessionEvent, SessionEventConnection, envelopes_alone
from schema.inputs import EventFilter, event_selection
from schema.projection import ProjectionSnapshot
from schema.reference import CitationConnection
from schema.scalars import Cursor, EpochMillis
from sessiongraph.citations import SessionCitation
from sessiongraph.corpus import LogicalSession
from sessiongraph.event import EventEnvelope, PlacedEvent
from sessiongraph.families import Lineage
from sessiongraph.paging import Page
from sessiongraph.projections.views import Snapshot
from sessiongraph.trace import EventDocument as Document


@object_type
class SessionSource:
    """Where a session was read from."""

    kind: SourceKind
    path: str | None = strawberry.field(
        description=(
            "The recorder's file on the machine that imported it; null for a client that is "
            "confined to directories."
        )
    )
    imported_at: EpochMillis | None = strawberry.field(
        description="When the log became visible here."
    )
    notes: list[str] = strawberry.field(
        description=(
            "What the reader found worth saying: unofficial format, opaque events, a torn tail. A "
            "client that is confined to directories is not told what names a file."
        )
    )


@object_type
class SessionHeader:
    """What is true of a session from its first moment on."""

    session_id: strawberry.ID
    version: int = strawberry.field(description="The recorder's format generation.")
    created_at: EpochMillis
    cwd: str | None = strawberry.field(description="The working directory as recorded.")
    parent_session: strawberry.ID | None = strawberry.field(
        description=(
            "Empty, which no id is, when there is a parent that a client confined to directories "
            "cannot see."
        )
    )
    seed_length: int | None = strawberry.field(
        description="How many leading events were inherited from the parent."
    )
    origin: str | None
    delegation_depth: int
    agent_preset: str | None
    source: SessionSource


@object_type
class EventWindow:
    """One event with its neighbours in the raw log, clipped at the ends of the log."""

    session: SessionHeader
    target: SessionEvent
    events: list[SessionEvent] = strawberry.field(
        description="The target and its neighbours, ascending by seq."
    )
    start_seq: int
    end_seq: int


def _session_id(root: Document) -> str:
    return root.placed.session_id


def _seq(root: Document) -> int:
    return root.placed.seq


def _type(root: Document) -> str:
    return root.placed.type


def _time(root: Document) -> int:
    return root.placed.time


def _surface(root: Document) -> EventSurface:
    return root.placed.surface


@object_type
class EventDocument:
    """One event as its semantic text: what a text filter and a search look at."""

    session_id: strawberry.ID = resolved(_session_id)
    seq: int = resolved(_seq)
    type: str = resolved(_type)
    time: EpochMillis = resolved(_time)
    surface: EventSurface = resolved(_surface)
    text: str


@object_type
class EventDocumentEdge(Edge[EventDocument]):
    """One document and its cursor."""


@object_type
class EventDocumentConnection(Connection[EventDocument, EventDocumentEdge]):
    """One page of documents."""


@object_type
class SurfaceSnapshot:
    """The current model surface, from one observation of the log."""

    header: SessionHeader = strawberry.field(name="session")
    captured_through_seq: int | None = resolved(
        captured_through_seq,
        "The last event that the observation saw; null for an empty log.",
    )

    @field(
        SessionEventConnection | None,
        "In model order; neither `first` nor `last`: the first 100.",
    )
    async def events(
        self,
        session: strawberry.Parent[LogicalSession],
        info: Info,
        first: int | None = strawberry.UNSET,
        after: Cursor | None = strawberry.UNSET,
        last: int | None = strawberry.UNSET,
        before: Cursor | None = strawberry.UNSET,
    ) -> Page[PlacedEvent]:
        request = page_request(first, after, last, before)
        return await list_surface(info.context, session, request)


@object_type
class EventTrace:
    """The provenance of one event and what became of it."""

    session: SessionHeader
    target: SessionEvent
    replaced_by: int | None = strawberry.field(
        description="The event that took the target's place directly, null while it stands."
    )
    replacement_chain: list[int] = strawberry.field(
        description="From the direct replacer to the one that stands now."
    )
    replaced_event_seqs: list[int] = strawberry.field(
        description="What the target itself removed when it replaced, in model order."
    )
    source_event_seqs: list[int] = strawberry.field(
        description="The events that the target cites, in recorded order."
    )
    derived_event_seqs: list[int] = strawberry.field(
        description="Later events that cite the target, in log order."
    )


@object_type
class SessionRecord:
    """One logical session. The header is the live one when the session is live, else the stored
    one. What must be read from the log is nullable: one session that cannot be read answers null
    with an error and leaves the others in the same response alone.
    """

    session_id: strawberry.ID = strawberry.field(name="id")
    uri: str = resolved(
        session_uri,
        "Canonical reference URI: dsh-session: followed by base64url of the JSON string of the id.",
    )
    header: SessionHeader
    live: bool = strawberry.field(description="Open in this server, which then owns its log.")
    persisted: bool = strawberry.field(description="In the log store.")
    last_seq: int = strawberry.field(description="Highest seq of the log, -1 when it is empty.")
    title: str | None = strawberry.field(
        description="Latest title of the log, null when it has none."
    )

    @field(
        SessionEventConnection | None,
        "Ascending by seq. `last` and `before` page from the newest end; neither `first` nor "
        "`last`: the first 100.",
    )
    async def events(
        self,
        session: strawberry.Parent[LogicalSession],
        info: Info,
        filters: list[EventFilter] | None = strawberry.UNSET,
        first: int | None = strawberry.UNSET,
        after: Cursor | None = strawberry.UNSET,
        last: int | None = strawberry.UNSET,
        before: Cursor | None = strawberry.UNSET,
    ) -> Page[PlacedEvent] | Page[EventEnvelope]:
        request, selection = page_request(first, after, last, before), event_selection(filters)
        if envelopes_alone.are_asked_for(info):
            return await list_envelopes(info.context, session, selection, request)
        return await list_events(info.context, session, selection, request)

    @field(EventWindow | None, "One event with its raw-log neighbours.")
    async def event(
        self,
        session: strawberry.Parent[LogicalSession],
        info: Info,
        seq: int,
        before: int | None = 0,
        after: int | None = 0,
    ) -> SessionWindow:
        return await read_window(info.context, session, seq, before or 0, after or 0)

    @field(
        EventDocumentConnection | None,
        "Semantic documents that pass every filter, ascending by seq; the text filter scans, "
        "it needs no index.",
    )
    async def documents(
        self,
        session: strawberry.Parent[LogicalSession],
        info: Info,
        filters: list[EventFilter] | None = strawberry.UNSET,
        first: int | None = 100,
        after: Cursor | None = strawberry.UNSET,
    ) -> Page[Document]:
        request = page_request(first, after)
        return await list_documents(info.context, session, event_selection(filters), request)

    surface: SurfaceSnapshot | None = resolved(
        surface_of, "What the model sees now, in model order."
    )

    @field(EventTrace | None, "Where one event comes from and what became of it.")
    async def trace(
        self, session: strawberry.Parent[LogicalSession], info: Info, seq: int
    ) -> SessionTrace:
        return await trace_event(info.context, session, seq)

    @field(
        LazyType("SessionLineage", "schema.lineage") | None,
        "Its ancestors and descendants; an error when the ancestry runs in a circle.",
    )
    async def lineage(
        self, session: strawberry.Parent[LogicalSession], info: Info
    ) -> Lineage | None:
        return await read_lineage(info.context, session)

    @field(
        ProjectionSnapshot | None,
        "One consistent cut of every view, or of the named keys. STORED serves the last checkpoint "
        "without reading the log; a list of sessions costs one statement then.",
    )
    async def projections(
        self,
        session: strawberry.Parent[LogicalSession],
        info: Info,
        keys: list[str] | None = strawberry.UNSET,
        freshness: Freshness | None = Freshness.CURRENT,
    ) -> Snapshot | None:
        named = None if keys is strawberry.UNSET else keys
        return await read_views(info.context, session, named, freshness or Freshness.CURRENT)

    @field(CitationConnection | None, "Sessions whose snapshots were injected into this one.")
    async def references(
        self,
        session: strawberry.Parent[LogicalSession],
        info: Info,
        first: int | None = 100,
        after: Cursor | None = strawberry.UNSET,
    ) -> Page[SessionCitation]:
        return await list_references(info.context, session, page_request(first, after))

    @field(
        CitationConnection | None,
        "Sessions that this one was injected into: in the order in which they came to this server, "
        "and within one by event. A session that came early may cite this one late: what a walk "
        "through pages has passed by then it does not show; to see it, begin anew.",
    )
    async def referenced_by(
        self,
        session: strawberry.Parent[LogicalSession],
        info: Info,
        first: int | None = 100,
        after: Cursor | None = strawberry.UNSET,
    ) -> Page[SessionCitation]:
        return await list_referenced_by(info.context, session, page_request(first, after))

    @staticmethod
    @asks_class
    def is_type_of(value: object, _info: object) -> bool:
        return isinstance(value, LogicalSession)


@object_type
class SessionEdge(Edge[SessionRecord]):
    """One session of a list and its cursor."""


@object_type
class SessionConnection(Connection[SessionRecord, SessionEdge]):
    """One page of sessions."""
