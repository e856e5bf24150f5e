"""Changes of one session on their way to those who subscribed to it.

A subscriber has no queue, only a place: the number of the next change that it is to be given.
Recent changes lie in a ring that all subscribers of the session share. One that is too slow for the
ring is given, of each key, the latest change alone: values are whole, so nothing is lost but
intermediate ones, and its memory is bounded by the number of keys.

A subscriber that has everything can be given what comes next by somebody who gives the same to many
at once, and who moves its place (:attr:`ViewStream.end`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Final

from typing_extensions import override

from sessiongraph.errors import SessionGraphError
from sessiongraph.projections.views import Change, Snapshot, View

RING_CHANGES: Final = 256
"""Recent changes kept for the subscribers of one session."""

Keys = frozenset[str]
"""Names of views; None in place of them stands for all."""


class Place:
    """How far a subscriber has come.

    number: of the next change that it is to be given.
    channel: where its changes come from, once it has joined one.
    """

    __slots__ = ("channel", "number")

    def __init__(self) -> None:
        self.number = 0
        self.channel: Channel | None = None


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
        # Of each key the last change that the ring has dropped.
        self._dropped: dict[str, int] = {}
        self._subscribers = 0
        self._news: dict[Keys | None, asyncio.Event] = {}
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
            if len(self._ring) == self._ring.maxlen:
                self._dropped[self._ring[0].view.key] = self.next_number - len(self._ring)
            self._ring.append(change)
            self._latest[view.key] = (self.next_number, change)
            self.next_number += 1
        self._wake({view.key for view in views})

    def end(self, error: SessionGraphError | None) -> None:
        """Let every subscriber end once it has been given what was published before.

        error: raised to them; None for a clean end.
        """
        if not self._ended:
            self._ended, self._error = True, error
            self._wake(None)

    def join(self, place: Place | None = None) -> Place:
        """Count one more subscriber and put it at the end; answers its place.

        :meth:`leave` must follow.
        """
        place = place or Place()
        self._subscribers += 1
        place.number, place.channel = self.next_number, self
        return place

    def leave(self) -> None:
        """Count one subscriber less."""
        self._subscribers -= 1
        if not self._subscribers:
            self._ring.clear()
            self._latest.clear()
            self._dropped.clear()
            self._news.clear()

    def news(self, keys: Keys | None) -> asyncio.Event:
        """An event that is set when one of these keys changes from now on, or at the end."""
        if self._ended:
            # There is no news any more; who waited for it would wait for ever.
            over = asyncio.Event()
            over.set()
            return over
        return self._news.setdefault(keys, asyncio.Event())

    def after(self, number: int, keys: Keys | None) -> list[tuple[int, Change]] | None:
        """The changes from a number on, each with the place behind it; None when some are lost."""
        oldest = self.next_number - len(self._ring)
        if number < oldest and self._has_lost(number, keys):
            return None
        changes = enumerate(self._ring, oldest)
        return [
            (place + 1, change)
            for place, change in changes
            if place >= number and self._gives(change, keys)
        ]

    async def changes(self, at: Place, keys: Keys | None) -> AsyncIterator[Change]:
        """Changes from a place on, of all keys or the named ones, until the channel ends.

        Raises:
            SessionGraphError: why the channel ended.
        """
        while True:
            news = self.news(keys)
            while at.number < self.next_number:
                pending = self._pending(at.number, keys)
                for number, change in pending:
                    if number < at.number:
                        continue  # somebody else has given it meanwhile
                    at.number = number + 1
                    # While one was handed out, a newer one may have come that is handed out later.
                    is_latest = len(pending) == 1 or self._latest[change.view.key][0] == number
                    if is_latest and self._gives(change, keys):
                        yield change
            if self._ended:
                if self._error is not None:
                    raise self._error
                return
            await news.wait()

    def _pending(self, number: int, keys: Keys | None) -> list[tuple[int, Change]]:
        """The next change, or of each key the latest when the next one is lost."""
        oldest = self.next_number - len(self._ring)
        if number < oldest and not self._has_lost(number, keys):
            number = oldest
        if number >= oldest:
            return [(number, self._ring[number - oldest])]
        latest = (each for each in self._latest.values() if each[0] >= number)
        return sorted(latest, key=lambda each: each[0])

    def _has_lost(self, number: int, keys: Keys | None) -> bool:
        """Whether the ring has dropped a change of these keys from a number on."""
        return any(
            last >= number and (keys is None or key in keys) for key, last in self._dropped.items()
        )

    def _gives(self, change: Change, keys: Keys | None) -> bool:
        key = change.view.key
        return (keys is None or key in keys) and self._shows(key)

    def _wake(self, changed: Collection[str] | None) -> None:
        """Wake those who wait for any of these keys; without any, everybody."""
        for keys in list(self._news):
            if changed is None or keys is None or not keys.isdisjoint(changed):
                self._news.pop(keys).set()


@dataclass(frozen=True, slots=True)
class ChannelEnd:
    """Where the changes of a session come; equal for all who subscribed to the same keys of it."""

    _channel: Channel
    _keys: Keys | None

    def news(self) -> asyncio.Event:
        """An event that is set when a change has come since it was asked for, or the end."""
        return self._channel.news(self._keys)

    def after(self, place: int) -> list[tuple[int, Change]] | None:
        """The changes behind a place, each with its own; None when some of them are lost."""
        return self._channel.after(place, self._keys)


class ViewStream(AsyncIterator[Snapshot | Change]):
    """What one subscriber is given; whoever stops early closes it.

    place: how far it has come; moved by whoever gives it something in the stream's stead.
    """

    def __init__(
        self, at: Place, keys: Keys | None, frames: AsyncGenerator[Snapshot | Change, None]
    ) -> None:
        self._at = at
        self._keys = keys
        self._frames = frames

    @property
    def place(self) -> int:
        return self._at.number

    @place.setter
    def place(self, place: int) -> None:
        self._at.number = place

    @property
    def end(self) -> ChannelEnd | None:
        """Where changes come, when the subscriber was given all that have come there."""
        channel = self._at.channel
        if channel is None or channel.after(self._at.number, self._keys) != []:
            return None
        return ChannelEnd(channel, self._keys)

    @override
    def __anext__(self) -> Awaitable[Snapshot | Change]:
        return self._frames.__anext__()

    async def aclose(self) -> None:
        """Subscribe no longer."""
        await self._frames.aclose()
