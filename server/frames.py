"""Frames of subscriptions: executed and serialised once, however many follow the same thing.

What a subscription delivers for a source event depends on the event and on the *question*: the
document, its variables, the operation and the scope of the client. Those who ask the same question
form a group, and within a group the frame of an event is made by whoever needs it first. The others
wait for that one execution, or find its result. When the one who executes goes away before it is
done, the next takes over.

What makes two source events the same is said by their *frame key*. Frames are kept for a moment
only: long enough that all who follow live get the same bytes, too short for anybody to notice that
the placement of an event has changed since. A group of one keeps nothing. Always true: no more than
the stated number of frames and bytes is kept, and nothing of a group whose last member has left.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Final

from server.broadcasting import Broadcasts
from sessiongraph.corpus_changes import CorpusChange
from sessiongraph.event import PlacedEvent

KEPT_FRAMES: Final = 2048
KEPT_BYTES: Final = 16 * 1024 * 1024
KEPT_S: Final = 2.0


def frame_key(source: object) -> Hashable | None:
    """What makes a source event the same as another; None when its frame is not to be shared.

    Events of other kinds say it themselves, by an attribute ``frame_key``: equal for those whose
    frames are equal, whatever was asked.
    """
    if isinstance(source, PlacedEvent):
        event = source.event
        return (
            source.session_id,
            event.seq,
            event.time,
            event.type,
            event.payload,
            event.surface_op,
            event.source_event_seqs,
            event.ignorable,
            source.placement,
            source.elided,
        )
    if isinstance(source, CorpusChange):
        return source
    # Asking by a protocol whether there is one costs as much as a small frame does.
    key: Hashable | None = getattr(source, "frame_key", None)
    return key


Frame = bytes
"""One response of a subscription, as JSON text."""

Execute = Callable[[object], Awaitable[Frame]]
"""Makes the frame of a source event."""


class _Shared:
    """The frame of one source event in one group.

    source: kept, so that its address is nobody else's while this stands.
    frame: None while it is being made, and for ever when that failed.
    """

    __slots__ = ("expires", "frame", "group", "key", "settled", "source")

    def __init__(self, group: FrameGroup, key: Hashable, source: object, expires: float) -> None:
        self.group = group
        self.key = key
        self.source = source
        self.expires = expires
        self.frame: Frame | None = None
        self.settled = asyncio.Event()


class FrameGroup:
    """Those who ask one question, and the frames that they share at the moment."""

    def __init__(self, frames: SharedFrames) -> None:
        self.members = 0
        self.broadcasts = Broadcasts()
        self._frames = frames
        self._by_source: dict[int, _Shared] = {}
        self._by_key: dict[Hashable, _Shared] = {}

    def at_hand(self, source: object) -> Frame | None:
        """The frame of this very event, if it was made a moment ago."""
        shared = self._by_source.get(id(source))
        return None if shared is None else shared.frame

    async def frame(self, source: object, execute: Execute) -> Frame:
        """The frame of an event, made by ``execute`` unless somebody has made it or is about to.

        Raises:
            Exception: what ``execute`` raised for us; the failure of another is not ours.
        """
        key = None if self.members < 2 else frame_key(source)
        if key is None:
            return await execute(source)
        while True:
            shared = self._by_key.get(key)
            if shared is None:
                return await self._lead(key, source, execute)
            if shared.frame is None:
                await shared.settled.wait()
            if shared.frame is not None:
                return shared.frame

    async def _lead(self, key: Hashable, source: object, execute: Execute) -> Frame:
        shared = self._frames.add(self, key, source)
        self._by_key[key] = self._by_source[id(source)] = shared
        try:
            frame = await execute(source)
            shared.frame = frame
            self._frames.made(shared)
        finally:
            if shared.frame is None:
                self._frames.drop(shared)
            shared.settled.set()
        return frame

    def shared(self) -> list[_Shared]:
        """Everything that is shared at the moment; called by those who keep count."""
        return list(self._by_key.values())

    def forget(self, shared: _Shared) -> None:
        """Take a frame out of the group; called by those who keep count."""
        if self._by_key.get(shared.key) is shared:
            del self._by_key[shared.key]
        if self._by_source.get(id(shared.source)) is shared:
            del self._by_source[id(shared.source)]


class SharedFrames:
    """The groups of one server and what they keep together."""

    def __init__(
        self, most: int = KEPT_FRAMES, most_bytes: int = KEPT_BYTES, kept_s: float = KEPT_S
    ) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._kept_s = kept_s
        self._groups: dict[Hashable, FrameGroup] = {}
        self._kept: OrderedDict[_Shared, None] = OrderedDict()
        self._bytes = 0
        self._sweeping: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """How many frames are kept at the moment."""
        return len(self._kept)

    @property
    def kept_bytes(self) -> int:
        """The size of the frames that are kept at the moment."""
        return self._bytes

    @contextmanager
    def group(self, question: Hashable) -> Iterator[FrameGroup]:
        """Belong to the group of those who ask the same, while the block lasts."""
        group = self._groups.get(question)
        if group is None:
            group = self._groups[question] = FrameGroup(self)
        group.members += 1
        try:
            yield group
        finally:
            group.members -= 1
            if not group.members:
                del self._groups[question]
                for shared in group.shared():
                    self.drop(shared)

    def add(self, group: FrameGroup, key: Hashable, source: object) -> _Shared:
        """A place for a frame that is about to be made."""
        loop = asyncio.get_running_loop()
        shared = _Shared(group, key, source, loop.time() + self._kept_s)
        self._kept[shared] = None
        if len(self._kept) > self._most:
            self.drop(next(iter(self._kept)))
        if self._sweeping is None:
            self._sweeping = loop.call_at(shared.expires, self._sweep)
        return shared

    def made(self, shared: _Shared) -> None:
        """Count a frame that was made, unless its place has been given away."""
        if shared in self._kept and shared.frame is not None:
            self._bytes += len(shared.frame)
            while self._bytes > self._most_bytes:
                self.drop(next(iter(self._kept)))

    def drop(self, shared: _Shared) -> None:
        """Keep a frame no longer; those who wait for it still get it."""
        if shared in self._kept:
            del self._kept[shared]
            if shared.frame is not None:
                self._bytes -= len(shared.frame)
        shared.group.forget(shared)

    def _sweep(self) -> None:
        self._sweeping = None
        loop = asyncio.get_running_loop()
        while self._kept:
            oldest = next(iter(self._kept))
            if oldest.expires > loop.time():
                self._sweeping = loop.call_at(oldest.expires, self._sweep)
                return
            self.drop(oldest)
