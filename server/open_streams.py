"""Connections that stay open for long, and how they are ended when the server stops.

A stream (a WebSocket, a subscription over SSE) would keep a server from stopping for as long as its
client likes. So each says how it is to be asked to leave, and a stop asks all of them at once and
waits a while for them. What has not left by then is cancelled by the server, like every request.

A server hands its streams to the application in the ``state`` of every connection's scope, as the
ASGI specification has it for what lives as long as the server.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from starlette.types import Scope

_KEY: Final = "sessiongraph.open_streams"


class OpenStreams:
    """The streams of one server.

    stopping: whether all were asked to leave. kinds: how many there are of each kind.
    """

    def __init__(self) -> None:
        self.stopping = False
        self.kinds: Counter[str] = Counter()
        self._leaving: set[Callable[[], None]] = set()
        self._none_left = asyncio.Event()
        self._none_left.set()

    def __len__(self) -> int:
        return len(self._leaving)

    @classmethod
    def of(cls, scope: Scope) -> OpenStreams:
        """The streams of the server that a connection belongs to."""
        streams = scope.get("state", {}).get(_KEY)
        return streams if isinstance(streams, cls) else cls()

    def hand_to(self, state: dict[str, object]) -> None:
        """Make these the streams of every connection whose scope has this state."""
        state[_KEY] = self

    @contextmanager
    def entered(self, kind: str, leave: Callable[[], None]) -> Iterator[None]:
        """Be one of the streams while the block lasts.

        kind: of the transport.
        leave: called once when the server stops, at once when it is stopping already.
        """
        self._leaving.add(leave)
        self.kinds[kind] += 1
        self._none_left.clear()
        try:
            if self.stopping:
                leave()
            yield
        finally:
            self._leaving.discard(leave)
            self.kinds[kind] -= 1
            if not self._leaving:
                self._none_left.set()

    async def stop(self, within_s: float) -> None:
        """Ask every stream to leave, and wait for them."""
        self.stopping = True
        for leave in list(self._leaving):
            leave()
        try:
            async with asyncio.timeout(within_s):
                await self._none_left.wait()
        except TimeoutError:
            return
