"""What happens to an operation when its client goes away, the server stops, or code fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import strawberry
from starlette.applications import Starlette
from starlette.routing import Route

from resolvers.context import Services
from server.access import Access
from server.documents import Documents
from server.endpoint import GraphQLEndpoint
from server.limits import DocumentLimits
from server.listening import bound_socket, listening, url_of
from server.operations import Operations
from server.refusals import fault
from server.settings import Settings


class Waiter:
    """A field that waits for ever, and remembers how that ended."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()
        self.was_cancelled = False

    async def wait(self) -> str:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        finally:
            self.ended.set()
        return "never"


def application(resolver: Callable[[], Any]) -> Starlette:
    query = strawberry.type(
        type("Query", (), {"field": strawberry.field(resolver), "__annotations__": {}})
    )
    documents = Documents(DocumentLimits(tokens=100, depth=10, aliases=10))
    schema = strawberry.Schema(query)
    services = Services(query=None, version="0")  # type: ignore[arg-type]
    operations = Operations(schema, services, documents)
    endpoint = GraphQLEndpoint(operations, Access.open(), max_request_bytes=1000)
    return Starlette(
        routes=[Route("/graphql", endpoint, methods=["POST"])],
        exception_handlers={Exception: fault},
    )


@asynccontextmanager
async def client_of(app: Starlette, grace_s: float = 1.0) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a real server, which is stopped, within ``grace_s``, before the client is."""
    with bound_socket("127.0.0.1", 0) as bound:
        async with (
            httpx.AsyncClient(base_url=url_of(bound), trust_env=False) as client,
            listening(app, bound, Settings(shutdown_grace_s=grace_s)),
        ):
            yield client


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 30))


def test_an_operation_is_cancelled_when_its_client_goes_away() -> None:
    async def scenario() -> None:
        waiter = Waiter()

        async def field() -> str:
            return await waiter.wait()

        async with client_of(application(field)) as client:
            asking = asyncio.create_task(client.post("/graphql", json={"query": "{ field }"}))
            await waiter.begun.wait()
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            await waiter.ended.wait()
        assert waiter.was_cancelled

    run(scenario())


def test_an_operation_that_outlasts_the_grace_of_a_stop_is_cancelled_and_waited_for() -> None:
    async def scenario() -> None:
        waiter = Waiter()

        async def field() -> str:
            return await waiter.wait()

        async with client_of(application(field)) as client:
            asking = asyncio.create_task(client.post("/graphql", json={"query": "{ field }"}))
            await waiter.begun.wait()
        assert waiter.was_cancelled
        await asyncio.gather(asking, return_exceptions=True)

    run(scenario())


def test_an_operation_that_ends_in_time_is_answered_during_a_stop() -> None:
    async def scenario() -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def field() -> str:
            begun.set()
            await go_on.wait()
            return "done"

        async with client_of(application(field), grace_s=20) as client:
            asking = asyncio.create_task(client.post("/graphql", json={"query": "{ field }"}))
            await begun.wait()
            asyncio.get_running_loop().call_later(0.2, go_on.set)
        answer = await asking
        assert answer.json() == {"data": {"field": "done"}}

    run(scenario())


def test_a_fault_outside_of_an_operation_shows_a_reference_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: GraphQLEndpoint, request: object) -> Any:
        raise RuntimeError("the secret inside")

    async def scenario() -> None:
        def field() -> str:
            return "x"

        async with client_of(application(field)) as client:
            response = await client.post("/graphql", json={"query": "{ field }"})
        assert response.status_code == 500
        (error,) = json.loads(response.text)["errors"]
        assert error["extensions"]["code"] == "INTERNAL_SERVER_ERROR"
        assert error["extensions"]["reference"] in error["message"]
        assert "secret" not in response.text

    monkeypatch.setattr(GraphQLEndpoint, "_read", broken)
    run(scenario())
