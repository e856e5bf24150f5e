"""A session as a caller wants it made: checked by itself, before the corpus knows it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from sessiongraph.directories import place_of
from sessiongraph.errors import BadUserInput
from sessiongraph.header import LATEST_VERSION, EpochMillis, SessionHeader

SUBAGENT: Final = "subagent"
"""The one origin that a session can have."""


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session as a caller wants it made; what is None gets its default."""

    session_id: str | None = None
    version: int = LATEST_VERSION
    cwd: str | None = None
    created_at: EpochMillis | None = None
    parent_session: str | None = None
    origin: str | None = None
    delegation_depth: int = 0
    agent_preset: str | None = None

    def header(self, now: EpochMillis) -> SessionHeader:
        """The header of the new session.

        Raises:
            BadUserInput: a field has a value that makes no sense.
        """
        if self.session_id == "":
            raise BadUserInput("a session id cannot be empty")
        if not 0 <= self.version <= LATEST_VERSION:
            raise BadUserInput(f"a version is 0 to {LATEST_VERSION}, not {self.version}")
        if self.delegation_depth < 0:
            raise BadUserInput("delegationDepth cannot be negative")
        if self.cwd is not None and place_of(self.cwd) is None:
            raise BadUserInput(f"cwd is an absolute path, not {self.cwd!r}")
        if self.parent_session == "":
            raise BadUserInput("the id of a parent session cannot be empty")
        if self.origin not in (None, SUBAGENT):
            raise BadUserInput(f"origin is {SUBAGENT!r} or absent, not {self.origin!r}")
        return SessionHeader(
            self.version,
            self.session_id or str(uuid.uuid4()),
            now if self.created_at is None else self.created_at,
            self.cwd,
            self.parent_session,
            None,
            self.origin,
            self.delegation_depth,
            self.agent_preset,
        )

    def has_made(self, header: SessionHeader) -> bool:
        """Whether a session with this header is the one that the same call made before."""
        wanted = self.header(header.created_at)
        return replace(wanted, source=header.source) == header
