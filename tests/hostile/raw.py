"""Requests byte by byte, as no well-behaved client would send them."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.server.processes import TIMEOUT_S, RunningServer

HANDSHAKE = (
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
)


@dataclass(frozen=True)
class Answer:
    """What came back. status: 0 when the connection was closed without an answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def refusal(self) -> tuple[str, str]:
        """Code and message of the only error."""
        (error,) = json.loads(self.body)["errors"]
        return error["extensions"]["code"], error["message"]


def exchange(
    server: RunningServer, request_line: str, *headers: str, body: str = "", with_host: bool = True
) -> Answer:
    """One request over a connection of its own; ``Host`` and the length are added."""
    address = urlsplit(server.url)
    lines = [request_line, *headers]
    if with_host:
        lines.append(f"Host: {address.netloc}")
    if body:
        lines.append(f"Content-Length: {len(body.encode())}")
    text = "\r\n".join(lines) + "\r\n\r\n" + body
    with socket.create_connection((address.hostname, address.port), TIMEOUT_S) as connection:
        connection.sendall(text.encode("utf-8"))
        return _read(connection, has_body=not request_line.startswith("HEAD "))


def post(
    server: RunningServer, *headers: str, body: str, target: str = "/graphql", **how: Any
) -> Answer:
    """A POST with the owner's token, so that whatever refuses it is not its lack."""
    token = [f"{name}: {value}" for name, value in server.credentials.items()]
    return exchange(server, f"POST {target} HTTP/1.1", *token, *headers, body=body, **how)


def upgrade(server: RunningServer, *headers: str, **how: Any) -> Answer:
    """A handshake with the owner's token."""
    token = [f"{name}: {value}" for name, value in server.credentials.items()]
    return exchange(server, "GET /graphql HTTP/1.1", *HANDSHAKE, *token, *headers, **how)


def _read(connection: socket.socket, *, has_body: bool) -> Answer:
    with connection.makefile("rb") as stream:
        first = stream.readline().split(b" ", 2)
        headers = {}
        while line := stream.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        if len(first) < 2:
            return Answer(0, headers, b"")
        status = int(first[1])
        has_body = has_body and status != 101
        body = stream.read(int(headers.get("content-length", 0))) if has_body else b""
        return Answer(status, headers, body)
