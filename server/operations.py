"""Running operations: one way for every transport.

A request is prepared first: its document is read, and its operation chosen. Then a query or a
mutation gives one answer, a subscription gives frames until it ends. Whatever goes wrong so that
there is no result is an :class:`~server.refusals.OperationFailed`, and each transport has its own
way to say so; errors beside a result are part of the answer. Nobody cancels an operation but the
transport, by cancelling the task that waits for it: then its work stops and what it held is given
back before the cancellation arrives.

A subscription has a source of its own, which is cheap, and shares its frames with all who ask the
same (:mod:`server.frames`). Every frame is an execution of its own, with a context of its own, so
that it reads from one observation of the moment of its event and none stays open between events.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Hashable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol, runtime_checkable

import strawberry
from graphql import (
    ExecutionResult,
    OperationType,
    create_source_event_stream,
)
from strawberry.types import ExecutionContext
from strawberry.types import ExecutionResult as Result
from strawberry.types.graphql import OperationType as Kind
from strawberry.utils.await_maybe import await_maybe

from resolvers.context import Services
from schema.response import encode_response
from schema.scopes import require
from server.broadcasting import Broadcastable, Outlet
from server.documents import Document, Documents
from server.frame_execution import FrameContext, FrameExecution
from server.frames import Execute, Frame, SharedFrames
from server.graphql_request import GraphQLRequest
from server.refusals import OperationFailed
from sessiongraph.access import EVERYTHING, Grant

_MADE_IN_A_ROW: Final = 16
"""Frames that one subscription executes before others have their turn."""

_SENT_IN_A_ROW: Final = 128
"""Frames that one subscription takes, made by anybody, before others have their turn."""


@runtime_checkable
class Closable(Protocol):
    """A source that holds something until it is closed."""

    async def aclose(self) -> None: ...


class Operations:
    """The operations of one schema, over the services that all of them use.

    frame_context: makes of the services the context of each frame of a subscription.
    """

    def __init__(
        self,
        schema: strawberry.Schema,
        services: Services,
        documents: Documents,
        frames: SharedFrames | None = None,
        frame_context: FrameContext = nullcontext,
    ) -> None:
        self.schema = schema
        self.services = services
        self.documents = documents
        self.frames = SharedFrames() if frames is None else frames
        self.frame_context = frame_context

    def prepare(self, request: GraphQLRequest, grant: Grant = EVERYTHING) -> Operation:
        """What a request asks for, ready to be run.

        grant: what the client may do and see; who may the same shares frames.

        Raises:
            OperationFailed: the document cannot be run.
            BadUserInput: it has no such operation, or several and none was named.
            Forbidden: the client may not run it.
        """
        document = self.documents.read(request.query, self.schema)
        operation = document.operation(request.operation_name)
        require(grant, document.node, operation)
        kind = operation.operation
        services = self.services
        if grant != EVERYTHING:
            services = replace(services, grant=grant)
        is_subscription = kind is OperationType.SUBSCRIPTION
        return Operation(self, request, document, is_subscription, grant, services)


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One operation, to be run once."""

    _operations: Operations
    _request: GraphQLRequest
    _document: Document
    is_subscription: bool
    _grant: Grant
    _services: Services

    async def answer(self) -> bytes:
        """The response of a query or a mutation.

        Raises:
            OperationFailed: nothing was executed, because of the variables.
        """
        result = await self._execute()
        if result.data is None and result.errors and all(e.path is None for e in result.errors):
            raise OperationFailed(result.errors)
        return _encoded(result)

    async def frames(self, outlet: Outlet | None = None) -> AsyncGenerator[Frame, None]:
        """Every response: one of a query or a mutation, of a subscription until its source ends.

        Whoever stops early closes the generator. A frame must have been sent when the next one is
        asked for.

        outlet: what can be sent over it at once, by whoever sends the same to many, is not given.

        Raises:
            OperationFailed: nothing was executed, or the source cannot be followed any further.
        """
        try:
            if not self.is_subscription:
                yield await self.answer()
                return
            with self._operations.frames.group(self._question()) as group:
                made = sent = 0
                make = partial(group.frame, execute=self._frames())
                async with self._source() as source:
                    shared = source if isinstance(source, Broadcastable) else None
                    async for event in source:
                        frame = group.at_hand(event)
                        if frame is None:
                            frame = await make(event)
                            made += 1
                        yield frame
                        sent += 1
                        if outlet is not None and shared is not None:
                            await group.broadcasts.take_part(shared, outlet, make)
                        if made >= _MADE_IN_A_ROW or sent >= _SENT_IN_A_ROW:
                            made = sent = 0
                            await asyncio.sleep(0)
        except OperationFailed:
            raise
        except Exception as error:
            raise OperationFailed.because(error, operation=self._request.operation_name) from error

    def _question(self) -> Hashable:
        request = self._request
        variables = json.dumps(request.variables, sort_keys=True)
        return request.query, request.operation_name, variables, self._grant

    def _frames(self) -> Execute:
        """Makes the frames of a subscription, from what is the same for all of them."""
        operations = self._operations
        execution = FrameExecution(
            operations.schema,
            self._request,
            self._document,
            self._services,
            operations.frame_context,
        )

        async def execute(event: object) -> Frame:
            return _encoded(await execution.result(event))

        return execute

    async def _execute(self) -> Result:
        return await self._operations.schema.execute(
            self._request.query,
            variable_values=self._request.variables,
            context_value=self._services,
            operation_name=self._request.operation_name,
        )

    @asynccontextmanager
    async def _source(self) -> AsyncIterator[AsyncIterable[Any]]:
        """The source events of a subscription; they end with the block, however it ends."""
        schema = self._operations.schema
        context = ExecutionContext(
            query=self._request.query,
            schema=schema,
            allowed_operations=(Kind.SUBSCRIPTION,),
            context=self._services,
            variables=self._request.variables,
            provided_operation_name=self._request.operation_name,
            graphql_document=self._document.node,
        )
        extensions = schema.get_extensions()
        for extension in extensions:
            extension.execution_context = context
        runner = schema.create_extensions_runner(context, extensions)
        async with runner.operation():
            async with runner.executing():
                source = await self._begun(context)
            try:
                yield source
            finally:
                if isinstance(source, Closable):
                    await source.aclose()

    async def _begun(self, context: ExecutionContext) -> AsyncIterable[Any]:
        executor = self._operations.schema.execution_context_class.build(
            self._operations.schema._schema,
            self._document.node,
            context_value=context.context,
            raw_variable_values=self._request.variables,
            operation_name=self._request.operation_name,
        )
        if isinstance(executor, list):
            raise OperationFailed.because(*executor, operation=context.operation_name)
        source: AsyncIterable[Any] | ExecutionResult = await await_maybe(
            create_source_event_stream(executor)
        )
        if isinstance(source, ExecutionResult):
            raise OperationFailed.because(*source.errors or (), operation=context.operation_name)
        return source


def _encoded(result: Result | ExecutionResult) -> bytes:
    response: dict[str, Any] = {"data": result.data}
    if result.errors:
        response["errors"] = [error.formatted for error in result.errors]
    if result.extensions:
        response["extensions"] = result.extensions
    return encode_response(response)
