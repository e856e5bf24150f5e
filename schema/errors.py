"""Errors as clients see them: a public code for what they can act on, nothing of what is ours.

Each error of a response is one of three kinds:

* an expected failure of the domain has its own code and says whether trying again can help;
* a request that is not well formed (syntax, validation, the coercion of variables and arguments) is
  ``BAD_USER_INPUT`` and keeps its message;
* everything else is a fault of ours. It is logged in full under a reference id, and the id is all
  that is shown.

An error that carries a code already was made for clients by somebody who knew, and is left alone.
"""

from __future__ import annotations

import secrets

import strawberry
import structlog
from graphql import GraphQLError
from strawberry.exceptions import StrawberryInputCoercionError
from strawberry.types import ExecutionContext

from sessiongraph.errors import BadUserInput, SessionGraphError

INTERNAL_CODE = "INTERNAL_SERVER_ERROR"
"""The code of a failure that nobody expected."""

_log = structlog.get_logger(__name__)


class PublicErrors(strawberry.Schema):
    """A schema whose errors are fit to be shown before anybody else gets to see them."""

    def process_errors(
        self,
        errors: list[GraphQLError],
        execution_context: ExecutionContext | None = None,
    ) -> None:
        """Rewrite the errors of one result in place."""
        operation = None if execution_context is None else execution_context.operation_name
        for error in errors:
            make_public(error, operation)


def make_public(error: GraphQLError, operation: str | None = None) -> None:
    """Give an error its code, and its message for clients, in place.

    operation: the name of the operation, for the log of what nobody expected.
    """
    if error.extensions and "code" in error.extensions:
        return
    cause = _cause(error)
    if isinstance(cause, SessionGraphError):
        error.message = cause.message
        error.extensions = {"code": cause.code, "retriable": cause.retriable}
    elif _is_of_request(error, cause):
        error.extensions = {"code": BadUserInput.code, "retriable": BadUserInput.retriable}
    else:
        reference = secrets.token_hex(8)
        _log.error(
            "operation failed unexpectedly",
            reference=reference,
            operation=operation,
            path=error.path,
            exc_info=cause,
        )
        error.message = f"Internal server error, reference {reference}"
        error.extensions = {"code": INTERNAL_CODE, "reference": reference}


def _cause(error: GraphQLError) -> Exception:
    """What was raised first, under all wrappings."""
    cause: Exception = error
    while isinstance(cause, GraphQLError) and cause.original_error is not None:
        cause = cause.original_error
    return cause


def _is_of_request(error: GraphQLError, cause: Exception) -> bool:
    """Whether the request itself is at fault.

    Before any field runs, every error of GraphQL is. Afterwards only the coercion of arguments is;
    what else GraphQL finds wrong then, it finds wrong with our answers.
    """
    if not isinstance(cause, GraphQLError):
        return False
    if error.path is None or isinstance(cause, StrawberryInputCoercionError):
        return True
    return cause.nodes is not None and cause.message.startswith("Argument ")
