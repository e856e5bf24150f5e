"""What is done for a client over HTTP is done while it is there, and not a moment longer."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import Receive


async def done_while_connected(receive: Receive, work: asyncio.Task[Any]) -> bool:
    """Wait for a task; False when the client went away first, or first wanted to.

    The task has ended in any case when this returns or is cancelled: with its client's leave it is
    cancelled, and waited for. The request must have been read to its end.
    """
    leaving = asyncio.create_task(_leave(receive))
    try:
        await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return work.done()
    finally:
        work.cancel()
        leaving.cancel()
        await asyncio.wait({work, leaving})


async def _leave(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
