"""One drive for everything: opened lazily, moved on by commits, written down, let go."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.errors import CorruptSession, PersistenceFailed, SessionNotFound
from sessiongraph.event import Entry, Seq, SessionEvent
from sessiongraph.projections import Projection
from sessiongraph.projections.registry import Registry
from tests.plain_store import run
from tests.sessiongraph.projections.driven import numbered, serving, soon, until
from tests.sessiongraph.projections.fed_store import stored_of
from tests.sessiongraph.projections.random_units import plain_fold, told, unit_sets
from tests.sessiongraph.projections.test_unit import unit
from tests.strategies import event, logs, placed, splits


def counting(passed: list[tuple[str, Seq]], **members: Any) -> Projection[int]:
    """A unit that counts events and notes which it is passed."""
    key = members.get("key", "count")

    def apply(state: int, each: SessionEvent) -> int:
        passed.append((key, each.seq))
        return state + 1

    return unit(apply=apply, **members)


@given(data=st.data(), units=unit_sets(), log=logs(min_size=1))
def test_a_snapshot_is_a_fold_of_everything_committed_after_every_commit(
    data: st.DataObject, units: list[Projection[Any]], log: list[Entry]
) -> None:
    batches = data.draw(splits(log))
    asked = data.draw(st.lists(st.booleans(), min_size=len(batches), max_size=len(batches)))

    async def scenario() -> None:
        async with serving(*units, events=data.draw(st.integers(1, 4))) as server:
            await server.begin()
            for batch, is_asked in zip(batches, asked, strict=True):
                await server.append(*batch)
                if is_asked:
                    plain = plain_fold(units, server.logs["a"])
                    snapshot = await server.projections.snapshot("a")
                    assert (snapshot.as_of_seq, told(snapshot)) == (plain.as_of_seq, plain.told())
            assert told(await server.projections.snapshot("a")) == plain_fold(units, log).told()

    run(scenario())


def test_each_committed_event_is_folded_once_through_each_unit() -> None:
    async def scenario() -> None:
        passed: list[tuple[str, Seq]] = []
        async with serving(counting(passed), counting(passed, key="second")) as server:
            await server.begin(numbered("a/a", "b/b"))
            for _ in range(3):
                await server.say("c/c")
                await server.projections.snapshot("a")
            await server.projections.snapshot("a")
        assert sorted(passed) == [(key, seq) for key in ("count", "second") for seq in range(5)]

    run(scenario())


def test_a_session_that_is_written_to_is_folded_without_being_asked_for() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a", "b/b", "turn/end"))
            await until(lambda: server.checkpoints.writes == 1)
            assert await server.rows() == {"count": 2}

    run(scenario())


def test_a_session_older_than_the_server_is_folded_when_it_is_first_asked_for() -> None:
    async def scenario() -> None:
        async with serving(unit()) as first:
            await first.begin(numbered("a/a", "b/b"))
        async with serving(unit(), store=first.store) as server:
            await soon()
            assert server.checkpoints.writes == 0
            assert (await server.projections.snapshot("a")).values() == {"count": 2}
            await until(lambda: server.checkpoints.writes == 1)

    run(scenario())


def test_commits_of_somebody_else_are_as_good_as_our_own() -> None:
    async def scenario() -> None:
        async with serving(unit()) as ours, serving(unit(), store=ours.store) as theirs:
            await theirs.begin(numbered("a/a"))
            await ours.projections.snapshot("a")
            await theirs.say("b/b")
            await until(lambda: ours.projections.state_of("a", "count") == 2)

    run(scenario())


def test_a_large_growth_is_folded_while_others_go_on() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin()
            await server.begin(session_id="b")
            for session_id in "ab":
                await server.projections.snapshot(session_id)
            await server.append(*(event(seq, "x/y") for seq in range(3000)))
            await server.say("x/y", to="b")
            await until(lambda: server.projections.state_of("b", "count") == 1)
            await until(lambda: server.projections.state_of("a", "count") == 3000)

    run(scenario())


def test_a_snapshot_of_many_sessions_reads_their_rows_in_one_statement() -> None:
    async def scenario() -> None:
        ids = [f"s{number}" for number in range(20)]
        async with serving(unit()) as first:
            for session_id in ids:
                await first.begin(numbered("a/a", "turn/end"), session_id)
            await until(lambda: first.checkpoints.writes == 20)
        async with serving(unit(), store=first.store, checkpoints=first.checkpoints) as server:
            statements = server.checkpoints.statements
            answers = await server.projections.snapshots([*ids, "nobody"])
            assert server.checkpoints.statements == statements + 1
            assert isinstance(answers.pop("nobody"), SessionNotFound)
            assert [each.values() for each in answers.values()] == [{"count": 2}] * 20  # type: ignore[union-attr]

    run(scenario())


# States and copies


def test_states_are_borrowed_and_copies_are_shared_with_nobody() -> None:
    async def scenario() -> None:
        kept = unit(key="kept", init=list, apply=lambda state, each: [*state, each.seq], view=None)
        async with serving(
            Projection("kept", 1, kept.init, kept.apply, state_schema=list[int])
        ) as server:
            await server.begin(numbered("a/a"))
            await server.projections.snapshot("a")
            state = server.projections.state_of("a", "kept")
            assert state is server.projections.state_of("a", "kept")
            server.projections.checkpoint("a")["kept"].append(99)
            assert state == [0]

    run(scenario())


def test_what_is_not_open_has_no_state_to_borrow() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            with pytest.raises(LookupError):
                server.projections.state_of("a", "count")
            with pytest.raises(LookupError):
                server.projections.checkpoint("a")

    run(scenario())


# Checkpoints


def test_a_session_that_closes_is_written_down() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a"))
            await server.projections.save("a")
            await server.say("b/b")
            server.projections.closed("a")
            await until(lambda: server.checkpoints.writes == 2)
            assert await server.rows() == {"count": 1}

    run(scenario())


def test_closing_what_was_never_stored_or_cannot_be_read_is_no_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.projections.save("nobody")
            server.store.sick = True
            await server.projections.save("a")

    run(scenario())
    assert "could not be written" in capsys.readouterr().out


def test_a_clean_stop_writes_everything_down() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a"))
            await server.projections.snapshot("a")
            await until(lambda: server.checkpoints.writes == 1)
            await server.say("b/b", "c/c")
            await until(lambda: server.projections.state_of("a", "count") == 3)
        assert await server.rows() == {"count": 2}

    run(scenario())


def test_a_crash_costs_a_longer_tail_and_never_a_value() -> None:
    async def scenario() -> None:
        async with serving(unit()) as first:
            await first.begin(numbered("a/a", "turn/end"))
            await until(lambda: first.checkpoints.writes == 1)
            await first.say("b/b", "c/c")
            first.checkpoints.sick = True  # nothing more is written, as by one who is dead
        first.checkpoints.sick = False
        async with serving(unit(), store=first.store, checkpoints=first.checkpoints) as server:
            server.store.read_seqs.clear()
            assert (await server.projections.snapshot("a")).values() == {"count": 4}
            assert server.store.read_seqs == [0, 1, 2, 3]

    run(scenario())


def test_checkpoints_that_cannot_be_written_change_no_answer() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            server.checkpoints.sick = True
            await server.begin(numbered("a/a", "turn/end"))
            await server.say("turn/end")
            assert (await server.projections.snapshot("a")).values() == {"count": 3}

    run(scenario())


# How much is open


def test_sessions_that_nobody_has_used_for_longest_are_written_down_and_let_go() -> None:
    async def scenario() -> None:
        async with serving(unit(), sessions=3) as server:
            for number in range(8):
                await server.begin(numbered("a/a"), f"s{number}")
                await server.projections.snapshot(f"s{number}")
                await server.say("b/b", to=f"s{number}")
                await until(
                    lambda n=number: server.projections.state_of(f"s{n}", "count") == 2  # type: ignore[misc]
                )
            await soon(100)
            open_ids = [each for each in server.logs if is_open(server.projections, each)]
            assert open_ids == ["s5", "s6", "s7"]
            for number in range(5):
                assert await server.rows(f"s{number}") == {"count": 1}
            assert (await server.projections.snapshot("s0")).values() == {"count": 2}

    run(scenario())


def test_a_unit_that_failed_is_not_tried_again_when_its_session_is_opened_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def scenario() -> None:
        def apply(state: int, each: SessionEvent) -> int:
            if each.seq == 1:
                raise ValueError("broken on purpose")
            return state + 1

        async with serving(unit(), unit(key="broken", apply=apply), sessions=1) as server:
            await server.begin(numbered("a/a"))
            await server.projections.snapshot("a")
            await server.say("b/b", "c/c", "turn/end")
            assert (await server.projections.snapshot("a")).values() == {"count": 4}
            await server.begin(numbered("x/x"), "other")
            await until(lambda: not is_open(server.projections, "a"))
            server.store.read_seqs.clear()
            assert (await server.projections.snapshot("a")).values() == {"count": 4}
            assert server.store.read_seqs == [2, 3]

    run(scenario())
    assert capsys.readouterr().out.count("a projection failed") == 1


def is_open(projections: Any, session_id: str) -> bool:
    try:
        projections.state_of(session_id, "count")
    except LookupError:
        return False
    return True


# Units that come and go


def test_a_unit_that_registers_late_is_folded_at_the_next_touch() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a", "b/b"))
            await server.projections.snapshot("a")
            server.registry.register(unit(key="late"))
            assert (await server.projections.snapshot("a")).values() == {"count": 2, "late": 2}
            await server.say("c/c")
            assert (await server.projections.snapshot("a")).values() == {"count": 3, "late": 3}

    run(scenario())


def test_a_unit_that_goes_vanishes_from_the_very_next_snapshot() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            dispose = server.registry.register(unit(key="second"))
            await server.begin(numbered("a/a"))
            assert set((await server.projections.snapshot("a")).values()) == {"count", "second"}
            dispose()
            assert set((await server.projections.snapshot("a")).values()) == {"count"}
            with pytest.raises(KeyError):
                server.projections.state_of("a", "second")

    run(scenario())


def test_a_key_that_comes_back_with_another_meaning_is_folded_anew() -> None:
    async def scenario() -> None:
        async with serving() as server:
            dispose = server.registry.register(unit())
            await server.begin(numbered("a/a", "b/b", "turn/end"))
            assert (await server.projections.snapshot("a")).values() == {"count": 3}
            await until(lambda: server.checkpoints.writes > 0)
            dispose()
            server.registry.register(unit(state_version=2, init=lambda: 100))
            assert (await server.projections.snapshot("a")).values() == {"count": 103}

    run(scenario())


# What goes wrong


def test_a_session_that_is_not_stored_is_not_found() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            with pytest.raises(SessionNotFound):
                await server.projections.snapshot("nobody")

    run(scenario())


def test_a_store_that_cannot_be_read_is_an_error_and_heals() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a"))
            server.store.sick = True
            with pytest.raises(PersistenceFailed):
                await server.projections.snapshot("a")
            server.store.sick = False
            assert (await server.projections.snapshot("a")).values() == {"count": 1}

    run(scenario())


def test_the_feed_is_followed_again_from_where_it_broke(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sessiongraph.projections.driving._RETRY_S", 0.001)

    async def scenario() -> None:
        passed: list[tuple[str, Seq]] = []
        async with serving(counting(passed)) as server:
            await server.begin(numbered("a/a"))
            await server.projections.snapshot("a")
            store = server.store
            await soon()

            async def fall_ill() -> None:
                store.sick = True

            store.paused = fall_ill
            log = server.logs["a"]
            epoch = store._logs["a"].epoch
            await store.append("a", epoch, placed([*log, event(1, "b/b")])[1:])
            await until(lambda: store.sick)
            store.paused, store.sick = None, False
            await until(lambda: server.projections.state_of("a", "count") == 2)
        assert passed == [("count", 0), ("count", 1)]

    run(scenario())


def test_a_log_that_cannot_be_folded_holds_up_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a", "b/b", "c/c"))
            server.store.lose("a", 1)
            await server.begin(session_id="b")
            await server.say("x/y", to="b")
            await until(lambda: is_open(server.projections, "b"))
            with pytest.raises(CorruptSession):
                await server.projections.snapshot("a")
            await server.say("x/y", to="b")
            assert (await server.projections.snapshot("b")).values() == {"count": 2}

    run(scenario())
    assert "cannot be driven" in capsys.readouterr().out


def test_a_deleted_session_takes_its_rows_with_it() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a", "turn/end"))
            await until(lambda: server.checkpoints.writes == 1)
            log = await stored_of(server.store)
            await server.store.delete("a")
            await until(lambda: not server.checkpoints._rows)
            assert await server.projections.stored([log]) != {}
            with pytest.raises(SessionNotFound):
                await server.projections.snapshot("a")

    run(scenario())


def test_an_empty_registry_still_knows_how_far_the_log_goes() -> None:
    async def scenario() -> None:
        async with serving() as server:
            await server.begin(numbered("a/a", "b/b"))
            snapshot = await server.projections.snapshot("a")
            assert (snapshot.as_of_seq, snapshot.views) == (1, ())
            assert Registry().keys() == []

    run(scenario())
