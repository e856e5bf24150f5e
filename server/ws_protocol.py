"""The server's side of a WebSocket: uvicorn's, with a short way out for text.

Most of what this server sends over WebSockets is one text for a thousand clients. On the usual way
each of them costs an encoding, a frame and half a dozen calls before a byte is written. Here the
application is given a function that writes the bytes of messages, if the client can take them
at once; if not, it goes the usual way, which waits.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from starlette.types import Scope
from typing_extensions import override
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

WriteFrames = Callable[[bytes], bool]
"""Sends messages that were framed here; False when they cannot be sent now, or no more."""

_EXTENSION: Final = "sessiongraph.write_frames"


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """One connection."""

    @override
    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        scope: dict[str, Any] | None = getattr(self, "scope", None)
        if scope is not None:
            scope["extensions"][_EXTENSION] = self.write_frames

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
