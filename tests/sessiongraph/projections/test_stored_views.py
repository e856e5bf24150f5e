"""What lists show: the last checkpoints, stale at most, never wrong, in one statement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.errors import PersistenceFailed
from sessiongraph.event import Entry
from sessiongraph.projections.views import Snapshot
from tests.plain_store import prefix_of, run
from tests.sessiongraph.projections.fed_store import begin, extend, stored_of
from tests.sessiongraph.projections.random_units import plain_fold, told, unit_sets
from tests.sessiongraph.projections.test_ladder import (
    Scene,
    Units,
    conversation,
    found_rows,
    rows_at,
)
from tests.sessiongraph.projections.test_unit import unit
from tests.strategies import event, logs


async def shown(scene: Scene, keys: list[str] | None = None) -> Snapshot:
    stored = await stored_of(scene.store)
    return (await scene.ladder.stored([stored], scene.routes.units, keys))["a"]


@given(data=st.data(), units=unit_sets(), log=logs(min_size=1))
def test_a_stored_view_is_of_some_moment_of_the_log_and_never_wrong(
    data: st.DataObject, units: Units, log: list[Entry]
) -> None:
    rows = data.draw(found_rows(units, log))
    cut = data.draw(st.none() | st.integers(-1, log[-1].last_seq))

    async def scenario() -> None:
        scene = Scene(units)
        await begin(scene.store, log)
        await scene.keep(rows)
        end = log[-1].last_seq
        if cut is not None:
            scene.store.cut("a", cut)
            end = cut
        snapshot = await shown(scene)
        assert scene.store.read_seqs == []
        if end < 0:
            assert told(snapshot) == plain_fold(units, []).told()
            return
        seqs = {row.key: row.seq for row in rows}
        for key, value in told(snapshot).items():
            assert seqs[key] <= end
            assert value == plain_fold(units, prefix_of(log, seqs[key])).told()[key]
        lowest = min((seqs[view.key] for view in snapshot.views), default=-1)
        assert snapshot.as_of_seq == lowest

    run(scenario())


def test_many_sessions_cost_one_statement_and_no_log_is_read() -> None:
    async def scenario() -> None:
        scene = Scene([unit(), unit(key="second")])
        log = conversation(5)
        for number in range(100):
            await begin(scene.store, log, f"s{number}")
        async with scene.store.observe() as reader:
            sessions = list((await reader.find([f"s{n}" for n in range(100)])).values())
        statements = scene.checkpoints.statements
        snapshots = await scene.ladder.stored(sessions, scene.routes.units, ["count"])
        assert len(snapshots) == 100
        assert scene.checkpoints.statements == statements + 1
        assert scene.store.read_seqs == []

    run(scenario())


def test_nothing_is_asked_when_there_is_nothing_to_ask() -> None:
    async def scenario() -> None:
        scene = Scene([unit()])
        await begin(scene.store, conversation(5))
        assert (await shown(scene, ["nobody"])).views == ()
        assert await scene.ladder.stored([], scene.routes.units) == {}
        assert scene.checkpoints.statements == 0

    run(scenario())


def test_without_any_row_there_are_no_views_as_of_minus_one() -> None:
    async def scenario() -> None:
        scene = Scene([unit()])
        await begin(scene.store, conversation(5))
        snapshot = await shown(scene)
        assert (snapshot.as_of_seq, snapshot.views) == (-1, ())

    run(scenario())


def test_an_empty_log_needs_no_row() -> None:
    async def scenario() -> None:
        scene = Scene([unit(), unit(key="host", view=None)])
        await begin(scene.store, [])
        assert told(await shown(scene)) == {"count": (-1, 0)}

    run(scenario())


def test_the_views_keep_the_order_of_registration_and_hide_what_is_for_the_host() -> None:
    async def scenario() -> None:
        units = [unit(key="z"), unit(key="host", view=None), unit(key="a")]
        scene = Scene(units)
        log = conversation(3)
        await begin(scene.store, log)
        await scene.keep(rows_at(units[::-1], log, 2))
        assert [view.key for view in (await shown(scene)).views] == ["z", "a"]

    run(scenario())


def test_a_row_that_is_newer_than_what_the_list_saw_is_shown_once_the_log_bears_it_out() -> None:
    async def scenario() -> None:
        units = [unit()]
        scene = Scene(units)
        log = conversation(3)
        await begin(scene.store, log)
        listed = await stored_of(scene.store)
        more = [event(3, "x/y"), event(4, "x/y")]
        await extend(scene.store, log, more)
        await scene.keep(rows_at(units, [*log, *more], 4))
        snapshots = await scene.ladder.stored([listed], scene.routes.units)
        assert told(snapshots["a"]) == {"count": (4, 5)}
        scene.store.cut("a", 2)
        snapshots = await scene.ladder.stored([listed], scene.routes.units)
        assert snapshots["a"].views == ()

    run(scenario())


@pytest.mark.parametrize("breaks", ["raises", "awaitable", "schema"])
def test_a_view_that_breaks_is_left_out_alone_and_logged_once(
    breaks: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def later() -> int:
        return 1

    def view(state: Any) -> Any:
        if breaks == "raises":
            raise ValueError("broken on purpose")
        return later() if breaks == "awaitable" else state

    async def scenario() -> None:
        units = [unit(key="broken"), unit()]
        scene = Scene(units)
        log = conversation(3)
        await begin(scene.store, log)
        await scene.keep(rows_at(units, log, 2))
        broken = replace(units[0], view=view, view_schema=str)
        stored = await stored_of(scene.store)
        for _ in range(2):
            snapshots = await scene.ladder.stored([stored], [broken, units[1]])
            assert told(snapshots["a"]) == {"count": (2, 3)}

    run(scenario())
    assert capsys.readouterr().out.count("cannot show what is stored") == (breaks != "schema")


def test_rows_that_cannot_be_read_are_an_error() -> None:
    async def scenario() -> None:
        scene = Scene([unit()])
        await begin(scene.store, conversation(3))
        scene.checkpoints.sick = True
        with pytest.raises(PersistenceFailed):
            await shown(scene)

    run(scenario())
