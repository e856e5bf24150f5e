"""Headers on every answer that keep a browser from misusing it.

An answer is never sniffed for another type, never framed, never read by a page of another origin,
and tells no other site where a reader came from. What is no page may load nothing at all, should a
browser show it as one; pages bring a content security policy of their own.
"""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECURITY_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
_POLICY: Final = b"content-security-policy"
_OF_NO_PAGE: Final = (
    *SECURITY_HEADERS,
    (_POLICY, b"default-src 'none'; frame-ancestors 'none'"),
)


class SecurityHeaders:
    """Adds the headers to every HTTP answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message.get("headers", ())
                is_page = any(name.lower() == _POLICY for name, _ in headers)
                added = SECURITY_HEADERS if is_page else _OF_NO_PAGE
                message = {**message, "headers": [*headers, *added]}
            await send(message)

        await self._app(scope, receive, send_with_headers)
