"""Frames that many share: made once, kept briefly, within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from server.frames import FrameGroup, SharedFrames, frame_key
from sessiongraph.corpus_changes import ChangeKind, CorpusChange
from sessiongraph.event import PlacedEvent, Placement, SessionEvent
from tests.transports.stage import Entry, run, until


class Kitchen:
    """Makes frames, counts them, and can be told to wait."""

    def __init__(self) -> None:
        self.made: list[object] = []
        self.open = asyncio.Event()
        self.open.set()

    async def make(self, source: object) -> bytes:
        self.made.append(source)
        await self.open.wait()
        return f"frame {len(self.made)}".encode()


def entry(number: int, key: str | None = "same") -> Entry:
    return Entry(number, "text", None if key is None else (key, number))


def with_group(
    test: Callable[[SharedFrames, FrameGroup, Kitchen], Awaitable[None]],
    frames: SharedFrames | None = None,
    members: int = 2,
) -> None:
    """Run a test with a group of several members."""

    async def scenario() -> None:
        shared = SharedFrames() if frames is None else frames
        with ExitStack() as stack:
            for _ in range(members):
                group = stack.enter_context(shared.group("question"))
            await test(shared, group, Kitchen())
        assert (len(shared), shared.kept_bytes) == (0, 0)

    run(scenario())


def test_a_thousand_who_ask_at_once_cause_one_execution() -> None:
    async def test(_: SharedFrames, group: FrameGroup, kitchen: Kitchen) -> None:
        kitchen.open.clear()
        source = entry(1)
        asking = [asyncio.create_task(group.frame(source, kitchen.make)) for _ in range(1000)]
        await until(lambda: kitchen.made)
        kitchen.open.set()
        assert set(await asyncio.gather(*asking)) == {b"frame 1"}
        assert kitchen.made == [source]

    with_group(test)


def test_a_frame_is_at_hand_after_it_was_made() -> None:
    async def test(_: SharedFrames, group: FrameGroup, kitchen: Kitchen) -> None:
        source = entry(1)
        assert group.at_hand(source) is None
        await group.frame(source, kitchen.make)
        assert group.at_hand(source) == b"frame 1"

    with_group(test)


def test_equal_keys_share_though_the_events_were_read_twice() -> None:
    async def test(_: SharedFrames, group: FrameGroup, kitchen: Kitchen) -> None:
        first, again, other = entry(1), entry(1), entry(2)
        assert await group.frame(first, kitchen.make) == b"frame 1"
        assert await group.frame(again, kitchen.make) == b"frame 1"
        assert await group.frame(other, kitchen.make) == b"frame 2"

    with_group(test)


def test_an_event_without_a_key_is_never_shared() -> None:
    async def test(frames: SharedFrames, group: FrameGroup, kitchen: Kitchen) -> None:
        source = entry(1, key=None)
        assert await group.frame(source, kitchen.make) == b"frame 1"
        assert await group.frame(source, kitchen.make) == b"frame 2"
        assert len(frames) == 0

    with_group(test)


def test_different_questions_share_nothing() -> None:
    async def test(frames: SharedFrames, group: FrameGroup, kitchen: Kitchen) -> None:
        source = entry(1)
        await group.frame(source, kitchen.make)
        with frames.group("another"), frames.group("another") as other:
            assert other is not group
            assert other.at_hand(source) is None
            assert await other.frame(source, kitchen.make) == b"frame 2"

    with_group(test)


def test_who_is_alone_keeps_nothing() -> None:
    async def test(frames: SharedFrames, group: FrameGroup, kitchen: Kitchen) -> None:
        await group.frame(entry(1), kitchen.make)
        assert len(frames) == 0

    with_group(test, members=1)


def test_the_last_who_leaves_takes_all_frames_along() -> None:
    async def scenario() -> None:
        frames, kitchen = SharedFrames(), Kitchen()
        with frames.group("question") as group:
            with frames.group("question"):
                await group.frame(entry(1), kitchen.make)
                await group.frame(entry(2), kitchen.make)
            assert len(frames) == 2
        assert (len(frames), frames.kept_bytes) == (0, 0)

    run(scenario())


def test_when_the_one_who_executes_goes_away_another_takes_over() -> None:
    async def test(_: SharedFrames, group: FrameGroup, kitchen: Kitchen) -> None:
        kitchen.open.clear()
        source = entry(1)
        first, *others = (asyncio.create_task(group.frame(source, kitchen.make)) for _ in range(10))
        await until(lambda: kitchen.made)
        first.cancel()
        await until(lambda: len(kitchen.made) == 2)
        kitchen.open.set()
        assert set(await asyncio.gather(*others)) == {b"frame 2"}
        assert first.cancelled()

    with_group(test)


def test_the_failure_of_one_is_not_the_failure_of_the_others() -> None:
    async def test(frames: SharedFrames, group: FrameGroup, kitchen: Kitchen) -> None:
        async def fail(source: object) -> bytes:
            await asyncio.sleep(0)
            raise RuntimeError("broken")

        source = entry(1)
        failing = asyncio.create_task(group.frame(source, fail))
        await asyncio.sleep(0)
        succeeding = asyncio.create_task(group.frame(source, kitchen.make))
        with pytest.raises(RuntimeError, match="broken"):
            await failing
        assert await succeeding == b"frame 1"

    with_group(test)


def test_no_more_frames_are_kept_than_stated() -> None:
    async def test(frames: SharedFrames, group: FrameGroup, kitchen: Kitchen) -> None:
        for number in range(10):
            await group.frame(entry(number), kitchen.make)
            assert len(frames) <= 3
        assert await group.frame(entry(9), kitchen.make) == b"frame 10"
        assert await group.frame(entry(0), kitchen.make) == b"frame 11"

    with_group(test, SharedFrames(most=3))


def test_no_more_bytes_are_kept_than_stated() -> None:
    async def test(frames: SharedFrames, group: FrameGroup, kitchen: Kitchen) -> None:
        async def large(source: object) -> bytes:
            return bytes(40)

        for number in range(10):
            assert len(await group.frame(entry(number), large)) == 40
            assert frames.kept_bytes <= 100
        assert len(frames) == 2

        async def enormous(source: object) -> bytes:
            return bytes(1000)

        assert len(await group.frame(entry(11), enormous)) == 1000
        assert len(frames) == 0

    with_group(test, SharedFrames(most_bytes=100))


def test_frames_are_forgotten_after_a_moment() -> None:
    async def test(frames: SharedFrames, group: FrameGroup, kitchen: Kitchen) -> None:
        source = entry(1)
        await group.frame(source, kitchen.make)
        await group.frame(entry(2), kitchen.make)
        await until(lambda: len(frames) == 0)
        assert group.at_hand(source) is None
        assert await group.frame(source, kitchen.make) == b"frame 3"

    with_group(test, SharedFrames(kept_s=0.01))


def test_what_is_pushed_out_while_it_is_made_still_reaches_all_who_wait() -> None:
    async def test(frames: SharedFrames, group: FrameGroup, kitchen: Kitchen) -> None:
        kitchen.open.clear()
        source = entry(1)
        asking = [asyncio.create_task(group.frame(source, kitchen.make)) for _ in range(3)]
        await until(lambda: kitchen.made)
        another = asyncio.create_task(group.frame(entry(2), kitchen.make))
        await until(lambda: len(kitchen.made) == 2)
        kitchen.open.set()
        assert len(set(await asyncio.gather(*asking))) == 1
        await another
        assert len(frames) == 1

    with_group(test, SharedFrames(most=1))


EVENT = SessionEvent(3, "user/message", 1000, b'{"a":1}')
PLACED = PlacedEvent("s", EVENT, Placement(3))


@dataclass(frozen=True)
class Unknown:
    """Something that does not say what makes it the same."""

    number: int


@pytest.mark.parametrize(
    "other",
    [
        replace(PLACED, session_id="t"),
        replace(PLACED, placement=Placement(3, replaced_by=9)),
        replace(PLACED, elided=True),
        replace(PLACED, event=replace(EVENT, seq=4)),
        replace(PLACED, event=EVENT.with_payload(b'{"a":2}')),
        replace(PLACED, event=replace(EVENT, time=1001)),
        replace(PLACED, event=replace(EVENT, ignorable=True)),
        replace(PLACED, event=replace(EVENT, source_event_seqs=(1,))),
    ],
)
def test_events_that_differ_in_anything_shown_have_different_keys(other: PlacedEvent) -> None:
    assert frame_key(replace(PLACED, event=replace(EVENT))) == frame_key(PLACED)
    assert frame_key(other) != frame_key(PLACED)


def test_changes_of_the_corpus_are_told_apart_by_their_numbers() -> None:
    change = CorpusChange(1, ChangeKind.CREATED, "s")
    assert frame_key(change) == frame_key(CorpusChange(1, ChangeKind.CREATED, "s"))
    assert frame_key(change) != frame_key(CorpusChange(2, ChangeKind.CREATED, "s"))


def test_what_does_not_say_what_makes_it_the_same_is_not_shared() -> None:
    assert frame_key(Unknown(1)) is None
    assert frame_key(entry(1, key=None)) is None
