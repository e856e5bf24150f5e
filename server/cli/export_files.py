"""Where exported sessions go: to stdout, to one file, or into a folder laid out as dsh's.

A file appears under its name only once it is whole; what stops half-way leaves nothing behind.
Files, and the folders that are made for them, are for their owner's eyes alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from server.cli.failures import CommandFailed
from server.cli.output import binary_stdout, visible
from server.cli.reading import log_lines, not_found
from server.private_folders import make_private_folder
from server.wiring import Services
from sessiongraph.filters import ALL_SESSIONS
from sessiongraph.header import SessionHeader
from sessiongraph.ports import LogReader, SessionOrder, StoredSession

_PAGE: Final = 200
_LONGEST_NAME: Final = 200
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class Exported:
    """One session and the file that it was written to."""

    session_id: str
    path: Path
    events: int
    bytes: int

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "id": self.session_id,
            "path": str(self.path),
            "events": self.events,
            "bytes": self.bytes,
        }

    def line(self) -> str:
        """For people."""
        return visible(f"{self.path}  {self.events:,} events, {self.bytes:,} bytes")


async def export_to_stdout(services: Services, session_id: str) -> None:
    """Print one session.

    Raises:
        SessionNotFound: there is none with this id.
    """
    out = binary_stdout()
    async with services.store.observe() as reader:
        async for line in log_lines(reader, await _stored(reader, session_id)):
            out.write(line)


async def export_to_file(services: Services, session_id: str, path: Path) -> Exported:
    """Write one session to a file.

    Raises:
        SessionNotFound: there is none with this id.
        OSError: the file cannot be written.
    """
    async with services.store.observe() as reader:
        return await _write(reader, await _stored(reader, session_id), path)


async def export_to_folder(
    services: Services, session_ids: Sequence[str] | None, folder: Path
) -> AsyncIterator[Exported]:
    """Write sessions, all of them for None, each into a folder of its own below ``folder``.

    Raises:
        SessionNotFound: there is none with one of the ids; nothing was written.
        OSError: a file cannot be written.
    """
    async with services.store.observe() as reader:
        if session_ids is None:
            sessions = _every_session(reader)
        else:
            chosen = [await _stored(reader, each) for each in dict.fromkeys(session_ids)]
            sessions = _each(chosen)
        async for session in sessions:
            yield await _write(reader, session, folder / file_of(session.header))


def file_of(header: SessionHeader) -> Path:
    """The file of a session below a folder of sessions, as dsh names it."""
    version = header.version
    name = "session.jsonl" if version == 0 else f"session.v{version}.jsonl"
    return Path(_escaped(header.session_id)) / name


def _escaped(session_id: str) -> str:
    """An id as the name of a folder: what is not plain becomes ``~XXXX``, one per UTF-16 unit.

    Ids that are too long for a name are cut and told apart by a digest.
    """
    name = _UNSAFE.sub(_units, session_id)
    if name.strip(".") == "":
        name = "".join(map(_unit, name.encode("ascii")))
    if len(name) > _LONGEST_NAME:
        digest = hashlib.blake2b(session_id.encode("utf-8", "surrogatepass"), digest_size=16)
        name = f"{name[: _LONGEST_NAME - 40]}~{digest.hexdigest()}"
    return name


def _units(match: re.Match[str]) -> str:
    octets = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(
        _unit(int.from_bytes(octets[at : at + 2], "big")) for at in range(0, len(octets), 2)
    )


def _unit(code: int) -> str:
    return f"~{code:04X}"


async def _stored(reader: LogReader, session_id: str) -> StoredSession:
    found = await reader.find([session_id])
    if session_id not in found:
        raise not_found(session_id)
    return found[session_id]


async def _every_session(reader: LogReader) -> AsyncIterator[StoredSession]:
    after = None
    while True:
        page = await reader.sessions(ALL_SESSIONS, SessionOrder.CREATED, limit=_PAGE, after=after)
        for session in page:
            yield session
        if len(page) < _PAGE:
            return
        after = page[-1].key()


async def _each(sessions: Sequence[StoredSession]) -> AsyncIterator[StoredSession]:
    for session in sessions:
        yield session


async def _write(reader: LogReader, session: StoredSession, path: Path) -> Exported:
    size = 0
    with _appearing_whole(path) as file:
        async for line in log_lines(reader, session):
            size += file.write(line)
    return Exported(session.header.session_id, path, session.last_seq + 1, size)


@contextmanager
def _appearing_whole(path: Path) -> Iterator[BinaryIO]:
    if path.exists() and not path.is_file():
        raise CommandFailed(f"{path} is not a file")
    make_private_folder(path.parent)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    unfinished = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
