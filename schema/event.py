"""Events of a log: one interface, and a type for each shape that a payload can have.

The type of an event goes by what its payload holds, not by its name alone: an event whose payload
lacks the fields of its type is served as a :class:`GenericEvent` and loses nothing. All of them are
:class:`~sessiongraph.event.PlacedEvent` underneath, or :class:`~sessiongraph.event.EventEnvelope`
in lists of which no more is asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
import strawberry

from resolvers import messages
from resolvers.context import RequestContext
from resolvers.events import event_id
from resolvers.payload import fetch_payload, payload_at_hand
from schema.connection import Connection, Edge
from schema.declaration import (
    Info,
    always_resolves,
    asks_class,
    at_hand,
    interface,
    object_type,
    resolved,
)
from schema.enums import EventSurface, SurfaceOpKind
from schema.scalars import JSON, EpochMillis
from schema.selected import OnlyThese
from sessiongraph.event import EventEnvelope, PlacedEvent
from sessiongraph.event import SurfaceOp as LoggedOp
from sessiongraph.payloads import Shape

_TYPE_NAMES: Final = {
    Shape.GENERIC: "GenericEvent",
    Shape.USER_MESSAGE: "UserMessageEvent",
    Shape.ASSISTANT_MESSAGE: "AssistantMessageEvent",
    Shape.TOOL_CALL: "ToolCallEvent",
    Shape.TOOL_RESULT: "ToolResultEvent",
    Shape.TODO_WRITE: "TodoWriteEvent",
    Shape.TITLE: "TitleEvent",
    Shape.TURN_END: "TurnEndEvent",
}


def _op_kind(root: LoggedOp) -> SurfaceOpKind:
    return SurfaceOpKind.REPLACE if root.replaces else SurfaceOpKind.APPEND


@object_type
class SurfaceOp:
    """How a message entered the surface."""

    op: SurfaceOpKind = resolved(_op_kind)
    start: int | None = strawberry.field(description="First node replaced; null for append.")
    end: int | None = strawberry.field(description="Last node replaced; null for append.")


@interface
class SessionEvent:
    """One event of a session's log, with its placement at the moment of the observation."""

    id: strawberry.ID = resolved(
        event_id,
        "The session's uri, #, and the seq: never equal to a session's id in practice, stable "
        "across servers.",
    )
    session_id: strawberry.ID
    seq: int
    type: str
    time: EpochMillis
    surface: EventSurface
    source_event_seqs: list[int] | None = strawberry.field(
        description="Earlier events that this one cites; null when the log does not say."
    )
    surface_op: SurfaceOp | None = strawberry.field(
        description="How it entered the surface; null for log-only events."
    )
    replaced_by: int | None = strawberry.field(
        description=(
            "The event that took its place directly; null while it stands or when it never was on "
            "the surface."
        )
    )
    ignorable: bool

    @at_hand(JSON, "The payload exactly as logged, an object.")
    def data(
        self, placed: strawberry.Parent[PlacedEvent], info: Info
    ) -> msgspec.Raw | Awaitable[msgspec.Raw]:
        if placed.elided:
            return _fetched(info.context, placed)
        return msgspec.Raw(payload_at_hand(_shown(placed, info)))

    @staticmethod
    @always_resolves
    def resolve_type(value: PlacedEvent | EventEnvelope, _info: object, _interface: object) -> str:
        # Of an envelope nothing is shown that one type has and another has not.
        shape = Shape.GENERIC if isinstance(value, EventEnvelope) else messages.shape(value)
        return _TYPE_NAMES[shape]

    @staticmethod
    @asks_class
    def is_type_of(value: object, _info: object) -> bool:
        return isinstance(value, PlacedEvent | EventEnvelope)


envelopes_alone: Final = OnlyThese(
    "SessionEvent", frozenset({"id", "sessionId", "seq", "type", "time", "surface"})
)
"""Whether a list of events is asked for what their envelopes have, and nothing else."""


