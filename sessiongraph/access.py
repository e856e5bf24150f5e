"""What a caller may do, and which part of the corpus exists for them.

A grant is data that the server derives from a token; the domain enforces it. For a grant with
prefixes, a session outside of them does not exist: nothing that is answered may differ from what
would be answered if it were not there (issue "Closed by default", Access).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Scope(StrEnum):
    """How much a caller may do; each scope includes those before it.

    READ: queries and subscriptions. WRITE: mutations of sessions as well. ADMIN: also what reads
    files of the server or cannot be undone (imports, deletions).
    """

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def includes(self, other: Scope) -> bool:
        """Whether who has this scope may do what the other allows."""
        order = list(Scope)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True)
class Grant:
    """What one caller may do and see.

    cwd_prefixes: absolute directories; only sessions at or below one of them exist for the caller.
        None: all sessions do, those without a directory included.
    """

    scope: Scope
    cwd_prefixes: tuple[str, ...] | None = None


EVERYTHING: Final = Grant(Scope.ADMIN)
"""The grant of who owns the data: the program itself, and a server without authentication."""
