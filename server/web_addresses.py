"""Hosts with ports, and origins, as headers and settings write them.

Both are compared as values and never as texts: a name in any case and an address in any spelling is
the same, and a port that is left out is that of the scheme.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

HTTP_PORT: Final = 80
"""The port that an address of the scheme ``http`` leaves out."""

_LONGEST: Final = 300
"""Characters of the longest host with a port: a name has at most 253."""

_DEFAULT_PORTS: Final = {"http": HTTP_PORT, "https": 443}
_AUTHORITY: Final = re.compile(
    r"(?:\[(?P<literal>[0-9a-f:.]+)\]|(?P<name>[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?))"
    r"(?::(?P<port>[0-9]{1,5}))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Authority:
    """A host and a port, as addresses and the ``Host`` header have them.

    host: a name in lower case, or an address in its shortest form, without brackets.
    port: None where it was left out, which means that of the scheme.
    """

    host: str
    port: int | None

    @classmethod
    def read(cls, text: str) -> Authority | None:
        """What ``host``, ``host:port`` or ``[v6]:port`` stands for; None when it is none."""
        return _authority(text) if len(text) <= _LONGEST else None

    @classmethod
    def _read(cls, text: str) -> Authority | None:
        match = _AUTHORITY.fullmatch(text.lower())
        if match is None:
            return None
        port = None if match["port"] is None else int(match["port"])
        if port is not None and not 0 < port < 65536:
            return None
        if match["literal"] is None:
            return cls(match["name"], port)
        try:
            return cls(ipaddress.IPv6Address(match["literal"]).compressed, port)
        except ValueError:
            return None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"


_authority: Final = lru_cache(maxsize=64)(Authority._read)
"""Remembers a few: nearly all requests name the same."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a page is from; the port is always there."""

    scheme: str
    host: str
    port: int

    @classmethod
    def read(cls, text: str) -> Origin | None:
        """What ``scheme://host[:port]`` stands for; None when it is ``null`` or anything else."""
        scheme, separator, rest = text.partition("://")
        scheme = scheme.lower()
        authority = Authority.read(rest)
        if not separator or authority is None or scheme not in _DEFAULT_PORTS:
            return None
        return cls.of(scheme, authority)

    @classmethod
    def of(cls, scheme: str, authority: Authority) -> Origin:
        """That of the pages of a server."""
        port = _DEFAULT_PORTS[scheme] if authority.port is None else authority.port
        return cls(scheme, authority.host, port)
