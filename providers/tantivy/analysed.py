"""What the index keeps of an event's text, and how a process is asked for it by another one.

Messages go through a pipe (:mod:`providers.processes`): events one way, what came of each of them
the other way, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from providers.processes import (
    NotAMessage,
    ReadablePipe,
    WritablePipe,
    receive_message,
    send_message,
)
from providers.tantivy.documents import tokens_of
from sessiongraph.event import SessionEvent
from sessiongraph.search.ports import check_of
from sessiongraph.text import semantic_text

_EVENTS: Final = b"e"


class Analysed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What came of one event.

    tokens: see :func:`providers.tantivy.documents.tokens_of`; empty where the event has no text,
        None where its payload cannot be read.
    check: see :func:`sessiongraph.search.ports.check_of`.
    """

    tokens: str | None
    check: int


NO_TEXT: Final = Analysed("", 0)
UNREADABLE: Final = Analysed(None, 0)

Analysable = tuple[int, str, bytes]
"""seq, type and payload of an event."""

analysables_of: Final = msgspec.msgpack.Decoder(list[Analysable]).decode
_all_analysed_of: Final = msgspec.msgpack.Decoder(list[Analysed]).decode


def all_analysed_of(content: bytes, count: int) -> list[Analysed]:
    """What came of ``count`` events, of an answer.

    Raises:
        NotAMessage: that is no answer to so many.
    """
    try:
        answer = _all_analysed_of(content)
    except msgspec.MsgspecError as error:
        raise NotAMessage(str(error)) from error
    if len(answer) != count:
        raise NotAMessage(f"it tells of {len(answer)} events instead of {count}")
    return answer


def analysed(event: SessionEvent) -> Analysed:
    """What the index keeps of the text of an event."""
    try:
        text = semantic_text(event)
    except ValueError:
        return UNREADABLE
    return Analysed(tokens_of(text), check_of(event.seq, text)) if text else NO_TEXT


def send(pipe: WritablePipe, message: Iterable[Analysable] | Iterable[Analysed]) -> None:
    """Write one message.

    Raises:
        OSError: nobody reads the other end any more.
    """
    send_message(pipe, _EVENTS, msgspec.msgpack.encode(message))


def receive(pipe: ReadablePipe) -> bytes | None:
    """The content of the next message; None where the other end was closed, in the middle too.

    Raises:
        NotAMessage: what comes is none of these.
    """
    message = receive_message(pipe)
    if message is None:
        return None
    kind, content = message
    if kind != _EVENTS:
        raise NotAMessage(f"it is of the unknown kind {kind!r}")
    return content
