"""What the app asks, on a server that runs nothing else: by id and as a text, over real sockets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from graphql import OperationDefinitionNode, OperationType, build_ast_schema, parse, validate
from websockets.sync.client import ClientConnection, connect

from schema.export import sdl
from server.frontend import documents
from server.samples import sample_sessions
from server.trusted_documents import document_id
from tests.server.processes import RunningServer, run, serving

DOCUMENTS: dict[str, str] = json.loads(documents())
SESSION = "harbor-tour"
VARIABLES: dict[str, Any] = {
    "id": SESSION,
    "sessionId": SESSION,
    "ids": [SESSION],
    "seq": 5,
    "afterSeq": 0,
    "range": {"from": 0, "to": 5},
    "first": 5,
    "last": 5,
    "query": "harbor",
    "text": "hello",
    "keys": ["title"],
    "input": {"sessionId": SESSION, "text": "hello"},
}


def operation_of(text: str) -> OperationDefinitionNode:
    (found,) = [
        node for node in parse(text).definitions if isinstance(node, OperationDefinitionNode)
    ]
    return found


def variables_of(text: str) -> dict[str, Any]:
    definitions = operation_of(text).variable_definitions or ()
    names = [each.variable.name.value for each in definitions]
    if "first" in names and "last" in names:
        names.remove("last")  # a page has one end
    return {name: VARIABLES[name] for name in names if name in VARIABLES}


def named(*kinds: OperationType) -> list[str]:
    """The operations of these kinds; a session is resumed before a message is posted to it."""
    found = [text for text in DOCUMENTS.values() if operation_of(text).operation in kinds]
    return sorted(found, reverse=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    home = tmp_path_factory.mktemp("trusted")
    printed = run("documents")
    assert (printed.returncode, printed.stderr) == (0, "")
    (home / "documents.json").write_text(printed.stdout, "utf-8")
    with sample_sessions() as samples:
        assert run("import", "--quiet", samples, "--data-dir", home / "data").returncode == 0
    environment = {
        "SESSIONGRAPH_DOCUMENTS": "trusted",
        "SESSIONGRAPH_TRUSTED_DOCUMENTS": str(home / "documents.json"),
    }
    with serving(home / "data", environment=environment) as running:
        yield running


@contextmanager
def introduced(server: RunningServer) -> Iterator[ClientConnection]:
    init = {"type": "connection_init", "payload": server.credentials}
    with connect(
        f"ws{server.url.removeprefix('http')}/graphql",
        subprotocols=["graphql-transport-ws"],  # type: ignore[list-item]
    ) as socket:
        socket.send(json.dumps(init))
        assert json.loads(socket.recv())["type"] == "connection_ack"
        yield socket


def first_frame(socket: ClientConnection, number: int, request: dict[str, Any]) -> dict[str, Any]:
    socket.send(json.dumps({"type": "subscribe", "id": str(number), "payload": request}))
    frame: dict[str, Any] = {}
    while frame.get("id") != str(number):  # those before it may have said more meanwhile
        frame = json.loads(socket.recv(timeout=20))
    socket.send(json.dumps({"type": "complete", "id": str(number)}))
    return frame


def test_every_document_is_of_this_schema_and_has_its_id() -> None:
    schema = build_ast_schema(parse(sdl()))
    for name, text in DOCUMENTS.items():
        assert name == document_id(text)
        assert validate(schema, parse(text)) == []


def test_every_query_and_mutation_is_answered_by_its_id_and_as_its_text(
    server: RunningServer,
) -> None:
    found = named(OperationType.QUERY, OperationType.MUTATION)
    assert len(found) >= 15
    for text in found:
        for named_by in ({"documentId": document_id(text)}, {"query": text}):
            status, answer = server.post(json.dumps({**named_by, "variables": variables_of(text)}))
            assert status == 200
            assert "errors" not in answer, (text, answer)
            assert all(value is not None for value in answer["data"].values()), text


def test_every_subscription_begins_by_its_id_and_as_its_text(server: RunningServer) -> None:
    found = named(OperationType.SUBSCRIPTION)
    assert len(found) >= 3
    asked = [
        {**named_by, "variables": variables_of(text)}
        for text in found
        if "corpus" not in text  # has nothing to say until something changes
        for named_by in ({"documentId": document_id(text)}, {"query": text})
    ]
    with introduced(server) as socket:
        for number, request in enumerate(asked):
            frame = first_frame(socket, number, request)
            assert frame["type"] == "next", frame
            assert "errors" not in frame["payload"]


def test_the_list_is_followed_while_something_changes(server: RunningServer) -> None:
    (following,) = [text for text in named(OperationType.SUBSCRIPTION) if "corpus" in text]
    (resume,) = [text for text in named(OperationType.MUTATION) if "resumeSession" in text]
    with introduced(server) as socket:
        socket.send(
            json.dumps(
                {"type": "subscribe", "id": "a", "payload": {"documentId": document_id(following)}}
            )
        )
        socket.send('{"type":"ping"}')
        assert json.loads(socket.recv())["type"] == "pong"
        body = {"documentId": document_id(resume), "variables": {"id": "harbor-release"}}
        assert "errors" not in server.post(json.dumps(body))[1]
        frame = json.loads(socket.recv(timeout=20))
        assert frame["payload"]["data"]["corpus"]["sessionId"] == "harbor-release"


@pytest.mark.parametrize("change", ["{text} ", "{text}\n#", "{{ server {{ version }} }}"])
def test_anything_else_is_refused_however_alike_it_looks(
    server: RunningServer, change: str
) -> None:
    text = change.format(text=named(OperationType.QUERY)[0])
    status, answer = server.post(json.dumps({"query": text}))
    assert (status, answer["errors"][0]["extensions"]["code"]) == (400, "BAD_USER_INPUT")
    with introduced(server) as socket:
        frame = first_frame(socket, 1, {"query": text})
    assert frame["type"] == "error"
    assert frame["payload"][0]["extensions"]["code"] == "BAD_USER_INPUT"


def test_the_command_prints_the_file_of_the_build(tmp_path: Path) -> None:
    printed = run("documents", "--data-dir", tmp_path / "nowhere")
    assert printed.stdout == documents()
    assert not (tmp_path / "nowhere").exists()
