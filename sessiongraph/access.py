"""What a caller may do, and which part of the corpus exists for them.

A grant is data that the server derives from a token; the domain enforces it. For a grant with
prefixes, a session outside of them does not exist: nothing that is answered may differ from what
would be answered if it were not there (issue "Closed by default", Access).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from sessiongraph.directories import DEEPEST, LONGEST, highest, octets_of, place_of
from sessiongraph.errors import InvalidConfig
from sessiongraph.visibility import Visibility


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
        None: all sessions do, those without a directory included. Kept in their normal form, in
        order, without those that lie below another: grants that show the same are equal.

    Raises:
        InvalidConfig: a directory is not absolute, or is too deep.
    """

    scope: Scope
    cwd_prefixes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.cwd_prefixes is not None:
            object.__setattr__(self, "cwd_prefixes", _normal(self.cwd_prefixes))

    @property
    def visibility(self) -> Visibility:
        """Which sessions exist for the caller."""
        return _visibility(self.cwd_prefixes)


def _normal(prefixes: Iterable[str]) -> tuple[str, ...]:
    places = []
    for prefix in prefixes:
        place = place_of(prefix)
        if place is None:
            raise InvalidConfig(f"a cwd prefix is an absolute directory, not {prefix!r}")
        if place.count("/") > DEEPEST or octets_of(place) > LONGEST:
            raise InvalidConfig(
                f"a cwd prefix has at most {DEEPEST} names and {LONGEST} bytes: {prefix[:80]!r}..."
            )
        places.append(place)
    return tuple(sorted(map(_shown, highest(places))))


def _shown(place: str) -> str:
    """A place as people write a directory."""
    return place if place == "/" or place.endswith(":/") else place.removesuffix("/")


@lru_cache(maxsize=256)
def _visibility(prefixes: tuple[str, ...] | None) -> Visibility:
    return Visibility.of(prefixes)


EVERYTHING: Final = Grant(Scope.ADMIN)
"""The grant of who owns the data: the program itself, and a server without authentication."""
