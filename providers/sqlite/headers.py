"""The row of a session in the list of logs, to and from the domain's header."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from providers.sqlite.codec import from_octets, json_octets, to_octets
from sessiongraph import lossless
from sessiongraph.header import SessionHeader, SessionSource, SourceKind
from sessiongraph.ports import StoredSession

COLUMNS: Final = (
    "log, epoch, id, version, created_at, cwd, parent, seed_length, origin, delegation_depth, "
    "agent_preset, source_kind, source_path, imported_at, notes, extra, last_seq, title, "
    "prompted_at"
)
_NAMES: Final = COLUMNS.split(", ")
_KINDS: Final = {kind.value: kind for kind in SourceKind}
_FROM_NOWHERE: Final = {kind.value: SessionSource(kind) for kind in SourceKind}
"""Sources of which nothing is known but their kind."""


UNREADABLE: Final = "Parts of the stored header cannot be read."
"""The note of a session whose row is damaged; the rest of it is shown."""


def session_of(row: tuple[Any, ...]) -> StoredSession:
    """The session of a row of ``COLUMNS``; a damaged one as far as it can be read.

    A list must not fail because of one row in it.
    """
    try:
        return _whole_session(row)
    except (ValueError, TypeError, KeyError):
        readable = dict(zip(_NAMES, row, strict=True))
        for name in ("id", "cwd", "parent", "origin", "agent_preset", "source_path", "title"):
            if readable[name] is not None:
                text = bytes(readable[name]).decode("utf-8", "replace")
                readable[name] = to_octets(text)
        if readable["source_kind"] not in _KINDS:
            readable["source_kind"] = SourceKind.OTHER.value
        readable["notes"] = json_octets([UNREADABLE])
        readable["extra"] = json_octets({})
        return _whole_session(tuple(readable.values()))


def _whole_session(row: tuple[Any, ...]) -> StoredSession:
    (
        log, epoch, session_id, version, created_at, cwd, parent, seed_length, origin, depth,
        preset, kind, path, imported_at, notes, extra, last_seq, title, prompted_at,
    ) = row  # fmt: skip
    # Written out: a page of a list does this a hundred times.
    source = _FROM_NOWHERE.get(kind) if path is None is imported_at and notes == b"[]" else None
    if source is None:
        source = SessionSource(
            _KINDS[kind],
            None if path is None else path.decode("utf-8", "surrogatepass"),
            imported_at,
            tuple(_decoded(notes, list)),
        )
    header = SessionHeader(
        version,
        session_id.decode("utf-8", "surrogatepass"),
        created_at,
        None if cwd is None else cwd.decode("utf-8", "surrogatepass"),
        None if parent is None else parent.decode("utf-8", "surrogatepass"),
        seed_length,
        None if origin is None else origin.decode("utf-8", "surrogatepass"),
        depth,
        None if preset is None else preset.decode("utf-8", "surrogatepass"),
        source,
        _decoded(extra, dict) if extra != b"{}" else {},
    )
    return StoredSession(log, epoch, header, last_seq, shown_text(title), prompted_at)


def _decoded(octets: bytes, shape: type) -> Any:
    value = lossless.decode(octets)
    if not isinstance(value, shape):
        raise ValueError("a stored header has a value of another type")
    return value


def insert_log(
    connection: sqlite3.Connection, header: SessionHeader, *, state: int, epoch: int
) -> int:
    """A new, empty log in some state; its number."""
    values = header_values(header)
    values.update(state=state, epoch=epoch, last_seq=-1)
    names = ", ".join(values)
    marks = ", ".join("?" * len(values))
    cursor = connection.execute(
        f"INSERT INTO logs ({names}) VALUES ({marks})", list(values.values())
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def header_values(header: SessionHeader) -> dict[str, Any]:
    """The columns of a header."""
    source = header.source
    return {
        "id": to_octets(header.session_id),
        "version": header.version,
        "created_at": header.created_at,
        "cwd": _octets(header.cwd),
        "parent": _octets(header.parent_session),
        "seed_length": header.seed_length,
        "origin": _octets(header.origin),
        "delegation_depth": header.delegation_depth,
        "agent_preset": _octets(header.agent_preset),
        "source_kind": source.kind.value,
        "source_path": _octets(source.path),
        "imported_at": source.imported_at,
        "notes": json_octets(list(source.notes)),
        "extra": json_octets(dict(header.extra)),
    }


def shown_text(octets: bytes | None) -> str | None:
    """Text as lists show it: what does not decode is found by a check, and in nobody's way."""
    if octets is None:
        return None
    try:
        return from_octets(octets)
    except UnicodeDecodeError:
        return octets.decode("utf-8", "replace")


def _octets(text: str | None) -> bytes | None:
    return None if text is None else to_octets(text)
