"""GraphQL over HTTP: one operation as a JSON object by POST, its answer back.

Nothing else is accepted: no GET (a link must not run a query), no forms or plain text (a page of
another site could send those without asking), no batches. What is refused before it is an operation
is answered with 4xx and the same ``errors`` shape as a failed operation: 401 without a token that
holds, before anything of it is read; 403 when the token does not reach; else with BAD_USER_INPUT.

The client says which form of answer it accepts (:mod:`server.negotiation`). Under the media type of
GraphQL responses, a response without data has the status 400, as "GraphQL over HTTP" has it; under
that of JSON every operation is answered with 200, whatever came of it.

An operation ends when its client goes away: its task is cancelled, and waited for.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from schema.request import decode_request
from server.access import Access, Admission
from server.client_presence import done_while_connected
from server.graphql_request import GraphQLRequest
from server.graphql_sse import KEEP_ALIVE_S, EventStream
from server.negotiation import Form, accepted_forms
from server.operations import Operation, Operations
from server.refusals import (
    OperationFailed,
    error_response,
    refusal_response,
    unauthenticated_response,
)
from sessiongraph.errors import BadUserInput, Forbidden, Unauthenticated

_JSON: Final = "application/json"


class GraphQLEndpoint:
    """The ASGI application behind POST requests to ``/graphql``.

    access: who may ask.
    max_request_bytes: size of the largest body.
    keep_alive_s: between two signs of life on a stream of events.
    """

    def __init__(
        self,
        operations: Operations,
        access: Access,
        *,
        max_request_bytes: int,
        keep_alive_s: float = KEEP_ALIVE_S,
    ) -> None:
        self._operations = operations
        self._access = access
        self._max_request_bytes = max_request_bytes
        self._keep_alive_s = keep_alive_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        forms = accepted_forms(request.headers.getlist("accept"))
        answer: ASGIApp | None
        try:
            if not forms:
                raise HTTPException(406, f"the answer can be {', '.join(Form)}, nothing else")
            admission = self._access.admit_request(scope["headers"])
            asked = await self._read(request)
            if forms[0] is Form.EVENTS:
                answer = self._stream(self._prepared(asked, admission), admission)
            else:
                answer = await self._answer(asked, admission, forms, receive)
        except Unauthenticated as refusal:
            answer = _in_form(unauthenticated_response(refusal), forms)
        except HTTPException as refusal:
            answer = _in_form(error_response(refusal.status_code, refusal.detail), forms)
        except Forbidden as refusal:
            answer = _in_form(refusal_response(403, refusal), forms)
        except BadUserInput as refusal:
            answer = _in_form(refusal_response(400, refusal), forms)
        except ClientDisconnect:
            return
        if answer is not None:
            await answer(scope, receive, send)

    def _prepared(self, asked: GraphQLRequest, admission: Admission) -> Operation | OperationFailed:
        """What to stream; a stream has no other way to refuse than an event."""
        try:
            return self._operations.prepare(asked, admission.grant)
        except OperationFailed as failure:
            return failure
        except (BadUserInput, Forbidden) as refusal:
            return OperationFailed.because(refusal)

    def _stream(self, operation: Operation | OperationFailed, admission: Admission) -> EventStream:
        return EventStream(operation, self._access, admission, keep_alive_s=self._keep_alive_s)

    async def _answer(
        self, asked: GraphQLRequest, admission: Admission, forms: list[Form], receive: Receive
    ) -> ASGIApp | None:
        """The answer of a client that prefers a single one; None when it is gone.

        Raises:
            BadUserInput: there is no such operation, or it has many answers.
            Forbidden: the client may not run it.
        """
        try:
            operation = self._operations.prepare(asked, admission.grant)
            if operation.is_subscription:
                if Form.EVENTS not in forms:
                    raise BadUserInput(
                        f"a subscription is answered with {Form.EVENTS} (name it in `Accept`), or "
                        "over a WebSocket"
                    )
                return self._stream(operation, admission)
            working = asyncio.create_task(operation.answer())
            if not await done_while_connected(receive, working):
                return None
            return Response(working.result(), media_type=forms[0])
        except OperationFailed as failure:
            status = 400 if forms[0] is Form.RESPONSE else 200
            return Response(failure.body(), status, media_type=forms[0])

    async def _read(self, request: Request) -> GraphQLRequest:
        """The request in a body.

        Raises:
            HTTPException: the body is too large, or no JSON object.
            BadUserInput: the object is no request.
        """
        body = await self._read_body(request)
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != _JSON:
            raise HTTPException(415, f"the request must be a POST of {_JSON}")
        return GraphQLRequest.of(_json_object(body))

    async def _read_body(self, request: Request) -> bytes:
        """The whole body.

        A client that is still sending does not listen, so of a body that is too large as much again
        is read and dropped before it is refused.

        Raises:
            HTTPException: it is larger than the limit.
        """
        most = self._max_request_bytes
        chunks: list[bytes] = []
        size = 0
        async for chunk in request.stream():
            size += len(chunk)
            if size <= most:
                chunks.append(chunk)
            elif size > 2 * most:
                break
        if size > most:
            raise HTTPException(
                413, f"the request body is larger than {most} bytes (max_request_bytes)"
            )
        return b"".join(chunks)


def _in_form(response: Response, forms: list[Form]) -> Response:
    """The answer to what is no operation; never a stream, which would have begun with a 200."""
    if Form.RESPONSE in forms[:1]:
        response.headers["content-type"] = Form.RESPONSE
    return response


def _json_object(text: bytes) -> dict[str, Any]:
    try:
        value = decode_request(text)
    except ValueError as error:
        raise HTTPException(400, f"the request body cannot be read as JSON: {error}") from error
    if not isinstance(value, dict):
        raise HTTPException(400, "the request body must be one JSON object")
    return value
