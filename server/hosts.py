"""Only those who know us by a name of our own may speak to us.

A page on any site can make a browser send requests to a loopback port, and by pointing its own name
at 127.0.0.1 (DNS rebinding) it can read the answers. Such a request still carries the page's name
in its ``Host`` header. This check refuses every HTTP request and every WebSocket upgrade whose
``Host`` is not, name and port, one of the server's; it looks at the raw headers, before anything
else does. The server's are the loopback names with the port that it listens on, the address that it
is bound to, and what ``allowed_hosts`` adds.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from server.refusals import refuse
from server.web_addresses import HTTP_PORT, Authority
from sessiongraph.errors import Forbidden, InvalidConfig

_REFUSAL: Final = (
    "the Host header names no host of this server, which answers to its loopback names, with its "
    "port, and to what is in allowed_hosts"
)
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


def own_hosts(bound: socket.socket, allowed: Iterable[str]) -> frozenset[Authority]:
    """The names of a server by which it may be asked.

    bound: the socket that it listens on. allowed: ``allowed_hosts``.

    Raises:
        InvalidConfig: it listens on every address of the machine and has no name for any.
    """
    address, port = bound.getsockname()[:2]
    names = [_named(name) for name in allowed]
    if ipaddress.ip_address(address).is_unspecified:
        if not names:
            raise InvalidConfig(
                f"the server would listen on every address of this machine ({address}): say in "
                'allowed_hosts what it is called, as in ["sessions.example:8642"]'
            )
        hosts: tuple[str, ...] = _LOOPBACK
    else:
        hosts = (*_LOOPBACK, ipaddress.ip_address(address).compressed)
    shown = None if port == HTTP_PORT else port
    return frozenset([*names, *(Authority(host, shown) for host in hosts)])


def _named(text: str) -> Authority:
    found = Authority.read(text)
    assert found is not None, "settings take only what can be read"
    return found if found.port != HTTP_PORT else Authority(found.host, None)


class HostCheck:
    """Refuses what is not addressed to one of these hosts."""

    def __init__(self, app: ASGIApp, hosts: frozenset[Authority]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or host_of(scope) in self._hosts:
            await self._app(scope, receive, send)
        else:
            await refuse(scope, receive, send, 403, Forbidden(_REFUSAL))


def host_of(scope: Scope) -> Authority | None:
    """Whom a request is addressed to; None when its ``Host`` is missing, manifold or malformed."""
    values = [value for name, value in scope["headers"] if name == b"host"]
    if len(values) != 1:
        return None
    found = Authority.read(values[0].decode("latin-1").strip())
    if found is not None and found.port == HTTP_PORT:
        return Authority(found.host, None)
    return found


def is_loopback_host(host: str) -> bool:
    """Whether a host name or address, without brackets, is loopback."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
