"""Live sessions that stand still: what a corpus sees of them, made by hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from sessiongraph.event import Entry
from sessiongraph.header import SessionHeader
from sessiongraph.live_session import LiveCapture
from tests.plain_store import PlainLog
from tests.strategies import placed


def capture_of(
    header: SessionHeader, log: Sequence[Entry], known: int, epoch: int | None
) -> LiveCapture:
    """A live session that accepted this log, its first ``known`` events known to be on disk."""
    whole = PlainLog(0, 0, header, tuple(log))
    entries = tuple(placed(log)[known:])
    return LiveCapture(header, len(log) - 1, whole.title, whole.prompted_at, entries, epoch)


@dataclass
class FixedLive:
    """A live half of the corpus, and its own only view.

    clean: captures of live sessions that are not ahead of the store.
    followed: sessions whose files grow.
    """

    ahead: Mapping[str, LiveCapture]
    clean: Mapping[str, LiveCapture] = field(default_factory=dict)
    followed: Collection[str] = ()

    @property
    def ids(self) -> Collection[str]:
        return self.ahead.keys() | self.clean.keys()

    def header(self, session_id: str) -> SessionHeader | None:
        return self.capture(session_id).header if session_id in self.ids else None

    def capture(self, session_id: str) -> LiveCapture:
        return self.ahead.get(session_id) or self.clean[session_id]

    def view(self) -> FixedLive:
        return self
