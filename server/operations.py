"""Running operations: one way for every transport.

A request is prepared first: its document is read, and its operation chosen. Then a query or a
mutation gives one answer, a subscription gives frames until it ends. Whatever goes wrong so that
there is no result is an :class:`~server.refusals.OperationFailed`, and each transport has its own
way to say so; errors beside a result are part of the answer. An operation is cancelled by its
transport, which cancels the task that waits for it, and when its time is over: then its work stops
and what it held is given back before the cancellation arrives.

A mutation is not cancelled when its time is over, since nobody could tell what of it was done: each
write that has begun is finished and answered, and none begins any more.

A subscription has a source of its own, which is cheap, and shares its frames with all who ask the
same (:mod:`server.frames`). Every frame is an execution of its own, with a context of its own, so
that it reads from one observation of the moment of its event and none stays open between events.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Coroutine, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Any, Final, TypeVar

import strawberry
from graphql import ExecutionResult, OperationType

from resolvers.context import Services
from schema.response import encode_response
from schema.scopes import require
from server.broadcasting import Broadcastable, Outlet
from server.cost import Cost, CostModel
from server.documents import Document, Documents
from server.execution import ContextMaker, Execution
from server.frames import Frame, SharedFrames
from server.graphql_request import GraphQLRequest
from server.occupancy import CHEAP, Occupancy, Taken
from server.operation_records import OperationRecords, code_of
from server.refusals import OperationFailed
from server.time_limits import TimeLimit
from server.trusted_documents import TrustedDocuments
from sessiongraph.access import EVERYTHING, Grant
from sessiongraph.allowance import Allowance
from sessiongraph.errors import Aborted, BadUserInput, CostLimitExceeded, Forbidden

T = TypeVar("T")

_MADE_IN_A_ROW: Final = 16
"""Frames that one subscription executes before others have their turn."""

_SENT_IN_A_ROW: Final = 128
"""Frames that one subscription takes, made by anybody, before others have their turn."""


class Operations:
    """The operations of one schema, over the services that all of them use.

    context: makes of the services the context of each answer, and of each frame of a subscription.
    records: keeps count of them.
    costs: what operations cost; None where nobody reckons.
    occupancy: what may run at once.
    trusted: the documents that clients may name.
    timeout_s: how long a query may take, a frame of a subscription, and the beginning of either; a
        mutation begins no further write after that.
    """

    def __init__(
        self,
        schema: strawberry.Schema,
        services: Services,
        documents: Documents,
        frames: SharedFrames | None = None,
        *,
        context: ContextMaker,
        records: OperationRecords | None = None,
        costs: CostModel | None = None,
        occupancy: Occupancy | None = None,
        trusted: TrustedDocuments | None = None,
        timeout_s: float | None = None,
    ) -> None:
        self.schema = schema
        self.services = services
        self.documents = documents
        self.frames = SharedFrames() if frames is None else frames
        self.context = context
        self.records = OperationRecords() if records is None else records
        self.costs = costs
        self.occupancy = Occupancy() if occupancy is None else occupancy
        self.trusted = TrustedDocuments() if trusted is None else trusted
        self.timeout_s = timeout_s
        self._time = None if timeout_s is None else TimeLimit(timeout_s)
        self.turns = services.turns

    async def prepare(self, request: GraphQLRequest, grant: Grant = EVERYTHING) -> Operation:
        """What a request asks for, ready to be run.

        grant: what the client may do and see; who may the same shares frames.

        Raises:
            OperationFailed: the document cannot be run, or the operation could cost too much.
            BadUserInput: it has no such operation, or several and none was named; or it is not
                among the trusted ones.
            Forbidden: the client may not run it.
        """
        begun = time.perf_counter()
        try:
            return await self._prepared(self.trusted.resolved(request), grant, begun)
        except (OperationFailed, BadUserInput, Forbidden) as refusal:
            self.records.refused(refusal, time.perf_counter() - begun)
            raise

    async def _prepared(self, request: GraphQLRequest, grant: Grant, begun: float) -> Operation:
        document = await self.documents.read(request.query, self.schema)
        definition = document.operation(request.operation_name)
        require(grant, document.node, definition)
        cost = None
        if self.costs is not None:
            cost = await self.documents.cost(document, definition, request.variables, self.costs)
            try:
                cost.require()
            except CostLimitExceeded as refusal:
                raise OperationFailed.because(refusal, cost=cost.shown()) from refusal
        services = self.services
        if grant != EVERYTHING:
            services = replace(services, grant=grant)
        if self.timeout_s is not None and definition.operation is OperationType.MUTATION:
            deadline = asyncio.get_running_loop().time() + self.timeout_s
            services = replace(services, deadline=deadline)
        return Operation(
            self,
            request,
            document,
            definition.operation,
            definition.name.value if definition.name else None,
            grant,
            services,
            services.event_bytes.allowance(),
            cost,
            time.perf_counter() - begun,
        )

    async def in_time(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of work that is stopped when it takes longer than it may.

        Raises:
            Aborted: it was stopped.
        """
        if self._time is None:
            return await work
        try:
            with self._time.block() as block:
                return await work
        except TimeoutError as error:
            if not block.expired:
                raise
            most = round(self._time.limit_s * 1000)
            raise Aborted(f"it took longer than {most} ms (operation_timeout_ms)") from error


