"""Faults of ours on the way from a result to a client: masked with a reference, everywhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from server import operations
from tests.transports.clients import OverSSE, OverWebSocket
from tests.transports.stage import run, staged

STREAMS = [OverSSE(), OverWebSocket()]
SECRET = "the secret inside"
ENTRIES = "subscription { entries { number } }"


def broken(_: Any) -> bytes:
    raise RuntimeError(SECRET)


@asynccontextmanager
async def broken_context(_: Any) -> AsyncIterator[None]:
    """Fails when an operation is executed."""
    raise RuntimeError(SECRET)
    yield


def require_masked(errors: list[dict[str, Any]]) -> None:
    (error,) = errors
    assert error["extensions"]["code"] == "INTERNAL_SERVER_ERROR"
    assert error["extensions"]["reference"] in error["message"]
    assert SECRET not in str(error)


async def asked_over_http(url: str) -> list[dict[str, Any]]:
    async with httpx.AsyncClient(trust_env=False, timeout=None) as client:
        answer = await client.post(f"{url}/graphql", json={"query": "{ echo }"})
    errors: list[dict[str, Any]] = answer.json()["errors"]
    return errors


def test_an_answer_that_cannot_be_written_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "encode_response", broken)

    async def scenario() -> None:
        async with staged() as stage:
            require_masked(await asked_over_http(stage.url))
            stage.world.log.append("a")
            for transport in STREAMS:
                for query in ("{ echo }", ENTRIES):
                    found = [each async for each in transport.responses(stage, {"query": query})]
                    require_masked(found[-1]["errors"])

    run(scenario())


def test_a_context_that_fails_is_masked() -> None:
    async def scenario() -> None:
        async with staged(context=broken_context) as stage:
            require_masked(await asked_over_http(stage.url))
            for transport in STREAMS:
                for query in ("{ echo }", ENTRIES):
                    found = [each async for each in transport.responses(stage, {"query": query})]
                    require_masked(found[-1]["errors"])

    run(scenario())


@pytest.mark.parametrize("transport", STREAMS, ids=lambda each: type(each).__name__)
def test_a_source_that_fails_is_masked(transport: Any) -> None:
    async def scenario() -> None:
        async with staged() as stage:
            query = "subscription { broken }"
            found = [each async for each in transport.responses(stage, {"query": query})]
            assert found[0]["data"] == {"broken": 1}
            require_masked(found[-1]["errors"])

    run(scenario())
