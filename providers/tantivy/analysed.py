"""What the index keeps of an event's text, and how a process is asked for it by another one.

A message is its length and its content, through a pipe: events one way, what came of each of them
the other way, in the same order. Both ends are the same program run by the same interpreter.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import IO, Final

import msgspec

from providers.tantivy.documents import tokens_of
from sessiongraph.event import SessionEvent
from sessiongraph.search.ports import check_of
from sessiongraph.text import semantic_text

_LENGTH: Final = Struct(">Q")


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
all_analysed_of: Final = msgspec.msgpack.Decoder(list[Analysed]).decode


def analysed(event: SessionEvent) -> Analysed:
    """What the index keeps of the text of an event."""
    try:
        text = semantic_text(event)
    except ValueError:
        return UNREADABLE
    return Analysed(tokens_of(text), check_of(event.seq, text)) if text else NO_TEXT


def send(pipe: IO[bytes], message: Iterable[Analysable] | Iterable[Analysed]) -> None:
    """Write one message.

    Raises:
        OSError: nobody reads the other end any more.
    """
    content = msgspec.msgpack.encode(message)
    pipe.write(_LENGTH.pack(len(content)))
    pipe.write(content)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes | None:
    """The content of the next message; None where the other end was closed, in the middle too."""
    length = pipe.read(_LENGTH.size)
    if len(length) < _LENGTH.size:
        return None
    (octets,) = _LENGTH.unpack(length)
    content = pipe.read(octets)
    return content if len(content) == octets else None
