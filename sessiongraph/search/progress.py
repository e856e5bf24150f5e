"""How far an index is, for whoever asks and for the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog

from sessiongraph.ports import Position

_log: Final = structlog.get_logger(__name__)

_NOTED_EVERY_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the index is.

    behind: commits that it has not reached yet.
    building: it began empty or far back and has not caught up since.
    failing: it could not be written, or the log not read, when that was last tried.
    """

    position: Position
    target: Position
    documents: int
    building: bool
    failing: bool = False

    @property
    def behind(self) -> int:
        return max(0, self.target - self.position)


class ProgressNotes:
    """Notes of a long building in the log, one in a while.

    now: the clock (seconds).
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._noted_at = 0.0

    def begin(self) -> None:
        """The building begins; there is nothing to say yet."""
        self._noted_at = self._now()

    def note(self, position: Position, target: Position, documents: int) -> None:
        """How far it is, unless that was said a moment ago."""
        if self._now() - self._noted_at < _NOTED_EVERY_S:
            return
        self._noted_at = self._now()
        _log.info(
            "the full-text index is being built",
            position=position,
            target=target,
            documents=documents,
        )
