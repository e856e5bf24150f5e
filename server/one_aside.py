"""Long computations off the event loop, one at a time.

What a client can make long by what it sends (a document, a body) is computed in a thread. There is
one such thread for each kind: clients who send much wait for each other, and the event loop, which
competes with no more than one of them, goes on for everybody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class OneAside:
    """Runs functions in a thread, one after the other."""

    def __init__(self) -> None:
        self._busy = asyncio.Lock()

    async def run(self, function: Callable[[], T]) -> T:
        """The result of a function; who is cancelled meanwhile waits until it has ended."""
        async with self._busy:
            work = asyncio.ensure_future(asyncio.to_thread(function))
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                while not work.done():
                    await asyncio.wait({work})
                raise
