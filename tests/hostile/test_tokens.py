"""Asking without a token, with a wrong one, with too small a one, and with one that is revoked."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

import server.tokens
from server.tokens import TokenFile, find_token
from sessiongraph.access import Scope
from tests.hostile.raw import exchange
from tests.server.processes import RunningServer, run, serving
from tests.transports.clients import SUBPROTOCOL, heard, say
from tests.transports.stage import run as run_scenario

QUERY = '{"query": "{ server { sessions } }"}'
FOLLOWING = "subscription { corpus { kind } }"


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tokens") / "data"


@pytest.fixture(scope="module")
def asked(data_dir: Path) -> Iterator[RunningServer]:
    with serving(data_dir) as running:
        yield running


@dataclass(frozen=True)
class Made:
    """A token made beside a running server."""

    id: str
    secret: str

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.secret}"}


def created(data_dir: Path, scope: str, *cwd: Path) -> Made:
    """What ``token create`` does."""
    prefixes = tuple(map(str, cwd)) or None
    token, secret = TokenFile(data_dir / "token").create(Scope(scope), prefixes)
    return Made(token.id, secret)


def revoke(data_dir: Path, token: Made) -> None:
    """What ``token revoke`` does."""
    TokenFile(data_dir / "token").revoke(token.id)


def code_of(answer: Any) -> str:
    (error,) = answer["errors"]
    code: str = error["extensions"]["code"]
    return code


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer sgt_" + "A" * 43,
        "Basic dXNlcjpwYXNzd29yZA==",
        "Bearer a b",
        "Bearer \xe9",
        "Bearer " + "x" * 8000,
        "sgt_" + "A" * 43,
    ],
)
def test_without_a_token_that_holds_nothing_is_answered(
    asked: RunningServer, authorization: str
) -> None:
    status, headers, body = asked.request(
        "POST",
        "/graphql",
        QUERY,
        {"content-type": "application/json", "authorization": authorization},
    )
    assert (status, headers["www-authenticate"]) == (401, "Bearer")
    assert code_of(json.loads(body)) == "UNAUTHENTICATED"


def test_two_tokens_are_none(asked: RunningServer) -> None:
    token = f"Authorization: {asked.authorization}"
    json_ = "Content-Type: application/json"
    answer = exchange(asked, "POST /graphql HTTP/1.1", token, token, json_, body=QUERY)
    assert answer.status == 401


def test_a_token_is_asked_for_before_anything_else_is_said(asked: RunningServer) -> None:
    for content_type, body in (("text/plain", "x"), ("application/json", "{"), ("", "")):
        headers = {"content-type": content_type, "authorization": ""}
        assert asked.request("POST", "/graphql", body, headers)[0] == 401


def test_a_stream_of_events_is_refused_like_any_answer(asked: RunningServer) -> None:
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "authorization": "",
    }
    status, found, body = asked.request("POST", "/graphql", QUERY, headers)
    assert (status, found["content-type"]) == (401, "application/json")
    assert code_of(json.loads(body)) == "UNAUTHENTICATED"


@pytest.mark.parametrize("name", ["token", "access_token", "Authorization", "q"])
@pytest.mark.parametrize("path", ["/graphql", "/", "/app/", "/healthz"])
def test_a_token_in_an_address_is_refused_even_a_good_one(
    asked: RunningServer, path: str, name: str
) -> None:
    assert asked.authorization is not None
    secret = asked.authorization.removeprefix("Bearer ")
    for method in ("GET", "POST"):
        status, _, body = asked.request(
            method, f"{path}?{name}={secret}", QUERY, {"content-type": "application/json"}
        )
        assert (status, code_of(json.loads(body))) == (400, "BAD_USER_INPUT")
        assert secret not in body.decode()


def test_a_token_in_the_address_of_a_websocket_is_refused(asked: RunningServer) -> None:
    assert asked.authorization is not None
    secret = asked.authorization.removeprefix("Bearer ")

    async def scenario() -> None:
        url = f"ws{asked.url.removeprefix('http')}/graphql?token={secret}"
        with pytest.raises(Exception, match="400"):
            async with connect(url, proxy=None):
                pass

    run_scenario(scenario())


@asynccontextmanager
async def introduced(
    asked: RunningServer, payload: Any = None, headers: dict[str, str] | None = None
) -> AsyncIterator[ClientConnection]:
    url = f"ws{asked.url.removeprefix('http')}/graphql"
    protocols: Any = [SUBPROTOCOL]
    async with connect(
        url, subprotocols=protocols, proxy=None, additional_headers=headers
    ) as socket:
        message = {} if payload is None else {"payload": payload}
        await say(socket, type="connection_init", **message)
        yield socket


async def closing_code(socket: ClientConnection) -> tuple[int | None, str | None]:
    with pytest.raises(ConnectionClosed):
        while True:
            await socket.recv()
    return socket.close_code, socket.close_reason


@pytest.mark.parametrize(
    "payload",
    [
        None,
        {},
        {"authorization": None},
        {"authorization": ""},
        {"authorization": "Bearer wrong"},
        {"authorization": ["Bearer wrong"]},
        {"token": "wrong"},
        {"token": 5},
        {"headers": {"authorization": "Bearer wrong"}},
    ],
)
def test_a_websocket_that_introduces_itself_without_a_token_is_sent_away(
    asked: RunningServer, payload: Any
) -> None:
    async def scenario() -> None:
        async with introduced(asked, payload) as socket:
            code, reason = await closing_code(socket)
            assert code == 4403
            assert reason is not None
            assert "Authorization: Bearer" in reason

    run_scenario(scenario())


@pytest.mark.parametrize("how", ["authorization", "Authorization", "token", "handshake"])
def test_a_websocket_may_bring_its_token_in_either_place(asked: RunningServer, how: str) -> None:
    assert asked.authorization is not None
    bare = asked.authorization.removeprefix("Bearer ")
    headers = asked.credentials if how == "handshake" else None
    payload = {"token": bare} if how == "token" else {how: asked.authorization}

    async def scenario() -> None:
        sent = None if how == "handshake" else payload
        async with introduced(asked, sent, headers) as socket:
            assert await heard(socket) == {"type": "connection_ack"}

    run_scenario(scenario())


def test_a_wrong_token_in_the_first_message_is_not_saved_by_a_good_header(
    asked: RunningServer,
) -> None:
    async def scenario() -> None:
        wrong = {"authorization": "Bearer wrong"}
        async with introduced(asked, wrong, asked.credentials) as socket:
            assert (await closing_code(socket))[0] == 4403

    run_scenario(scenario())


def test_who_has_not_introduced_itself_subscribes_to_nothing(asked: RunningServer) -> None:
    async def scenario() -> None:
        url = f"ws{asked.url.removeprefix('http')}/graphql"
        protocols: Any = [SUBPROTOCOL]
        async with connect(
            url, subprotocols=protocols, proxy=None, additional_headers=asked.credentials
        ) as socket:
            await say(socket, type="subscribe", id="1", payload={"query": FOLLOWING})
            assert (await closing_code(socket))[0] == 4401

    run_scenario(scenario())


def test_a_scope_reaches_so_far_and_no_further(asked: RunningServer, data_dir: Path) -> None:
    read = 'query { session(id: "x") { id } }'
    write = 'mutation { createSession(input: {id: "w"}) { session { id } } }'
    hidden = "mutation { ...M } fragment M on Mutation { ... { a: createSession(input: {}) "
    hidden += "{ session { id } } } }"
    admin = 'mutation { deleteSession(id: "x") { deletedId } }'
    follow = 'subscription { importProgress(id: "x") { done } }'
    operations = {read: "read", write: "write", hidden: "write", admin: "admin", follow: "admin"}
    order = ["read", "write", "admin"]
    for scope in order:
        token = created(data_dir, scope)
        for query, needed in operations.items():
            headers = {**token.headers, "accept": "application/json"}
            if query == follow:
                headers["accept"] = "application/json, text/event-stream;q=0.5"
            body = json.dumps({"query": query})
            status, _, answer = asked.request(
                "POST", "/graphql", body, {"content-type": "application/json", **headers}
            )
            if order.index(scope) >= order.index(needed):
                assert status == 200, (scope, query, answer)
                assert b"FORBIDDEN" not in answer
            else:
                assert (status, code_of(json.loads(answer))) == (403, "FORBIDDEN"), (scope, query)
        revoke(data_dir, token)


def test_over_a_websocket_a_scope_refuses_the_operation_and_not_the_client(
    asked: RunningServer, data_dir: Path
) -> None:
    token = created(data_dir, "read")

    async def scenario() -> None:
        async with introduced(asked, {"token": token.secret}) as socket:
            assert (await heard(socket))["type"] == "connection_ack"
            mutation = 'mutation { createSession(input: {id: "w"}) { session { id } } }'
            await say(socket, type="subscribe", id="1", payload={"query": mutation})
            refused = await heard(socket)
            assert refused["type"] == "error"
            assert refused["payload"][0]["extensions"]["code"] == "FORBIDDEN"
            await say(socket, type="subscribe", id="2", payload={"query": "{ __typename }"})
            assert (await heard(socket))["type"] == "next"

    run_scenario(scenario())


def test_imports_are_not_for_a_token_of_some_directories(
    asked: RunningServer, data_dir: Path, tmp_path: Path
) -> None:
    token = created(data_dir, "admin", tmp_path)
    mutation = f'mutation {{ importRecordings(input: {{paths: ["{tmp_path}"]}}) {{ id }} }}'
    status, answer = asked.post(json.dumps({"query": mutation}), **token.headers)
    assert (status, code_of(answer)) == (403, "FORBIDDEN")


def test_what_counts_all_sessions_is_not_for_a_token_of_some_directories(
    asked: RunningServer, data_dir: Path, tmp_path: Path
) -> None:
    token = created(data_dir, "admin", tmp_path)
    headers = token.headers
    _, _, body = asked.request("GET", "/readyz", headers=headers)
    assert "sessions" not in json.loads(body)


def test_a_revoked_token_closes_its_websocket_and_no_other(
    asked: RunningServer, data_dir: Path
) -> None:
    token = created(data_dir, "read")

    async def scenario() -> None:
        async with (
            introduced(asked, {"token": token.secret}) as theirs,
            introduced(asked, asked.credentials) as ours,
        ):
            for socket in (theirs, ours):
                assert (await heard(socket))["type"] == "connection_ack"
                await say(socket, type="subscribe", id="1", payload={"query": FOLLOWING})
            idle = connect_idle(token)
            async with idle as quiet:
                assert (await heard(quiet))["type"] == "connection_ack"
                await asyncio.to_thread(revoke, data_dir, token)
                expected = (4403, "Forbidden: this token was revoked")
                assert await closing_code(theirs) == expected
                assert await closing_code(quiet) == expected
            await say(ours, type="ping")
            assert await heard(ours) == {"type": "pong"}

    def connect_idle(token: Made) -> Any:
        return introduced(asked, None, token.headers)

    run_scenario(scenario())


def test_a_revoked_token_ends_its_stream_of_events(asked: RunningServer, data_dir: Path) -> None:
    token = created(data_dir, "read")
    address = urlsplit(asked.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    headers = {
        **token.headers,
        "content-type": "application/json",
        "accept": "text/event-stream",
    }
    with closing(connection):
        connection.request("POST", "/graphql", json.dumps({"query": FOLLOWING}), headers)
        with connection.getresponse() as response:
            assert response.status == 200
            revoke(data_dir, token)
            rest = response.read().decode()
    assert '"UNAUTHENTICATED"' in rest
    assert rest.endswith("event: complete\ndata:\n\n")


def test_a_revoked_token_is_worth_nothing_at_once(asked: RunningServer, data_dir: Path) -> None:
    token = created(data_dir, "read")
    headers = token.headers
    assert asked.post(QUERY, **headers)[0] == 200
    revoke(data_dir, token)
    assert asked.post(QUERY, **headers)[0] == 401


def test_the_owner_can_revoke_and_renew_the_own_token(tmp_path: Path) -> None:
    with serving(tmp_path) as running:
        (shown,) = json.loads(run("token", "list", "--json", "--data-dir", tmp_path).stdout)
        assert run("token", "revoke", shown["id"], "--data-dir", tmp_path).returncode == 0
        assert running.post(QUERY)[0] == 401
        renewed = run("token", "show", "--data-dir", tmp_path).stdout.strip()
        assert renewed.startswith("Authorization: Bearer sgt_")
        authorization = renewed.removeprefix("Authorization: ")
        assert running.post(QUERY, authorization=authorization)[0] == 200


def test_a_token_file_that_others_can_read_lets_nobody_in(tmp_path: Path) -> None:
    with serving(tmp_path) as running:
        (tmp_path / "token").chmod(0o644)
        os.utime(tmp_path / "token")
        assert running.post(QUERY)[0] == 401
        refused = run("token", "show", "--data-dir", tmp_path)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "chmod 600" in refused.stderr
        (tmp_path / "token").chmod(0o600)
        os.utime(tmp_path / "token")
        assert running.post(QUERY)[0] == 200


def test_every_candidate_is_compared_whatever_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long it takes must not tell which token, or how much of one, was guessed."""
    file = TokenFile(tmp_path / "token")
    made = [file.create(Scope.READ) for _ in range(5)]
    compared: list[tuple[str, str]] = []
    real = server.tokens.compare_digest

    def counted(one: str, other: str) -> bool:
        compared.append((one, other))
        return real(one, other)

    monkeypatch.setattr(server.tokens, "compare_digest", counted)
    tokens = file.read()
    for secret in (made[0][1], made[4][1], "sgt_wrong", ""):
        compared.clear()
        found = find_token(tokens, secret)
        assert [one for one, _ in compared] == [token.sha256 for token in tokens]
        assert len({other for _, other in compared}) == 1
        assert secret not in {other for _, other in compared}
        assert (found is None) == (secret in ("sgt_wrong", ""))
