"""Refusals and failures, in the one shape that clients read.

A client reads the same errors, whether its operation failed or never became one:
``{"errors": [{"message": …, "extensions": {"code": …}}]}``. A fault of ours is masked and logged as
that of an operation is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from graphql import GraphQLError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from schema.errors import make_public
from schema.response import encode_response
from sessiongraph.errors import BadUserInput, SessionGraphError, TooManyRequests, Unauthenticated


class OperationFailed(Exception):
    """An operation has no result, or no further one; its errors, fit to be shown, say why."""

    def __init__(self, errors: list[GraphQLError]) -> None:
        super().__init__(errors[0].message)
        self.errors = errors

    @classmethod
    def because(
        cls, *causes: Exception, operation: str | None = None, **shown: Any
    ) -> OperationFailed:
        """The failure made of what was raised; what nobody expected is logged and masked.

        operation: the name of the operation, for the log. shown: more for the errors' extensions.
        """
        errors = []
        for cause in causes:
            error = cause
            if not isinstance(error, GraphQLError):
                error = GraphQLError(str(cause), original_error=cause)
            make_public(error, operation)
            error.extensions = {**(error.extensions or {}), **shown}
            errors.append(error)
        return cls(errors)

    @classmethod
    def of(cls, cause: Exception, operation: str | None = None) -> OperationFailed:
        """The failure that was raised, or made of what was raised."""
        return cause if isinstance(cause, cls) else cls.because(cause, operation=operation)

    @property
    def is_of_load(self) -> bool:
        """Whether nothing is wrong with the operation but the moment."""
        return (self.errors[0].extensions or {}).get("code") == TooManyRequests.code

    def errors_text(self) -> bytes:
        """The errors as a JSON array."""
        return encode_response([error.formatted for error in self.errors])

    def body(self) -> bytes:
        """The response that has nothing but the errors."""
        return b'{"errors":' + self.errors_text() + b"}"


RETRY_AFTER: Final = {"retry-after": "1"}
"""What goes with a refusal because of too much at once (seconds)."""


def error_response(
    status: int,
    message: str,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """The refusal of what cannot be understood, with an HTTP status."""
    return refusal_response(status, BadUserInput(message), headers)


def refusal_response(
    status: int, refusal: SessionGraphError, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """A refusal with an HTTP status."""
    extensions = {"code": refusal.code, "retriable": refusal.retriable}
    error = {"message": refusal.message, "extensions": extensions}
    return JSONResponse({"errors": [error]}, status, headers)


def unauthenticated_response(refusal: Unauthenticated) -> JSONResponse:
    """The refusal of who has shown no token that holds."""
    return refusal_response(401, refusal, {"www-authenticate": "Bearer"})


async def refuse(
    scope: Scope, receive: Receive, send: Send, status: int, refusal: SessionGraphError
) -> None:
    """Refuse a request or a WebSocket upgrade before anything of it is looked at.

    What a client still sends is not read, so the connection closes. A server that cannot answer an
    upgrade with more than a status answers 403.
    """
    if scope["type"] == "http":
        response = refusal_response(status, refusal, {"connection": "close"})
        await response(scope, receive, send)
    elif "websocket.http.response" in scope.get("extensions", {}):
        await refusal_response(status, refusal)(scope, receive, send)
    else:
        reason = refusal.message[:100]
        await send({"type": "websocket.close", "code": 1008, "reason": reason})


async def http_exception(request: Request, error: Exception) -> Response:
    """Starlette's own refusals (no such path, wrong method) in the same shape."""
    assert isinstance(error, HTTPException)
    message = error.detail
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        message = f"{request.method} is not accepted here, only {allowed}"
    return error_response(error.status_code, message, error.headers)


async def fault(_: Request, error: Exception) -> Response:
    """What nobody expected: a reference id, under which the log has the rest."""
    return Response(OperationFailed.because(error).body(), 500, media_type="application/json")
