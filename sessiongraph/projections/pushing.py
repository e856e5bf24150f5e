"""Changes of one session on their way to those who subscribed to it.

A subscriber has no queue, only a place: the number of the next change that it is to be given.
Recent changes lie in a ring that all subscribers of the session share. One that is too slow for the
ring is given, of each key, the latest change alone: values are whole, so nothing is lost but
intermediate ones, and its memory is bounded by the number of keys.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection
from typing import Final

from sessiongraph.errors import SessionGraphError
from sessiongraph.projections.views import Change, View

RING_CHANGES: Final = 256
"""Recent changes kept for the subscribers of one session."""


class Channel:
    """The subscribers of one session.

    shows: whether a key is still registered; changes of others are kept back.
    next_number: the number of the change that comes next.
    """

    def __init__(
        self, session_id: str, shows: Callable[[str], bool], ring_changes: int = RING_CHANGES
    ) -> None:
        self.session_id = session_id
        self.next_number = 0
        self._shows = shows
        self._ring: deque[Change] = deque(maxlen=ring_changes)
        self._latest: dict[str, tuple[int, Change]] = {}
        self._subscribers = 0
        self._news = asyncio.Event()
        self._ended = False
        self._error: SessionGraphError | None = None

    @property
    def is_watched(self) -> bool:
        """Whether there is anybody to give changes to."""
        return self._subscribers > 0

    def publish(self, views: Collection[View]) -> None:
        """Give changed views, in order, to whoever subscribed before now."""
        if not views or not self._subscribers:
            return
        for view in views:
            change = Change(self.session_id, view)
            self._ring.append(change)
            self._latest[view.key] = (self.next_number, change)
            self.next_number += 1
        self._wake()

    def end(self, error: SessionGraphError | None) -> None:
        """Let every subscriber end once it has been given what was published before.

        error: raised to them; None for a clean end.
        """
        if not self._ended:
            self._ended, self._error = True, error
            self._wake()

    def join(self) -> int:
        """Count one more subscriber; answers its place. :meth:`leave` must follow."""
        self._subscribers += 1
        return self.next_number

    def leave(self) -> None:
        """Count one subscriber less."""
        self._subscribers -= 1
        if not self._subscribers:
            self._ring.clear()
            self._latest.clear()

    async def changes(self, number: int, keys: Collection[str] | None) -> AsyncIterator[Change]:
        """Changes from a place on, of all keys or the named ones, until the channel ends.

        Raises:
            SessionGraphError: why the channel ended.
        """
        while True:
            news = self._news
            while number < self.next_number:
                oldest = self.next_number - len(self._ring)
                if number >= oldest:
                    pending = [(number, self._ring[number - oldest])]
                else:
                    pending = sorted(
                        (each for each in self._latest.values() if each[0] >= number),
                        key=lambda each: each[0],
                    )
                number = pending[-1][0] + 1
                for numbered, change in pending:
                    key = change.view.key
                    # While one was handed out, a newer one may have come that is handed out later.
                    is_latest = self._latest[key][0] == numbered or len(pending) == 1
                    if is_latest and self._shows(key) and (keys is None or key in keys):
                        yield change
            if self._ended:
                if self._error is not None:
                    raise self._error
                return
            await news.wait()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()
