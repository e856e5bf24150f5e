"""What an event shows of its payload, once its shape is known.

Which shape it has decides which of the other functions may be asked: those named in a section are
for events of that shape only.
"""

from __future__ import annotations

from dataclasses import dataclass

from resolvers.payload import data_of
from sessiongraph import payloads
from sessiongraph.errors import CorruptSession
from sessiongraph.event import PlacedEvent
from sessiongraph.payloads import SHAPED_TYPES, Shape, Usage


@dataclass(frozen=True, slots=True)
class ContentBlock:
    """One block of a message.

    text: of a block that has one, None for images, tool calls and the like.
    """

    type: str
    text: str | None
    data: payloads.Block


@dataclass(frozen=True, slots=True)
class TodoItem:
    """One item of a todo list."""

    content: str
    status: str


def shape(placed: PlacedEvent) -> Shape:
    """What the payload of an event turned out to be; generic when it cannot be decoded.

    So a damaged payload fails where it is asked for, and the rest of its event and all others of
    a list are shown.
    """
    if placed.type not in SHAPED_TYPES:
        return Shape.GENERIC
    try:
        return payloads.shape_of(placed.type, data_of(placed))
    except CorruptSession:
        return Shape.GENERIC


# Messages: user, assistant, tool result.


def content(root: PlacedEvent) -> list[ContentBlock]:
    """The content blocks of a message."""
    return [
        ContentBlock(block["type"], text if isinstance(text, str) else None, block)
        for block in payloads.content_of(root.type, data_of(root))
        for text in (block.get("text"),)
    ]


def text(root: PlacedEvent) -> str:
    """The text blocks of a message, joined by newlines."""
    return payloads.text_of(payloads.content_of(root.type, data_of(root)))


def source_kind(root: PlacedEvent) -> str:
    """Who a user message is from."""
    return payloads.message_source_kind(data_of(root))


def provider(root: PlacedEvent) -> str | None:
    """The provider of the model that wrote an assistant message."""
    return payloads.model_of(data_of(root))[0]


def model(root: PlacedEvent) -> str | None:
    """The model that wrote an assistant message."""
    return payloads.model_of(data_of(root))[1]


def usage(root: PlacedEvent) -> Usage | None:
    """The tokens that an assistant message cost, as reported."""
    return payloads.usage_of(data_of(root))


def interrupted(root: PlacedEvent) -> bool:
    """Whether an assistant message was cut short."""
    return payloads.was_interrupted(data_of(root))


def result_call_id(root: PlacedEvent) -> str | None:
    """The call that a tool result answers."""
    return payloads.call_id_of(data_of(root))


def is_error(root: PlacedEvent) -> bool:
    """Whether a tool result reports a failure."""
    return payloads.result_is_error(data_of(root))


# Tool calls.


def call_id(root: PlacedEvent) -> str:
    """The id of a tool call."""
    return str(data_of(root)["callId"])


def tool_name(root: PlacedEvent) -> str:
    """The tool that is called."""
    return str(data_of(root)["name"])


def arguments(root: PlacedEvent) -> str:
    """The argument string exactly as the model wrote it."""
    return str(data_of(root)["arguments"])


# Todo lists, titles, ends of turns.


def todos(root: PlacedEvent) -> list[TodoItem]:
    """The whole todo list as it was written."""
    return [TodoItem(item["content"], item["status"]) for item in data_of(root)["todos"]]


def title(root: PlacedEvent) -> str:
    """The title that a session was given."""
    return str(data_of(root)["title"])


def turn(root: PlacedEvent) -> int:
    """The number of the turn that ended."""
    return int(data_of(root)["turn"])


def turn_end_reason(root: PlacedEvent) -> str | None:
    """Why a turn ended."""
    return payloads.turn_end_reason(data_of(root))


def turn_end_error(root: PlacedEvent) -> str | None:
    """The message of the error with which a turn ended."""
    return payloads.turn_end_error(data_of(root))
