"""The context of one operation: at most one observation, given back whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from resolvers.context import OperationOver, RequestContext, Services
from sessiongraph.corpus import Corpus
from sessiongraph.cursor import CursorCodec
from sessiongraph.errors import PersistenceFailed
from sessiongraph.query import SessionQuery
from tests.plain_store import PlainLogStore, PlainReader


class SlowStore(PlainLogStore):
    """A store whose observations take a while to open; it fails the first ``failing`` times."""

    def __init__(self, failing: int = 0) -> None:
        super().__init__()
        self.failing = failing
        self.opened = 0
        self.closed = 0

    @asynccontextmanager
    async def observe(self) -> AsyncIterator[PlainReader]:
        await asyncio.sleep(0.01)
        if self.failing:
            self.failing -= 1
            raise OSError
        async with super().observe() as reader:
            self.opened += 1
            try:
                yield reader
            finally:
                self.closed += 1


def in_context(store: SlowStore, use: Callable[[RequestContext], Awaitable[Any]]) -> None:
    async def run() -> None:
        query = SessionQuery(Corpus(store), CursorCodec(b"k" * 32))
        context = RequestContext(Services(query, "1"))
        try:
            await use(context)
        finally:
            await context.aclose()

    asyncio.run(run())


def test_first_users_that_come_together_share_one_observation() -> None:
    store = SlowStore()

    async def use(context: RequestContext) -> None:
        found = await asyncio.gather(*(context.observation() for _ in range(5)))
        assert len({id(each) for each in found}) == 1
        assert await context.observation() is found[0]

    in_context(store, use)
    assert (store.opened, store.closed) == (1, 1)


def test_without_a_user_nothing_is_opened() -> None:
    store = SlowStore()

    async def use(_: RequestContext) -> None:
        return None

    in_context(store, use)
    assert store.opened == 0


def test_a_first_user_that_fails_or_leaves_lets_the_next_one_open() -> None:
    store = SlowStore(failing=1)

    async def use(context: RequestContext) -> None:
        with pytest.raises(OSError):
            await context.observation()
        leaving = asyncio.create_task(context.observation())
        await asyncio.sleep(0)
        leaving.cancel()
        await context.observation()

    in_context(store, use)
    assert (store.opened, store.closed) == (1, 1)


def test_after_the_end_nothing_can_be_opened() -> None:
    store = SlowStore()

    async def use(context: RequestContext) -> None:
        await context.aclose()
        with pytest.raises(OperationOver):
            await context.observation()

    in_context(store, use)
    assert store.opened == 0


def test_an_end_that_comes_while_the_observation_opens_gives_it_back() -> None:
    store = SlowStore()

    async def use(context: RequestContext) -> None:
        opening = asyncio.create_task(context.observation())
        await asyncio.sleep(0)
        await context.aclose()
        await opening

    in_context(store, use)
    assert (store.opened, store.closed) == (1, 1)


def test_an_exception_on_its_way_out_gives_the_observation_back() -> None:
    store = SlowStore()

    async def use(context: RequestContext) -> None:
        await context.observation()
        raise RuntimeError("unrelated")

    with pytest.raises(RuntimeError, match="unrelated"):
        in_context(store, use)
    assert (store.opened, store.closed) == (1, 1)


def test_what_is_read_after_a_renewal_is_of_a_later_moment() -> None:
    store = SlowStore()

    async def use(context: RequestContext) -> None:
        before, loaders = await context.observation(), context.loaders
        await context.renew()
        assert (store.opened, store.closed) == (1, 1)
        assert context.loaders is not loaders
        assert await context.observation() is not before

    in_context(store, use)
    assert (store.opened, store.closed) == (2, 2)


def test_a_renewal_opens_nothing_itself_and_does_nothing_after_the_end() -> None:
    store = SlowStore()

    async def use(context: RequestContext) -> None:
        await context.renew()
        await context.renew()
        assert store.opened == 0
        await context.aclose()
        await context.renew()
        with pytest.raises(OperationOver):
            await context.observation()

    in_context(store, use)
    assert store.opened == 0


def test_a_renewal_stops_what_is_still_being_loaded() -> None:
    store = SlowStore()

    async def use(context: RequestContext) -> None:
        loading = asyncio.create_task(context.loaders.sessions.load("s"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await context.renew()
        with pytest.raises(asyncio.CancelledError):
            await loading
        assert await context.loaders.sessions.load("s") is None

    in_context(store, use)
    assert store.opened == store.closed


def test_a_program_that_only_reads_has_nobody_who_writes_or_follows() -> None:
    async def use(context: RequestContext) -> None:
        for name in ("writing", "following", "changes"):
            with pytest.raises(PersistenceFailed, match="only reads"):
                getattr(context, name)

    in_context(SlowStore(), use)
