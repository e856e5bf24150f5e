"""What is done for a client over HTTP is done while it is there, and not a moment longer."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Final, Self

from starlette.types import Receive

from server.own_cancellation import OwnCancellation
from server.time_limits import SharedTimer

SOON_S: Final = 0.02
"""How long nobody looks whether the client is there; most answers are ready before."""


class ClientPresence:
    """A block that is cancelled when the client goes away, and then ends without an exception.

    The request must have been read to its end, and nobody else may receive inside the block.

    soon: until it fires, nobody looks whether the client is there; None: looked for at once.
    left: whether the client went away first.
    """

    def __init__(self, receive: Receive, soon: SharedTimer | None = None) -> None:
        self.left = False
        self._receive = receive
        self._soon = soon
        self._watching: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._cancellation = OwnCancellation()
        if self._soon is None:
            self.lasts()
        else:
            self._soon.begin(self)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if self._soon is not None:
            self._soon.end(self)
        if self._watching is not None:
            self._watching.cancel()
        return self.left and self._cancellation.ended(kind)

    def lasts(self) -> None:
        """Look from now on whether the client is there."""
        self._watching = asyncio.create_task(self._leave())

    async def _leave(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.left = True
        self._cancellation.begin()
