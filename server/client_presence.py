"""What is done for a client over HTTP is done while it is there, and not a moment longer."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Final, Self

from starlette.types import Receive

SOON_S: Final = 0.02
"""How long nobody looks whether the client is there; most answers are ready before."""


class ClientPresence:
    """A block that is cancelled when the client goes away, and then ends without an exception.

    The request must have been read to its end, and nobody else may receive inside the block.

    left: whether the client went away first.
    """

    def __init__(self, receive: Receive, *, unwatched_s: float = SOON_S) -> None:
        self.left = False
        self._receive = receive
        self._unwatched_s = unwatched_s
        self._watching: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancellations = task.cancelling()
        self._timer = asyncio.get_running_loop().call_later(self._unwatched_s, self._watch)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self._timer.cancel()
        if self._watching is not None:
            self._watching.cancel()
        if not self.left:
            return False
        # Whoever else cancelled the task meanwhile is obeyed.
        is_ours_alone = self._task.uncancel() <= self._cancellations
        return is_ours_alone and kind is not None and issubclass(kind, asyncio.CancelledError)

    def _watch(self) -> None:
        self._watching = asyncio.create_task(self._leave())

    async def _leave(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.left = True
        self._task.cancel()
