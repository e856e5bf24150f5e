"""Finding sessions by what is on their covers, as somebody types a part of it."""

from __future__ import annotations

from dataclasses import dataclass

from sessiongraph.directories import lies_within
from sessiongraph.header import EpochMillis, SessionHeader


@dataclass(frozen=True, slots=True)
class CoverQuery:
    """Which sessions to find by their covers: id, working directory and latest title.

    part: what one of the three must contain, in any case; empty admits every session.
    cwd: sessions of it come first, then those without any, then the rest; the newest first within
        each.
    limit: the most to answer.
    without: ids that are not meant.
    within: places at or below which a session's working directory must lie; None: anywhere.
    """

    part: str
    cwd: str | None
    limit: int
    without: frozenset[str] = frozenset()
    within: frozenset[str] | None = None

    def admits(self, header: SessionHeader, title: str | None) -> bool:
        """Whether a session is meant."""
        if header.session_id in self.without:
            return False
        if self.within is not None and not lies_within(header.cwd, self.within):
            return False
        part = self.part.casefold()
        covers = (header.session_id, header.cwd or "", title or "")
        return not part or any(part in cover.casefold() for cover in covers)

    def order_key(self, header: SessionHeader) -> tuple[int, EpochMillis, str]:
        """The place of a session in the answer."""
        near = 0 if header.cwd == self.cwd else 1 if header.cwd is None else 2
        return (near, -header.created_at, header.session_id)
