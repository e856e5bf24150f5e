"""The HTTP surface of a real server over real sockets."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.server.processes import RunningServer, serving

MOST_BYTES = 4096
MOST_VALUES = 1900


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    settings = {
        "SESSIONGRAPH_MAX_REQUEST_BYTES": str(MOST_BYTES),
        "SESSIONGRAPH_MAX_REQUEST_VALUES": str(MOST_VALUES),
    }
    with serving(tmp_path_factory.mktemp("http"), environment=settings) as running:
        yield running


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_only_post_reaches_the_api(server: RunningServer, method: str) -> None:
    status, headers, body = server.request(method, "/graphql?query={server{events}}")
    assert (status, headers["allow"]) == (405, "POST")
    (error,) = json.loads(body)["errors"]
    assert error["message"] == f"{method} is not accepted here, only POST"


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
        "",
    ],
)
def test_only_json_reaches_the_api(server: RunningServer, content_type: str) -> None:
    status, _, body = server.request(
        "POST", "/graphql", '{"query": "{ __typename }"}', {"content-type": content_type}
    )
    assert status == 415
    assert json.loads(body)["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT"


def test_a_content_type_may_have_parameters(server: RunningServer) -> None:
    body = '{"query": "{ __typename }"}'
    status, answer = server.post(body, **{"content-type": "Application/JSON; charset=utf-8"})
    assert (status, answer["data"]) == (200, {"__typename": "Query"})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "the request body cannot be read as JSON"),
        (b"", "the request body cannot be read as JSON"),
        (b"\xff", "the request body cannot be read as JSON"),
        (b'{"query": NaN}', "the request body cannot be read as JSON"),
        (b"[]", "the request body must be one JSON object"),
        (b'"{ __typename }"', "the request body must be one JSON object"),
        (b"1" * 4000, "the request body must be one JSON object"),
        (b"[" * 1800 + b"]" * 1800, "the request body cannot be read as JSON: nested too deeply"),
        (b'{"a":' * 800, "the request body cannot be read as JSON: "),
        (b'{"query": 5}', "`query` must be a string or null"),
        (b'{"query": "{a}", "variables": []}', "`variables` must be an object or null"),
        (b'{"query": "{a}", "operationName": {}}', "`operationName` must be a string or null"),
        (b'{"query": "{a}", "extensions": 1}', "`extensions` must be an object or null"),
        (b"{}", "No GraphQL query found in the request"),
        (b'{"query": ""}', "No GraphQL query found in the request"),
        (
            b'{"query": "query A { __typename }", "operationName": "B"}',
            'Unknown operation named "B"',
        ),
    ],
)
def test_what_is_no_operation_is_a_400_in_the_shape_of_an_error(
    server: RunningServer, body: bytes, message: str
) -> None:
    status, answer = server.post(body)
    assert status == 400
    assert list(answer) == ["errors"]
    assert answer["errors"][0]["message"].startswith(message)
    assert answer["errors"][0]["extensions"] == {"code": "BAD_USER_INPUT", "retriable": False}


def test_an_operation_that_fails_is_a_200(server: RunningServer) -> None:
    status, answer = server.post('{"query": "{ nowhere }"}')
    assert status == 200
    assert answer["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT"


def test_an_operation_is_answered(server: RunningServer) -> None:
    answer = server.ask("query Q($id: ID!) { session(id: $id) { id } }", id="nowhere")
    assert answer["data"] == {"session": None}
    assert answer["extensions"] == {"cost": {"estimated": 2, "limit": 200_000}}


@pytest.mark.parametrize("size", [MOST_BYTES + 1, 20 * MOST_BYTES])
def test_a_body_over_the_limit_is_refused_with_its_name(server: RunningServer, size: int) -> None:
    status, answer = server.post(b" " * size)
    assert status == 413
    assert answer["errors"][0]["message"] == (
        f"the request body is larger than {MOST_BYTES} bytes (max_request_bytes)"
    )


def test_a_body_at_the_limit_is_read(server: RunningServer) -> None:
    status, _ = server.post(b'{"query": "{ __typename }"}'.ljust(MOST_BYTES))
    assert status == 200


def request_of(values: int) -> str:
    """A request with as many commas and opening brackets."""
    request = {"query": "{ __typename }", "variables": {"a": [0] * (values - 4)}}
    return json.dumps(request, separators=(",", ":"))


def test_a_body_of_too_many_values_is_refused_with_the_name_of_the_limit(
    server: RunningServer,
) -> None:
    assert server.post(request_of(MOST_VALUES))[0] == 200
    status, answer = server.post(request_of(MOST_VALUES + 1))
    assert status == 400
    assert f"more than {MOST_VALUES} values (max_request_values)" in answer["errors"][0]["message"]


def test_a_message_of_too_many_values_ends_the_connection(server: RunningServer) -> None:
    message = {"type": "ping", "payload": {"a": [0] * MOST_VALUES}}
    with connect(
        f"ws{server.url.removeprefix('http')}/graphql",
        subprotocols=["graphql-transport-ws"],  # type: ignore[list-item]
    ) as asked:
        asked.send(json.dumps(message, separators=(",", ":")))
        with pytest.raises(ConnectionClosed) as closed:
            asked.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4400
    assert f"more than {MOST_VALUES} values (max_request_values)" in closed.value.rcvd.reason


def test_a_body_without_a_stated_length_is_limited_too(server: RunningServer) -> None:
    address = urlsplit(server.url)
    assert address.hostname is not None
    with socket.create_connection((address.hostname, address.port or 0)) as connection:
        connection.sendall(
            f"POST /graphql HTTP/1.1\r\nHost: localhost:{address.port}\r\n"
            f"Authorization: {server.authorization}\r\nContent-Type: application/json\r\n"
            "Transfer-Encoding: chunked\r\n\r\n".encode()
            + b"1000\r\n"
            + b" " * 4096
            + b"\r\n"
            + b"1\r\n \r\n0\r\n\r\n"
        )
        assert connection.recv(64).startswith(b"HTTP/1.1 413")


def test_a_foreign_host_is_refused_everywhere(server: RunningServer) -> None:
    for path in ("/", "/graphql", "/healthz", "/nowhere"):
        status, _, body = server.request("GET", path, headers={"host": "rebound.example"})
        assert status == 403
        (error,) = json.loads(body)["errors"]
        assert error["extensions"]["code"] == "FORBIDDEN"
        assert "allowed_hosts" in error["message"]


def test_an_upgrade_to_a_websocket_with_a_foreign_host_is_refused(server: RunningServer) -> None:
    status, _, _ = server.request(
        "GET",
        "/graphql",
        headers={
            "host": "rebound.example",
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec-websocket-version": "13",
            "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
        },
    )
    assert status == 403


def test_health_and_readiness(server: RunningServer) -> None:
    status, _, body = server.request("GET", "/healthz")
    assert (status, json.loads(body)) == (200, {"status": "ok"})
    status, headers, body = server.request("GET", "/readyz")
    expected = {"ready": True, "sessions": 0, "events": 0, "indexLag": 0, "documents": 0}
    assert (status, json.loads(body)) == (200, expected)
    assert headers["cache-control"] == "no-store"


def test_readiness_tells_strangers_nothing_of_what_is_stored(server: RunningServer) -> None:
    status, _, body = server.request("GET", "/readyz", headers={"authorization": ""})
    assert (status, json.loads(body)) == (200, {"ready": True})


def test_the_front_page_is_graphiql_under_a_strict_policy(server: RunningServer) -> None:
    status, headers, body = server.request("GET", "/")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"GraphiQL" in body
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert "cdn" not in headers["content-security-policy"]


def test_the_files_of_the_page_are_a_fixed_list(server: RunningServer) -> None:
    status, headers, _ = server.request("GET", "/graphiql/page.js")
    assert (status, headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    for name in ("__init__.py", "page.html", "..%2Fsettings.py", "../settings.py", "%00"):
        status, _, _ = server.request("GET", f"/graphiql/{name}")
        assert status == 404


@pytest.mark.parametrize("path", ["/", "/graphql", "/healthz", "/graphiql/page.js", "/nowhere"])
def test_every_answer_carries_the_security_headers(server: RunningServer, path: str) -> None:
    _, headers, _ = server.request("GET", path)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "server" not in headers
    assert "access-control-allow-origin" not in headers


def test_an_unknown_path_is_refused_in_the_same_shape(server: RunningServer) -> None:
    status, _, body = server.request("GET", "/nowhere")
    assert (status, json.loads(body)["errors"][0]["message"]) == (404, "Not Found")


def test_the_limits_of_documents_are_in_force(server: RunningServer) -> None:
    deep = '{ session(id: "x") { ' + "lineage { target { " * 20 + "id" + " } }" * 20 + " } }"
    assert "max_query_depth" in server.ask(deep)["errors"][0]["message"]
