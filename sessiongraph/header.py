"""The identity of a session: an immutable header, and how two observations of it are compared.

A header never changes once a log has it. Six of its fields are the *identity* of the log: two
observations of one id that differ in any of them are two different logs under one name, which is a
conflict (log.md, "Header") and never resolved by guessing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

EpochMillis = int
"""Milliseconds since the Unix epoch."""

LATEST_VERSION: Final = 4
"""The format generation of sessions made through our own API unless asked otherwise."""


class SourceKind(StrEnum):
    """Which recorder wrote the log that a session was read from."""

    API = "api"
    DSH = "dsh"
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    OTHER = "other"


class SessionSource(msgspec.Struct, frozen=True):
    """Where a session was read from.

    path: the recorder's file on the machine that imported it; None for our own API.
    imported_at: when the log became visible here, None for our own API.
    notes: what the reader found worth saying, each a sentence.
    """

    kind: SourceKind = SourceKind.API
    path: str | None = None
    imported_at: EpochMillis | None = None
    notes: tuple[str, ...] = ()


class SessionHeader(msgspec.Struct, frozen=True):
    """What is true of a session from its first moment on.

    version: the recorder's format generation, 0 to 4 (above 4: a fork of the recorder).
    cwd: the working directory as recorded, normally an absolute path.
    seed_length: how many leading events were inherited from the parent; None when not seeded.
    origin: ``subagent``, or None.
    extra: header keys that the product does not know, kept so that an export gives them back.
    """

    version: int
    session_id: str
    created_at: EpochMillis
    cwd: str | None = None
    parent_session: str | None = None
    seed_length: int | None = None
    origin: str | None = None
    delegation_depth: int = 0
    agent_preset: str | None = None
    source: SessionSource = msgspec.field(default_factory=SessionSource)
    extra: Mapping[str, Any] = msgspec.field(default_factory=dict)

    def identity(self) -> tuple[int, EpochMillis, str | None, str | None, int | None, int]:
        """The fields in which two observations of one id must agree."""
        return (
            self.version,
            self.created_at,
            self.cwd,
            self.parent_session,
            self.seed_length,
            self.delegation_depth,
        )

    def conflicts_with(self, other: SessionHeader) -> tuple[str, ...]:
        """Names of the identity fields in which ``other`` differs; empty for the same log."""
        names = (
            "version",
            "createdAt",
            "cwd",
            "parentSession",
            "seedLength",
            "delegationDepth",
        )
        pairs = zip(names, self.identity(), other.identity(), strict=True)
        return tuple(name for name, mine, theirs in pairs if mine != theirs)
