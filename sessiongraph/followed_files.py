"""Sessions that other programs are writing right now, followed here by their files.

Such a session is live though nobody can append to it: its recorder does, and what the file gains
is imported. It is live from the first growth that is seen until its file has not grown for a while,
or has gone. Nothing is written for that, and nothing is repaired.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sessiongraph.live_sessions import LiveSessions
from sessiongraph.writing import Lifecycle


@dataclass(slots=True)
class FollowedFiles:
    """The files that grow, and the sessions in them.

    clock: seconds that only move forward.
    """

    sessions: LiveSessions
    lifecycle: Lifecycle
    clock: Callable[[], float]
    _grown_at: dict[str, float] = field(default_factory=dict)
    _in_file: dict[Path, set[str]] = field(default_factory=dict)

    def grew(self, path: Path, session_id: str) -> None:
        """A file gained something of this session."""
        self._grown_at[session_id] = self.clock()
        self._in_file.setdefault(path, set()).add(session_id)
        if self.sessions.follow(session_id) and self.sessions.get(session_id) is None:
            self.lifecycle.resumed(session_id)

    def gone(self, path: Path) -> None:
        """A file is no longer there: what it told stays."""
        for session_id in self._in_file.pop(path, set()):
            self._close(session_id)

    def close_idle(self, idle_s: float) -> None:
        """Close sessions whose files have not grown for so long."""
        oldest = self.clock() - idle_s
        for session_id in [each for each, at in self._grown_at.items() if at < oldest]:
            self._close(session_id)
        for path, ids in list(self._in_file.items()):
            ids &= self._grown_at.keys()
            if not ids:
                del self._in_file[path]

    def close_all(self) -> None:
        """Nothing is followed any more."""
        for session_id in list(self._grown_at):
            self._close(session_id)
        self._in_file.clear()

    def _close(self, session_id: str) -> None:
        self._grown_at.pop(session_id, None)
        if self.sessions.unfollow(session_id) and self.sessions.get(session_id) is None:
            self.lifecycle.closed(session_id)
