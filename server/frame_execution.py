"""The frames of one subscription: its selection executed for one source event after the other.

The document was read and checked when the subscription began, so nothing of that is done again: it
would cost as much as the execution. Each frame has a context of its own, which ends with it, so
that it reads from an observation of its own moment.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeGuard, cast

import strawberry
from graphql import ExecutionResult, Executor, execute_subscription_event
from strawberry.execution.is_awaitable import optimized_is_awaitable
from strawberry.utils.await_maybe import await_maybe

from resolvers.context import RequestContext
from schema.errors import make_public
from schema.response import size_of
from server.documents import Document
from server.graphql_request import GraphQLRequest
from server.refusals import OperationFailed
from sessiongraph.allowance import UNCOUNTED

_IsAwaitable = Callable[[Any], TypeGuard[Awaitable[Any]]]

FrameContext = Callable[[Any], AbstractAsyncContextManager[Any]]
"""Makes of what the server offers the context of one frame, and ends it."""


class FrameExecution:
    """Executes one subscription.

    services: what the context of each frame is made of, by ``context``.
    """

    def __init__(
        self,
        schema: strawberry.Schema,
        request: GraphQLRequest,
        document: Document,
        services: Any,
        context: FrameContext,
    ) -> None:
        self._schema = schema
        self._request = request
        self._document = document
        self._services = services
        self._context = context

    async def result(self, event: object) -> ExecutionResult:
        """The result for one source event, its errors fit to be shown.

        Raises:
            OperationFailed: nothing was executed, because of the variables.
            CostLimitExceeded: it shows more than one operation may.
        """
        request = self._request
        async with self._context(self._services) as context:
            executor = (self._schema.execution_context_class or Executor).build(
                self._schema._schema,
                self._document.node,
                root_value=event,
                context_value=context,
                raw_variable_values=request.variables,
                operation_name=request.operation_name,
                is_awaitable=cast("_IsAwaitable", optimized_is_awaitable),
            )
            if isinstance(executor, list):
                raise OperationFailed.because(*executor, operation=request.operation_name)
            result = cast(
                "ExecutionResult", await await_maybe(execute_subscription_event(executor))
            )
            if isinstance(context, RequestContext) and context.allowance.taken > UNCOUNTED:
                context.allowance.require(size_of(result.data))
        for error in result.errors or ():
            make_public(error, request.operation_name)
        return result
