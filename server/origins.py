"""Which web pages may speak to us: those of our own, and those of origins that were named.

Browsers let any page send requests anywhere, and say in ``Origin`` and ``Sec-Fetch-Site`` whose
page it is; no page can change these headers. So a request or a WebSocket upgrade with an ``Origin``
is let through when that is, as an exact tuple of scheme, host and port, the origin that the request
is addressed to, or one of ``allowed_origins``. Without an ``Origin``, a browser that says the page
is of another site is refused as well, except when a person follows a link to a page of ours.
Programs that are no browsers send neither header; what they need is a token.

Named origins get the answers of CORS, on refusals too, so that their pages can read why.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.hosts import host_of
from server.refusals import refuse
from server.web_addresses import Origin
from sessiongraph.errors import Forbidden

_OF_PAGES: Final = {"ws": "http", "wss": "https"}
_PREFLIGHT: Final = (
    (b"access-control-allow-methods", b"POST"),
    (b"access-control-allow-headers", b"authorization, content-type"),
    (b"access-control-max-age", b"600"),
)
_VARY: Final = (b"vary", b"Origin")


class OriginCheck:
    """Refuses what a page of another site sends.

    named: ``allowed_origins``.
    """

    def __init__(self, app: ASGIApp, named: Iterable[str]) -> None:
        self._app = app
        self._named = frozenset(filter(None, map(Origin.read, named)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        origins = [value for name, value in scope["headers"] if name == b"origin"]
        origin = Origin.read(origins[0].decode("latin-1")) if len(origins) == 1 else None
        is_named = origin is not None and origin in self._named
        is_http = scope["type"] == "http"
        if self._named and is_http:
            shared = [(b"access-control-allow-origin", origins[0])] if is_named else []
            send = _with_headers(send, [*shared, _VARY])
        if is_named and is_http and scope["method"] == "OPTIONS":
            await send({"type": "http.response.start", "status": 204, "headers": _PREFLIGHT})
            await send({"type": "http.response.body", "body": b""})
        elif (is_named or origin == _own(scope)) if origins else _is_of_no_foreign_page(scope):
            await self._app(scope, receive, send)
        else:
            await refuse(scope, receive, send, 403, Forbidden(_refusal(origins)))


def _own(scope: Scope) -> Origin:
    """The origin of the pages that the server has at the address of this request.

    The ``Host`` must have been found to be one of the server's.
    """
    authority = host_of(scope)
    assert authority is not None
    scheme: str = scope.get("scheme", "http")
    return Origin.of(_OF_PAGES.get(scheme, scheme), authority)


def _is_of_no_foreign_page(scope: Scope) -> bool:
    """Whether no page of another site sends a request without an ``Origin``, or follows a link."""
    told = {
        name: value.strip().lower()
        for name, value in scope["headers"]
        if name.startswith(b"sec-fetch-")
    }
    if told.get(b"sec-fetch-site", b"none") in (b"none", b"same-origin"):
        return True
    return (
        scope["type"] == "http"
        and scope["method"] in ("GET", "HEAD")
        and told.get(b"sec-fetch-mode") == b"navigate"
        and told.get(b"sec-fetch-dest") == b"document"
    )


def _refusal(origins: list[bytes]) -> str:
    shown = origins[0][:80].decode("latin-1") if len(origins) == 1 else None
    if shown == "null":
        return "a page without an origin may not send requests to this server"
    whose = "a page of another site" if shown is None else f"a page of {shown}"
    return (
        f"{whose} may not send requests to this server: add its origin to allowed_origins to let it"
    )


def _with_headers(send: Send, added: list[tuple[bytes, bytes]]) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return send_with_headers
