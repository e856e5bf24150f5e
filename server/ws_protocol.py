"""The server's side of a WebSocket: uvicorn's, with a short way out for text.

Most of what this server sends over WebSockets is one text for a thousand clients. On the usual way
each of them costs an encoding, a frame and half a dozen calls before a byte is written. Here the
application is given a function that writes the bytes of messages, if the client can take them
at once; if not, it goes the usual way, which waits.

What clients send is kept until a message is whole. All of them together may have only so much of
that lying about: the one whose bytes are too many is sent away.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from starlette.types import Scope
from typing_extensions import override
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

WriteFrames = Callable[[bytes], bool]
"""Sends messages that were framed here; False when they cannot be sent now, or no more."""

_EXTENSION: Final = "sessiongraph.write_frames"

_KEY: Final = "sessiongraph.unfinished_messages"

_SMALL: Final = 64 * 1024
"""Bytes of an unfinished message that are not counted."""


class UnfinishedMessages:
    """The bytes of messages that have begun to come, over all WebSockets of one server.

    most: of them together.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = 0

    def hand_to(self, state: dict[str, object]) -> None:
        """Let the connections that are given this state be counted here."""
        state[_KEY] = self

    @classmethod
    def of(cls, state: dict[str, Any]) -> UnfinishedMessages | None:
        """Where the connections with a state are counted; None where nobody counts."""
        found = state.get(_KEY)
        return found if isinstance(found, cls) else None


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """One connection."""

    _held = 0

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        unfinished = len(self.conn.reader.buffer) + sum(map(len, self.frames))
        if unfinished > _SMALL or self._held:
            self._count(unfinished if unfinished > _SMALL else 0)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._count(0)
        super().connection_lost(exc)

    def _count(self, held: int) -> None:
        """Be counted with what is held now; who makes it too much is sent away."""
        everybody = UnfinishedMessages.of(self.app_state)
        if everybody is None:
            return
        everybody.held += held - self._held
        self._held = held
        if everybody.held > everybody.most and not self.close_sent:
            self.conn.fail(1013, "too much at once (max_body_bytes): try again later")
            self.handle_parser_exception()

    @override
    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        scope: dict[str, Any] | None = getattr(self, "scope", None)
        if scope is not None:
            scope["extensions"][_EXTENSION] = self.write_frames

    @override
    async def send(self, message: Any) -> None:
        """Send a message when the client can take it; nothing is said to one that is gone."""
        await self.writable.wait()
        if self.transport.is_closing():
            raise ClientDisconnected
        await super().send(message)

    def write_frames(self, frames: bytes) -> bool:
        """Send framed messages, unless they would have to wait or the connection is closing."""
        if not self.writable.is_set() or self.close_sent or self.transport.is_closing():
            return False
        self.transport.write(frames)
        return True


def write_frames_of(scope: Scope) -> WriteFrames:
    """The short way out of a connection; one that is always closed where the server has none."""
    write: WriteFrames = scope.get("extensions", {}).get(_EXTENSION, _never)
    return write


def text_frame(text: bytes) -> bytes:
    """A text message, given in UTF-8, as it is sent: whole and not masked."""
    return text_header(len(text)) + text


def text_header(size: int) -> bytes:
    """What stands before a text message of so many bytes that is sent whole and not masked."""
    if size < 126:
        return bytes((0x81, size))
    if size < 1 << 16:
        return struct.pack("!BBH", 0x81, 126, size)
    return struct.pack("!BBQ", 0x81, 127, size)


def _never(_frames: bytes) -> bool:
    return False
