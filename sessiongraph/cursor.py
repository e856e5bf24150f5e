"""Cursors: opaque, authenticated tokens that say where a list was left.

A token holds its *brand* (the field it belongs to), a digest of what it is *bound* to (filters, and
for the events of a session its id and epoch) and the *key* of an item. It is authenticated with a
secret of this server, so a key never has to be distrusted once read.

For those who see a part of the corpus only, it is encrypted too: epochs and the numbers of logs and
of changes count what happens everywhere. The authenticator serves as the nonce of the cipher (a
synthetic initialisation vector): equal tokens are of equal contents, and that is all that they
tell. What such a token is bound to is kept as a digest, and the rest is filled up in large steps,
so that no length tells how large a number is.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from functools import lru_cache
from typing import Any, Final, Self

from sessiongraph import lossless
from sessiongraph.errors import InvalidCursor, StaleCursor

KEY_BYTES: Final = 32
"""Length of the secret."""

_MAC_BYTES: Final = 12
_STEP: Final = 64
_BOUND_BYTES: Final = 12


class CursorCodec:
    """Issues and reads tokens under one secret.

    scope: names those who see the same part of the corpus, empty for the whole; a token is of no
        use to those who see something else.
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
        body = lossless.encode([brand, self._bound(bound), key])
        if self._scope:
            body += b" " * (-len(body) % _STEP)
        mac = self._mac(body)
        return _token(mac + self._enciphered(mac, body))

    def read(self, brand: str, bound: str, token: str) -> list[Any]:
        """The key in a token.

        Raises:
            InvalidCursor: this server did not issue it, or not for this field, or to somebody who
                sees more, or less.
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
        mac = octets[:_MAC_BYTES]
        body = self._enciphered(mac, octets[_MAC_BYTES:])
        if not hmac.compare_digest(mac, self._mac(body)):
            raise InvalidCursor("this is not a cursor of this server")
        token_brand, token_bound, key = lossless.decode(body)
        if token_brand != brand:
            raise InvalidCursor(f"this cursor belongs to {token_brand}, not to {brand}")
        if token_bound != self._bound(bound):
            raise StaleCursor("this cursor was issued for other filters or a replaced log")
        return list(key)

    def _bound(self, bound: str) -> str:
        return _digest(self._scope, bound) if self._scope else bound

    def _enciphered(self, mac: bytes, text: bytes) -> bytes:
        """Text as cipher, and cipher as text; both are the same for those who see everything."""
        if not self._scope:
            return text
        stream = hashlib.shake_256(b"cursor" + self._secret + mac).digest(len(text))
        mixed = int.from_bytes(text, "big") ^ int.from_bytes(stream, "big")
        return mixed.to_bytes(len(text), "big")

    def _mac(self, body: bytes) -> bytes:
        return hmac.digest(self._secret, body, "sha256")[:_MAC_BYTES]


@lru_cache(maxsize=256)
def _digest(scope: str, bound: str) -> str:
    text = f"{len(scope)}:{scope}{bound}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=_BOUND_BYTES).hexdigest()


def _token(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode("ascii")
