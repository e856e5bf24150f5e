"""Batches: what many fields of one operation ask one by one is asked of the store at once.

A loader collects the keys that are asked for within one turn of the event loop and answers all of
them with one call. Always true:

* a key is loaded at most once in an operation, since all its answers are of the same moment;
* a key's failure is its own; the failure of the whole call is everybody's;
* whoever stops waiting does not stop the batch for the others, :meth:`BatchLoader.aclose` does.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from resolvers.view_loading import ViewLoading, WantedViews
from sessiongraph.corpus import LogicalSession
from sessiongraph.errors import SessionGraphError
from sessiongraph.event import Seq
from sessiongraph.families import Lineage
from sessiongraph.projections.views import Snapshot
from sessiongraph.query import Observation

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

LoadMany = Callable[[Sequence[K]], Awaitable[Mapping[K, V | SessionGraphError]]]
"""Answers for many keys at once; one without an answer is left out, a failed one has its error."""

Observe = Callable[[], Awaitable[Observation]]
"""Gives the one observation of the operation."""

PayloadKey = tuple[str, Seq]
"""One event: the id of its session and its seq."""


class BatchLoader(Generic[K, V]):
    """Answers single keys by calling ``load_many`` with all keys of one turn of the loop."""

    def __init__(self, load_many: LoadMany[K, V]) -> None:
        self._load_many = load_many
        self._gathering: list[K] | None = None
        self._batches: dict[K, asyncio.Task[Mapping[K, V | SessionGraphError]]] = {}
        self._newest: asyncio.Task[Mapping[K, V | SessionGraphError]] | None = None

    async def load(self, key: K) -> V | None:
        """The value of one key, None when there is none.

        Raises:
            SessionGraphError: what ``load_many`` answered for this key, or raised.
        """
        batch = self._batches.get(key)
        if batch is None:
            batch = self._batches[key] = self._join(key)
        answers = await asyncio.shield(batch)
        answer = answers.get(key)
        if isinstance(answer, SessionGraphError):
            raise answer
        return answer

    async def aclose(self) -> None:
        """Stop what is still being loaded; its waiters are cancelled."""
        running = {batch for batch in self._batches.values() if not _has_ended(batch)}
        if running:
            for batch in running:
                batch.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _join(self, key: K) -> asyncio.Task[Mapping[K, V | SessionGraphError]]:
        if self._gathering is None or self._newest is None:
            self._gathering = []
            self._newest = asyncio.create_task(self._run(self._gathering))
        self._gathering.append(key)
        return self._newest

    async def _run(self, keys: list[K]) -> Mapping[K, V | SessionGraphError]:
        """Runs one turn of the loop after the first key came; later keys make a new batch."""
        self._gathering = None
        return await self._load_many(keys)


def _has_ended(task: asyncio.Task[Any]) -> bool:
    """Whether a task has ended; how, nobody needs to know any more."""
    if task.done() and not task.cancelled():
        task.exception()
    return task.done()


class Loaders:
    """The loaders of one operation, all over its one observation.

    sessions: by id. lineages: by session. payloads: whole payloads of events read without streams.
    views: of projections.
    """

    def __init__(self, observe: Observe, views: ViewLoading) -> None:
        # Nothing here refers back to us, so that all of it goes with the operation.
        self.sessions: BatchLoader[str, LogicalSession] = BatchLoader(
            partial(_find_sessions, observe)
        )
        self.lineages: BatchLoader[LogicalSession, Lineage] = BatchLoader(
            partial(_trace_lineages, observe)
        )
        self.payloads: BatchLoader[PayloadKey, bytes] = BatchLoader(
            partial(_read_payloads, observe)
        )
        self.views: BatchLoader[WantedViews, Snapshot] = BatchLoader(views.load)

    async def aclose(self) -> None:
        """Stop everything that is still being loaded."""
        await self.sessions.aclose()
        await self.lineages.aclose()
        await self.payloads.aclose()
        await self.views.aclose()


async def _find_sessions(observe: Observe, ids: Sequence[str]) -> Mapping[str, LogicalSession]:
    return await (await observe()).find(ids)


async def _trace_lineages(
    observe: Observe, sessions: Sequence[LogicalSession]
) -> Mapping[LogicalSession, Lineage | SessionGraphError]:
    found = await (await observe()).lineages(sessions)
    return {session: found[session.session_id] for session in sessions}


async def _read_payloads(
    observe: Observe, keys: Sequence[PayloadKey]
) -> Mapping[PayloadKey, bytes | SessionGraphError]:
    observation = await observe()
    seqs_by_session: defaultdict[str, list[Seq]] = defaultdict(list)
    for session_id, seq in keys:
        seqs_by_session[session_id].append(seq)
    answers: dict[PayloadKey, bytes | SessionGraphError] = {}
    for session_id, seqs in seqs_by_session.items():
        try:
            payloads = await observation.payloads(session_id, seqs)
        except SessionGraphError as error:
            answers.update({(session_id, seq): error for seq in seqs})
        else:
            answers.update({(session_id, seq): text for seq, text in payloads.items()})
    return answers
