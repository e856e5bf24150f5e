"""One operation is one observation: what the server offers becomes the context of an operation.

A mutation is an observation for each field that writes, a subscription one for each frame.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from strawberry.extensions import SchemaExtension
from strawberry.types import StreamExecutionResult
from strawberry.types.graphql import OperationType
from typing_extensions import override

from resolvers.context import RequestContext, Services
from sessiongraph.allowance import Allowance


def one_observation(services: Services, allowance: Allowance | None = None) -> RequestContext:
    """The context of one operation, or of one frame, which ends with its block.

    allowance: what it may take of events, when that outlasts it.
    """
    return RequestContext(services, allowance)


class OneObservation(SchemaExtension):
    """Gives each operation a context of its own, and ends it with the operation, also on errors.

    The context value that an operation is executed with is the server's ``Services``. Operations
    that share a connection or a batch share nothing else.
    """

    async def on_operation(self) -> AsyncIterator[None]:
        """Run around parsing, validation and execution."""
        async with one_observation(self.execution_context.context) as context:
            self.execution_context.context = context
            yield

    async def on_execute(self) -> AsyncIterator[None]:
        """Give the observation back once the result is there, however slowly a client takes it."""
        yield
        if self.execution_context.operation_type is not OperationType.SUBSCRIPTION:
            await self.execution_context.context.aclose()

    @override
    async def on_stream_result(self, result: StreamExecutionResult) -> AsyncIterator[None]:
        """Give the observation of a frame back before a client takes it."""
        await self.execution_context.context.renew()
        yield
