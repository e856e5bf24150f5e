"""Snapshot and changes of a subscription are the fold after every event, whatever races them."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.event import Entry, SessionEvent
from sessiongraph.projections import Projection
from sessiongraph.projections.units import FIRST_PARTY
from tests.plain_store import prefix_of, run
from tests.sessiongraph.projections.driven import Subscriber, numbered, serving, soon, until
from tests.sessiongraph.projections.random_units import PlainFold, plain_fold, told, unit_sets
from tests.sessiongraph.projections.test_unit import unit
from tests.strategies import event, logs, splits


def expected_changes(
    plain: PlainFold, after: int, keys: list[str] | None = None
) -> list[tuple[int, str, Any]]:
    return [
        (change.seq, change.key, change.value)
        for change in plain.changes
        if change.seq > after and (keys is None or change.key in keys)
    ]


@given(
    data=st.data(),
    units=unit_sets(breaking=True),
    log=logs(min_size=1),
    seed=st.integers(0, 2**32),
)
def test_snapshot_and_changes_are_the_fold_after_every_event_with_commits_racing_the_start(
    data: st.DataObject, units: list[Projection[Any]], log: list[Entry], seed: int
) -> None:
    batches = data.draw(splits(log))
    keys = data.draw(st.none() | st.just(["k0", "k2", "nobody"]))
    chance = random.Random(seed)

    async def wait_a_while() -> None:
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)

    async def scenario() -> None:
        async with serving(*units) as server:
            server.store.paused = wait_a_while
            await server.begin()

            async def write() -> None:
                for batch in batches:
                    await server.append(*batch)
                    await wait_a_while()

            writing = asyncio.ensure_future(write())
            subscribers = []
            for _ in range(3):
                await wait_a_while()
                subscribers.append(Subscriber(server, keys=keys))
            await writing
            server.store.paused = None
            await server.projections.snapshot("a")
            await soon()
            plain = plain_fold(units, log)
            for each in subscribers:
                await until(lambda each=each: bool(each.frames))  # type: ignore[misc]
                start = each.snapshot.as_of_seq
                before = plain_fold(units, prefix_of(log, start))
                assert told(each.snapshot) == before.told(keys)
                assert each.changes == expected_changes(plain, start, keys)
                await each.leave()

    run(scenario())


@given(log=logs(min_size=1), data=st.data())
def test_our_own_units_push_the_fold_after_every_event(
    log: list[Entry], data: st.DataObject
) -> None:
    batches = data.draw(splits(log))

    async def scenario() -> None:
        async with serving(*FIRST_PARTY) as server:
            await server.begin()
            subscriber = Subscriber(server)
            await until(lambda: bool(subscriber.frames))
            for batch in batches:
                await server.append(*batch)
            await server.projections.snapshot("a")
            await soon()
            plain = plain_fold(FIRST_PARTY, log)
            assert subscriber.changes == expected_changes(plain, subscriber.snapshot.as_of_seq)
            await subscriber.leave()

    run(scenario())


def test_the_first_frame_is_everything_committed_before() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a", "b/b"))
            subscriber = Subscriber(server)
            await until(lambda: bool(subscriber.frames))
            assert told(subscriber.snapshot) == {"count": (1, 2)}
            await subscriber.leave()

    run(scenario())


def test_an_event_that_concerns_no_unit_makes_no_frame() -> None:
    async def scenario() -> None:
        async with serving(unit(event_types=["turn/start"])) as server:
            await server.begin()
            subscriber = Subscriber(server)
            await until(lambda: bool(subscriber.frames))
            await server.say(*["x/y"] * 50, "turn/start")
            await until(lambda: len(subscriber.frames) > 1)
            await soon()
            assert subscriber.changes == [(50, "count", 1)]
            await subscriber.leave()

    run(scenario())


def test_many_subscribers_share_one_fold() -> None:
    async def scenario() -> None:
        passed: list[int] = []

        def apply(state: int, each: SessionEvent) -> int:
            passed.append(each.seq)
            return state + 1

        async with serving(unit(apply=apply)) as server:
            await server.begin()
            subscribers = [Subscriber(server) for _ in range(20)]
            await until(lambda: all(each.frames for each in subscribers))
            await server.say("a/a", "b/b")
            await until(lambda: all(len(each.frames) == 3 for each in subscribers))
            assert passed == [0, 1]
            assert len({id(each.frames[2]) for each in subscribers}) == 1
            for each in subscribers:
                await each.leave()

    run(scenario())


def test_closing_and_resuming_a_session_ends_nothing() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a"))
            subscriber = Subscriber(server)
            await until(lambda: bool(subscriber.frames))
            server.projections.closed("a")
            await soon()
            await server.say("b/b")
            await until(lambda: subscriber.changes == [(1, "count", 2)])
            assert not subscriber.ended
            await subscriber.leave()

    run(scenario())


def test_a_watched_session_is_never_let_go() -> None:
    async def scenario() -> None:
        async with serving(unit(), sessions=1) as server:
            await server.begin()
            subscriber = Subscriber(server)
            await until(lambda: bool(subscriber.frames))
            for number in range(5):
                await server.begin(numbered("a/a"), f"s{number}")
                await server.projections.snapshot(f"s{number}")
            await soon(100)
            await server.say("b/b")
            await until(lambda: subscriber.changes == [(0, "count", 1)])
            await subscriber.leave()

    run(scenario())


def test_a_slow_reader_is_given_the_latest_value_of_each_key() -> None:
    async def scenario() -> None:
        async with serving(unit(), unit(key="turns", event_types=["turn/start"])) as server:
            await server.begin()
            stream = server.projections.subscribe("a")
            await anext(stream)
            await server.append(event(0, "turn/start"), *(event(n, "x/y") for n in range(1, 1000)))
            await server.projections.snapshot("a")
            frames = [await anext(stream) for _ in range(2)]
            told_views = [(frame.view.key, frame.view.seq) for frame in frames]  # type: ignore[union-attr]
            assert told_views == [("turns", 0), ("count", 999)]
            await server.say("x/y")
            last = await anext(stream)
            assert (last.view.seq, last.view.value) == (1000, 1001)  # type: ignore[union-attr]
            await stream.aclose()  # type: ignore[attr-defined]

    run(scenario())


# Units that come and go


def test_a_unit_that_registers_late_shows_itself_to_those_who_are_subscribed() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a", "b/b"))
            subscriber = Subscriber(server)
            await until(lambda: bool(subscriber.frames))
            server.registry.register(unit(key="late"))
            await server.say("c/c")
            await until(lambda: len(subscriber.frames) == 4)
            assert subscriber.changes == [(1, "late", 2), (2, "count", 3), (2, "late", 3)]
            await subscriber.leave()

    run(scenario())


def test_a_unit_that_goes_is_pushed_no_more_and_the_others_are() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            dispose = server.registry.register(unit(key="second"))
            await server.begin()
            subscriber = Subscriber(server)
            await until(lambda: bool(subscriber.frames))
            await server.say("a/a")
            await until(lambda: len(subscriber.frames) == 3)
            dispose()
            await server.say("b/b")
            await until(lambda: len(subscriber.frames) == 4)
            await soon()
            assert subscriber.changes == [(0, "count", 1), (0, "second", 1), (1, "count", 2)]
            await subscriber.leave()

    run(scenario())


def test_a_unit_that_breaks_while_it_is_watched_is_pushed_no_more_and_the_others_are() -> None:
    async def scenario() -> None:
        def apply(state: int, each: SessionEvent) -> int:
            if each.seq == 1:
                raise ValueError("broken on purpose")
            return state + 1

        async with serving(unit(key="broken", apply=apply), unit()) as server:
            await server.begin()
            subscriber = Subscriber(server)
            await until(lambda: bool(subscriber.frames))
            await server.say("a/a", "b/b", "c/c")
            await until(lambda: len(subscriber.frames) == 5)
            assert subscriber.changes == [
                (0, "broken", 1),
                (0, "count", 1),
                (1, "count", 2),
                (2, "count", 3),
            ]
            await subscriber.leave()

    run(scenario())
