"""Cursors: opaque, authenticated tokens that say where a list was left.

A token holds its *brand* (the field it belongs to), a digest of what it is *bound* to (filters, and
for the events of a session its id and epoch) and the *key* of an item. It is authenticated with a
secret of this server, so a key never has to be distrusted once read.

It is encrypted too. Epochs and the numbers of logs and of changes count what happens in the whole
corpus, and a caller may be one who must not learn that anything happens elsewhere. The
authenticator serves as the nonce of the cipher (a synthetic initialisation vector): equal tokens
are of equal contents, and that is all that they tell, besides their length in steps of 16 bytes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import Any, Final, Self

from sessiongraph import lossless
from sessiongraph.errors import InvalidCursor, StaleCursor

KEY_BYTES: Final = 32
"""Length of the secret."""

_MAC_BYTES: Final = 12
_STEP: Final = 16


class CursorCodec:
    """Issues and reads tokens under one secret.

    scope: who sees the same; a token is stale for those who see something else.
    """

    def __init__(self, secret: bytes, scope: str = "") -> None:
        if len(secret) != KEY_BYTES:
            raise ValueError(f"a cursor secret has {KEY_BYTES} bytes, not {len(secret)}")
        self._secret = secret
        self._scope = scope

    def within(self, scope: str) -> Self:
        """The codec of those who see the same."""
        return self if scope == self._scope else type(self)(self._secret, scope)

    def issue(self, brand: str, bound: str, key: list[Any]) -> str:
        """The token for an item of the list ``brand``, bound to ``bound``, at ``key``."""
        parts = [brand, bound, key, self._scope] if self._scope else [brand, bound, key]
        body = lossless.encode(parts)
        body += b" " * (-len(body) % _STEP)
        mac = self._mac(body)
        return _token(mac + self._enciphered(mac, body))

    def read(self, brand: str, bound: str, token: str) -> list[Any]:
        """The key in a token.

        Raises:
            InvalidCursor: this server did not issue it, or not for this field.
            StaleCursor: it was issued for something else than ``bound``, or to somebody who sees
                something else.
        """
        try:
            octets = base64.b64decode(
                token.encode("ascii") + b"=" * (-len(token) % 4), altchars=b"-_", validate=True
            )
        except (binascii.Error, UnicodeEncodeError) as error:
            raise InvalidCursor("this is not a cursor of this server") from error
        if _token(octets) != token:  # another spelling of the same octets
            raise InvalidCursor("this is not a cursor of this server")
        mac = octets[:_MAC_BYTES]
        body = self._enciphered(mac, octets[_MAC_BYTES:])
        if not hmac.compare_digest(mac, self._mac(body)):
            raise InvalidCursor("this is not a cursor of this server")
        token_brand, token_bound, key, *scope = lossless.decode(body)
        if token_brand != brand:
            raise InvalidCursor(f"this cursor belongs to {token_brand}, not to {brand}")
        if token_bound != bound or scope != ([self._scope] if self._scope else []):
            raise StaleCursor("this cursor was issued for other filters or a replaced log")
        return list(key)

    def _enciphered(self, mac: bytes, text: bytes) -> bytes:
        """Text as cipher, and cipher as text."""
        stream = hashlib.shake_256(b"cursor" + self._secret + mac).digest(len(text))
        mixed = int.from_bytes(text, "big") ^ int.from_bytes(stream, "big")
        return mixed.to_bytes(len(text), "big")

    def _mac(self, body: bytes) -> bytes:
        return hmac.digest(self._secret, body, "sha256")[:_MAC_BYTES]


def _token(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode("ascii")