@dataclass(slots=True, eq=False)
class Operation:
    """One operation, to be run once."""

    _operations: Operations
    _request: GraphQLRequest
    _document: Document
    _kind: OperationType
    _name: str | None
    _grant: Grant
    _services: Services
    _allowance: Allowance
    _cost: Cost | None
    _prepared_s: float

    @property
    def is_subscription(self) -> bool:
        """Whether it has many answers."""
        return self._kind is OperationType.SUBSCRIPTION

    def taking_place(self) -> AbstractContextManager[None]:
        """A place among all that runs, which whoever runs the operation takes first.

        It is given back when the answer was sent, and with it what the answer held of events.

        Raises:
            TooManyRequests: (when it is entered) there is none.
        """
        occupancy = self._operations.occupancy
        places = occupancy.subscriptions if self.is_subscription else occupancy.operations
        return _TakingPlace(places.take(), self._allowance)

    async def answer(self) -> bytes:
        """The response of a query or a mutation.

        Raises:
            OperationFailed: nothing was executed, because of the variables; or it took too long, or
                too much runs.
        """
        records = self._operations.records
        with records.operation(self._kind.value, self._name, self._prepared_s) as outcome:
            try:
                with records.spans.stage("graphql execute"):
                    result = await self._executed_in_time()
            except OperationFailed:
                raise
            except Exception as error:
                name = self._request.operation_name
                raise OperationFailed.because(error, operation=name) from error
            if result.errors:
                outcome.code = code_of(result.errors)
                if result.data is None and all(e.path is None for e in result.errors):
                    raise OperationFailed(result.errors)
            if self._is_dear():
                # Its text is made in one go, which for a long answer takes as long as a turn.
                await self._operations.turns.take()
            return _encoded(result, self._cost)

    async def _executed_in_time(self) -> ExecutionResult:
        if self._kind is OperationType.MUTATION:
            return await self._sharing_cost()
        return await self._operations.in_time(self._sharing_cost())

    async def _sharing_cost(self) -> ExecutionResult:
        if self._cost is None or not self._is_dear():
            return await self._execution().result()
        async with self._operations.occupancy.cost.share(self._cost.estimated):
            return await self._execution().result()

    def _is_dear(self) -> bool:
        return self._cost is not None and self._cost.estimated > CHEAP

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
            with (
                self._operations.records.operation(self._kind.value, self._name, self._prepared_s),
                self._operations.frames.group(self._question()) as group,
            ):
                made = sent = 0
                execution = self._execution()

                async def execute(event: object) -> Frame:
                    return _encoded(await self._operations.in_time(execution.frame(event)))

                make = partial(group.frame, execute=execute)
                async with execution.source(self._operations.in_time) as source:
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

    def _execution(self) -> Execution:
        operations = self._operations
        return Execution(
            operations.schema,
            self._request,
            self._document,
            self._services,
            operations.context,
            self._allowance,
        )


class _TakingPlace:
    """A place, and an allowance that ends with it."""

    __slots__ = ("_allowance", "_taken")

    def __init__(self, taken: Taken, allowance: Allowance) -> None:
        self._taken = taken
        self._allowance = allowance

    def __enter__(self) -> None:
        self._taken.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._taken.__exit__(kind, error, trace)
        self._allowance.close()


def _encoded(result: ExecutionResult, cost: Cost | None = None) -> bytes:
    response: dict[str, Any] = {"data": result.data}
    if result.errors:
        response["errors"] = [error.formatted for error in result.errors]
    if cost is not None:
        response["extensions"] = {"cost": cost.shown()}
    return encode_response(response)
