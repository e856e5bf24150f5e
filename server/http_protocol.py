"""The server's side of HTTP: uvicorn's, bounded in what a client can hold without asking anything.

A client that connects and says nothing, or says it one byte at a time, would keep its connection
for as long as it likes, and a process has only so many. So the head of a request must come within a
time and a length, and beyond a number of connections a new one is answered and closed at once.

Requests are read by llhttp, through httptools: the parser in Python takes as long for a small
request as all the rest of its answer.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from server.head_with_body import HeadWithBody
from server.refusals import refusal_response
from sessiongraph.errors import BadUserInput, SessionGraphError, TooManyRequests

_KEY: Final = "sessiongraph.connection_limits"

_LINGER_S: Final = 1.0
"""How long a client that was refused in the middle of a head may go on sending."""

_LINGER_BYTES: Final = 1 << 20
"""How much it may send in that time."""


class ConnectionLimits:
    """What connections may do in one server.

    max_connections: of any kind. head_timeout_s: until the head of a request has come.
    head_bytes: of the longest head.
    """

    def __init__(self, max_connections: int, head_timeout_s: float, head_bytes: int) -> None:
        self.max_connections = max_connections
        self.head_timeout_s = head_timeout_s
        self.head_bytes = head_bytes

    def hand_to(self, state: dict[str, object]) -> None:
        """Let the connections that are given this state keep to these limits."""
        state[_KEY] = self

    @classmethod
    def of(cls, state: dict[str, Any]) -> ConnectionLimits | None:
        """The limits in a state; None where nobody has set any."""
        limits = state.get(_KEY)
        return limits if isinstance(limits, cls) else None


class HttpProtocol(HttpToolsProtocol):
    """One connection."""

    _limits: ConnectionLimits | None = None
    _head_timer: asyncio.TimerHandle | None = None
    _in_head = False
    _head_read = 0
    _lingering = False

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        limits = self._limits = ConnectionLimits.of(self.app_state)
        if limits is None:
            return
        if len(self.connections) > limits.max_connections:
            message = f"more than {limits.max_connections} connections at once (max_connections)"
            transport.write(
                _refusal("503 Service Unavailable", f"{message}: try again later", TooManyRequests)
            )
            transport.close()
        else:
            self._head_timer = self.loop.call_later(limits.head_timeout_s, self._give_up)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        if self._lingering:
            self._head_read += len(data)
            if self._head_read > _LINGER_BYTES:
                self.transport.close()
            return
        super().data_received(data)
        if self.transport.get_protocol() is not self:
            return  # a WebSocket by now
        limits = self._limits
        if limits is None or self.transport.is_closing():
            return
        if self._in_head:
            self._head_read += len(data)
            if self._head_read > limits.head_bytes:
                self._refuse_head(limits.head_bytes)
                return
        if not self._is_idle():
            self._stop_timer()
        elif self._head_timer is None:
            # The beginning of another request; uvicorn has stopped its own timer for it.
            self._head_timer = self.loop.call_later(limits.head_timeout_s, self._give_up)

    @override
    def on_message_begin(self) -> None:
        self._in_head, self._head_read = True, 0
        super().on_message_begin()

    @override
    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()
        cycle = self.cycle
        if cycle is not None and cycle.transport is self.transport:
            cycle.transport = HeadWithBody(self.transport)

    def _refuse_head(self, most: int) -> None:
        """Say no, and drop what still comes for a while.

        A socket that is closed while something unread arrives is reset by the system, and a reset
        can take the answer with it before the client has read it.
        """
        message = f"the head of a request has at most {most} bytes"
        self.transport.write(_refusal("431 Request Header Fields Too Large", message, BadUserInput))
        if not self.transport.can_write_eof():
            self.transport.close()
            return
        self.transport.write_eof()
        self._lingering = True
        self._stop_timer()
        self._head_timer = self.loop.call_later(_LINGER_S, self.transport.close)

    def _is_idle(self) -> bool:
        """Whether no request is being received or answered."""
        return self.cycle is None or self.cycle.response_complete

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    @override
    def handle_websocket_upgrade(self) -> None:
        self._stop_timer()
        super().handle_websocket_upgrade()

    def _give_up(self) -> None:
        self._head_timer = None
        if self._is_idle() and not self.transport.is_closing():
            self.transport.close()


def _refusal(status: str, message: str, kind: type[SessionGraphError]) -> bytes:
    body = refusal_response(int(status[:3]), kind(message)).body
    head = (
        f"HTTP/1.1 {status}\r\n"
        "content-type: application/json\r\n"
        f"content-length: {len(body)}\r\n"
        f"{'retry-after: 1' if kind.retriable else 'cache-control: no-store'}\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode("ascii") + bytes(body)
