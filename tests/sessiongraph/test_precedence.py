"""What has precedence ends first, and never keeps the others for longer than they let it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.precedence import Precedence
from sessiongraph.search.growth import slices_of
from sessiongraph.search.ports import Forget, IndexChange, Learn
from tests.plain_store import run
from tests.strategies import event, header

LONG_S = 60.0


def a_minute_from_now() -> float:
    return asyncio.get_running_loop().time() + LONG_S


def test_whoever_gives_way_goes_on_at_once_where_nothing_has_precedence() -> None:
    async def check() -> None:
        precedence = Precedence()
        begun = asyncio.get_running_loop().time()
        await precedence.give_way(a_minute_from_now())
        assert asyncio.get_running_loop().time() - begun < LONG_S / 2

    run(check())


@pytest.mark.parametrize("waiting", [1, 3])
def test_whoever_gives_way_goes_on_when_the_last_has_ended(waiting: int) -> None:
    async def check() -> None:
        precedence = Precedence()
        until = a_minute_from_now()
        with precedence:
            with precedence:
                tasks = [asyncio.create_task(precedence.give_way(until)) for _ in range(waiting)]
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.01)
            assert not any(task.done() for task in tasks)
        async with asyncio.timeout(LONG_S / 2):
            await asyncio.gather(*tasks)

    run(check())


def test_what_fails_has_no_precedence_any_more() -> None:
    async def check() -> None:
        precedence = Precedence()
        with pytest.raises(KeyError), precedence:
            raise KeyError
        async with asyncio.timeout(LONG_S / 2):
            await precedence.give_way(a_minute_from_now())

    run(check())


def test_nobody_gives_way_for_longer_than_until() -> None:
    async def check() -> None:
        precedence = Precedence()
        now = asyncio.get_running_loop().time
        with precedence:
            until = now() + 0.02
            await precedence.give_way(until)
            assert now() >= until
            begun = now()
            await precedence.give_way(until)
            assert now() - begun < LONG_S / 2

    run(check())


def change(events: int) -> IndexChange:
    if not events:
        return Forget("a")
    return Learn(header("a"), 1, [event(seq) for seq in range(events)])


@given(st.lists(st.integers(0, 30).map(change), max_size=40))
def test_slices_are_the_changes_in_order_and_small(changes: Sequence[IndexChange]) -> None:
    slices = list(slices_of(changes))
    assert [each for slice_ in slices for each in slice_] == list(changes)
    sizes = [
        [len(each.events) if isinstance(each, Learn) else 1 for each in slice_] for slice_ in slices
    ]
    assert all(sum(size[:-1]) < 16 for size in sizes)
    assert all(sum(size) >= 16 for size in sizes[:-1])
