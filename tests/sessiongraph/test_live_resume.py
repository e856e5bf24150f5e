"""Making a stored session live again: where it goes on, and what a crash left open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.errors import LogReadOnly, SessionNotFound
from sessiongraph.event import Entry
from sessiongraph.log_tails import tail_of, turn_is_open
from sessiongraph.new_event import NewEvent
from sessiongraph.repair import TailState, closing_events
from tests.contracts.log_stage import all_entries, answers_now, one, publish, told_event, write
from tests.plain_store import PlainLogStore, run
from tests.providers.recordings.dsh_writing import header_row
from tests.providers.recordings.dsh_writing import write as write_file
from tests.providers.sqlite.imports import (
    IMPORTED,
    RESUMED,
    UNCHANGED,
    counted,
    prompts,
    single_events,
    take,
)
from tests.sessiongraph.live_engine import (
    ACCEPTED,
    DURABLE,
    LAZY,
    Engine,
    again,
    each_in_a_file_of_its_own,
    fresh,
    opened,
)
from tests.strategies import delta_run, event, header, json_objects, logs, message, wrapped_result

# Going on


@each_in_a_file_of_its_own
@given(log=logs(min_size=1, max_size=12).map(single_events), data=st.data())
def test_a_session_goes_on_after_it_was_closed_as_if_it_had_stayed_live(
    tmp_path: Path, log: list[Any], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(log)))
    kind = data.draw(st.sampled_from((DURABLE, ACCEPTED)))

    async def scenario() -> None:
        plain = PlainLogStore()
        async with opened(fresh(tmp_path), LAZY) as engine:
            await engine.begin()
            await append(engine, log[:cut], kind)
            before = engine.live.all()[0]._surface.nodes()
            await engine.writing.close("a")
            await engine.writing.resume("a")
            closed = closing_of(log[:cut], "a", 4)
            session = engine.live.all()[0]
            assert session.planned_seq == cut - 1 + len(closed)
            if not closed:
                assert session._surface.nodes() == before
                await append(engine, log[cut:], kind)
                await engine.writing.flush("a")
                await write(plain, session.header, log)
                assert await answers_now(engine.store, "a") == await answers_now(plain, "a")

    run(scenario())


async def append(engine: Engine, log: list[Any], kind: Any) -> None:
    for each in log:
        await engine.writing.append("a", [again(each)], None, kind)


# Crashed tails


_CALL = {"turn": 1, "step": 1, "callId": "c1", "name": "bash", "arguments": "{}"}
_ASKS = {
    "turn": 1,
    "step": 1,
    "message": {
        "id": "m",
        "role": "assistant",
        "content": [
            {"type": "tool-call", "id": "c1", "name": "bash", "arguments": "{}"},
            {"type": "tool-call", "id": "c2", "name": "bash", "arguments": "{}"},
        ],
    },
}


@st.composite
def turns(draw: st.DrawFn) -> list[Entry]:
    """Turns, steps and calls in any order, now and then without the fields that they need."""
    whole: list[tuple[str, Any]] = [
        ("turn/start", {"turn": 1}),
        ("turn/start", {"turn": 2}),
        ("turn/end", {"turn": 1, "reason": {"kind": "completed"}}),
        ("step/start", {"turn": 1, "step": 1}),
        ("step/end", {"turn": 1, "step": 1}),
        ("tool/call", _CALL),
        ("tool/result", wrapped_result("c1", [])),
        ("assistant/message", _ASKS),
        ("user/message", {}),
        ("compaction/start", {}),
    ]
    log: list[Entry] = []
    seq = 0
    for _ in range(draw(st.integers(0, 14))):
        if draw(st.integers(0, 9)) == 0:
            run_of_deltas = delta_run(seq, ["a", "b", "c"])
            log.append(run_of_deltas)
            seq += 3
            continue
        name, data = draw(st.sampled_from(whole))
        if draw(st.integers(0, 7)) == 0:
            data = draw(json_objects)
        make = message if name.endswith(("message", "result")) else event
        log.append(make(seq, name, data, time=1000 + seq))
        seq += 1
    return log


def folded(log: list[Entry]) -> TailState:
    tail = TailState()
    for entry in log:
        tail.advance(entry)
    return tail


def closing_of(log: list[Entry], session_id: str, version: int) -> list[Any]:
    following = log[-1].last_seq + 1 if log else 0
    return closing_events(folded(log), session_id, version, following)


@each_in_a_file_of_its_own
@given(log=turns(), version=st.integers(0, 4))
def test_a_tail_read_from_its_last_turn_is_closed_as_one_folded_over_the_whole_log(
    tmp_path: Path, log: list[Entry], version: int
) -> None:
    async def scenario() -> None:
        store = PlainLogStore()
        await publish(store, header("a"), log)
        async with store.observe() as reader:
            session = await one(reader, "a")
            tail = await tail_of(reader, session)
            closing = closing_events(tail, "a", version, session.last_seq + 1)
        expected = closing_of(log, "a", version)
        assert [told_event(each) for each in closing] == [told_event(each) for each in expected]

    run(scenario())


@given(log=turns())
def test_a_turn_is_open_at_a_boundary_when_a_fold_up_to_there_says_so(log: list[Entry]) -> None:
    async def scenario() -> None:
        store = PlainLogStore()
        await publish(store, header("a"), log)
        async with store.observe() as reader:
            session = await one(reader, "a")
            for entry in log:
                expected = folded([each for each in log if each.seq <= entry.seq]).is_open
                assert await turn_is_open(reader, session, entry.last_seq) == expected

    run(scenario())


CRASHED = [
    event(0, "turn/start", {"turn": 7}, time=10),
    event(1, "step/start", {"turn": 7, "step": 2}, time=11),
    message(2, "assistant/message", _ASKS, time=12),
    event(3, "tool/call", _CALL, time=13),
    event(4, "compaction/start", {}, time=99),
]


@pytest.mark.parametrize("version", [3, 4])
def test_a_crashed_tail_is_closed_by_the_rules_and_only_once(tmp_path: Path, version: int) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            new = header("a")
            new = type(new)(version, "a", 1)
            await publish(engine.store, new, CRASHED)
            assert len(await engine.events()) == 5
            for _ in range(3):
                await engine.writing.resume("a")
                await engine.writing.close("a")
            events = [placed.event for placed in await engine.events()]
            assert [(each.type, each.time) for each in events[5:]] == [
                ("tool/result", 99),
                ("tool/result", 99),
                ("step/end", 99),
                ("turn/end", 99),
            ]
            outcomes = {}
            for each in events[5:7]:
                data = json.loads(each.payload)
                call_id = data["message"]["source"]["callId"]
                outcomes[call_id] = (data["error"]["code"], each.source_event_seqs)
                assert (data["turn"], data["step"]) == (7, 2)
                spelled = data["message"]["role"]
                assert spelled == ("tool" if version == 4 else "user")
            assert outcomes == {
                "c1": ("TOOL_OUTCOME_UNKNOWN", (3,)),
                "c2": ("TOOL_NOT_STARTED", None),
            }
            assert json.loads(events[7].payload) == {"turn": 7, "step": 2}
            assert json.loads(events[8].payload) == {"turn": 7, "reason": {"kind": "interrupted"}}

    run(scenario())


def test_closing_a_tail_is_the_same_whenever_it_happens(tmp_path: Path) -> None:
    async def closed(path: Path, twice: bool) -> list[Any]:
        async with opened(path) as engine:
            await publish(engine.store, header("a"), CRASHED)
            await engine.writing.resume("a")
            if twice:
                await engine.crash()
                await engine.writing.resume("a")
            return [told_event(placed.event) for placed in await engine.events()]

    async def scenario() -> None:
        first = await closed(tmp_path / "1.db", False)
        assert first == await closed(tmp_path / "2.db", True)

    run(scenario())


def test_a_live_session_with_an_open_turn_stays_as_it_is_when_it_is_resumed(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            start = NewEvent.of("turn/start", {"turn": 1})
            await engine.writing.append("a", [start], None, DURABLE)
            await engine.writing.resume("a")
            assert await engine.written() == ["turn/start"]

    run(scenario())


def test_a_crash_between_accepting_and_writing_leaves_the_part_that_was_written(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db", LAZY) as engine:
            await engine.begin()
            await engine.say("durable")
            await engine.accept("lost")
            await engine.crash()
            assert await engine.heard() == ["durable"]
            await engine.writing.resume("a")
            assert await engine.say("next", at=1) == [1]

    run(scenario())


def test_resuming_what_is_not_there_says_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            with pytest.raises(SessionNotFound):
                await engine.writing.resume("nobody")

    run(scenario())


# Sessions that were read from files


def test_a_session_of_a_file_takes_no_appends_until_it_is_resumed_which_detaches_it(
    tmp_path: Path,
) -> None:
    path = write_file(tmp_path / "s.jsonl", [header_row(id="s"), *prompts(2)])

    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            assert counted(await take(engine.store, path)) == IMPORTED
            with pytest.raises(LogReadOnly):
                await engine.say("mine", to="s")
            await engine.writing.resume("s")
            session = await engine.look("s")
            assert session is not None
            assert session.header.source.path is None
            (note,) = session.header.source.notes
            assert str(path) in note
            assert "no longer followed" in note
            assert await engine.say("mine", to="s") == [2]
            write_file(path, [header_row(id="s"), *prompts(5)])
            report = await take(engine.store, path)
            assert counted(report) not in (IMPORTED, RESUMED)
            assert (await engine.written("s"))[2:] == ["mine"]
            await engine.writing.close("s")
            await engine.writing.resume("s")
            assert await engine.say("more", to="s") == [3]

    run(scenario())


@pytest.mark.parametrize("version", [0, 2])
def test_an_import_of_an_unchanged_detached_file_changes_nothing(
    tmp_path: Path, version: int
) -> None:
    path = write_file(tmp_path / "s.jsonl", [header_row(version, id="s"), *prompts(2)])

    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await take(engine.store, path)
            await engine.writing.resume("s")
            await engine.writing.close("s")
            before = await answers_now(engine.store, "s")
            assert counted(await take(engine.store, path)) == UNCHANGED
            assert await answers_now(engine.store, "s") == before

    run(scenario())


def test_a_long_log_is_resumed_with_the_surface_that_it_has(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db") as engine:
            await engine.begin()
            await engine.say(*(f"{n}" for n in range(3000)))
            await engine.writing.close("a")
            await engine.writing.resume("a")
            async with engine.store.observe() as reader:
                session = await one(reader, "a")
                nodes = await reader.surface_nodes(session)
                assert len(await all_entries(reader, session)) == 3000
            assert engine.live.all()[0]._surface.nodes() == nodes
            assert len(nodes) == 3000

    run(scenario())
