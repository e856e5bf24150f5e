"""The root of everything that writes."""

from __future__ import annotations

import strawberry

from resolvers import importing, references, writing
from resolvers.references import Posted
from resolvers.writing import Appended, Deleted, Written
from schema.declaration import Info, field, object_type
from schema.enums import Durability
from schema.event import SessionEvent
from schema.importing import ImportInput, ImportReport
from schema.reference import PostMessageInput, PostMessagePayload, references_of
from schema.session import SessionRecord
from schema.writing import (
    AppendEventsInput,
    CreateSessionInput,
    ForkSessionInput,
    require_text,
)
from sessiongraph.corpus import LogicalSession
from sessiongraph.event import PlacedEvent
from sessiongraph.import_jobs import ImportStatus


@object_type
class SessionPayload:
    """The session after the write."""

    @field(SessionRecord, "As it is after the write.")
    async def session(self, written: strawberry.Parent[Written], info: Info) -> LogicalSession:
        return await writing.session_after(info.context, written)


@object_type
class AppendEventsPayload:
    """The session after the append, and the events with the seqs that they got."""

    @field(SessionRecord, "As it is after the append.")
    async def session(self, appended: strawberry.Parent[Appended], info: Info) -> LogicalSession:
        return await writing.session_after(info.context, appended)

    @field(list[SessionEvent], "The appended events, ascending by seq; read only when asked for.")
    async def events(self, appended: strawberry.Parent[Appended], info: Info) -> list[PlacedEvent]:
        return await writing.appended_events(info.context, appended)


@object_type
class DeleteSessionPayload:
    """The id that is free now."""

    deleted_id: strawberry.ID


@object_type
class Mutation:
    """Fields run one after the other; each can fail alone and leaves null then. What a payload
    shows is read after its write. A call whose answer was lost can be sent again as it was, given
    an id to create or fork with, or an expectedSeq to append at.
    """

    @field(
        SessionPayload | None,
        "The same again (same id and fields, nothing appended) returns the session; otherwise a "
        "taken id is SESSION_LOG_CONFLICT.",
    )
    async def create_session(self, info: Info, input: CreateSessionInput) -> Written:
        durability = input.durability or Durability.DURABLE
        return await writing.create_session(info.context, input.new_session(), durability)

    @field(
        SessionPayload | None,
        "Makes a stored session live again; returns it unchanged when it is live. Detaches one "
        "that was read from a file.",
    )
    async def resume_session(self, info: Info, id: strawberry.ID) -> Written:
        return await writing.resume_session(info.context, id)

    @field(
        AppendEventsPayload | None,
        "All or nothing. The same expectedSeq and events again answer as the first time.",
    )
    async def append_events(self, info: Info, input: AppendEventsInput) -> Appended:
        return await writing.append_events(
            info.context,
            input.session_id,
            input.new_events(),
            input.expected_seq,
            input.durability or Durability.DURABLE,
        )

    @field(
        SessionPayload | None,
        "A live child of a session, made of its events up to and including the boundary.",
    )
    async def fork_session(self, info: Info, input: ForkSessionInput) -> Written:
        require_text("input.id", input.id)
        return await writing.fork_session(info.context, input.source_id, input.boundary, input.id)

    @field(
        PostMessagePayload | None,
        "Appends a message and, right behind it in the same append, what its references carry. The "
        "same expectedSeq and words again answer as the first time.",
    )
    async def post_message(self, info: Info, input: PostMessageInput) -> Posted:
        require_text("input.text", input.text)
        return await references.post_message(
            info.context,
            input.session_id,
            input.text,
            references_of("input.references", input.references),
            input.expected_seq,
            input.durability or Durability.DURABLE,
        )

    @field(SessionPayload | None, "Appends a title, also to a session that is not live.")
    async def rename_session(self, info: Info, id: strawberry.ID, title: str) -> Written:
        return await writing.rename_session(info.context, id, title)

    @field(SessionPayload | None, "Returns after everything appended so far is on disk.")
    async def flush_session(self, info: Info, id: strawberry.ID) -> Written:
        return await writing.flush_session(info.context, id)

    @field(
        SessionPayload | None,
        "Live to cold: drains the log, checkpoints the projections, leaves the live set.",
    )
    async def close_session(self, info: Info, id: strawberry.ID) -> Written:
        return await writing.close_session(info.context, id)

    @field(
        DeleteSessionPayload | None,
        "Removes the log, its checkpoints and whatever else was derived from it for good; deleting "
        "what is gone is no error.",
    )
    async def delete_session(self, info: Info, id: strawberry.ID) -> Deleted:
        return await writing.delete_session(info.context, id)

    @field(
        ImportReport | None,
        "Reads recorders' files on the server's own disk (admin only). Answers at once; progress "
        "follows on importProgress.",
    )
    async def import_recordings(self, info: Info, input: ImportInput) -> ImportStatus:
        return importing.begin_import(
            info.context,
            input.paths,
            dry_run=bool(input.dry_run),
            restore_deleted=bool(input.restore_deleted),
        )
