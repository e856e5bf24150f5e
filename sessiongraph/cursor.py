"""Cursors: opaque, authenticated tokens that say where a list was left.

A token holds its *brand* (the field it belongs to), a digest of what it is *bound* to (filters, and
for the events of a session its id and epoch) and the *key* of an item. It is authenticated with a
secret of this server, so a key never has to be distrusted once read. Encryption is not needed: a
key holds nothing that its own item did not show.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import Any, Final

from sessiongraph import lossless
from sessiongraph.errors import InvalidCursor, StaleCursor

KEY_BYTES: Final = 32
"""Length of the secret."""

_MAC_BYTES: Final = 12


class CursorCodec:
    """Issues and reads tokens under one secret."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) != KEY_BYTES:
            raise ValueError(f"a cursor secret has {KEY_BYTES} bytes, not {len(secret)}")
        self._secret = secret

    def issue(self, brand: str, bound: str, key: list[Any]) -> str:
        """The token for an item of the list ``brand``, bound to ``bound``, at ``key``."""
        body = lossless.encode([brand, bound, key])
        return _token(self._mac(body) + body)

    def read(self, brand: str, bound: str, token: str) -> list[Any]:
        """The key in a token.

        Raises:
            InvalidCursor: this server did not issue it, or not for this field.
            StaleCursor: it was issued for something else than ``bound``.
        """
        try:
            octets = base64.b64decode(
                token.encode("ascii") + b"=" * (-len(token) % 4), altchars=b"-_", validate=True
            )
        except (binascii.Error, UnicodeEncodeError) as error:
            raise InvalidCursor("this is not a cursor of this server") from error
        if _token(octets) != token:  # another spelling of the same octets
            raise InvalidCursor("this is not a cursor of this server")
        mac, body = octets[:_MAC_BYTES], octets[_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(body)):
            raise InvalidCursor("this is not a cursor of this server")
        token_brand, token_bound, key = lossless.decode(body)
        if token_brand != brand:
            raise InvalidCursor(f"this cursor belongs to {token_brand}, not to {brand}")
        if token_bound != bound:
            raise StaleCursor("this cursor was issued for other filters or a replaced log")
        return list(key)

    def _mac(self, body: bytes) -> bytes:
        return hmac.digest(self._secret, body, "sha256")[:_MAC_BYTES]


def _token(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode("ascii")
