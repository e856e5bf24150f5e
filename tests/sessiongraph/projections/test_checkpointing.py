"""When states are written: at the end of turn and session always, in between by the limits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from sessiongraph.projections.cells import SessionCells
from sessiongraph.projections.checkpointing import TURN_END, Checkpointing, CheckpointLimits
from sessiongraph.projections.ports import CheckpointRow, LogIdentity
from sessiongraph.projections.routes import Routes
from tests.plain_store import run
from tests.sessiongraph.projections.plain_checkpoints import PlainCheckpointStore
from tests.sessiongraph.projections.test_unit import unit
from tests.strategies import event

NEVER_MS = 86_400_000
LOG = LogIdentity("a", 1, None, 1)


class Desk:
    """Cells of one session and where they are written down."""

    def __init__(self, limits: CheckpointLimits, *, is_saved: bool = False, **members: Any) -> None:
        self.store = PlainCheckpointStore()
        self.cells = SessionCells("a", Routes((unit(**members),)))
        self.checkpointing = Checkpointing(self.store, self.cells, LOG, limits, is_saved=is_saved)

    async def fold(self, *types: str) -> None:
        """Fold one event after the other and let a write that begins end."""
        for each in types:
            self.cells.fold(event(self.cells.seq + 1, each))
            self.checkpointing.folded(turn_ended=each == TURN_END)
            await soon()

    async def rows(self) -> list[CheckpointRow]:
        return (await self.store.rows([LOG], ["count"])).get("a", [])

    async def seqs(self) -> list[int]:
        return [row.seq for row in await self.rows()]


async def soon() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def limits(events: int = 1000, ms: int = NEVER_MS) -> CheckpointLimits:
    return CheckpointLimits(events, ms)


def test_the_end_of_a_turn_is_always_written() -> None:
    async def scenario() -> None:
        desk = Desk(limits())
        await desk.fold("turn/start", "x/y")
        assert await desk.seqs() == []
        await desk.fold("turn/end")
        assert await desk.seqs() == [2]
        await desk.checkpointing.stop()

    run(scenario())


def test_the_end_of_a_turn_that_changed_nothing_moves_the_watermark() -> None:
    async def scenario() -> None:
        desk = Desk(limits(), event_types=["session/title"])
        await desk.fold("session/title", "turn/end", "turn/start", "turn/end")
        assert (await desk.seqs(), desk.store.writes) == ([3], 2)

    run(scenario())


def test_every_so_many_events_are_written_when_something_changed() -> None:
    async def scenario() -> None:
        desk = Desk(limits(events=3))
        written: list[int] = []
        for _ in range(10):
            await desk.fold("x/y")
            written.append(desk.store.writes)
        assert written == [0, 0, 1, 1, 1, 2, 2, 2, 3, 3]
        await desk.checkpointing.stop()

    run(scenario())


def test_events_that_concern_nobody_are_never_written_for() -> None:
    async def scenario() -> None:
        desk = Desk(limits(events=3, ms=0), event_types=["session/title"])
        await desk.fold(*["x/y"] * 20)
        await asyncio.sleep(0.02)
        assert desk.store.writes == 0

    run(scenario())


def test_a_change_is_written_after_a_while() -> None:
    async def scenario() -> None:
        desk = Desk(limits(ms=10))
        await desk.fold("x/y", "x/y")
        assert desk.store.writes == 0
        await asyncio.sleep(0.05)
        assert (await desk.seqs(), desk.store.writes) == ([1], 1)

    run(scenario())


def test_closing_writes_what_is_not_written_and_nothing_twice() -> None:
    async def scenario() -> None:
        desk = Desk(limits())
        await desk.fold("x/y")
        assert await desk.checkpointing.settle()
        assert await desk.checkpointing.settle()
        assert (await desk.seqs(), desk.store.writes) == ([0], 1)

    run(scenario())


def test_what_was_restored_from_its_rows_is_written_already() -> None:
    async def scenario() -> None:
        desk = Desk(limits(), is_saved=True)
        assert await desk.checkpointing.settle()
        assert desk.store.writes == 0

    run(scenario())


def test_the_states_of_an_empty_log_are_not_worth_a_row() -> None:
    async def scenario() -> None:
        desk = Desk(limits())
        desk.checkpointing.write_soon()
        await soon()
        assert desk.store.writes == 0

    run(scenario())


class SlowStore(PlainCheckpointStore):
    """Writes wait for a door."""

    def __init__(self) -> None:
        super().__init__()
        self.door = asyncio.Event()

    async def write(self, log: LogIdentity, rows: Sequence[CheckpointRow], gone: Any = ()) -> None:
        await self.door.wait()
        await super().write(log, rows, gone)


def test_one_write_at_a_time_and_what_came_meanwhile_goes_with_the_next() -> None:
    async def scenario() -> None:
        store = SlowStore()
        cells = SessionCells("a", Routes((unit(),)))
        checkpointing = Checkpointing(store, cells, LOG, limits(), is_saved=False)
        for seq in range(6):
            cells.fold(event(seq, "turn/end"))
            checkpointing.folded(turn_ended=True)
            await soon()
        store.door.set()
        assert await checkpointing.settle()
        (row,) = (await store.rows([LOG], ["count"]))["a"]
        assert (store.writes, row.seq) == (2, 5)

    run(scenario())


def test_a_write_that_fails_is_a_warning_and_the_next_one_heals_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def scenario() -> None:
        desk = Desk(limits())
        desk.store.sick = True
        await desk.fold("turn/end")
        assert not await desk.checkpointing.settle()
        desk.store.sick = False
        await desk.fold("turn/end")
        assert await desk.seqs() == [1]

    run(scenario())
    assert "a checkpoint could not be written" in capsys.readouterr().out


def test_a_write_that_failed_is_tried_again_with_the_next_event() -> None:
    async def scenario() -> None:
        desk = Desk(limits(events=1, ms=NEVER_MS), event_types=["turn/end"])
        desk.store.sick = True
        await desk.fold("turn/end")
        desk.store.sick = False
        await desk.fold("x/y")
        assert await desk.seqs() == [1]

    run(scenario())


def test_the_row_of_a_unit_that_failed_goes() -> None:
    async def scenario() -> None:
        def apply(state: int, each: Any) -> int:
            if each.seq == 1:
                raise ValueError("broken on purpose")
            return state + 1

        desk = Desk(limits(), apply=apply)
        await desk.fold("turn/end")
        assert await desk.seqs() == [0]
        await desk.fold("turn/end")
        assert await desk.rows() == []

    run(scenario())


def test_nothing_is_written_after_the_end() -> None:
    async def scenario() -> None:
        desk = Desk(limits(ms=1))
        await desk.fold("x/y")
        await desk.checkpointing.stop()
        await desk.fold("turn/end")
        await asyncio.sleep(0.01)
        assert desk.store.writes == 0

    run(scenario())
