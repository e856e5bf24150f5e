"""What a server writes to stderr: what happened, and never what anybody said."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from graphql import build_ast_schema, parse, validate
from structlog.testing import capture_logs
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from schema.errors import INTERNAL_CODE
from schema.export import sdl
from server.operation_records import OperationRecords
from server.tokens import SECRET as SECRET_OF_A_TOKEN
from server.tokens import TokenFile
from sessiongraph.errors import PersistenceFailed, SessionNotFound
from tests.server.processes import ROOT, RunningServer, clean_environment, run, serving

SECRET = "xyzzy-marker-of-a-secret"
OPERATIONS = (
    '{ session(id: "SECRET") { id } }',
    'mutation { createSession(input: {id: "SECRET", cwd: "/SECRET"}) { session { id } } }',
    'mutation { appendEvents(input: {sessionId: "SECRET", events: [{type: "session/title", '
    'data: {title: "SECRET", messageSeqs: []}}]}) { session { lastSeq } } }',
    'mutation { renameSession(id: "SECRET", title: "SECRET") { session { id } } }',
    'mutation { postMessage(input: {sessionId: "SECRET", text: "SECRET"}) { session { id } } }',
    'query Ask { searchEvents(sessionId: "SECRET", query: "SECRET") { nodes { seq } } }',
    'mutation { forkSession(input: {sourceId: "SECRET", boundary: 0, id: "SECRET2"}) '
    "{ session { id } } }",
    'mutation { importRecordings(input: {paths: ["SECRET"]}) { id } }',
    '{ sessions(after: "SECRET") { nodes { id } } }',
    '{ searchSessions(query: "\\"SECRET", first: 0) { edges { cursor } } }',
    '{ prepareMessage(sessionId: "SECRET", text: "@SECRET") { text } }',
    'mutation { deleteSession(id: "SECRET") { deletedId } }',
)
INVALID = ("{ SECRET }", '{ sessions(first: "SECRET") { nodes { id } } }', '{ broken("SECRET"')


def logged(errors: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in errors.splitlines()]


def everything(server: RunningServer, folder: Path) -> Iterator[int]:
    for operation in OPERATIONS + INVALID:
        yield server.post(json.dumps({"query": operation.replace("SECRET", SECRET)}))[0]
    variables = {"first": SECRET}
    query = "query ($first: Int) { sessions(first: $first) { edges { cursor } } }"
    yield server.post(json.dumps({"query": query, "variables": variables}))[0]
    yield server.post(SECRET)[0]
    yield server.request("GET", f"/{SECRET}?{SECRET}")[0]
    recording = folder / "recording.jsonl"
    recording.write_text(json.dumps({"type": "session", "id": "r", "version": SECRET}), "utf-8")
    query = "mutation ($paths: [String!]!) { importRecordings(input: {paths: $paths}) { id } }"
    yield server.post(json.dumps({"query": query, "variables": {"paths": [str(recording)]}}))[0]
    address = f"ws{server.url.removeprefix('http')}/graphql"
    with connect(
        address,
        subprotocols=["graphql-transport-ws"],  # type: ignore[list-item]
        additional_headers=server.credentials,
        compression=None,
    ) as socket:
        socket.send(json.dumps({"type": "connection_init", "payload": {"about": SECRET}}))
        socket.recv()
        query = f'subscription {{ sessionEvents(sessionId: "{SECRET}") {{ seq }} }}'
        socket.send(json.dumps({"type": "subscribe", "id": SECRET, "payload": {"query": query}}))
        yield len(socket.recv())
        socket.send(SECRET)
    stream = {"content-type": "application/json", "accept": "text/event-stream"}
    yield server.request("POST", "/graphql", json.dumps({"query": query}), stream)[0]


def test_nothing_that_anybody_said_is_logged_at_the_level_info(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--log-level", "info") as server:
        assert len(list(everything(server, tmp_path))) == len(OPERATIONS) + len(INVALID) + 6
        code, _, errors = server.stop()
    assert code == 0
    assert SECRET not in errors
    assert {line["event"] for line in logged(errors)} >= {"serving", "stopping", "stopped"}


def test_no_token_is_logged_at_any_level_wherever_it_was_sent(tmp_path: Path) -> None:
    """Neither a good one nor one that was good yesterday; nor does a key look as if one were."""
    with serving(tmp_path, "--log-level", "debug") as server:
        assert server.authorization is not None
        good, wrong = server.authorization.removeprefix("Bearer "), "sgt_" + "w" * 43
        query = '{"query": "{ server { version } }"}'
        for secret in (good, wrong):
            for value in (f"Bearer {secret}", f"Basic {secret}", secret):
                server.post(query, authorization=value)
            server.request("POST", f"/graphql?token={secret}", query)
            server.request("GET", f"/{secret}")
            server.post(json.dumps({"query": "{ nothing }", "variables": {"a": secret}}))
            for payload in ({"authorization": f"Bearer {secret}"}, {"token": f"{secret} "}):
                with connect(
                    f"ws{server.url.removeprefix('http')}/graphql",
                    subprotocols=["graphql-transport-ws"],  # type: ignore[list-item]
                ) as socket:
                    socket.send(json.dumps({"type": "connection_init", "payload": payload}))
                    with suppress(ConnectionClosed):
                        socket.recv()
        TokenFile(tmp_path / "token").path.write_text(f'{{"version": "{good}"}}')
        server.post(query)
        code, _, errors = server.stop()
    assert code == 0
    assert {line["event"] for line in logged(errors)} >= {"serving", "operation"}
    assert "the token file cannot be used" in errors
    assert SECRET_OF_A_TOKEN.search(errors) is None
    assert "token" not in {key for line in logged(errors) for key in line}


def test_the_operations_are_of_this_schema() -> None:
    schema = build_ast_schema(parse(sdl()))
    for operation in OPERATIONS:
        assert validate(schema, parse(operation)) == []


def test_every_operation_is_one_line_at_the_level_debug(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--log-level", "debug") as server:
        server.ask("query Ask { server { version } }")
        server.ask("{ nothing }")
        _, _, errors = server.stop()
    lines = [line for line in logged(errors) if line["event"] == "operation"]
    shown = [(line["kind"], line["operation"], line["status"]) for line in lines]
    assert shown == [("query", "Ask", "OK"), ("unreadable", None, "BAD_USER_INPUT")]
    assert all(float(str(line["ms"])) >= 0 for line in lines)


def test_a_slow_operation_is_noteworthy(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    records = OperationRecords(slow_s=0)
    with capture_logs() as lines:
        with records.operation("query", "n" * 500, prepared_s=0):
            pass
        with records.operation("subscription", None, prepared_s=0):
            pass  # lasts as long as its client likes
    (line,) = lines
    assert (line["event"], line["log_level"], line["kind"]) == ("slow operation", "info", "query")
    assert line["operation"] == "n" * 64


def test_a_refusal_is_the_business_of_its_client_and_a_fault_is_ours(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    records = OperationRecords()
    with capture_logs() as lines:
        for failure in (SessionNotFound("no"), PersistenceFailed("no"), RuntimeError("no")):
            with pytest.raises(type(failure)), records.operation("mutation", "Make", 0):
                raise failure
    assert [line["status"] for line in lines] == [PersistenceFailed.code, INTERNAL_CODE]
    assert sum(records.ended.values()) == 3
    assert set(records.running.values()) == {0}


@pytest.mark.parametrize(("form", "is_json"), [("auto", True), ("json", True), ("text", False)])
def test_the_form_can_be_chosen(form: str, is_json: bool) -> None:
    script = (
        "import logging; from server.observability import configure_logging; "
        f"configure_logging('info', '{form}'); logging.getLogger('x').info('told')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        encoding="utf-8",
        env=clean_environment(),
        cwd=ROOT,
    )
    assert "told" in done.stderr
    assert done.stderr.startswith("{") == is_json
    assert "\x1b" not in done.stderr


def test_an_unknown_form_is_refused() -> None:
    done = run("schema", environment={"SESSIONGRAPH_LOG_FORMAT": "xml"})
    assert done.returncode == 1
    assert "SESSIONGRAPH_LOG_FORMAT" in done.stderr
