"""By which names a server may be asked, and which web pages may."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from server.hosts import HostCheck, own_hosts
from server.origins import OriginCheck
from server.web_addresses import Authority, Origin
from sessiongraph.errors import InvalidConfig

PORT = 8642
OURS = [
    b"localhost:8642",
    b"LOCALHOST:8642",
    b"127.0.0.1:8642",
    b"[::1]:8642",
    b"[0:0:0:0:0:0:0:1]:8642",
    b"[::0001]:8642",
    b"sessions.example",
    b"Sessions.Example:80",
    b"[2001:DB8::7]:443",
]
FOREIGN = [
    b"",
    b"localhost",
    b"localhost:8643",
    b"127.0.0.1",
    b"127.0.0.1:80",
    b"127.8.9.10:8642",
    b"sessions.example:8642",
    b"sessions.example:443",
    b"[2001:db8::7]",
    b"example.com",
    b"example.com:8642",
    b"localhost.:8642",
    b"127.0.0.1.:8642",
    b".localhost:8642",
    b"localhost.example.com:8642",
    b"127.0.0.1.example.com:8642",
    b"user@localhost:8642",
    b"user:password@localhost:8642",
    b"localhost:8642@example.com",
    b"example.com#localhost:8642",
    b"localhost:8642,example.com",
    b"localhost:8642 example.com",
    b"localhost:8642/",
    b"http://localhost:8642",
    b"0.0.0.0:8642",
    b"192.168.0.1:8642",
    b"127.1:8642",
    b"2130706433:8642",
    b"0x7f.0.0.1:8642",
    b"[::]:8642",
    b"[::ffff:127.0.0.1]:8642",
    b"[::ffff:192.168.0.1]:8642",
    b"[127.0.0.1]:8642",
    b"[::1%25eth0]:8642",
    b"::1:8642",
    b"[::1:8642",
    b"[::1]8642",
    b"localhost:",
    b"localhost:port",
    b"localhost:08642x",
    b"localhost:65536",
    b"localhost:-1",
    b"localhost\xc0:8642",
    "①27.0.0.1:8642".encode(),
]


@contextmanager
def bound(host: str = "127.0.0.1") -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as found:
        found.bind((host, 0))
        yield found


def hosts_of_the_server() -> frozenset[Authority]:
    names = ("sessions.example", "[2001:db8:0::7]:443")
    with bound() as found:
        port = found.getsockname()[1]
        hosts = own_hosts(found, names)
    # As if it had got the port that the tests name.
    return frozenset(Authority(host.host, PORT) if host.port == port else host for host in hosts)


def answer_to(check: Any, kind: str, *headers: tuple[bytes, bytes], **more: Any) -> Any:
    """What is sent back for a hand-made scope; the guarded application says ``passed``."""
    sent: list[dict[str, Any]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "passed"})

    async def receive() -> Any:
        raise AssertionError("nothing is read before the host is known")

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": kind, "path": "/graphql", "headers": list(headers), **more}
    asyncio.run(check(application)(scope, receive, send))
    return sent


def host_check(application: Any) -> HostCheck:
    return HostCheck(application, hosts_of_the_server())


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("host", OURS)
def test_our_own_names_pass_in_every_spelling_with_the_exact_port(kind: str, host: bytes) -> None:
    assert answer_to(host_check, kind, (b"host", host)) == [{"type": "passed"}]


@pytest.mark.parametrize("host", FOREIGN)
def test_everything_else_is_refused_with_what_to_configure(host: bytes) -> None:
    start, body = answer_to(host_check, "http", (b"host", host))
    assert start["status"] == 403
    (error,) = json.loads(body["body"])["errors"]
    assert error["extensions"]["code"] == "FORBIDDEN"
    assert "allowed_hosts" in error["message"]


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"host", b"localhost:8642"), (b"host", b"rebound.example")],
        [(b"host", b"localhost:8642"), (b"host", b"localhost:8642")],
        [(b"x-forwarded-host", b"localhost:8642")],
    ],
)
def test_a_host_must_be_named_once(headers: list[tuple[bytes, bytes]]) -> None:
    assert answer_to(host_check, "http", *headers)[0]["status"] == 403


def test_a_websocket_is_refused_before_it_is_accepted() -> None:
    rebound = (b"host", b"rebound.example")
    (closed,) = answer_to(host_check, "websocket", rebound)
    assert (closed["type"], closed["code"]) == ("websocket.close", 1008)
    extensions = {"websocket.http.response": {}}
    start, body = answer_to(host_check, "websocket", rebound, extensions=extensions)
    assert (start["type"], start["status"]) == ("websocket.http.response.start", 403)
    assert b"allowed_hosts" in body["body"]


def test_the_lifespan_has_no_host() -> None:
    assert answer_to(host_check, "lifespan") == [{"type": "passed"}]


def test_the_address_that_a_server_is_bound_to_is_a_name_of_it() -> None:
    with bound("127.0.0.7") as found:
        port = found.getsockname()[1]
        assert Authority("127.0.0.7", port) in own_hosts(found, ())


def test_a_server_that_listens_everywhere_needs_a_name() -> None:
    with bound("0.0.0.0") as found:
        with pytest.raises(InvalidConfig, match="allowed_hosts"):
            own_hosts(found, ())
        port = found.getsockname()[1]
        hosts = own_hosts(found, ("a.example",))
    assert hosts == {
        Authority("a.example", None),
        *(Authority(host, port) for host in ("localhost", "127.0.0.1", "::1")),
    }


NAMED = ("http://localhost:5173", "https://app.example", "http://[::1]:5173")


def origin_check(application: Any) -> OriginCheck:
    return OriginCheck(application, NAMED)


def asked(kind: str = "http", method: str = "POST", **headers: str) -> Any:
    """The answer to a request to localhost:8642 with these headers, ``_`` for ``-``."""
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    more = {"scheme": "http" if kind == "http" else "ws"}
    if kind == "http":
        more["method"] = method
    return answer_to(origin_check, kind, (b"host", b"localhost:8642"), *raw, **more)


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:8642",
        "HTTP://LOCALHOST:8642",
        "http://localhost:5173",
        "https://app.example",
        "https://app.example:443",
        "http://[0::1]:5173",
    ],
)
def test_our_own_pages_and_those_of_named_origins_pass(kind: str, origin: str) -> None:
    assert asked(kind, origin=origin) == [{"type": "passed"}]


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://localhost",
        "http://localhost:8643",
        "https://localhost:8642",
        "http://127.0.0.1:8642",
        "http://[::1]:8642",
        "http://localhost:8642.evil.example",
        "http://localhost:8642@evil.example",
        "http://evil.example",
        "http://localhost.:8642",
        "http://app.example",
        "https://app.example:8443",
        "https://sub.app.example",
        "https://app.example/",
        "file://",
        "localhost:8642",
    ],
)
def test_every_other_origin_is_refused(kind: str, origin: str) -> None:
    assert asked(kind, origin=origin)[0] != {"type": "passed"}


def test_two_origins_are_none() -> None:
    ours = (b"origin", b"http://localhost:8642")
    host = (b"host", b"localhost:8642")
    start, _ = answer_to(origin_check, "http", host, ours, ours, method="POST")
    assert start["status"] == 403


@pytest.mark.parametrize(
    ("method", "headers", "passes"),
    [
        ("POST", {}, True),
        ("POST", {"sec_fetch_site": "same-origin"}, True),
        ("GET", {"sec_fetch_site": "none", "sec_fetch_mode": "navigate"}, True),
        ("POST", {"sec_fetch_site": "cross-site"}, False),
        ("POST", {"sec_fetch_site": "same-site"}, False),
        ("POST", {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}, False),
        ("GET", {"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors"}, False),
        ("GET", {"sec_fetch_site": "cross-site"}, False),
    ],
)
def test_without_an_origin_the_browser_says_whose_page_it_is(
    method: str, headers: dict[str, str], passes: bool
) -> None:
    answer = asked("http", method, **headers)
    assert (answer == [{"type": "passed"}]) is passes


@pytest.mark.parametrize(("dest", "passes"), [("document", True), ("iframe", False)])
def test_a_link_from_elsewhere_may_be_followed_but_not_framed(dest: str, passes: bool) -> None:
    answer = asked(
        "http",
        "GET",
        sec_fetch_site="cross-site",
        sec_fetch_mode="navigate",
        sec_fetch_dest=dest,
    )
    assert (answer == [{"type": "passed"}]) is passes


def test_a_preflight_is_answered_for_named_origins_alone() -> None:
    wanted = {"access_control_request_method": "POST"}
    start, _ = asked("http", "OPTIONS", origin="http://localhost:5173", **wanted)
    headers = dict(start["headers"])
    assert start["status"] == 204
    assert headers[b"access-control-allow-origin"] == b"http://localhost:5173"
    assert headers[b"access-control-allow-methods"] == b"POST"
    assert b"authorization" in headers[b"access-control-allow-headers"]
    assert b"access-control-allow-credentials" not in headers
    assert headers[b"vary"] == b"Origin"
    start, _ = asked("http", "OPTIONS", origin="http://evil.example", **wanted)
    headers = dict(start["headers"])
    assert start["status"] == 403
    assert b"access-control-allow-origin" not in headers
    assert headers[b"vary"] == b"Origin"


@pytest.mark.parametrize("text", ["", "a b", "http://x", "x:0", "x:99999", "[::1", "x.", "null"])
def test_a_host_or_an_origin_is_read_whole_or_not_at_all(text: str) -> None:
    if text != "null":
        assert Authority.read(text) is None
    assert Origin.read(f"http://{text}" if text != "null" else text) is None
