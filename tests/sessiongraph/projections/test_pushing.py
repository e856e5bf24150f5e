"""Subscribers get every change, or of each key the latest, and end as their session does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.errors import LogReplaced
from sessiongraph.projections.pushing import Channel, ChannelEnd, Place, ViewStream
from sessiongraph.projections.views import View
from tests.plain_store import run

Told = tuple[str, int]


def channel(ring: int = 256, shows: Any = lambda key: True) -> Channel:
    return Channel("a", shows, ring)


def views(*told: Told) -> list[View]:
    return [View(key, seq, seq) for key, seq in told]


async def drained(channel: Channel, number: int, keys: Any = None) -> list[Told]:
    """What a subscriber is given who comes back when the channel has ended."""
    channel.end(None)
    return [(c.view.key, c.view.seq) async for c in channel.changes(number, keys)]


def test_every_change_arrives_in_order() -> None:
    async def scenario() -> None:
        feed = channel()
        number = feed.join()
        feed.publish(views(("a", 0), ("b", 0)))
        feed.publish(views(("a", 1)))
        assert await drained(feed, number) == [("a", 0), ("b", 0), ("a", 1)]

    run(scenario())


def test_a_subscriber_is_given_what_was_published_after_it_came() -> None:
    async def scenario() -> None:
        feed = channel()
        feed.join()
        feed.publish(views(("a", 0)))
        number = feed.join()
        feed.publish(views(("a", 1)))
        assert await drained(feed, number) == [("a", 1)]

    run(scenario())


def test_only_the_named_keys_arrive() -> None:
    async def scenario() -> None:
        feed = channel()
        number = feed.join()
        feed.publish(views(("a", 0), ("b", 0), ("a", 1)))
        assert await drained(feed, number, frozenset({"b", "nobody"})) == [("b", 0)]

    run(scenario())


def test_changes_of_a_key_that_was_unregistered_are_kept_back() -> None:
    async def scenario() -> None:
        gone: set[str] = set()
        feed = channel(shows=lambda key: key not in gone)
        number = feed.join()
        feed.publish(views(("a", 0), ("b", 0)))
        gone.add("a")
        assert await drained(feed, number) == [("b", 0)]

    run(scenario())


def test_one_that_is_too_slow_is_given_the_latest_of_each_key() -> None:
    async def scenario() -> None:
        feed = channel(ring=4)
        number = feed.join()
        for seq in range(100):
            feed.publish(views(("busy", seq)))
            if seq == 3:
                feed.publish(views(("calm", seq)))
        assert await drained(feed, number) == [("calm", 3), ("busy", 99)]

    run(scenario())


def test_what_is_kept_for_slow_ones_is_bounded() -> None:
    async def scenario() -> None:
        feed = channel(ring=4)
        feed.join()
        for seq in range(10_000):
            feed.publish(views(("a", seq)))
        assert (len(feed._ring), len(feed._latest)) == (4, 1)

    run(scenario())


def test_one_that_falls_behind_while_it_catches_up_skips_what_is_old_by_then() -> None:
    async def scenario() -> None:
        feed = channel(ring=2)
        stream = feed.changes(feed.join(), None)
        feed.publish(views(("a", 0), ("b", 1), ("c", 2), ("d", 3)))
        assert (await anext(stream)).view.key == "a"
        feed.publish(views(("b", 4), ("c", 5), ("d", 6)))
        feed.end(None)
        rest = [(c.view.key, c.view.seq) async for c in stream]
        assert rest == [("b", 4), ("c", 5), ("d", 6)]

    run(scenario())


@given(data=st.data())
def test_the_last_value_of_every_key_always_arrives_and_seqs_of_a_key_only_grow(
    data: st.DataObject,
) -> None:
    keys = st.sampled_from("abc")
    ring = data.draw(st.integers(1, 5))

    async def scenario() -> None:
        feed = channel(ring)
        stream = feed.changes(feed.join(), None)
        last: dict[str, int] = {}
        got: list[Told] = []
        seq = 0

        async def read(most: int) -> None:
            for _ in range(most):
                if feed.next_number == 0 or (got and dict(got) == last):
                    return
                change = await anext(stream)
                got.append((change.view.key, change.view.seq))

        for _ in range(data.draw(st.integers(0, 12))):
            burst = data.draw(st.lists(keys, max_size=6))
            published = []
            for key in burst:
                last[key] = seq
                published.append((key, seq))
                seq += 1
            feed.publish(views(*published))
            await read(data.draw(st.integers(0, 3)))
        feed.end(None)
        got += [(c.view.key, c.view.seq) async for c in stream]
        for key in "abc":
            seqs = [each for told, each in got if told == key]
            assert seqs == sorted(set(seqs))
        assert dict(got) == last

    run(scenario())


def test_every_subscriber_is_given_the_same_objects() -> None:
    async def scenario() -> None:
        feed = channel()
        first, second = feed.join(), feed.join()
        feed.publish(views(("a", 0)))
        feed.end(None)
        (one,) = [change async for change in feed.changes(first, None)]
        (other,) = [change async for change in feed.changes(second, None)]
        assert one is other

    run(scenario())


def test_one_that_waits_is_woken() -> None:
    async def scenario() -> None:
        feed = channel()
        async with aclosing(feed.changes(feed.join(), None)) as stream:  # type: ignore[type-var]
            waiting = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0)
            feed.publish(views(("a", 0)))
            assert (await waiting).view.seq == 0

    run(scenario())


def test_an_end_with_an_error_comes_after_what_was_published_before() -> None:
    async def scenario() -> None:
        feed = channel()
        stream = feed.changes(feed.join(), None)
        feed.publish(views(("a", 0)))
        feed.end(LogReplaced("read anew"))
        feed.end(None)
        assert (await anext(stream)).view.seq == 0
        with pytest.raises(LogReplaced, match="read anew"):
            await anext(stream)

    run(scenario())


def test_without_subscribers_nothing_is_kept() -> None:
    async def scenario() -> None:
        feed = channel()
        feed.publish(views(("a", 0)))
        feed.join()
        feed.publish(views(("a", 1)))
        feed.leave()
        assert (feed.is_watched, len(feed._ring), len(feed._latest)) == (False, 0, 0)

    run(scenario())


# Those who are given changes by somebody else


def end_of(feed: Channel, place: Place, keys: Any = None) -> ChannelEnd | None:
    async def nothing() -> AsyncGenerator[Any, None]:
        return
        yield

    return ViewStream(place, keys, nothing()).end


def test_who_has_everything_can_be_given_what_comes_and_goes_on_behind_it() -> None:
    async def scenario() -> None:
        feed = channel()
        place = feed.join()
        stream = feed.changes(place, None)
        feed.publish(views(("a", 0)))
        first = await anext(stream)
        end = end_of(feed, place)
        assert end is not None
        news = end.news()
        feed.publish(views(("a", 1), ("b", 1)))
        assert news.is_set()
        assert end_of(feed, place) is None
        arrived = end.after(place.number)
        assert arrived is not None
        assert [change.view.seq for _, change in arrived] == [1, 1]
        place.number = arrived[-1][0]
        feed.publish(views(("a", 2)))
        assert (first.view.seq, (await anext(stream)).view.seq) == (0, 2)

    run(scenario())


def test_whoever_asks_for_news_after_the_end_does_not_wait_for_it() -> None:
    async def scenario() -> None:
        feed = channel()
        place = feed.join()
        end = end_of(feed, place)
        assert end is not None
        feed.publish(views(("a", 0)))
        feed.end(None)
        news = end.news()
        assert [change.view.seq for _, change in end.after(place.number) or ()] == [0]
        assert news.is_set()
        assert end.after(place.number + 1) == []

    run(scenario())


def test_before_a_subscriber_has_joined_nobody_else_can_serve_it() -> None:
    assert end_of(channel(), Place()) is None


def test_the_ends_of_those_who_asked_for_the_same_keys_are_equal() -> None:
    async def scenario() -> None:
        feed = channel()
        one, other = feed.join(), feed.join()
        keys = frozenset({"a"})
        assert end_of(feed, one, keys) == end_of(feed, other, keys)
        assert end_of(feed, one, keys) != end_of(feed, other)

    run(scenario())


def test_nobody_is_woken_by_a_key_that_was_not_asked_for_and_nothing_is_lost_by_it() -> None:
    async def scenario() -> None:
        feed = channel(ring=4)
        place = feed.join()
        keys = frozenset({"a"})
        stream = feed.changes(place, keys)
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        news = feed.news(keys)
        for seq in range(20):
            feed.publish(views(("b", seq)))
        assert not news.is_set()
        feed.publish(views(("a", 20), ("a", 21), ("b", 22)))
        found = [await waiting, await anext(stream)]
        assert [change.view.seq for change in found] == [20, 21]
        assert feed.after(place.number, keys) == []

    run(scenario())


@given(
    batches=st.lists(
        st.lists(st.sampled_from("abc"), min_size=1, max_size=4), min_size=1, max_size=12
    ),
    keys=st.none() | st.frozensets(st.sampled_from("abc"), min_size=1),
    ring=st.integers(1, 6),
    reads=st.lists(st.booleans(), min_size=12, max_size=12),
)
def test_whoever_lags_gets_everything_the_ring_has_and_always_the_latest_of_each_key(
    batches: list[list[str]], keys: frozenset[str] | None, ring: int, reads: list[bool]
) -> None:
    async def scenario() -> None:
        feed = channel(ring)
        place = feed.join()
        stream = feed.changes(place, keys)
        got: list[Told] = []
        told: list[Told] = []
        lost = False
        unread = 0
        for batch, reading in zip(batches, reads, strict=False):
            news = [(key, seq) for seq, key in enumerate(batch, len(told))]
            told += news
            feed.publish(views(*news))
            unread += len(batch)
            lost = lost or unread > ring
            if reading:
                while feed.after(place.number, keys) != []:
                    change = await anext(stream)
                    got.append((change.view.key, change.view.seq))
                unread = 0
        feed.end(None)
        got += [(change.view.key, change.view.seq) async for change in stream]
        wanted = [each for each in told if keys is None or each[0] in keys]
        assert [each for each in wanted if each in got] == got
        for key in {key for key, _ in wanted}:
            latest = [each for each in wanted if each[0] == key][-1]
            assert latest in got
        if not lost:
            assert got == wanted

    run(scenario())
