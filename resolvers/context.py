"""One operation: the services it may use, its one observation, and its batches.

Everything that one operation reads is of one moment. The observation is opened by the first field
that reads anything, shared by all, and given back when the operation ends, however it ends: always
exactly one open observation or none. An operation that reads nothing opens none.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass

from resolvers.loaders import Loaders
from sessiongraph.query import Observation, SessionQuery


@dataclass(frozen=True, slots=True)
class Services:
    """What the server offers to every operation; shared by all of them.

    version: of the server, as it shows itself to clients.
    """

    query: SessionQuery
    version: str


class OperationOver(RuntimeError):
    """Something was still reading when its operation had ended; what it reads nobody would see."""


class RequestContext:
    """What the resolvers of one operation share."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.loaders = Loaders(self.observation)
        self._observation: Observation | None = None
        self._opening = asyncio.Lock()
        self._resources = AsyncExitStack()
        self._over = False

    async def observation(self) -> Observation:
        """The one observation of this operation, opened on first use.

        Raises:
            OperationOver: the operation has ended.
            PersistenceFailed: the store cannot be observed.
        """
        if self._observation is not None:
            return self._observation
        async with self._opening:
            if self._over:
                raise OperationOver
            if self._observation is None:
                self._observation = await self._resources.enter_async_context(
                    self.services.query.observe()
                )
            return self._observation

    async def aclose(self) -> None:
        """End the operation: stop what still reads for it, then give the observation back."""
        self._over = True
        try:
            await self.loaders.aclose()
        finally:
            async with self._opening:
                self._observation = None
                await self._resources.aclose()
