"""GraphQL over HTTP: one operation as a JSON object by POST, one JSON object back.

Nothing else is accepted: no GET (a link must not run a query), no forms or plain text (a page of
another site could send those without asking), no batches. What is refused before it is an operation
is answered with 4xx and the same ``errors`` shape as a failed operation, its code BAD_USER_INPUT.

An operation ends when its client goes away: its task is cancelled, and waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from cross_web import AsyncHTTPRequestAdapter, HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.http import GraphQLRequestData
from strawberry.schema import BaseSchema
from typing_extensions import override

from resolvers.context import Services
from schema.response import encode_response
from server.refusals import error_response
from sessiongraph import lossless

T = TypeVar("T")

_JSON: Final = "application/json"


class GraphQLEndpoint(GraphQL[Services, None]):
    """The ASGI application behind ``/graphql``."""

    def __init__(
        self,
        schema: BaseSchema,
        services: Services,
        *,
        max_request_bytes: int,
    ) -> None:
        super().__init__(
            schema,
            graphql_ide=None,
            allow_queries_via_get=False,
            multipart_uploads_enabled=False,
            subscription_protocols=(),
        )
        self._services = services
        self._max_request_bytes = max_request_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await self._read_body(Request(scope, receive))
            request = Request(scope, _replaying(body))
            response = await _while_connected(receive, self.run(request))
        except HTTPException as refusal:
            response = error_response(refusal.status_code, refusal.reason)
        except ClientDisconnect:
            return
        if response is not None:
            await response(scope, receive, send)

    @override
    async def get_context(
        self, request: Request | WebSocket, response: Response | WebSocket
    ) -> Services:
        return self._services

    @override
    async def parse_http_body(self, request: AsyncHTTPRequestAdapter) -> GraphQLRequestData:
        media_type = (request.content_type or "").partition(";")[0].strip().lower()
        if media_type != _JSON:
            raise HTTPException(415, f"the request must be a POST of {_JSON}")
        body = _json_object(await request.get_body())
        return GraphQLRequestData(
            query=_member(body, "query", str),
            variables=_member(body, "variables", dict),
            operation_name=_member(body, "operationName", str),
            extensions=_member(body, "extensions", dict),
        )

    @override
    def encode_json(self, data: object) -> bytes:
        return encode_response(data)

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


def _replaying(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def _while_connected(receive: Receive, work: Coroutine[Any, Any, T]) -> T | None:
    """The result of ``work``; None when the client went away first and the work was cancelled."""
    working = asyncio.create_task(work)
    watching = asyncio.create_task(_disconnection(receive))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        watching.cancel()
        await asyncio.wait({working, watching})


async def _disconnection(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _json_object(text: bytes | str) -> dict[str, Any]:
    try:
        value = lossless.decode(text.encode() if isinstance(text, str) else text)
    except ValueError as error:
        raise HTTPException(400, f"the request body cannot be read as JSON: {error}") from error
    if not isinstance(value, dict):
        raise HTTPException(400, "the request body must be one JSON object")
    return value


def _member(body: dict[str, Any], key: str, kind: type[T]) -> T | None:
    value = body.get(key)
    if value is not None and not isinstance(value, kind):
        wanted = "an object" if kind is dict else "a string"
        raise HTTPException(400, f"`{key}` must be {wanted} or null")
    return value
