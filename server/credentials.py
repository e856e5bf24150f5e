"""Where a token may stand in a request, and where it must not.

It is the bearer token of the ``Authorization`` header, or, since browsers cannot set headers of a
WebSocket, a member of the payload of ``connection_init``. In an address it would be kept by
histories, logs and ``Referer`` headers, so a request whose address has one is refused, however good
the token is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Receive, Scope, Send

from server.refusals import refuse
from server.tokens import SECRET
from sessiongraph.errors import BadUserInput, Unauthenticated

_BEARER: Final = re.compile(r"bearer +(?P<secret>[A-Za-z0-9._~+/=-]+)", re.IGNORECASE)
_NAMES: Final = frozenset(
    {"token", "access_token", "auth_token", "authorization", "bearer", "api_key", "apikey"}
)
"""Parameters of an address that can only be meant as a credential, in lower case."""

HOW_TO_SEND: Final = "send `Authorization: Bearer …` (`sessiongraph token show` prints it)"

IN_AN_ADDRESS: Final = (
    "a token never belongs into an address, which histories and logs keep: revoke it if it was a "
    f"real one, and {HOW_TO_SEND}"
)


class NoTokenInAddress:
    """Refuses what has a token in its address, on every path."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and is_in_address(scope["query_string"]):
            await refuse(scope, receive, send, 400, BadUserInput(IN_AN_ADDRESS))
        else:
            await self._app(scope, receive, send)


def bearer_of(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The secret in raw headers; None when they have no ``Authorization``.

    Raises:
        Unauthenticated: there are several, or it is something else than a bearer token.
    """
    values = [value for name, value in headers if name.lower() == b"authorization"]
    if not values:
        return None
    if len(values) > 1:
        raise Unauthenticated("there is more than one Authorization header")
    return _secret(values[0].decode("latin-1"))


def bearer_in(payload: Mapping[str, Any] | None) -> str | None:
    """The secret in the payload of ``connection_init``; None when it has none.

    ``authorization`` in any case has what the header would have; ``token`` has the bare secret.

    Raises:
        Unauthenticated: what is there is no bearer token.
    """
    for name, value in (payload or {}).items():
        if name.lower() == "authorization":
            return _secret(value)
    bare = (payload or {}).get("token")
    return None if bare is None else _secret(f"Bearer {bare}")


def is_in_address(query_string: bytes) -> bool:
    """Whether an address has what is, or can only be meant as, a token in its query."""
    if not query_string:
        return False
    pairs = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True)
    return any(
        name.lower() in _NAMES or SECRET.search(f"{name}={value}") is not None
        for name, value in pairs
    )


def _secret(value: object) -> str:
    found = _BEARER.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise Unauthenticated(f"this is no bearer token: {HOW_TO_SEND}")
    return found["secret"]
