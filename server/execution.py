"""One operation executed: a query or a mutation once, a subscription for each of its source events.

The document was read and checked when the operation was prepared, so nothing of that is done again,
and nothing else stands between: the general way through Strawberry's extensions costs as much as
the execution of a small query. Each answer has a context of its own, which ends with it; each frame
reads from an observation of its own moment.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, Protocol, TypeGuard, cast, runtime_checkable

import strawberry
from graphql import (
    ExecutionResult,
    Executor,
    create_source_event_stream,
    execute_subscription_event,
)
from strawberry.execution.is_awaitable import optimized_is_awaitable
from strawberry.utils.await_maybe import await_maybe

from resolvers.context import RequestContext
from schema.errors import make_public
from schema.response import size_of
from server.documents import Document
from server.graphql_request import GraphQLRequest
from server.refusals import OperationFailed
from sessiongraph.allowance import UNCOUNTED, Allowance

_IsAwaitable = Callable[[Any], TypeGuard[Awaitable[Any]]]

_is_awaitable: Final = cast("_IsAwaitable", optimized_is_awaitable)

ContextMaker = Callable[[Any, Allowance | None], AbstractAsyncContextManager[Any]]
"""Makes of what the server offers the context of one answer, and ends it.

The second argument is what the answer may take of events; None: the context sees to it.
"""

InTime = Callable[[Any], Awaitable[Any]]
"""Awaits something that may not take too long."""


@runtime_checkable
class Closable(Protocol):
    """A source that holds something until it is closed."""

    async def aclose(self) -> None: ...


class Execution:
    """Executes one operation.

    services: what each context is made of, by ``context``.
    allowance: what a result may take of events; each frame has one of its own.
    """

    def __init__(
        self,
        schema: strawberry.Schema,
        request: GraphQLRequest,
        document: Document,
        services: Any,
        context: ContextMaker,
        allowance: Allowance | None = None,
    ) -> None:
        self._schema = schema
        self._request = request
        self._document = document
        self._services = services
        self._context = context
        self._allowance = allowance

    async def result(self) -> ExecutionResult:
        """The result of a query or a mutation, its errors fit to be shown.

        Raises:
            OperationFailed: nothing was executed, because of the variables.
            CostLimitExceeded: it shows more than one operation may.
        """
        async with self._context(self._services, self._allowance) as context:
            executor = self._executor(None, context)
            result = executor.execute_operation()
            if _is_awaitable(result):
                result = await result
        return self._public(cast("ExecutionResult", result), self._allowance)

    async def frame(self, event: object) -> ExecutionResult:
        """The result of a subscription for one source event, its errors fit to be shown.

        Raises:
            OperationFailed: nothing was executed, because of the variables.
            CostLimitExceeded: it shows more than one operation may.
        """
        async with self._context(self._services, None) as context:
            executor = self._executor(event, context)
            result = await await_maybe(execute_subscription_event(executor))
        allowance = context.allowance if isinstance(context, RequestContext) else None
        return self._public(result, allowance)

    @asynccontextmanager
    async def source(self, in_time: InTime) -> AsyncIterator[AsyncIterable[Any]]:
        """The source events of a subscription; they end with the block, however it ends.

        in_time: awaits the beginning.

        Raises:
            OperationFailed: it cannot be followed.
        """
        async with self._context(self._services, None) as context:
            executor = self._executor(None, context)
            source = await in_time(await_maybe(create_source_event_stream(executor)))
            if isinstance(source, ExecutionResult):
                raise OperationFailed.because(
                    *source.errors or (), operation=self._request.operation_name
                )
            try:
                yield source
            finally:
                if isinstance(source, Closable):
                    await source.aclose()

    def _executor(self, root: object, context: Any) -> Executor[Any]:
        request = self._request
        executor = (self._schema.execution_context_class or Executor).build(
            self._schema._schema,
            self._document.node,
            root_value=root,
            context_value=context,
            raw_variable_values=request.variables,
            operation_name=request.operation_name,
            is_awaitable=_is_awaitable,
        )
        if isinstance(executor, list):
            raise OperationFailed.because(*executor, operation=request.operation_name)
        return executor

    def _public(self, result: ExecutionResult, allowance: Allowance | None) -> ExecutionResult:
        if allowance is not None and allowance.taken > UNCOUNTED:
            allowance.require(size_of(result.data))
        for error in result.errors or ():
            make_public(error, self._request.operation_name)
        return result
