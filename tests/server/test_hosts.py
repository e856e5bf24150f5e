from __future__ import annotations

import asyncio
from typing import Any

import pytest

from server.hosts import HostCheck, is_loopback_authority

OURS = [
    b"localhost",
    b"LOCALHOST:8642",
    b"127.0.0.1",
    b"127.0.0.1:1",
    b"127.8.9.10:65535",
    b"[::1]",
    b"[::1]:8642",
    b"[0:0:0:0:0:0:0:1]:80",
]
FOREIGN = [
    b"",
    b"example.com",
    b"example.com:8642",
    b"localhost.example.com",
    b"127.0.0.1.example.com",
    b"localhost:8642@example.com",
    b"example.com#localhost",
    b"localhost,example.com",
    b"localhost example.com",
    b"0.0.0.0:8642",
    b"192.168.0.1",
    b"128.0.0.1",
    b"127.1",
    b"2130706433",
    b"[::]:8642",
    b"[::ffff:192.168.0.1]",
    b"[127.0.0.1]",
    b"::1",
    b"[::1",
    b"[::1]x",
    b"localhost:",
    b"localhost:port",
    b"localhost:123456",
    b"localhost\xc0",
    "①27.0.0.1".encode(),
]


@pytest.mark.parametrize("authority", OURS)
def test_loopback_names_and_addresses_are_ours_on_any_port(authority: bytes) -> None:
    assert is_loopback_authority(authority)


@pytest.mark.parametrize("authority", FOREIGN)
def test_everything_else_is_foreign(authority: bytes) -> None:
    assert not is_loopback_authority(authority)


def answer_to(kind: str, *headers: tuple[bytes, bytes]) -> list[dict[str, Any]]:
    """What is sent back for a hand-made scope; the guarded application says ``passed``."""
    sent: list[dict[str, Any]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "passed"})

    async def receive() -> Any:
        raise AssertionError("nothing is read before the host is known")

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": kind, "path": "/graphql", "headers": list(headers)}
    asyncio.run(HostCheck(application)(scope, receive, send))
    return sent


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_request_addressed_to_loopback_passes(kind: str) -> None:
    assert answer_to(kind, (b"host", b"[::1]:8642")) == [{"type": "passed"}]


@pytest.mark.parametrize(
    "headers",
    [
        [(b"host", b"rebound.example:8642")],
        [],
        [(b"host", b"localhost"), (b"host", b"rebound.example")],
        [(b"x-forwarded-host", b"localhost")],
    ],
)
def test_any_other_http_request_is_refused_in_plain_words(
    headers: list[tuple[bytes, bytes]],
) -> None:
    start, body = answer_to("http", *headers)
    assert start["status"] == 403
    assert (b"content-type", b"text/plain; charset=utf-8") in start["headers"]
    assert b"loopback" in body["body"]


def test_any_other_websocket_is_closed_before_it_is_accepted() -> None:
    (message,) = answer_to("websocket", (b"host", b"rebound.example"))
    assert (message["type"], message["code"]) == ("websocket.close", 1008)


def test_the_lifespan_has_no_host() -> None:
    assert answer_to("lifespan") == [{"type": "passed"}]
