"""Tasks that live as long as the server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

import structlog

_log: Final = structlog.get_logger(__name__)

_RESTART_S: Final = 1


async def kept_up(name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Do some work that should not end before the server, again when it fails."""
    while True:
        try:
            await work()
            return
        except Exception:  # noqa: BLE001 - nobody else would hear of it
            _log.exception("a task of the server failed and is begun again", task=name)
            await asyncio.sleep(_RESTART_S)