async def _fetched(context: RequestContext, placed: PlacedEvent) -> msgspec.Raw:
    payload = await fetch_payload(context, placed)
    context.allowance.take(len(payload))
    return msgspec.Raw(payload)


def _shown(placed: PlacedEvent, info: Info) -> PlacedEvent:
    """An event of which a field shows much: taken once more from what the operation may take."""
    info.context.allowance.take(len(placed.event.payload))
    return placed


def _showing(
    served: Any, read: Callable[[PlacedEvent], object], description: str | None = None
) -> Any:
    """A field that shows much of an event."""

    def method(self: object, placed: strawberry.Parent[PlacedEvent], info: Info) -> Any:  # noqa: ARG001
        return read(_shown(placed, info))

    return at_hand(served, description)(method)


@object_type
class ContentBlock:
    """One block of a message: text, reasoning, an image, a tool call or whatever was logged."""

    type: str
    text: str | None = strawberry.field(description="The block's text; null when it has none.")
    data: JSON = strawberry.field(description="The whole block.")


@object_type
class UserMessageEvent(SessionEvent):
    """A message to the model that is not a tool's result, written by a person or injected."""

    text: str = _showing(str, messages.text, "The text blocks, joined by newlines.")
    content: list[ContentBlock] = _showing(list[ContentBlock], messages.content)
    source_kind: str = resolved(
        messages.source_kind,
        "The declared source of the message: user, plugin, tool, session-reference, ...",
    )


@object_type
class TokenUsage:
    """Tokens of one model call; 0 where the recorder does not say."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int


@object_type
class AssistantMessageEvent(SessionEvent):
    """A message that the model wrote."""

    text: str = _showing(str, messages.text, "The text blocks, joined by newlines.")
    content: list[ContentBlock] = _showing(list[ContentBlock], messages.content)
    provider: str | None = resolved(messages.provider)
    model: str | None = resolved(messages.model)
    usage: TokenUsage | None = resolved(messages.usage, "Null when the log does not say.")
    interrupted: bool = resolved(messages.interrupted, "Whether it was cut short.")


@object_type
class ToolCallEvent(SessionEvent):
    """A tool that the model called."""

    call_id: strawberry.ID = resolved(messages.call_id)
    name: str = resolved(messages.tool_name)
    arguments: str = _showing(
        str, messages.arguments, "The argument string exactly as the model wrote it."
    )


@object_type
class ToolResultEvent(SessionEvent):
    """What a tool answered, in any spelling of any generation."""

    call_id: strawberry.ID = resolved(messages.result_call_id, "The call that it answers.")
    text: str = _showing(str, messages.text, "The text blocks, joined by newlines.")
    is_error: bool = resolved(messages.is_error)
    content: list[ContentBlock] = _showing(list[ContentBlock], messages.content)


@object_type
class TodoItem:
    """One item of a todo list."""

    content: str
    status: str


@object_type
class TodoWriteEvent(SessionEvent):
    """A todo list that was written, as a whole."""

    todos: list[TodoItem] = resolved(messages.todos)


@object_type
class TitleEvent(SessionEvent):
    """A title that the session was given."""

    title: str = resolved(messages.title)


@object_type
class TurnEndEvent(SessionEvent):
    """The end of a turn."""

    turn: int = resolved(messages.turn)
    reason: str = resolved(
        messages.turn_end_reason, "completed, error, aborted, max-tokens, interrupted, ..."
    )
    error: str | None = resolved(messages.turn_end_error)


@object_type
class GenericEvent(SessionEvent):
    """Every other event, and any event whose payload lacks the fields of its type."""


IMPLEMENTATIONS: Final = (
    UserMessageEvent,
    AssistantMessageEvent,
    ToolCallEvent,
    ToolResultEvent,
    TodoWriteEvent,
    TitleEvent,
    TurnEndEvent,
    GenericEvent,
)
"""Every type of event; most are reached through the interface only."""


@object_type
class SessionEventEdge(Edge[SessionEvent]):
    """One event of a list and its cursor."""


@object_type
class SessionEventConnection(Connection[SessionEvent, SessionEventEdge]):
    """One page of events."""
