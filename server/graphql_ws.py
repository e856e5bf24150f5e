"""GraphQL over WebSocket: many operations over one connection, each with an id of its client's.

The subprotocol is ``graphql-transport-ws`` and no other. A client introduces itself, is greeted,
and subscribes to operations of any kind. Each runs in a task of its own, and the connection itself
does nothing but listen, so that a client which goes away is noticed whatever its operations do.

There is no queue of outgoing messages. Whoever has something to say waits until the client takes
it, so a slow client slows its own operations and nothing else, and what waits for it in memory is
one message of each. The text of a subscription's results is shared by all connections
(:mod:`server.frames`); all that is made for one client is the envelope with the id.

A client is let in when it introduces itself, by the token in that message or in the headers of the
handshake, and only as long as the token holds: it is sent away with 4403, as the protocol has it
for those who are not let in.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import ExitStack, aclosing
from functools import partial
from typing import Any, Final

from starlette.types import Message, Receive, Scope, Send

from schema.request import MOST_VALUES
from server.access import REVOKED, Access, Admission
from server.credentials import bearer_in
from server.frames import Frame
from server.graphql_request import GraphQLRequest
from server.one_aside import OneAside
from server.open_streams import OpenStreams
from server.operations import Operation, Operations
from server.refusals import RETRY_AFTER, OperationFailed, refusal_response
from server.ws_messages import (
    ACKNOWLEDGED,
    SUBPROTOCOL,
    Violation,
    complete,
    error,
    id_of,
    opening_of_next,
    payload_of,
    pong,
    read_message,
)
from server.ws_protocol import WriteFrames, text_frame, write_frames_of
from sessiongraph.access import Grant
from sessiongraph.errors import BadUserInput, TooManyRequests, Unauthenticated

CONNECTION_INIT_S: Final = 10.0
"""How long a client may take to introduce itself."""

_LONG: Final = 64 * 1024
"""Characters of a message that is read off the event loop."""


class GraphQLWebSocket:
    """The ASGI application behind WebSocket upgrades of ``/graphql``.

    access: who may ask.
    max_request_values: most values of JSON in one message.
    init_timeout_s: how long a client may take to introduce itself.
    """

    def __init__(
        self,
        operations: Operations,
        access: Access,
        *,
        max_request_values: int = MOST_VALUES,
        init_timeout_s: float = CONNECTION_INIT_S,
    ) -> None:
        self._operations = operations
        self._access = access
        self._read = partial(read_message, max_values=max_request_values)
        self._init_timeout_s = init_timeout_s
        self._reading_aside = OneAside()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        door = _Door(self._access, scope["headers"])
        try:
            with self._operations.occupancy.websockets.take():
                connection = _Connection(
                    self._operations,
                    self._read,
                    self._reading_aside,
                    door,
                    receive,
                    send,
                    write_frames_of(scope),
                )
                with door, OpenStreams.of(scope).entered("websocket", connection.leave):
                    await connection.run(scope["subprotocols"], self._init_timeout_s)
        except TooManyRequests as refusal:
            await _refuse_handshake(send, refusal)


async def _refuse_handshake(send: Send, refusal: TooManyRequests) -> None:
    """Answer the handshake as a request over HTTP would be answered."""
    response = refusal_response(429, refusal, RETRY_AFTER)
    start = {"status": response.status_code, "headers": response.raw_headers}
    await send({"type": "websocket.http.response.start", **start})
    await send({"type": "websocket.http.response.body", "body": response.body})


class _Door(ExitStack):
    """Lets one client in, and tells when that holds no longer."""

    def __init__(self, access: Access, headers: Iterable[tuple[bytes, bytes]]) -> None:
        super().__init__()
        self._access = access
        self._headers = headers
        self._admission: Admission | None = None

    def let_in(self, payload: Mapping[str, Any] | None, revoked: Callable[[], None]) -> None:
        """Admit the client by what it introduces itself with, or by its handshake.

        Raises:
            Unauthenticated: it has no token that holds.
        """
        secret = bearer_in(payload)
        if secret is None:
            self._admission = self._access.admit_request(self._headers)
        else:
            self._admission = self._access.admit(secret)
        self.enter_context(self._access.holding(self._admission, revoked))

    @property
    def grant(self) -> Grant | None:
        """What the client may do and see now; None before it is in.

        Raises:
            Unauthenticated: its token was revoked.
        """
        if self._admission is None:
            return None
        self._access.check(self._admission)
        return self._admission.grant


class _Running:
    """An operation that runs.

    streams: whether it is a subscription, which does not end by itself when the server stops.
    """

    __slots__ = ("id", "streams", "task")

    def __init__(self, operation_id: str) -> None:
        self.id = operation_id
        self.streams = False
        self.task: asyncio.Task[None] | None = None


class _Outlet:
    """Sends the results of one operation without waiting.

    wrapping: what stands before every result; the same for all clients that chose the same id.
    """

    __slots__ = ("push", "wrapping")

    def __init__(self, opening: bytes, write: WriteFrames) -> None:
        self.wrapping = opening
        self.push = write

    def text(self, frame: Frame) -> bytes:
        return b"%b%b}" % (self.wrapping, frame)

    def wrap(self, frames: Sequence[Frame], /) -> bytes:
        return b"".join([text_frame(self.text(frame)) for frame in frames])


class _Connection:
    """One client: listens to it, runs its operations, and cleans up behind it.

    Always true: an id in ``_running`` is one that the client may not use again yet, and every task
    that was started here and still runs is in ``_tasks``.
    """

    def __init__(
        self,
        operations: Operations,
        read: Callable[[str | None], dict[str, Any]],
        reading_aside: OneAside,
        door: _Door,
        receive: Receive,
        send: Send,
        write: WriteFrames,
    ) -> None:
        self._operations = operations
        self._read = read
        self._reading_aside = reading_aside
        self._door = door
        self._receive = receive
        self._send = send
        self._write = write
        self._greeted = False
        self._running: dict[str, _Running] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._leaving = False

    async def run(self, subprotocols: Iterable[str], init_timeout_s: float) -> None:
        """Serve the client until it leaves, is sent away, or the server stops."""
        spoken = SUBPROTOCOL in subprotocols
        subprotocol = SUBPROTOCOL if spoken else None
        await self._say({"type": "websocket.accept", "subprotocol": subprotocol})
        try:
            if not spoken:
                raise Violation(4406, f"only the subprotocol {SUBPROTOCOL} is spoken here")
            await self._listen(init_timeout_s)
        except Violation as violation:
            await self._stop_tasks()
            await self._close(violation.code, violation.reason)
        finally:
            await self._stop_tasks()

    def leave(self) -> None:
        """Begin to end: subscriptions now, other operations when they have answered.

        Subscriptions are not completed, which would say that they have nothing more to give: a
        client that hears only the code 1001 connects again and goes on.
        """
        if not self._leaving:
            self._leaving = True
            self._start(self._leave())

    async def _listen(self, init_timeout_s: float) -> None:
        try:
            async with asyncio.timeout(init_timeout_s):
                while not self._greeted:
                    if not await self._take_next():
                        return
        except TimeoutError:
            raise Violation(4408, "Connection initialisation timeout") from None
        while await self._take_next():
            pass

    async def _take_next(self) -> bool:
        """Do what the client says next; False when it is gone."""
        received = await self._receive()
        if received["type"] == "websocket.disconnect":
            return False
        text = received.get("text")
        if text is not None and len(text) > _LONG:
            message = await self._reading_aside.run(partial(self._read, text))
        else:
            message = self._read(text)
        kind = message.get("type")
        if kind == "subscribe":
            await self._subscribe(message)
        elif kind == "complete":
            self._complete(id_of(message))
        elif kind == "connection_init":
            await self._greet(payload_of(message))
        elif kind == "ping":
            await self._say_text(pong(payload_of(message)))
        elif kind == "pong":
            payload_of(message)
        else:
            shown = json.dumps(kind) if isinstance(kind, str) else "nothing"
            raise Violation(4400, f"{shown} is no `type` of a message that clients send")
        return True

    async def _greet(self, payload: dict[str, Any] | None) -> None:
        if self._greeted:
            raise Violation(4429, "Too many initialisation requests")
        try:
            self._door.let_in(payload, self._send_away)
        except Unauthenticated as refusal:
            raise Violation(4403, f"Forbidden: {refusal.message}") from refusal
        self._greeted = True
        await self._say_text(ACKNOWLEDGED)

    async def _subscribe(self, message: dict[str, Any]) -> None:
        try:
            grant = self._door.grant
        except Unauthenticated as refusal:
            raise Violation(4403, f"Forbidden: {refusal.message}") from refusal
        if grant is None:
            raise Violation(4401, "Unauthorized")
        operation_id = id_of(message)
        payload = payload_of(message)
        if payload is None:
            raise Violation(4400, "`payload` must be an object")
        if operation_id in self._running:
            raise Violation(4409, f"Subscriber for {operation_id} already exists")
        try:
            request = GraphQLRequest.of(payload)
        except BadUserInput as refusal:
            raise Violation(4400, refusal.message) from refusal
        most = self._operations.occupancy.max_operations_per_connection
        if len(self._tasks) >= most:
            too_many = TooManyRequests(
                f"more than {most} operations at once on one WebSocket "
                "(max_operations_per_connection): try again later"
            )
            # Said before anything else is heard, so that refusals do not pile up either.
            await self._say_text(error(operation_id, OperationFailed.because(too_many)))
            return
        running = self._running[operation_id] = _Running(operation_id)
        running.task = self._start(self._run(running, request, grant))

    def _complete(self, operation_id: str) -> None:
        running = self._running.pop(operation_id, None)
        if running is not None and running.task is not None:
            running.task.cancel()

    async def _run(self, running: _Running, request: GraphQLRequest, grant: Grant) -> None:
        """One operation, from its subscription to its last message."""
        last = complete(running.id)
        outlet = _Outlet(opening_of_next(running.id), self._write)
        try:
            await self._operations.turns.take()
            operation = await self._operations.prepare(request, grant)
            running.streams = operation.is_subscription
            if running.streams and self._leaving:
                return
            with operation.taking_place():
                if not await self._send_frames(operation, outlet):
                    return
        except Exception as cause:  # noqa: BLE001 - the client is told, whatever it was
            last = error(running.id, OperationFailed.of(cause, request.operation_name))
        finally:
            if self._running.get(running.id) is running:
                del self._running[running.id]
        await self._say_text(last)

    async def _send_frames(self, operation: Operation, outlet: _Outlet) -> bool:
        """Send every result; False when the client is gone."""
        async with aclosing(operation.frames(outlet)) as frames:
            async for frame in frames:
                if outlet.push(outlet.wrap((frame,))):
                    continue
                if not await self._say_text(outlet.text(frame).decode("utf-8")):
                    return False
        return True

    async def _leave(self) -> None:
        streams = [running for running in self._running.values() if running.streams]
        for running in streams:
            if running.task is not None:
                running.task.cancel()
        await _ended(running.task for running in streams)
        while self._running:
            await _ended(running.task for running in self._running.values())
        await self._close(1001, "the server is stopping")

    def _send_away(self) -> None:
        """End at once: the token does not hold any more."""
        for running in self._running.values():
            if running.task is not None:
                running.task.cancel()
        self._start(self._close_revoked())

    async def _close_revoked(self) -> None:
        await self._close(4403, f"Forbidden: {REVOKED}")

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _stop_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        await _ended(self._tasks)

    async def _say_text(self, text: str) -> bool:
        return await self._say({"type": "websocket.send", "text": text})

    async def _close(self, code: int, reason: str) -> bool:
        return await self._say({"type": "websocket.close", "code": code, "reason": reason})

    async def _say(self, message: Message) -> bool:
        """Wait until the client can take a message; False when it is gone or was sent away."""
        try:
            await self._send(message)
        except (OSError, RuntimeError):
            # A socket that was closed from here meanwhile refuses with a RuntimeError.
            return False
        return True


async def _ended(tasks: Iterable[asyncio.Task[None] | None]) -> None:
    """Wait until tasks have ended, however they end."""
    waited_for = {task for task in tasks if task is not None}
    if waited_for:
        await asyncio.wait(waited_for)
