"""The root of everything that is followed. Each frame is read at its own moment."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

import strawberry

from resolvers import following, importing, projections
from schema.declaration import Info, field, followed, object_type
from schema.enums import ChangeKind
from schema.event import SessionEvent
from schema.importing import ImportReport
from schema.projection import ProjectionFrame
from schema.scalars import Cursor
from schema.session import SessionRecord
from sessiongraph.corpus import LogicalSession
from sessiongraph.corpus_changes import CorpusChange as Change
from sessiongraph.event import PlacedEvent
from sessiongraph.import_jobs import ImportStatus
from sessiongraph.projections.views import Change as ViewChange
from sessiongraph.projections.views import Snapshot


@object_type
class CorpusChange:
    """One change of the list of sessions."""

    @field(Cursor, "Follow again after it to miss nothing.")
    def cursor(self, change: strawberry.Parent[Change], info: Info) -> str:
        return following.change_cursor(info.context, change)

    kind: ChangeKind
    session_id: strawberry.ID

    @field(SessionRecord | None, "As it is when the frame is read; null after a deletion.")
    async def session(self, change: strawberry.Parent[Change], info: Info) -> LogicalSession | None:
        return await following.changed_session(info.context, change)


@object_type
class Subscription:
    """Streams of what is committed. One that was cut off can be taken up again where it was."""

    @followed(
        AsyncGenerator[SessionEvent, None],
        "Every event after `afterSeq`, stored ones first, then live ones as they commit; no gap, "
        "no repeat. Ends with the session's deletion and when the server stops, with "
        "SESSION_LOG_REPLACED when the log is read anew; closing and resuming end nothing.",
    )
    async def session_events(
        self, info: Info, session_id: strawberry.ID, after_seq: int = -1
    ) -> AsyncIterator[PlacedEvent]:
        return await following.follow_events(info.context, session_id, after_seq)

    @followed(
        AsyncGenerator[ProjectionFrame, None],
        "The values of a session's views as they change: a snapshot first, then a frame for each "
        "view that a committed event has really changed, with the event's seq; no gap, no overlap. "
        "A slow client is given the latest value of each key and may miss those in between. Ends "
        "like sessionEvents.",
    )
    async def projections(
        self, info: Info, session_id: strawberry.ID, keys: list[str] | None = strawberry.UNSET
    ) -> AsyncIterator[Snapshot | ViewChange]:
        named = None if keys is strawberry.UNSET else keys
        return await projections.follow_views(info.context, session_id, named)

    @followed(
        AsyncGenerator[CorpusChange, None],
        "Changes of the session list, from now or after a cursor.",
    )
    async def corpus(
        self, info: Info, after: Cursor | None = strawberry.UNSET
    ) -> AsyncIterator[Change]:
        return following.follow_corpus(info.context, None if after is strawberry.UNSET else after)

    @followed(
        AsyncGenerator[ImportReport, None],
        "How far an import is, now and whenever that changes; ends when it is done.",
    )
    async def import_progress(self, info: Info, id: strawberry.ID) -> AsyncIterator[ImportStatus]:
        return importing.follow_import(info.context, id)
