"""Only those who know us by a name of our own may speak to us.

A page on any site can make a browser send requests to a loopback port, and by pointing its own name
at 127.0.0.1 (DNS rebinding) it can read the answers. Such a request still carries the page's name
in its ``Host`` header. This check refuses every HTTP request and every WebSocket upgrade whose
``Host`` is not loopback, whatever the port; it looks at the raw headers, before anything else does.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

_REFUSAL: Final = (
    b"This server answers only to its loopback names: localhost, 127.0.0.1, [::1]. "
    b"The Host header named another.\n"
)
_AUTHORITY: Final = re.compile(
    r"(?:\[(?P<literal>[0-9a-f:.]+)\]|(?P<name>[a-z0-9.-]+))(?::[0-9]{1,5})?", re.ASCII
)


class HostCheck:
    """Refuses what is not addressed to loopback."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or _is_for_us(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            headers = [
                (b"content-type", b"text/plain; charset=utf-8"),
                (b"content-length", str(len(_REFUSAL)).encode("ascii")),
                (b"connection", b"close"),
            ]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": _REFUSAL})
        else:
            # Closing before accepting makes the server answer the handshake with 403.
            await send({"type": "websocket.close", "code": 1008, "reason": "wrong Host"})


def _is_for_us(scope: Scope) -> bool:
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    return len(hosts) == 1 and is_loopback_authority(hosts[0])


def is_loopback_authority(authority: bytes) -> bool:
    """Whether ``host[:port]``, as a client sends it, is loopback: a name or an address of it."""
    match = _AUTHORITY.fullmatch(authority.decode("latin-1").strip().lower())
    if match is None:
        return False
    literal, name = match["literal"], match["name"]
    return is_loopback_host(name) if literal is None else ":" in literal and _is_loopback(literal)


def is_loopback_host(host: str) -> bool:
    """Whether a host name or address, without brackets, is loopback."""
    return host == "localhost" or _is_loopback(host)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
