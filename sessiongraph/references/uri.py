"""The canonical URI of a session: ``dsh-session:`` and base64url of the JSON string of its id.

Exact for every string, control characters and lone surrogates included, and one-to-one: decoding
accepts only what encoding produces (references.md, "Identity").
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Final

SCHEME: Final = "dsh-session:"


def encode_uri(session_id: str) -> str:
    """The URI of a session id."""
    text = json.dumps(_joined(session_id), ensure_ascii=False)
    octets = text.encode("utf-8", "backslashreplace")
    return SCHEME + base64.urlsafe_b64encode(octets).rstrip(b"=").decode("ascii")


def decode_uri(uri: str) -> str:
    """The session id that a canonical URI names.

    Raises:
        ValueError: the URI is not one that :func:`encode_uri` produces.
    """
    body = uri.removeprefix(SCHEME)
    try:
        octets = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        # Only a string is parsed: another value could be nested without end.
        session_id = json.loads(octets.decode("utf-8")) if octets[:1] == b'"' else None
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"not a session URI: {uri!r}") from error
    if not isinstance(session_id, str) or encode_uri(session_id) != uri:
        raise ValueError(f"not a canonical session URI: {uri!r}")
    return session_id


def _joined(text: str) -> str:
    """``text`` with surrogate pairs joined to the one character that they are in JSON."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
