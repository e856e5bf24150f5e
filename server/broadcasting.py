"""Broadcasts: one frame for all who have everything that was there before it.

A subscriber that goes its own way costs a task that is woken, a source that is asked and a frame
that is looked up, for every event. Those who ask the same question, follow the same log and have
been given all of it need none of that: one task waits for what comes, has its frame made, and
pushes the bytes to each of them.

A member is in the broadcast only as long as that goes smoothly. It goes its own way again, from the
place to which the broadcast has brought it, when its client cannot take a frame at once, when the
log has moved on faster than its recent events are kept, and when there is news that is no event:
then its own source says how it ends. Always true: a member is given the event behind its place or
none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any, Final, Protocol, runtime_checkable

import structlog

_log: Final = structlog.get_logger(__name__)

_PUSHED_IN_A_ROW: Final = 32
"""Members that are pushed to before others have their turn; a push takes some 10 µs."""

_GATHERING_S: Final = 0.002
"""How long a broadcast to many waits for more to come: pushing takes it much longer, and who waits
for the answer to an append gets it meanwhile."""

_TOGETHER: Final = 64
_TOGETHER_BYTES: Final = 1 << 16
"""Frames that are pushed in one go, when so many have come at once."""

Message = bytes
"""Frames as they go over the wire to some of the members."""


class Outlet(Protocol):
    """The way to one member.

    wrapping: equal for outlets that make the same message of the same frames.
    """

    @property
    def wrapping(self) -> Hashable: ...

    def wrap(self, frames: Sequence[bytes], /) -> Message:
        """Frames as one message."""
        ...

    def push(self, message: Message, /) -> bool:
        """Send a message; False when it cannot be sent now, or no more: then nothing is sent."""
        ...


Make = Callable[[Any], Awaitable[bytes]]
"""Makes the frame of a source event."""


class LiveEnd(Hashable, Protocol):
    """Where something that is followed grows; equal for all who follow the same."""

    def news(self) -> asyncio.Event:
        """An event that is set when something has come since it was asked for, or has ended."""
        ...

    def after(self, place: int, /) -> Sequence[tuple[int, Any]] | None:
        """What has come behind a place, each with its own; None when it is no longer here."""
        ...


@runtime_checkable
class Broadcastable(Protocol):
    """A source whose events can be pushed to its follower by somebody else."""

    place: int
    """How far the follower has come."""

    @property
    def end(self) -> LiveEnd | None:
        """Where the source grows, when the follower was given everything that has come there."""
        ...


class _Member:
    __slots__ = ("outlet", "place", "released")

    def __init__(self, place: int, outlet: Outlet) -> None:
        self.place = place
        self.outlet = outlet
        self.released = asyncio.get_running_loop().create_future()

    def release(self) -> None:
        if not self.released.done():
            self.released.set_result(None)


class Broadcasts:
    """The broadcasts to those who ask one question."""

    def __init__(self) -> None:
        self._running: dict[LiveEnd, _Broadcast] = {}

    async def take_part(self, source: Broadcastable, outlet: Outlet, make: Make) -> None:
        """Be pushed what comes while that goes smoothly; at once back when it cannot begin.

        Nothing must be waiting to be sent, and nobody else may ask the source meanwhile.

        make: makes frames for everybody, if this is the first member.
        """
        end = source.end
        if end is None:
            return
        broadcast = self._running.get(end)
        if broadcast is None:
            broadcast = _Broadcast(end, source.place, make)
            self._running[end] = broadcast
            broadcast.begin(lambda: self._over(end, broadcast))
        member = _Member(source.place, outlet)
        try:
            await broadcast.serve(member)
        finally:
            source.place = member.place

    def _over(self, end: LiveEnd, broadcast: _Broadcast) -> None:
        if self._running.get(end) is broadcast:
            del self._running[end]


class _Broadcast:
    """One task that waits for what comes, and those to whom it pushes."""

    def __init__(self, end: LiveEnd, place: int, make: Make) -> None:
        self._end = end
        self._place = place
        self._make = make
        self._frames: list[bytes] = []
        self._octets = 0
        self._news = end.news()
        self._members: set[_Member] = set()
        self._task: asyncio.Task[None] | None = None
        self._over: Callable[[], None] | None = None

    def begin(self, over: Callable[[], None]) -> None:
        """Start; ``over`` is called when nobody can take part any more."""
        self._over = over
        self._task = asyncio.create_task(self._run())

    async def serve(self, member: _Member) -> None:
        """Have a member until it is released."""
        assert self._task is not None
        self._members.add(member)
        try:
            await member.released
        finally:
            self._members.discard(member)
            if not self._members:
                self._finish()
                self._task.cancel()

    def _finish(self) -> None:
        if self._over is not None:
            self._over()
            self._over = None

    async def _run(self) -> None:
        try:
            while True:
                await self._news.wait()
                if len(self._members) > _PUSHED_IN_A_ROW:
                    await asyncio.sleep(_GATHERING_S)
                # Taken before looking: what comes after the look wakes us again.
                self._news = self._end.news()
                arrived = self._end.after(self._place)
                if not arrived:
                    return
                for place, event in arrived:
                    self._frames.append(await self._make(event))
                    self._octets += len(self._frames[-1])
                    full = len(self._frames) >= _TOGETHER or self._octets >= _TOGETHER_BYTES
                    if full or place == arrived[-1][0]:
                        await self._push(place)
        except Exception:  # noqa: BLE001 - every member meets the failure on its own way, or does not
            _log.warning("a broadcast failed: its members go on one by one", exc_info=True)
        finally:
            self._finish()
            for member in self._members:
                member.release()

    async def _push(self, place: int) -> None:
        """Push the frames that were made to every member, which brings it to a place."""
        before, frames = self._place, self._frames
        self._place, self._frames, self._octets = place, [], 0
        messages: dict[Hashable, Message] = {}
        pushed = 0
        for member in list(self._members):
            if member.place >= place or member.released.done():
                continue
            outlet = member.outlet
            message = messages.get(outlet.wrapping)
            if message is None:
                message = messages[outlet.wrapping] = outlet.wrap(frames)
            if member.place == before and outlet.push(message):
                member.place = place
            else:
                member.release()
            pushed += 1
            if pushed % _PUSHED_IN_A_ROW == 0:
                await asyncio.sleep(0)
