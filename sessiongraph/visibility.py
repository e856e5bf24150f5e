"""Which sessions exist for a caller: all of them, or those of some working directories.

For a caller who is confined to directories, a session elsewhere does not exist, and neither does
one without a working directory. Nothing that such a caller is answered may differ from what would
be answered if those sessions were not there; :mod:`sessiongraph.confined_view` sees to that.

A session is where the header says that the logical corpus shows: the live one while it is live.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

from sessiongraph import lossless
from sessiongraph.directories import highest, lies_within, place_of
from sessiongraph.header import SessionHeader

UNSEEN_PARENT: Final = ""
"""Stands for the parent of a session, in place of its id, where the caller cannot see the parent.

No session has this id. Whether the parent is hidden or not there at all is not said.
"""


@dataclass(frozen=True, slots=True)
class Visibility:
    """Which sessions exist for a caller.

    within: the places (:mod:`sessiongraph.directories`) at or below which they are, none of them
        below another; None: everywhere, sessions without a directory included.
    """

    within: frozenset[str] | None

    @classmethod
    def of(cls, prefixes: Iterable[str] | None) -> Self:
        """What a grant with these directories shows; such as are not absolute show nothing."""
        if prefixes is None:
            return cls(None)
        return cls(highest(place for each in prefixes if (place := place_of(each)) is not None))

    @property
    def is_confined(self) -> bool:
        """Whether there are sessions that the caller could not see."""
        return self.within is not None

    def admits(self, header: SessionHeader) -> bool:
        """Whether a session exists for the caller."""
        return self.admits_directory(header.cwd)

    def admits_directory(self, directory: str | None) -> bool:
        """Whether a session with this working directory would."""
        return self.within is None or lies_within(directory, self.within)

    def scope(self) -> str:
        """What cursors are bound to: equal for those who see the same, empty for everything."""
        return "" if self.within is None else _digest(self.within)


@lru_cache(maxsize=256)
def _digest(places: frozenset[str]) -> str:
    text = lossless.encode(sorted(places))
    return hashlib.blake2b(text, digest_size=12).hexdigest()


EVERYWHERE: Final = Visibility(None)
