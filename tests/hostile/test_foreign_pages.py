"""What a web page can make a browser send, and what it must not get.

The server is without authentication here, or the requests have the owner's token: what refuses them
are the checks of hosts and origins alone. Each attack tries to make a session, and none is there
afterwards.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.hostile.raw import Answer, exchange, post, upgrade
from tests.server.processes import RunningServer, serving
from tests.transports.stage import run

JSON = "Content-Type: application/json"
ATTACK = json.dumps(
    {"query": 'mutation { createSession(input: {id: "attack"}) { session { id } } }'}
)


@pytest.fixture(params=["with a token", "without authentication"])
def attacked(
    request: pytest.FixtureRequest, server: RunningServer, open_server: RunningServer
) -> Iterator[RunningServer]:
    """A server; afterwards nobody has written to it."""
    found = server if request.param == "with a token" else open_server
    yield found
    answer = found.ask('{ session(id: "attack") { id } }')
    assert answer["data"] == {"session": None}


def own(server: RunningServer) -> str:
    return server.url.removeprefix("http://")


def assert_forbidden(answer: Answer, setting: str) -> None:
    code, message = answer.refusal
    assert (answer.status, code) == (403, "FORBIDDEN")
    assert setting in message
    assert "access-control-allow-origin" not in answer.headers


def test_a_rebound_host_is_refused(attacked: RunningServer) -> None:
    port = own(attacked).partition(":")[2]
    for host in (
        "rebound.example",
        f"rebound.example:{port}",
        f"localhost.rebound.example:{port}",
        f"localhost.:{port}",
        f"evil@localhost:{port}",
        f"localhost:{port}@evil.example",
        "localhost",
        f"localhost:{int(port) - 1}",
        f"0.0.0.0:{port}",
        f"[::ffff:127.0.0.1]:{port}",
        "",
    ):
        answer = post(attacked, f"Host: {host}", JSON, body=ATTACK, with_host=False)
        # The HTTP parser itself refuses some of them.
        assert answer.status in (400, 403), host
        if answer.status == 403:
            assert_forbidden(answer, "allowed_hosts")


def test_a_name_of_ours_in_another_spelling_is_still_ours(server: RunningServer) -> None:
    port = own(server).partition(":")[2]
    query = '{"query": "{ __typename }"}'
    for host in (f"LocalHost:{port}", f"[0:0:0:0:0:0:0:1]:{port}", f"127.0.0.1:{port}"):
        assert post(server, f"Host: {host}", JSON, body=query, with_host=False).status == 200


def test_a_request_without_or_with_two_hosts_is_refused(attacked: RunningServer) -> None:
    host = f"Host: {own(attacked)}"
    assert post(attacked, JSON, body=ATTACK, with_host=False).status in (400, 403)
    for other in (host, "Host: rebound.example"):
        assert post(attacked, host, other, JSON, body=ATTACK, with_host=False).status in (400, 403)
    forwarded = "X-Forwarded-Host: " + own(attacked)
    answer = post(attacked, "Host: rebound.example", forwarded, JSON, body=ATTACK, with_host=False)
    assert_forbidden(answer, "allowed_hosts")


def test_a_target_in_absolute_form_is_judged_by_its_host(attacked: RunningServer) -> None:
    target = "http://rebound.example/graphql"
    answer = post(
        attacked, "Host: rebound.example", JSON, body=ATTACK, target=target, with_host=False
    )
    assert_forbidden(answer, "allowed_hosts")


def test_a_foreign_origin_is_refused(attacked: RunningServer) -> None:
    port = own(attacked).partition(":")[2]
    for origin in (
        "https://evil.example",
        "http://localhost",
        "http://localhost:5173",
        f"http://localhost:{port}",
        f"https://127.0.0.1:{port}",
        f"http://127.0.0.1:{port}.evil.example",
        f"http://127.0.0.1:{port}@evil.example",
        f"http://127.0.0.1.:{port}",
        "null",
        "",
    ):
        answer = post(attacked, f"Origin: {origin}", JSON, body=ATTACK)
        assert (answer.status, answer.refusal[0]) == (403, "FORBIDDEN"), origin
        if origin != "null":
            assert "allowed_origins" in answer.refusal[1]


def test_two_origins_are_refused(attacked: RunningServer) -> None:
    ours = f"Origin: http://{own(attacked)}"
    answer = post(attacked, ours, "Origin: https://evil.example", JSON, body=ATTACK)
    assert answer.status == 403


def test_a_page_of_another_site_that_hides_its_origin_is_refused(attacked: RunningServer) -> None:
    for site in ("cross-site", "same-site"):
        for mode in ("cors", "no-cors", "navigate"):
            told = (f"Sec-Fetch-Site: {site}", f"Sec-Fetch-Mode: {mode}")
            assert_forbidden(post(attacked, *told, JSON, body=ATTACK), "allowed_origins")


def test_a_preflight_of_a_foreign_page_is_refused(attacked: RunningServer) -> None:
    answer = exchange(
        attacked,
        "OPTIONS /graphql HTTP/1.1",
        "Origin: https://evil.example",
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Headers: content-type, authorization",
    )
    assert_forbidden(answer, "allowed_origins")


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/plain", ATTACK),
        ("text/plain; charset=application/json", ATTACK),
        ("application/x-www-form-urlencoded", "query=mutation+%7B+x+%7D"),
        ("application/x-www-form-urlencoded", ATTACK),
        ("application/graphql", 'mutation { createSession(input: {id: "attack"}) { __typename } }'),
        (
            "multipart/form-data; boundary=x",
            '--x\r\nContent-Disposition: form-data; name="operations"\r\n\r\n'
            f"{ATTACK}\r\n"
            '--x\r\nContent-Disposition: form-data; name="map"\r\n\r\n{}\r\n--x--\r\n',
        ),
        (None, ATTACK),
    ],
    ids=["plain", "disguised", "form", "json in a form", "graphql", "multipart", "none"],
)
def test_what_a_page_may_send_without_asking_runs_nothing(
    attacked: RunningServer, content_type: str | None, body: str
) -> None:
    headers = [] if content_type is None else [f"Content-Type: {content_type}"]
    answer = post(attacked, *headers, body=body)
    assert (answer.status, answer.refusal[0]) == (415, "BAD_USER_INPUT")
    foreign = post(attacked, *headers, "Origin: https://evil.example", body=body)
    assert_forbidden(foreign, "allowed_origins")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
def test_a_link_runs_no_query(attacked: RunningServer, method: str) -> None:
    token = [f"{name}: {value}" for name, value in attacked.credentials.items()]
    line = f"{method} /graphql?query=mutation%7BcreateSession(input:%7Bid:%22attack%22%7D)"
    answer = exchange(attacked, f"{line}%7B__typename%7D%7D HTTP/1.1", *token)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_a_page_may_be_opened_by_a_link_but_neither_framed_nor_read(server: RunningServer) -> None:
    link = ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate")
    for path in ("/", "/app/", "/app/sessions/x"):
        opened = exchange(server, f"GET {path} HTTP/1.1", *link, "Sec-Fetch-Dest: document")
        assert opened.status == 200
        assert opened.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in opened.headers["content-security-policy"]
        assert "access-control-allow-origin" not in opened.headers
        framed = exchange(server, f"GET {path} HTTP/1.1", *link, "Sec-Fetch-Dest: iframe")
        assert framed.status == 403
        read = exchange(server, f"GET {path} HTTP/1.1", "Origin: https://evil.example")
        assert read.status == 403


def test_a_websocket_of_a_foreign_page_is_refused(attacked: RunningServer) -> None:
    for origin in ("https://evil.example", "http://localhost:5173", "null"):
        answer = upgrade(
            attacked, f"Origin: {origin}", "Sec-WebSocket-Protocol: graphql-transport-ws"
        )
        assert (answer.status, answer.refusal[0]) == (403, "FORBIDDEN")


def test_a_websocket_to_a_rebound_host_is_refused(attacked: RunningServer) -> None:
    answer = upgrade(attacked, "Host: rebound.example", with_host=False)
    assert_forbidden(answer, "allowed_hosts")


def test_a_websocket_of_our_own_page_is_accepted(attacked: RunningServer) -> None:
    answer = upgrade(
        attacked,
        f"Origin: http://{own(attacked)}",
        "Sec-WebSocket-Protocol: graphql-transport-ws",
    )
    assert answer.status == 101


def test_the_legacy_protocol_is_not_spoken(attacked: RunningServer) -> None:
    async def scenario() -> None:
        url = f"ws://{own(attacked)}/graphql"
        legacy: Any = ["graphql-ws"]
        async with connect(
            url, subprotocols=legacy, proxy=None, additional_headers=attacked.credentials
        ) as socket:
            assert socket.subprotocol is None
            start = {"type": "connection_init"}, {"type": "start", "id": "1", "payload": ATTACK}
            with pytest.raises(ConnectionClosed):
                for message in start:
                    await socket.send(json.dumps(message))
                while True:
                    await socket.recv()
            assert socket.close_code == 4406

    run(scenario())


ALLOWED = "http://localhost:5173"


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server whose owner lets pages of one other origin ask."""
    environment = {"SESSIONGRAPH_ALLOWED_ORIGINS": json.dumps([ALLOWED])}
    with serving(tmp_path_factory.mktemp("shared"), environment=environment) as running:
        yield running


