"""The server's side of HTTP: uvicorn's, bounded in what a client can hold without asking anything.

A client that connects and says nothing, or says it one byte at a time, would keep its connection
for as long as it likes, and a process has only so many. So the head of a request must come within a
time, and beyond a number of connections a new one is answered and closed at once.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

from sessiongraph.errors import TooManyRequests

_KEY: Final = "sessiongraph.connection_limits"


class ConnectionLimits:
    """What connections may do in one server.

    max_connections: of any kind. head_timeout_s: until the head of a request has come.
    """

    def __init__(self, max_connections: int, head_timeout_s: float) -> None:
        self.max_connections = max_connections
        self.head_timeout_s = head_timeout_s

    def hand_to(self, state: dict[str, object]) -> None:
        """Let the connections that are given this state keep to these limits."""
        state[_KEY] = self

    @classmethod
    def of(cls, state: dict[str, Any]) -> ConnectionLimits | None:
        """The limits in a state; None where nobody has set any."""
        limits = state.get(_KEY)
        return limits if isinstance(limits, cls) else None


class HttpProtocol(H11Protocol):
    """One connection."""

    _limits: ConnectionLimits | None = None
    _head_timer: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        limits = self._limits = ConnectionLimits.of(self.app_state)
        if limits is None:
            return
        if len(self.connections) > limits.max_connections:
            transport.write(_too_many(limits.max_connections))
            transport.close()
        else:
            self._head_timer = self.loop.call_later(limits.head_timeout_s, self._give_up)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.get_protocol() is not self:
            return  # a WebSocket by now
        if not self._is_idle():
            self._stop_timer()
        elif self._head_timer is None and self._limits is not None:
            # The beginning of another request; uvicorn has stopped its own timer for it.
            self._head_timer = self.loop.call_later(self._limits.head_timeout_s, self._give_up)

    def _is_idle(self) -> bool:
        """Whether no request is being received or answered."""
        return self.cycle is None or self.cycle.response_complete

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    @override
    def handle_websocket_upgrade(self, event: Any) -> None:
        self._stop_timer()
        super().handle_websocket_upgrade(event)

    def _give_up(self) -> None:
        self._head_timer = None
        if self._is_idle() and not self.transport.is_closing():
            self.transport.close()


def _too_many(most: int) -> bytes:
    message = f"more than {most} connections at once (max_connections): try again later"
    extensions = {"code": TooManyRequests.code, "retriable": TooManyRequests.retriable}
    body = json.dumps({"errors": [{"message": message, "extensions": extensions}]}).encode("ascii")
    head = (
        "HTTP/1.1 503 Service Unavailable\r\n"
        "content-type: application/json\r\n"
        f"content-length: {len(body)}\r\n"
        "retry-after: 1\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
