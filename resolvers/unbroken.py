"""Work that is finished once it has begun, also when nobody waits for it any more.

A client that goes away ends its operation. A write must not be cut in two by that: what has begun
goes on by itself, and the client finds its result when it asks again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import structlog

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class Unbroken:
    """The work of one server that runs to its end."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work``, which goes on when this call is cancelled."""
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_tell)
            raise

    async def finished(self) -> None:
        """Wait for everything that runs."""
        while self._running:
            await asyncio.wait(self._running)


def _tell(task: asyncio.Task[Any]) -> None:
    """Log the failure of work whose caller has gone."""
    if not task.cancelled() and task.exception() is not None:
        _log.warning("a write failed after its client had gone", error=str(task.exception()))
