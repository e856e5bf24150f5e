"""An operation answered by a stream of server-sent events, one request for each operation.

The stream is that of the protocol "GraphQL over SSE" in its mode of distinct connections: a
``next`` event with a response for every result, and a ``complete`` event at the end. Errors that
leave an operation without a result are a response like any other. A comment every now and then
keeps whatever stands between from giving a quiet connection up.

When the token of a client is revoked, the stream says so as its last result and ends.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Final

from starlette.types import Receive, Scope, Send

from server.access import REVOKED, Access, Admission
from server.client_presence import ClientPresence
from server.negotiation import Form
from server.open_streams import OpenStreams
from server.operations import Operation
from server.refusals import OperationFailed
from sessiongraph.errors import Unauthenticated

KEEP_ALIVE_S: Final = 12.0
"""Between two comments that keep a connection open."""

_HEADERS: Final = (
    (b"content-type", f"{Form.EVENTS}; charset=utf-8".encode("ascii")),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)
_COMPLETE: Final = b"event: complete\ndata:\n\n"
_KEEP_ALIVE: Final = b":\n\n"


class EventStream:
    """The ASGI application that answers one request with the events of one operation.

    operation: what to run, or why there is nothing to run.
    access, admission: by what the client was let in, and for as long as that holds.
    keep_alive_s: between two comments.
    """

    def __init__(
        self,
        operation: Operation | OperationFailed,
        access: Access,
        admission: Admission,
        *,
        keep_alive_s: float = KEEP_ALIVE_S,
    ) -> None:
        self._operation = operation
        self._access = access
        self._admission = admission
        self._keep_alive_s = keep_alive_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events; the request must have been read to its end."""
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        producing = asyncio.create_task(self._produce(send))
        keeping_alive = asyncio.create_task(self._keep_alive(send))
        # A server that stops completes nothing: a client asks again, and goes on.
        last = b""

        def leave() -> None:
            operation = self._operation
            if isinstance(operation, Operation) and operation.is_subscription:
                producing.cancel()

        def revoked() -> None:
            nonlocal last
            last = next_event(OperationFailed.because(Unauthenticated(REVOKED)).body()) + _COMPLETE
            producing.cancel()

        try:
            with (
                OpenStreams.of(scope).entered("sse", leave),
                self._access.holding(self._admission, revoked),
            ):
                async with ClientPresence(receive) as client:
                    await asyncio.wait({producing})
            if client.left:
                return
        finally:
            producing.cancel()
            keeping_alive.cancel()
            await asyncio.wait({producing, keeping_alive})
        if producing.cancelled():
            await send({"type": "http.response.body", "body": last, "more_body": False})
            return
        producing.result()
        await send({"type": "http.response.body", "body": _COMPLETE, "more_body": False})

    async def _produce(self, send: Send) -> None:
        try:
            if isinstance(self._operation, OperationFailed):
                raise self._operation
            async with aclosing(self._operation.frames()) as frames:
                async for frame in frames:
                    await _send_chunk(send, next_event(frame))
        except OperationFailed as failure:
            await _send_chunk(send, next_event(failure.body()))

    async def _keep_alive(self, send: Send) -> None:
        while True:
            await asyncio.sleep(self._keep_alive_s)
            await _send_chunk(send, _KEEP_ALIVE)


async def _send_chunk(send: Send, chunk: bytes) -> None:
    await send({"type": "http.response.body", "body": chunk, "more_body": True})


def next_event(response: bytes) -> bytes:
    """The event that carries a response.

    Responses are one line, except where a payload was logged with line breaks between its tokens.
    """
    if b"\n" in response or b"\r" in response:
        response = b"\ndata: ".join(response.splitlines())
    return b"event: next\ndata: " + response + b"\n\n"