def test_a_page_of_an_allowed_origin_asks_and_follows(shared_server: RunningServer) -> None:
    preflight = exchange(
        shared_server,
        "OPTIONS /graphql HTTP/1.1",
        f"Origin: {ALLOWED}",
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Headers: authorization,content-type",
    )
    assert preflight.status == 204
    assert preflight.headers["access-control-allow-origin"] == ALLOWED
    assert preflight.headers["access-control-allow-headers"] == "authorization, content-type"
    told = (f"Origin: {ALLOWED}", "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors")
    answer = post(shared_server, *told, JSON, body='{"query": "{ __typename }"}')
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == ALLOWED
    assert answer.headers["vary"] == "Origin"
    assert upgrade(shared_server, *told).status == 101


def test_its_page_can_read_why_it_is_refused(shared_server: RunningServer) -> None:
    answer = exchange(
        shared_server, "POST /graphql HTTP/1.1", f"Origin: {ALLOWED}", JSON, body=ATTACK
    )
    assert (answer.status, answer.refusal[0]) == (401, "UNAUTHENTICATED")
    assert answer.headers["access-control-allow-origin"] == ALLOWED


def test_others_are_still_refused_and_caches_told(shared_server: RunningServer) -> None:
    for origin in ("http://localhost:5174", "https://localhost:5173", "http://127.0.0.1:5173"):
        answer = post(shared_server, f"Origin: {origin}", JSON, body=ATTACK)
        assert_forbidden(answer, "allowed_origins")
        assert answer.headers["vary"] == "Origin"


def test_all_attacks_at_once_leave_the_server_answering(server: RunningServer) -> None:
    async def attack() -> None:
        attempts = [
            asyncio.to_thread(post, server, "Origin: https://evil.example", JSON, body=ATTACK)
            for _ in range(50)
        ]
        assert {answer.status for answer in await asyncio.gather(*attempts)} == {403}

    run(attack())
    assert server.ask("{ __typename }")["data"] == {"__typename": "Query"}
