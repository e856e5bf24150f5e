"""Refusals of the HTTP layer, in the shape of a failed GraphQL operation.

A client reads one shape, whether its operation failed or never became one:
``{"errors": [{"message": …, "extensions": {"code": …}}]}``. A fault of ours is masked and logged as
that of an operation is.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphql import GraphQLError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from schema.errors import make_public
from sessiongraph.errors import BadUserInput


def error_response(
    status: int, message: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """A refusal with an HTTP status."""
    extensions = {"code": BadUserInput.code, "retriable": BadUserInput.retriable}
    error = {"message": message, "extensions": extensions}
    return JSONResponse({"errors": [error]}, status, headers)


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
    public = GraphQLError(str(error), original_error=error)
    make_public(public)
    return JSONResponse({"errors": [public.formatted]}, 500)
