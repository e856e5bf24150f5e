"""Events that live sessions had committed a moment ago, for those who follow the feed of commits.

Whoever derives something from every commit would read back from the store, and take apart again,
what is still in memory. Always true: what is given is what the store holds, or held, under the same
id, epoch and seq. A log that is replaced, cut or made anew has another epoch, and an event that is
on disk never changes; so nothing has to be taken back when a session ends, is deleted or imported.
What is not here any more, and what came by other ways, is in the store.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from sessiongraph.event import Seq, SessionEvent

RECENT_OCTETS: Final = 4 << 20
"""What is kept, about, by the measure of what waits for the disk: a quarter of a second's appends.
An index that lets commits come together looks back by half of that."""


class RecentEvents:
    """The latest events of all sessions together, in batches as they were committed.

    most_octets: what they may take in memory, about.
    """

    def __init__(self, most_octets: int = RECENT_OCTETS) -> None:
        self._most_octets = most_octets
        self._octets = 0
        # Oldest first: which log each batch is of, and what it takes.
        self._batches: deque[tuple[tuple[str, int], int]] = deque()
        self._logs: dict[tuple[str, int], deque[Sequence[SessionEvent]]] = {}

    def add(self, session_id: str, epoch: int, events: Sequence[SessionEvent], octets: int) -> None:
        """Keep consecutive events of a log, which are on disk, and let go of the oldest.

        octets: what they take, about.
        """
        log = session_id, epoch
        self._logs.setdefault(log, deque()).append(events)
        self._batches.append((log, octets))
        self._octets += octets
        while self._octets > self._most_octets:
            oldest, octets = self._batches.popleft()
            self._octets -= octets
            batches = self._logs[oldest]
            batches.popleft()
            if not batches:
                del self._logs[oldest]

    def between(
        self, session_id: str, epoch: int, first: Seq, last: Seq
    ) -> list[SessionEvent] | None:
        """The events of a log from one through another; None when they are not all here."""
        found: list[SessionEvent] = []
        # From the end: who follows is never far behind.
        for events in reversed(self._logs.get((session_id, epoch), ())):
            begin = events[0].seq
            if begin > last:
                continue
            found[:0] = events[max(0, first - begin) : last + 1 - begin]
            if begin <= first:
                break
        is_whole = len(found) == last + 1 - first and (not found or found[0].seq == first)
        return found if is_whole else None
