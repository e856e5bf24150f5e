"""The first line of a dsh file: the header, from its JSON and back.

Required are a version, a non-empty id and an integer ``createdAt``; whatever else dsh demands is
read leniently, because an archive must open what it can. Keys that the product does not know are
kept, so that an export gives them back.

Where the inherited events of a fork end is said here up to version 1 (``seedLength``). From version
2 on the header says only that there are some (``isSeeded``), and an event marks the place; so
``seed_length`` is then not known from this line alone.
"""

from __future__ import annotations

from typing import Any, Final

from providers.recordings.dsh_notes import DshNotes
from providers.recordings.dsh_vocabulary import LAST_OFFICIAL_VERSION, LAST_PACKED_VERSION
from sessiongraph import lossless
from sessiongraph.header import SessionHeader

KNOWN_KEYS: Final = frozenset(
    {
        "type",
        "version",
        "id",
        "createdAt",
        "cwd",
        "parentSession",
        "seedLength",
        "isSeeded",
        "origin",
        "delegationDepth",
        "agentPreset",
    }
)


class NotAHeader(ValueError):
    """A first line that is not a header of dsh; the message says what is missing."""


def looks_like_header(value: Any) -> bool:
    """Whether a first line is dsh's: pi's begins alike but has no numeric ``createdAt``."""
    return (
        isinstance(value, dict)
        and value.get("type") == "session"
        and as_integer(value.get("createdAt")) is not None
        and as_integer(value.get("version")) is not None
    )


def read_header(line: bytes, notes: DshNotes) -> SessionHeader:
    """The header that a first line holds; its source is still to be filled in.

    Raises:
        NotAHeader: it holds none.
    """
    try:
        value = lossless.decode(line)
    except ValueError as error:
        raise NotAHeader("the first line is not JSON") from error
    if not isinstance(value, dict) or value.get("type") != "session":
        raise NotAHeader('the first line is not a header (type "session")')
    session_id = value.get("id")
    if not isinstance(session_id, str) or not session_id:
        raise NotAHeader("the header has no id")
    created_at = as_integer(value.get("createdAt"))
    if created_at is None:
        raise NotAHeader("the header has no integer createdAt")
    version = as_integer(value.get("version"))
    if version is None or version < 0:
        raise NotAHeader("the header has no version")
    if version > LAST_OFFICIAL_VERSION:
        notes.say(
            f"Unofficial: version {version} is not one of dsh's own (0 to {LAST_OFFICIAL_VERSION});"
            " read by its content."
        )
    extra = {key: member for key, member in value.items() if key not in KNOWN_KEYS}
    if extra:
        notes.say(f"Header keys unknown to dsh are kept: {', '.join(sorted(extra))}.")
    optional = _Optional(value)
    header = SessionHeader(
        version=version,
        session_id=session_id,
        created_at=created_at,
        cwd=optional.text("cwd"),
        parent_session=optional.text("parentSession"),
        seed_length=optional.count("seedLength") if version <= LAST_PACKED_VERSION else None,
        origin=optional.text("origin"),
        delegation_depth=optional.count("delegationDepth") or 0,
        agent_preset=optional.text("agentPreset"),
        extra=extra,
    )
    if optional.odd:
        notes.say(f"Header values of the wrong type are left out: {', '.join(optional.odd)}.")
    return header


def header_members(header: SessionHeader) -> dict[str, Any]:
    """The header as dsh writes it in the session's own version, keys in its order."""
    members: dict[str, Any] = {
        "type": "session",
        "version": header.version,
        "id": header.session_id,
        "createdAt": header.created_at,
        "cwd": header.cwd,
        "parentSession": header.parent_session,
    }
    if header.version <= LAST_PACKED_VERSION:
        members["seedLength"] = header.seed_length
    else:
        members["isSeeded"] = header.seed_length is not None
    members["origin"] = header.origin
    members["delegationDepth"] = header.delegation_depth
    members["agentPreset"] = header.agent_preset
    members = {key: value for key, value in members.items() if value is not None}
    return {**members, **header.extra}


def as_integer(value: Any) -> int | None:
    """A JSON number that is a whole number every reader keeps exact, else None."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if abs(value) <= lossless.MAX_SAFE_INTEGER else None


class _Optional:
    """The optional members of a header; ``odd`` collects the keys whose values make no sense."""

    def __init__(self, value: dict[str, Any]) -> None:
        self._value = value
        self.odd: list[str] = []

    def text(self, key: str) -> str | None:
        value = self._value.get(key)
        if value is None or isinstance(value, str):
            return value
        self.odd.append(key)
        return None

    def count(self, key: str) -> int | None:
        value = self._value.get(key)
        number = as_integer(value)
        if value is not None and (number is None or number < 0):
            self.odd.append(key)
            return None
        return number
