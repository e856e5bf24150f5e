"""What can be carried from one event to another session: who said it, and the text.

Messages by a person, messages of an assistant, and compaction checkpoints; of each the text blocks,
joined by newlines. Nothing else, so that tools, reasoning, images and injected messages stay where
they are (references.md, "Prepare").
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from sessiongraph.event import SessionEvent
from sessiongraph.payloads import (
    Data,
    Shape,
    content_of,
    is_compaction_checkpoint,
    is_human_prompt,
    shape_of,
    text_of,
)

Role = Literal["user", "assistant"]

MESSAGE_TYPES = frozenset({"user/message", "assistant/message"})
"""The types of events that something can be carried from."""


_TEXT: Final = b'"text"'
_ESCAPED: Final = b"\\u00"
"""What stands in every JSON text with a text block: its type, unless that is written in escapes."""


class CarriedText(msgspec.Struct, frozen=True, gc=False):
    """What one event said.

    text: never empty.
    checkpoint: it stands for an earlier part of the conversation that was condensed.
    """

    role: Role
    text: str
    checkpoint: bool = False

    @property
    def octets(self) -> int:
        """UTF-8 bytes of the text, three for a lone surrogate."""
        return utf8_length(self.text)


class _Block(msgspec.Struct, gc=False):
    type: str
    text: Any = None


class _Message(msgspec.Struct, gc=False):
    content: list[_Block]


class _Reply(msgspec.Struct, gc=False):
    """An assistant's message in the newest spelling, without all that cannot be carried."""

    message: _Message


_decode_reply: Final = msgspec.json.Decoder(_Reply).decode


def carried_in(event: SessionEvent) -> CarriedText | None:
    """What can be carried from an event, None when that is nothing."""
    if event.type not in MESSAGE_TYPES:
        return None
    if event.type == "assistant/message" and not event.is_parsed:
        if _TEXT not in event.payload and _ESCAPED not in event.payload:
            return None
        try:
            blocks = _decode_reply(event.payload).message.content
        except (msgspec.DecodeError, RecursionError):
            pass  # another spelling, or what only the exact parser reads
        else:
            texts = [each.text for each in blocks if each.type == "text"]
            text = "\n".join([text for text in texts if isinstance(text, str)])
            return CarriedText("assistant", text) if text else None
    match shape_of(event.type, event.data):
        case Shape.USER_MESSAGE:
            return carried_in_user_message(event.data)
        case Shape.ASSISTANT_MESSAGE:
            text = text_of(content_of(event.type, event.data))
            return CarriedText("assistant", text) if text else None
        case _:
            return None


def carried_in_user_message(data: Data) -> CarriedText | None:
    """What can be carried from a payload of the shape ``USER_MESSAGE``."""
    checkpoint = is_compaction_checkpoint(data)
    if not checkpoint and not is_human_prompt(data):
        return None
    text = text_of(content_of("user/message", data))
    return CarriedText("user", text, checkpoint) if text else None


def utf8_length(text: str) -> int:
    """Bytes of a text in UTF-8, three for a lone surrogate."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
