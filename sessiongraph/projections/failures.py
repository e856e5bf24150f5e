"""Which units have failed in which sessions, remembered while the server runs.

A failed unit has no checkpoint, so each opening of its session would read the log from the
beginning only to fail again at the same event. Folds are pure: what failed once fails again, until
the unit has another version or the session another log. Nothing of this is written down; a new
start of the server, perhaps with a mended package, begins without it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from sessiongraph.event import Seq
from sessiongraph.ports import StoredSession
from sessiongraph.projections.cells import SessionCells
from sessiongraph.projections.routes import Routes

REMEMBERED: Final = 10_000
"""Sessions that are remembered, those that failed last."""


class KnownFailures:
    """Failures by session."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, int], dict[tuple[str, int], Seq]] = OrderedDict()

    def remember(self, stored: StoredSession, cells: SessionCells) -> None:
        """Take notice of what has failed in a session."""
        if cells.failures:
            versions = {unit.key: unit.state_version for unit in cells.routes.units}
            log = (stored.header.session_id, stored.epoch)
            self._known[log] = {(key, versions[key]): seq for key, seq in cells.failures.items()}
            self._known.move_to_end(log)
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)

    def of(self, stored: StoredSession, routes: Routes) -> Mapping[str, Seq]:
        """The units among these that fail in this log, and where."""
        known = self._known.get((stored.header.session_id, stored.epoch))
        if not known:
            return {}
        failed = ((unit.key, known.get((unit.key, unit.state_version))) for unit in routes.units)
        return {key: seq for key, seq in failed if seq is not None}
