"""GraphQL over HTTP: one operation as a JSON object by POST, its answer back.

Nothing else is accepted: no GET (a link must not run a query), no forms or plain text (a page of
another site could send those without asking), no batches. What is refused before it is an operation
is answered with 4xx and the same ``errors`` shape as a failed operation: 401 without a token that
holds, before anything of it is read; 403 when the token is not enough; else with BAD_USER_INPUT.

The client says which form of answer it accepts (:mod:`server.negotiation`). Under the media type of
GraphQL responses, a response without data has the status 400, as "GraphQL over HTTP" has it; under
that of JSON every operation is answered with 200, whatever came of it.

An operation ends when its client goes away: its task is cancelled, and waited for.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from schema.request import MOST_VALUES, decode_request
from server.access import Access, Admission
from server.client_presence import SOON_S, ClientPresence
from server.graphql_request import GraphQLRequest
from server.graphql_sse import KEEP_ALIVE_S, EventStream
from server.negotiation import Form, accepted_forms
from server.one_aside import OneAside
from server.operations import Operation, Operations
from server.refusals import (
    RETRY_AFTER,
    OperationFailed,
    error_response,
    refusal_response,
    unauthenticated_response,
)
from server.time_limits import SharedTimer, TimeLimit
from sessiongraph.errors import BadUserInput, Forbidden, TooManyRequests, Unauthenticated

BODY_TIMEOUT_S: Final = 30.0
"""How long a client may take to send a body."""

Headers = Iterable[tuple[bytes, bytes]]
"""As they come, their names in lower case."""

_JSON: Final = "application/json"

_SMALL: Final = 64 * 1024
"""Size of a body that takes no room worth counting, and is read or written at once."""


class GraphQLEndpoint:
    """The ASGI application behind POST requests to ``/graphql``.

    access: who may ask.
    max_request_bytes: size of the largest body. max_request_values: most values of JSON in one.
    body_timeout_s: how long a client may take to send it.
    keep_alive_s: between two signs of life on a stream of events.
    """

    def __init__(
        self,
        operations: Operations,
        access: Access,
        *,
        max_request_bytes: int,
        max_request_values: int = MOST_VALUES,
        body_timeout_s: float = BODY_TIMEOUT_S,
        keep_alive_s: float = KEEP_ALIVE_S,
    ) -> None:
        self._operations = operations
        self._occupancy = operations.occupancy
        self._access = access
        self._max_request_bytes = max_request_bytes
        self._max_request_values = max_request_values
        self._body_time = TimeLimit(body_timeout_s)
        self._soon = SharedTimer(SOON_S)
        self._decoding_aside = OneAside()
        self._keep_alive_s = keep_alive_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: Headers = scope["headers"]
        forms = accepted_forms(_values(headers, b"accept"))
        answer: ASGIApp | None
        with ExitStack() as held:
            try:
                if not forms:
                    raise HTTPException(406, f"the answer can be {', '.join(Form)}, nothing else")
                admission = self._access.admit_request(headers)
                asked = await self._read(headers, receive, held)
                if forms[0] is Form.EVENTS:
                    answer = await self._streamed(asked, admission, held)
                else:
                    answer = await self._answer(asked, admission, forms, receive, held)
            except Unauthenticated as refusal:
                answer = _in_form(unauthenticated_response(refusal), forms)
            except HTTPException as refusal:
                answer = _in_form(error_response(refusal.status_code, refusal.detail), forms)
            except Forbidden as refusal:
                answer = _in_form(refusal_response(403, refusal), forms)
            except BadUserInput as refusal:
                answer = _in_form(refusal_response(400, refusal), forms)
            except TooManyRequests as refusal:
                answer = _in_form(refusal_response(429, refusal, RETRY_AFTER), forms)
            except ClientDisconnect:
                return
            if answer is not None:
                await answer(scope, receive, send)

    async def _streamed(
        self, asked: GraphQLRequest, admission: Admission, held: ExitStack
    ) -> EventStream:
        """What to stream; a stream has no other way to refuse an operation than an event.

        Raises:
            TooManyRequests: too much runs already.
        """
        try:
            operation = await self._operations.prepare(asked, admission.grant)
        except (OperationFailed, BadUserInput, Forbidden) as refusal:
            return self._stream(OperationFailed.of(refusal), admission)
        held.enter_context(operation.taking_place())
        return self._stream(operation, admission)

    def _stream(self, operation: Operation | OperationFailed, admission: Admission) -> EventStream:
        return EventStream(operation, self._access, admission, keep_alive_s=self._keep_alive_s)

    async def _answer(
        self,
        asked: GraphQLRequest,
        admission: Admission,
        forms: list[Form],
        receive: Receive,
        held: ExitStack,
    ) -> ASGIApp | None:
        """The answer of a client that prefers a single one; None when it is gone.

        Raises:
            BadUserInput: there is no such operation, or it has many answers.
            Forbidden: the client may not run it.
            TooManyRequests: too much runs already.
        """
        try:
            operation = await self._operations.prepare(asked, admission.grant)
            if operation.is_subscription:
                if Form.EVENTS not in forms:
                    raise BadUserInput(
                        f"a subscription is answered with {Form.EVENTS} (name it in `Accept`), or "
                        "over a WebSocket"
                    )
                held.enter_context(operation.taking_place())
                return self._stream(operation, admission)
            held.enter_context(operation.taking_place())
            async with ClientPresence(receive, self._soon) as client:
                text = await operation.answer()
            if client.left:
                return None
            return _Answer(text, forms[0])
        except OperationFailed as failure:
            if failure.is_of_load:
                return Response(failure.body(), 429, RETRY_AFTER, media_type=forms[0])
            status = 400 if forms[0] is Form.RESPONSE else 200
            return Response(failure.body(), status, media_type=forms[0])

    async def _read(self, headers: Headers, receive: Receive, held: ExitStack) -> GraphQLRequest:
        """The request in a body, of which the room is held.

        Raises:
            HTTPException: the body is too large, comes too slowly, or is no JSON object.
            BadUserInput: the object is no request.
            TooManyRequests: there is no room for it.
        """
        try:
            with self._body_time.block() as block:
                body = await self._read_body(receive, held)
        except TimeoutError as error:
            if not block.expired:
                raise
            raise HTTPException(
                408,
                f"the request body took longer than {self._body_time.limit_s * 1000:.0f} ms "
                "(request_body_timeout_ms)",
            ) from error
        media_types = _values(headers, b"content-type")
        if not media_types or media_types[0].partition(";")[0].strip().lower() != _JSON:
            raise HTTPException(415, f"the request must be a POST of {_JSON}")
        decode = partial(_json_object, body, self._max_request_values)
        aside = len(body) > _SMALL
        return GraphQLRequest.of(await self._decoding_aside.run(decode) if aside else decode())

    async def _read_body(self, receive: Receive, held: ExitStack) -> bytes:
        """The whole body.

        A client that is still sending does not listen, so of a body that is too large as much again
        is read and dropped before it is refused.

        Raises:
            HTTPException: it is larger than the limit.
            TooManyRequests: there is no room for it beside the others.
            ClientDisconnect: the client is gone.
        """
        most = self._max_request_bytes
        chunks: list[bytes] = []
        size = 0
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            chunk: bytes = message.get("body", b"")
            more = message.get("more_body", False)
            size += len(chunk)
            if size <= most:
                if size > _SMALL:
                    held.enter_context(self._occupancy.bodies.take(len(chunk)))
                chunks.append(chunk)
            elif size > 2 * most:
                break
        if size > most:
            raise HTTPException(
                413, f"the request body is larger than {most} bytes (max_request_bytes)"
            )
        return b"".join(chunks)


class _Answer:
    """The answer to an operation that was executed.

    The operation has its place until the client has taken nearly all of a long one: what is only
    written waits in memory for a client that may be slow, and belongs to what all operations hold
    together.
    """

    def __init__(self, text: bytes, form: Form) -> None:
        self._text = text
        self._form = form

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        text = self._text
        headers = [
            (b"content-length", b"%d" % len(text)),
            (b"content-type", self._form.encode("ascii")),
        ]
        is_long = len(text) > _SMALL
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": text, "more_body": is_long})
        if is_long:
            # A server accepts another message when there is room for it.
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _values(headers: Headers, name: bytes) -> list[str]:
    """The values of a header, by its name in lower case."""
    return [value.decode("latin-1") for found, value in headers if found == name]


def _in_form(response: Response, forms: list[Form]) -> Response:
    """The answer to what is no operation; never a stream, which would have begun with a 200."""
    if Form.RESPONSE in forms[:1]:
        response.headers["content-type"] = Form.RESPONSE
    return response


def _json_object(text: bytes, max_values: int) -> dict[str, Any]:
    try:
        value = decode_request(text, max_values)
    except ValueError as error:
        raise HTTPException(400, f"the request body cannot be read as JSON: {error}") from error
    if not isinstance(value, dict):
        raise HTTPException(400, "the request body must be one JSON object")
    return value
