"""References between sessions: candidates, prepared messages, citations."""

from __future__ import annotations

import strawberry
from strawberry.types.lazy_type import LazyType

from resolvers import references
from resolvers.references import Posted
from resolvers.writing import session_after
from schema.connection import Connection, Edge
from schema.declaration import Info, field, input_type, object_type
from schema.enums import Durability
from schema.scalars import EpochMillis
from schema.writing import require_text
from sessiongraph.citations import SessionCitation as Citation
from sessiongraph.corpus import LogicalSession
from sessiongraph.event import PlacedEvent
from sessiongraph.references.mention import ReferenceInput as Reference


@object_type
class ReferenceCandidate:
    """One session that can be referenced. Found by id, cwd and title alone, never by what was
    said.
    """

    session_id: strawberry.ID
    label: str = strawberry.field(description="Its latest title, or its id when it has none.")
    cwd: str | None
    created_at: EpochMillis
    same_cwd: bool = strawberry.field(description="It has the cwd of the asking session.")
    mention: str = strawberry.field(description="Canonical mention: @[label](uri).")


@object_type
class ReferenceStats:
    """What was carried of one referenced session, and what was not."""

    session_id: strawberry.ID
    label: str
    captured_through_seq: int | None = strawberry.field(
        description="The last event that the snapshot saw; null when the log was empty."
    )
    compacted: bool = strawberry.field(
        description="A compaction checkpoint stands for an earlier part of the conversation."
    )
    original_messages: int
    retained_messages: int
    omitted_messages: int
    omitted_bytes: int = strawberry.field(
        description="UTF-8 bytes of dropped messages and of what was cut out of kept ones."
    )
    truncated: bool


@object_type
class ReferenceContext:
    """The one message that carries all snapshots of a message, marked as untrusted."""

    content: str
    size: int = strawberry.field(name="bytes", description="UTF-8 bytes of the content.")
    references: list[ReferenceStats]


@object_type
class PreparedMessage:
    """A readable message and at most one aggregated, untrusted context message for all its
    references.
    """

    text: str = strawberry.field(description="The message with every mention as `@label`.")
    context: ReferenceContext | None = strawberry.field(
        name="additionalContext", description="Null when nothing is referenced."
    )


@object_type
class SessionCitation:
    """One session whose snapshot was injected into another."""

    session_id: strawberry.ID = strawberry.field(description="The citing session.")
    seq: int = strawberry.field(description="The event that carries the snapshot.")
    target_id: strawberry.ID

    @field(
        LazyType("SessionRecord", "schema.session") | None,
        "Null when the target is not in the corpus.",
    )
    async def target(
        self, citation: strawberry.Parent[Citation], info: Info
    ) -> LogicalSession | None:
        return await references.cited_session(info.context, citation)

    label: str
    captured_through_seq: int | None = strawberry.field(
        description="The last event of the target that the snapshot saw; null for an empty log."
    )


@object_type
class CitationEdge(Edge[SessionCitation]):
    """One citation and its cursor."""


@object_type
class CitationConnection(Connection[SessionCitation, CitationEdge]):
    """One page of citations."""


@input_type
class ReferenceInput:
    """A session to reference, beside the mentions in the text; the label is decoration."""

    session_id: strawberry.ID
    label: str | None


@input_type
class PostMessageInput:
    """A message by a person, with mentions in its text, and references beside it."""

    session_id: strawberry.ID
    text: str
    references: list[ReferenceInput] | None = strawberry.field(default_factory=list)
    expected_seq: int | None = strawberry.field(
        description="The seq that the message must get; makes a retry safe."
    )
    durability: Durability | None = Durability.DURABLE


@object_type
class PostMessagePayload:
    """The readable message event, and the event that holds the injected context when there are
    references.
    """

    @field(LazyType("SessionRecord", "schema.session"), "As it is after the append.")
    async def session(self, posted: strawberry.Parent[Posted], info: Info) -> LogicalSession:
        return await session_after(info.context, posted)

    @field(LazyType("UserMessageEvent", "schema.event"), "The words of the person.")
    async def message(self, posted: strawberry.Parent[Posted], info: Info) -> PlacedEvent:
        return await references.posted_message(info.context, posted)

    @field(
        LazyType("UserMessageEvent", "schema.event") | None,
        "The snapshots; null when nothing is referenced.",
    )
    async def context(self, posted: strawberry.Parent[Posted], info: Info) -> PlacedEvent | None:
        return await references.posted_context(info.context, posted)


def references_of(name: str, inputs: list[ReferenceInput] | None) -> list[Reference]:
    """References as the domain takes them.

    Raises:
        BadUserInput: a text cannot be kept unchanged.
    """
    found = []
    for place, each in enumerate(inputs or ()):
        label = None if each.label is strawberry.UNSET else each.label
        require_text(f"{name}[{place}].sessionId", each.session_id)
        require_text(f"{name}[{place}].label", label)
        found.append(Reference(each.session_id, label))
    return found
