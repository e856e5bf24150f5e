"""The ladder answers like a fold from scratch, whatever the checkpoints say, and costs the tail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from sessiongraph.errors import CorruptSession, SessionNotFound
from sessiongraph.event import Entry, Seq
from sessiongraph.ports import LogStore
from sessiongraph.projections import Projection
from sessiongraph.projections.cells import Seed, SessionCells, restored_seeds
from sessiongraph.projections.ladder import Ladder, ReadRows, restore_floor
from sessiongraph.projections.ports import CheckpointRow, LogIdentity
from sessiongraph.projections.routes import Routes
from tests.plain_store import prefix_of, run
from tests.sessiongraph.projections.fed_store import FedStore, begin, last_seq_of, stored_of
from tests.sessiongraph.projections.plain_checkpoints import PlainCheckpointStore
from tests.sessiongraph.projections.random_units import plain_fold, told, unit_sets
from tests.sessiongraph.projections.test_unit import unit
from tests.strategies import delta_run, event, logs, placed

Units = list[Projection[Any]]


def rows_at(
    units: Sequence[Projection[Any]], log: Sequence[Entry], seq: Seq
) -> list[CheckpointRow]:
    """What a checkpoint taken after an event holds."""
    cells = SessionCells("a", Routes(tuple(units)))
    cells.fold_all(prefix_of(log, seq))
    return cells.rows()


@st.composite
def found_rows(draw: st.DrawFn, units: Units, log: list[Entry]) -> list[CheckpointRow]:
    """Rows of different moments, some of them missing, outdated, damaged or not of a state."""
    last = last_seq_of(log)
    found: list[CheckpointRow] = []
    for each in units:
        (row,) = rows_at([each], log, draw(st.integers(-1, last)))
        fate = draw(st.sampled_from(["good", "good", "good", "missing", "old", "torn", "foreign"]))
        if fate == "old":
            row = structs.replace(row, version=row.version + draw(st.sampled_from([-1, 1, 10])))
        elif fate == "torn":
            row = structs.replace(
                row, state=draw(st.sampled_from([b"", b"{", b"null", b'"x"', b"\xff"]))
            )
        elif fate == "foreign":
            row = structs.replace(row, changed_seq=row.seq + 1)
        if fate != "missing":
            found.append(row)
    return found


class Scene:
    """A store, checkpoints and a ladder over both."""

    def __init__(self, units: Sequence[Projection[Any]], span_seqs: int = 20_000) -> None:
        self.routes = Routes(tuple(units))
        self.store = FedStore()
        self.checkpoints = PlainCheckpointStore()
        logs: LogStore = self.store
        self.ladder = Ladder(logs, self.checkpoints, span_seqs)

    async def keep(self, rows: Sequence[CheckpointRow], **other: Any) -> None:
        """Write rows for session a, or for a log that differs from it."""
        log = replace(LogIdentity.of(await stored_of(self.store)), **other)
        await self.checkpoints.write(log, rows)

    async def opened(self) -> SessionCells:
        self.store.read_seqs.clear()
        return (await self.ladder.open("a", self.routes)).cells


@given(data=st.data(), units=unit_sets(), log=logs(), span=st.sampled_from([1, 3, 20_000]))
def test_whatever_the_rows_the_answer_is_a_fold_from_scratch(
    data: st.DataObject, units: Units, log: list[Entry], span: int
) -> None:
    rows = data.draw(found_rows(units, log))

    async def scenario() -> None:
        scene = Scene(units, span)
        await begin(scene.store, log)
        await scene.keep(rows)
        cells = await scene.opened()
        plain = plain_fold(units, log)
        assert (cells.seq, told(cells.snapshot())) == (plain.as_of_seq, plain.told())
        assert cells.checkpoint() == plain.states

    run(scenario())


@given(data=st.data(), units=unit_sets(), log=logs(min_size=2))
def test_a_log_that_was_cut_below_a_watermark_is_replayed(
    data: st.DataObject, units: Units, log: list[Entry]
) -> None:
    rows = data.draw(found_rows(units, log))
    cut = data.draw(st.integers(-1, last_seq_of(log)))

    async def scenario() -> None:
        scene = Scene(units)
        await begin(scene.store, log)
        await scene.keep(rows)
        scene.store.cut("a", cut)
        cells = await scene.opened()
        plain = plain_fold(units, prefix_of(log, cut))
        assert (cells.seq, told(cells.snapshot())) == (plain.as_of_seq, plain.told())

    run(scenario())


@given(data=st.data(), units=unit_sets(), log=logs(), other=logs())
def test_rows_of_another_log_are_never_used(
    data: st.DataObject, units: Units, log: list[Entry], other: list[Entry]
) -> None:
    rows = data.draw(found_rows(units, other))
    difference = data.draw(
        st.sampled_from([{"epoch": 99}, {"created_at": 1}, {"cwd": "/elsewhere"}])
    )

    async def scenario() -> None:
        scene = Scene(units)
        await begin(scene.store, log)
        await scene.keep(rows, **difference)
        cells = await scene.opened()
        assert told(cells.snapshot()) == plain_fold(units, log).told()

    run(scenario())


@given(data=st.data(), units=unit_sets(least=2), log=logs(min_size=1))
def test_units_that_are_opened_later_are_folded_as_far_as_the_others(
    data: st.DataObject, units: Units, log: list[Entry]
) -> None:
    rows = data.draw(found_rows(units, log))
    end = data.draw(st.integers(-1, last_seq_of(log)))

    async def scenario() -> None:
        scene = Scene(units, span_seqs=3)
        await begin(scene.store, log)
        await scene.keep(rows)
        stored = await stored_of(scene.store)
        late = await scene.ladder.open_more(stored, units[1:], end)
        plain = plain_fold(units[1:], prefix_of(log, end))
        assert (late.seq, told(late.snapshot())) == (end, plain.told())

    run(scenario())


# What it costs


def conversation(length: int) -> list[Entry]:
    return [event(seq, "x/y") for seq in range(length)]


def test_with_rows_only_the_tail_is_read_from_one_below_the_lowest() -> None:
    async def scenario() -> None:
        units = [unit(), unit(key="second")]
        scene = Scene(units)
        log = conversation(1000)
        await begin(scene.store, log)
        await scene.keep([*rows_at(units[:1], log, 990), *rows_at(units[1:], log, 980)])
        cells = await scene.opened()
        assert cells.snapshot().values() == {"count": 1000, "second": 1000}
        assert scene.store.read_seqs == list(range(979, 1000))

    run(scenario())


def test_a_missing_row_pulls_the_floor_to_the_beginning_and_is_folded_alone() -> None:
    async def scenario() -> None:
        passed: list[Seq] = []

        def apply(state: int, each: Any) -> int:
            passed.append(each.seq)
            return state + 1

        units = [unit(apply=apply), unit(key="second")]
        scene = Scene(units)
        log = conversation(100)
        await begin(scene.store, log)
        await scene.keep(rows_at(units[:1], log, 97))
        passed.clear()
        cells = await scene.opened()
        assert cells.snapshot().values() == {"count": 100, "second": 100}
        assert scene.store.read_seqs[0] == 0
        assert passed == [98, 99]

    run(scenario())


def test_a_row_beyond_the_end_refuses_all_rows_without_reading_twice() -> None:
    async def scenario() -> None:
        units = [unit(), unit(key="second")]
        scene = Scene(units)
        log = conversation(50)
        await begin(scene.store, log)
        await scene.keep([*rows_at(units[:1], log, 49), *rows_at(units[1:], log, 10)])
        scene.store.cut("a", 20)
        cells = await scene.opened()
        assert cells.snapshot().values() == {"count": 21, "second": 21}
        assert scene.store.read_seqs == list(range(21))

    run(scenario())


@pytest.mark.parametrize(
    ("seqs", "floor"),
    [([], 0), ([5, 9], 4), ([0, 9], 0), ([-1, 9], 0), ([1, 1], 0), ([None, 9], 0), ([2, 2], 1)],
)
def test_the_floor_is_one_below_the_lowest_row(seqs: list[Seq | None], floor: Seq) -> None:
    units = [unit(key=f"k{place}") for place in range(len(seqs))]
    log = conversation(10)
    seeds: dict[str, Seed] = {}
    for each, seq in zip(units, seqs, strict=True):
        if seq is not None:
            reading = SessionCells("a", Routes((each,)))
            reading.fold_all(log[: seq + 1])
            seeds |= restored_seeds([each], reading.rows())
    assert restore_floor(units, seeds) == floor


def test_a_long_log_is_read_in_spans_of_an_observation_each() -> None:
    async def scenario() -> None:
        scene = Scene([unit()], span_seqs=100)
        await begin(scene.store, [*conversation(950), delta_run(950, ["a"] * 250)])
        before = scene.store.observations
        cells = await scene.opened()
        assert cells.snapshot().values() == {"count": 1200}
        assert scene.store.observations - before == 1 + 10

    run(scenario())


def test_a_log_that_grows_while_it_is_opened_is_read_to_its_new_end() -> None:
    async def scenario() -> None:
        scene = Scene([unit()], span_seqs=2)
        log = conversation(4)
        epoch = await begin(scene.store, log)
        more = [event(4, "x/y"), event(5, "x/y")]

        async def grow() -> None:
            if scene.store.read_seqs and more:
                entries = placed([*log, *more])[len(log) :]
                more.clear()
                await scene.store.append("a", epoch, entries)

        scene.store.paused = grow
        assert (await scene.opened()).snapshot().values() == {"count": 6}

    run(scenario())


def test_rows_that_are_at_hand_are_not_read_again() -> None:
    async def scenario() -> None:
        units = [unit()]
        scene = Scene(units)
        log = conversation(20)
        await begin(scene.store, log)
        log_identity = LogIdentity.of(await stored_of(scene.store))
        read = ReadRows(log_identity, rows_at(units, log, 18))
        opened = await scene.ladder.open("a", scene.routes, read)
        assert opened.cells.snapshot().values() == {"count": 20}
        assert (scene.checkpoints.statements, scene.store.read_seqs[0]) == (0, 17)
        foreign = ReadRows(replace(log_identity, epoch=77), read.rows)
        await scene.ladder.open("a", scene.routes, foreign)
        assert scene.checkpoints.statements == 1

    run(scenario())


def test_checkpoints_that_cannot_be_read_cost_a_replay(capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> None:
        scene = Scene([unit()])
        await begin(scene.store, conversation(10))
        scene.checkpoints.sick = True
        assert (await scene.opened()).snapshot().values() == {"count": 10}

    run(scenario())
    assert "checkpoints cannot be read" in capsys.readouterr().out


def test_whether_the_rows_say_what_the_log_says_is_told() -> None:
    async def scenario() -> None:
        units = [unit()]
        scene = Scene(units)
        log = conversation(10)
        await begin(scene.store, log)
        behind = [(await scene.ladder.open("a", scene.routes)).is_behind]
        await scene.keep(rows_at(units, log, 8))
        behind.append((await scene.ladder.open("a", scene.routes)).is_behind)
        await scene.keep(rows_at(units, log, 9))
        behind.append((await scene.ladder.open("a", scene.routes)).is_behind)
        assert behind == [True, True, False]

    run(scenario())


def test_a_unit_that_failed_does_not_cost_a_replay_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def scenario() -> None:
        def apply(state: int, each: Any) -> int:
            if each.seq == 3:
                raise ValueError("broken on purpose")
            return state

        good, broken = unit(), unit(key="broken", apply=apply)
        scene = Scene([good, broken])
        log = conversation(10)
        await begin(scene.store, log)
        await scene.opened()
        await scene.keep(rows_at([good], log, 9))
        cells = await scene.opened()
        assert scene.store.read_seqs == [8, 9]
        assert (cells.snapshot().values(), cells.failures) == ({"count": 10}, {"broken": 3})

    run(scenario())
    assert capsys.readouterr().out.count("a projection failed") == 1


# What cannot be read


def test_a_session_that_is_not_there_is_not_found() -> None:
    async def scenario() -> None:
        scene = Scene([unit()])
        with pytest.raises(SessionNotFound):
            await scene.opened()

    run(scenario())


def test_a_log_that_lacks_an_event_is_corrupt() -> None:
    async def scenario() -> None:
        scene = Scene([unit()])
        await begin(scene.store, conversation(10))
        scene.store.lose("a", 4)
        with pytest.raises(CorruptSession):
            await scene.opened()

    run(scenario())
