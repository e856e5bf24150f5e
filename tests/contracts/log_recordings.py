"""Logs that were read from files: detaching them, and how far the files were read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sessiongraph.errors import LogConflict
from sessiongraph.header import SessionSource, SourceKind
from sessiongraph.recordings import RecordingState
from tests.contracts.log_stage import (
    Stores,
    answers_now,
    append,
    conversation,
    one,
    publish,
    stored,
)
from tests.plain_store import run
from tests.strategies import (
    any_text,
    header,
    placed,
)


class RecordingsContract:
    """Needs the fixture ``stores``; see :mod:`tests.contracts.log_store`."""

    # Detaching

    def test_a_detached_log_names_no_file_and_keeps_everything_else(self, stores: Stores) -> None:
        file = SessionSource(SourceKind.DSH, "/log", 5, ("torn",))
        recording = RecordingState("/log", "a", 10, 1, 10, 3, 2, "f")

        async def scenario() -> None:
            async with stores.new() as store:
                await publish(store, header("a", source=file), conversation(3), recording)
                before, as_before = await stored(store, "a"), await answers_now(store, "a")
                await store.detach("a", before.epoch, ["torn", "resumed here"])
                source = replace(file, path=None, notes=("torn", "resumed here"))
                after = await stored(store, "a")
                assert after.header == header("a", source=source)
                assert (after.epoch, after.last_seq) == (before.epoch, before.last_seq)
                now = await answers_now(store, "a")
                assert {**now, "session": None} == {**as_before, "session": None}
                async with store.observe() as reader:
                    assert await reader.recording("/log") is None

        run(scenario())

    def test_of_a_log_that_was_replaced_no_other_file_is_remembered(self, stores: Stores) -> None:
        first = RecordingState("/first", "a", 10, 1, 10, 3, 2, "f", b"m")
        other = replace(first, path="/other")
        second = replace(first, path="/second", fingerprint="g")
        apart = replace(first, path="/apart", session_id="b")

        async def scenario() -> None:
            async with stores.new() as store:
                await publish(store, header("a"), conversation(3), first)
                await publish(store, header("b"), conversation(3), apart)
                await store.remember_recording(other)
                await publish(store, header("a"), conversation(2), second)
                async with store.observe() as reader:
                    paths = ("/first", "/other", "/second", "/apart")
                    found = [await reader.recording(path) for path in paths]
                assert found == [None, None, second, apart]

        run(scenario())

    def test_detaching_under_another_epoch_or_what_is_gone_is_a_conflict(
        self, stores: Stores
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                epoch = await store.create(header("a"))
                for session_id, wrong in [("a", epoch + 1), ("b", epoch)]:
                    with pytest.raises(LogConflict):
                        await store.detach(session_id, wrong, [])

        run(scenario())

    # Recordings

    @given(
        path=any_text,
        numbers=st.lists(st.integers(0, 2**62), min_size=5, max_size=5),
        memory=st.binary(max_size=9),
    )
    def test_how_far_a_recording_was_read_comes_back_as_it_was_left(
        self, stores: Stores, path: str, numbers: list[int], memory: bytes
    ) -> None:
        size, modified, offset, line, seq = numbers
        session_id = "a\x00\ud800"
        state = RecordingState(
            path, session_id, size, modified, offset, line, seq, "f" * 32, memory
        )

        async def scenario() -> None:
            async with stores.new() as store:
                staged = await store.stage(header(state.session_id))
                async with store.observe() as reader:
                    assert await reader.recording(path) is None
                await staged.publish(header(state.session_id), state)
                async with store.observe() as reader:
                    assert await reader.recording(path) == state
                looked = replace(state, size=size // 2, modified_ns=0)
                await store.remember_recording(looked)
                async with store.observe() as reader:
                    assert await reader.recording(path) == looked
                    assert await reader.recording(path + "x") is None

        run(scenario())

    def test_growth_and_its_recording_become_visible_together(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                first = RecordingState("/log", "a", 10, 1, 10, 3, 2, "first")
                await publish(store, header("a"), conversation(2), first)
                growth = await store.stage_growth(await stored(store, "a"))
                await growth.append(placed(conversation(4))[2:])
                second = RecordingState("/log", "a", 20, 2, 20, 5, 4, "second")
                seen = []
                for publishes in (False, True):
                    if publishes:
                        await growth.publish(header("a"), second)
                    async with store.observe() as reader:
                        last_seq = (await one(reader, "a")).last_seq
                        seen.append((last_seq, await reader.recording("/log")))
                assert seen == [(1, first), (3, second)]

        run(scenario())

    def test_a_conflicting_growth_does_not_move_its_recording(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                first = RecordingState("/log", "a", 10, 1, 10, 3, 2, "first")
                await publish(store, header("a"), conversation(2), first)
                growth = await store.stage_growth(await stored(store, "a"))
                await growth.append(placed(conversation(4))[2:])
                await append(store, "a", [placed(conversation(3))[2:]])
                with pytest.raises(LogConflict):
                    await growth.publish(header("a"), replace(first, size=20))
                await growth.abandon()
                async with store.observe() as reader:
                    assert await reader.recording("/log") == first

        run(scenario())
