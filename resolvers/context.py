"""One operation: the services it may use, its observation, and its batches.

What one operation reads is of one moment. The observation is opened by the first field that reads
anything, shared by all, and given back when the operation ends, however it ends: always exactly one
open observation or none. An operation that reads nothing opens none.

Two kinds of operation go on beyond a moment: a mutation shows what it has written, and each frame
of a subscription shows what is there now. They renew the context in between: what is read
afterwards is of a later moment.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from resolvers.loaders import Loaders
from resolvers.turns import Turns
from resolvers.unbroken import Unbroken
from resolvers.view_loading import ViewLoading, required
from sessiongraph.access import EVERYTHING, Grant
from sessiongraph.allowance import Allowance, EventBytes
from sessiongraph.corpus_changes import CorpusChanges
from sessiongraph.errors import Aborted, SearchDisabled, SessionNotFound
from sessiongraph.following import Following
from sessiongraph.import_jobs import ImportJobs
from sessiongraph.projections.service import Projections
from sessiongraph.query import Observation, SessionQuery
from sessiongraph.references.prepare import ReferenceService
from sessiongraph.search.service import Search
from sessiongraph.visibility import Visibility
from sessiongraph.writing import SessionWriting


@dataclass(frozen=True, slots=True)
class Services:
    """What the server offers to every operation; shared by all of them.

    version: of the server, as it shows itself to clients.
    writing, following, changes, imports: None in a program that only reads.
    writes: those that run; whoever closes the store waits for them first.
    projections: None in a program that serves none. search: None where it is turned off.
    references: prepares what messages carry.
    grant: what the caller of the operation may do and see.
    turns: on the event loop, for operations that read many things.
    event_bytes: what all operations hold of events.
    deadline: by the event loop's clock; the operation begins no write after it.
    """

    query: SessionQuery
    version: str
    writing: SessionWriting | None = None
    following: Following | None = None
    changes: CorpusChanges | None = None
    writes: Unbroken = field(default_factory=Unbroken)
    projections: Projections | None = None
    references: ReferenceService | None = None
    search: Search | None = None
    imports: ImportJobs | None = None
    grant: Grant = EVERYTHING
    deadline: float | None = None
    turns: Turns = field(default_factory=Turns)
    event_bytes: EventBytes = field(default_factory=EventBytes)


class OperationOver(RuntimeError):
    """Something was still reading when its operation had ended; what it reads nobody would see."""


class RequestContext:
    """What the resolvers of one operation share; as a block, it ends the operation.

    allowance: what the operation may take of events, given back by whoever sends its answer; where
        there is none yet, the context has one of its own.
    """

    def __init__(self, services: Services, allowance: Allowance | None = None) -> None:
        self.services = services
        self._is_its_own = allowance is None
        self.allowance = services.event_bytes.allowance() if allowance is None else allowance
        self._loaders: Loaders | None = None
        self._observation: Observation | None = None
        self._opening = asyncio.Lock()
        self._observing: AbstractAsyncContextManager[Observation] | None = None
        self._over = False

    @property
    def loaders(self) -> Loaders:
        """What gathers single questions of the moment that is observed."""
        if self._loaders is None:
            views = ViewLoading(self.services.projections, self.services.writing)
            self._loaders = Loaders(self.observation, views)
        return self._loaders

    async def observation(self) -> Observation:
        """The one observation of this operation, opened on first use.

        Raises:
            OperationOver: the operation has ended.
            PersistenceFailed: the store cannot be observed.
        """
        if self._observation is not None:
            await self.services.turns.take()
            if self._observation is not None:
                return self._observation
        async with self._opening:
            if self._over:
                raise OperationOver
            if self._observation is None:
                observing = self.services.query.observe(self.seen, self.allowance)
                self._observation = await observing.__aenter__()
                self._observing = observing
            return self._observation

    @property
    def seen(self) -> Visibility:
        """Which sessions exist for the caller."""
        return self.services.grant.visibility

    async def require_seen(self, session_id: str) -> None:
        """Refuse to go near a session that does not exist for the caller.

        What does not show a session through the observation asks here first. Nothing is held
        afterwards, so that the disk can be waited for.

        Raises:
            SessionNotFound: there is no such session, or it is elsewhere; nobody can tell which.
        """
        if self.seen.is_confined:
            found = await self.loaders.sessions.load(session_id)
            await self.renew()
            if found is None:
                raise SessionNotFound(f"no session has the id {session_id!r}")

    @property
    def writing(self) -> SessionWriting:
        """The writing service.

        Raises:
            Aborted: the time of the operation is over.
            PersistenceFailed: this program only reads.
        """
        self._require_time()
        return required(self.services.writing)

    @property
    def following(self) -> Following:
        """Who follows logs.

        Raises:
            PersistenceFailed: this program only reads.
        """
        return required(self.services.following)

    @property
    def changes(self) -> CorpusChanges:
        """Who follows the list of sessions.

        Raises:
            PersistenceFailed: this program only reads.
        """
        return required(self.services.changes)

    @property
    def projections(self) -> Projections:
        """Who folds logs.

        Raises:
            PersistenceFailed: this program serves no projections.
        """
        return required(self.services.projections)

    @property
    def references(self) -> ReferenceService:
        """Who prepares what messages carry, under the limits of this server."""
        service = self.services.references
        return ReferenceService(self.services.query) if service is None else service

    @property
    def search(self) -> Search:
        """The searching service.

        Raises:
            SearchDisabled: it is turned off.
        """
        if self.services.search is None:
            raise SearchDisabled("full-text search is turned off on this server")
        return self.services.search

    @property
    def imports(self) -> ImportJobs:
        """Who imports recorders' files.

        Raises:
            Aborted: the time of the operation is over.
            PersistenceFailed: this program only reads.
        """
        self._require_time()
        return required(self.services.imports)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def renew(self) -> None:
        """Give the observation back; what is read from now on is of a later moment."""
        if not self._over:
            await self._give_back()

    async def aclose(self) -> None:
        """End the operation: stop what still reads for it, then give the observation back."""
        self._over = True
        try:
            await self._give_back()
        finally:
            if self._is_its_own:
                self.allowance.close()

    def _require_time(self) -> None:
        deadline = self.services.deadline
        if deadline is not None and asyncio.get_running_loop().time() >= deadline:
            raise Aborted("not begun: the time of the operation is over (operation_timeout_ms)")

    async def _give_back(self) -> None:
        loaders, self._loaders = self._loaders, None
        try:
            if loaders is not None:
                await loaders.aclose()
        finally:
            async with self._opening:
                observing, self._observing, self._observation = self._observing, None, None
                if observing is not None:
                    await observing.__aexit__(None, None, None)
