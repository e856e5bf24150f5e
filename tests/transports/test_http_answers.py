"""GraphQL over HTTP: which form an answer takes, and with which status."""

from __future__ import annotations

import httpx
import pytest

from server.negotiation import Form, accepted_forms
from tests.transports.stage import run, staged

JSON, RESPONSE, EVENTS = Form.JSON, Form.RESPONSE, Form.EVENTS


@pytest.mark.parametrize(
    ("accept", "forms"),
    [
        ([], [JSON]),
        ([""], [JSON]),
        (["*/*"], [JSON]),
        (["application/*"], [JSON]),
        (["text/*"], [EVENTS]),
        (["application/json"], [JSON]),
        (["Application/JSON; charset=utf-8"], [JSON]),
        (["text/event-stream"], [EVENTS]),
        (["application/graphql-response+json, application/json;q=0.9"], [RESPONSE, JSON]),
        (["application/json;q=0.5", "application/graphql-response+json"], [RESPONSE, JSON]),
        (["application/json, text/event-stream"], [JSON, EVENTS]),
        (["text/event-stream, application/json"], [EVENTS, JSON]),
        (["text/event-stream;q=0, */*;q=0.1"], [JSON]),
        (["text/html"], []),
        (["application/json;q=0"], []),
        (["application/json;q=nonsense"], []),
        (["application/json;q=nan"], []),
    ],
)
def test_forms_are_taken_in_the_order_in_which_a_client_likes_them(
    accept: list[str], forms: list[Form]
) -> None:
    assert accepted_forms(accept) == forms


@pytest.mark.parametrize(
    ("request_body", "as_json", "as_response"),
    [
        ({"query": "{ echo }"}, 200, 200),
        ({"query": "{ refused }"}, 200, 200),
        ({"query": "{ nothing }"}, 200, 400),
        ({"query": "{"}, 200, 400),
        ({"query": "query ($t: String!) { echo(text: $t) }"}, 200, 400),
        ({"query": "query A { echo } query B { echo }"}, 400, 400),
        ({"query": "query A { echo }", "operationName": "B"}, 400, 400),
        ({"query": "subscription { countdown(start: 1) }"}, 400, 400),
        ({}, 400, 400),
    ],
)
def test_the_status_says_what_the_media_type_promises(
    request_body: dict[str, object], as_json: int, as_response: int
) -> None:
    async def scenario() -> None:
        async with staged() as stage, httpx.AsyncClient(trust_env=False) as client:
            for form, status in ((JSON, as_json), (RESPONSE, as_response)):
                answer = await client.post(
                    f"{stage.url}/graphql", json=request_body, headers={"accept": form}
                )
                assert answer.status_code == status
                assert answer.headers["content-type"].partition(";")[0] == form
                assert ("data" in answer.json()) == (
                    request_body.get("query") in ("{ echo }", "{ refused }")
                )

    run(scenario())


def test_a_client_that_accepts_nothing_we_have_is_told_what_there_is() -> None:
    async def scenario() -> None:
        async with staged() as stage, httpx.AsyncClient(trust_env=False) as client:
            answer = await client.post(
                f"{stage.url}/graphql", json={"query": "{ echo }"}, headers={"accept": "text/html"}
            )
            assert answer.status_code == 406
            (error,) = answer.json()["errors"]
            assert "text/event-stream" in error["message"]

    run(scenario())


def test_a_subscription_without_a_stream_is_refused_with_the_ways_there_are() -> None:
    async def scenario() -> None:
        async with staged() as stage, httpx.AsyncClient(trust_env=False) as client:
            query = {"query": "subscription { countdown(start: 1) }"}
            answer = await client.post(f"{stage.url}/graphql", json=query)
            assert answer.status_code == 400
            (error,) = answer.json()["errors"]
            assert "text/event-stream" in error["message"]
            assert "WebSocket" in error["message"]

    run(scenario())
