"""Whatever is not as a fold from scratch says it must be is found, and put right where it can be.

Each case changes one thing in a closed store's file by plain SQL. What is derived must be reported
under its name and rebuilt; damage of the log itself must be reported as ``log``, left alone, and
disturb nobody else.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from providers.sqlite.verification import Fault
from sessiongraph.errors import CorruptSession
from sessiongraph.filters import ALL_SESSIONS
from sessiongraph.ports import SessionOrder
from tests.contracts.log_stage import answers_now, append, stored, write
from tests.plain_store import PlainLogStore, run
from tests.providers.sqlite.raw import change, connected, logical, rows
from tests.providers.sqlite.stores import (
    filled,
    full_log,
    sqlite_at,
    told,
    told_plainly,
)
from tests.strategies import header, message, placed, prompt

FULL, OTHER = 1, 2
"""The numbers of the two logs."""


def at(seq: int, log: int = FULL) -> int:
    """The id of an event."""
    return log << 32 | seq


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "log.db"
    run(filled(path))
    return path


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    return run(told_plainly())


@pytest.fixture
def path(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(template, tmp_path / "log.db"))


async def faults_of(path: Path) -> list[Fault]:
    async with sqlite_at(path) as store:
        return await store.check()


def kinds(faults: list[Fault]) -> set[tuple[str | None, str]]:
    return {(fault.session_id, fault.what) for fault in faults}


def test_a_sound_store_has_no_faults_and_says_how_far_it_has_looked(path: Path) -> None:
    seen: list[tuple[int, int]] = []

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            assert await store.check(lambda *progress: seen.append(progress)) == []

    run(scenario())
    assert seen == [(1, 20), (2, 24)]


def test_a_store_is_sound_while_other_logs_and_growth_are_being_staged(path: Path) -> None:
    log = [*full_log(), message(20, replaces=(14, 19), sources=[14, 9, 12, 13, 19])]
    log += [prompt(21, "x"), message(22, replaces=(21, 21), sources=[21])]

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            growth = await store.stage_growth(await stored(store, "full"))
            await growth.append(placed(log)[-3:])
            staged = await store.stage(header("new"))
            await staged.append(placed(log))
            await growth.payload(22)
            assert await store.check() == []
            await growth.abandon()
            await staged.abandon()

    run(scenario())


# What is derived

DERIVED: dict[str, tuple[str, str]] = {
    "a current node shown as shadowed": (
        "placement", f"UPDATE events SET lane = lane + 1 WHERE id = {at(12)}"),
    "a shadowed node shown as current": (
        "placement", f"UPDATE events SET lane = lane - 1 WHERE id = {at(2)}"),
    "a log-only event shown as current": (
        "placement", f"UPDATE events SET lane = lane + 1 WHERE id = {at(15)}"),
    "a lane of another log": (
        "placement", f"UPDATE events SET lane = lane + (1 << 22) WHERE id = {at(15)}"),
    "another place": ("placement", f"UPDATE events SET place = place + 1 WHERE id = {at(12)}"),
    "no place": ("placement", f"UPDATE events SET place = NULL WHERE id = {at(12)}"),
    "the place of a log-only event": (
        "placement", f"UPDATE events SET place = id WHERE id = {at(15)}"),
    "the place of a run": ("placement", f"UPDATE events SET place = id WHERE id = {at(16)}"),
    "two nodes in each other's place": (
        "placement",
        f"UPDATE events SET place = {at(9)} + {at(12)} - place WHERE id IN ({at(9)}, {at(12)})"),
    "a node that was never replaced": (
        "placement",
        f"UPDATE events SET replaced_by = NULL, lane = lane - 1 WHERE id = {at(8)}"),
    "another replacer": (
        "placement", f"UPDATE events SET replaced_by = {at(14)} WHERE id = {at(8)}"),
    "a replacer of what stands": (
        "placement",
        f"UPDATE events SET replaced_by = {at(19)}, lane = lane + 1 WHERE id = {at(12)}"),
    "a missing link to a citer": (
        "links",
        "DELETE FROM citers WHERE node = (SELECT max(node) FROM citers WHERE node >> 36 = 1)"),
    "no links to one citer": ("links", "DELETE FROM citers WHERE node >> 36 = 1 AND citer = 7"),
    "a link too many": ("links", "INSERT INTO citers VALUES (1 << 36 | 1, 15)"),
    "a link to another citer": (
        "links", "UPDATE citers SET citer = 9 WHERE node >> 36 = 1 AND citer = 8"),
    "a link from another block": (
        "links", "UPDATE citers SET node = node + 9 WHERE node >> 36 = 1 AND citer = 8"),
    "no fine spans": ("spans", "DELETE FROM spans WHERE log = 1 AND level = 0"),
    "no coarse spans": ("spans", "DELETE FROM spans WHERE log = 1 AND level = 1"),
    "a span that begins too late": ("spans", "UPDATE spans SET low = low + 1 WHERE log = 1"),
    "a span that ends too early": ("spans", "UPDATE spans SET high = high - 1 WHERE log = 1"),
    "a span of another block": ("spans", "UPDATE spans SET block = block + 1 WHERE log = 1"),
    "no citations": ("citations", "DELETE FROM citations"),
    "a citation of another target": (
        "citations", "UPDATE citations SET target = x'61' WHERE ordinal = 0"),
    "a citation with another label": (
        "citations", "UPDATE citations SET label = x'61' WHERE ordinal = 1"),
    "a citation of another extent": (
        "citations", "UPDATE citations SET captured_through_seq = 0 WHERE ordinal = 1"),
    "a citation by another event": ("citations", "UPDATE citations SET seq = 3"),
    "a citation too many": (
        "citations", "INSERT INTO citations SELECT log, 11, 0, target, label, NULL FROM citations "
        "WHERE ordinal = 0"),
    "nothing carried": ("carried", "DELETE FROM carried WHERE id >> 32 = 1"),
    "more carried from a message": (
        "carried", "UPDATE carried SET octets = octets + 1 WHERE id >> 32 = 1"),
    "a checkpoint that is none": (
        "carried", "UPDATE carried SET checkpoint = 1 - checkpoint WHERE id >> 32 = 1"),
    "something carried from a log-only event": (
        "carried", f"INSERT INTO carried VALUES ({at(15)}, 1, 0)"),
    "no sums": ("carried", "DELETE FROM carried_sums WHERE log = 1"),
    "a sum of more messages": (
        "carried", "UPDATE carried_sums SET messages = messages + 1 WHERE log = 1"),
    "a sum of more checkpoints": (
        "carried", "UPDATE carried_sums SET checkpoints = checkpoints + 1 WHERE log = 1"),
    "a sum of another block": (
        "carried", "UPDATE carried_sums SET block = block + 1 WHERE log = 1"),
    "another title": ("title", "UPDATE logs SET title = x'61' WHERE log = 1"),
    "no title": ("title", "UPDATE logs SET title = NULL WHERE log = 1"),
    "another time of the latest prompt": (
        "prompt", "UPDATE logs SET prompted_at = 1000 WHERE log = 1"),
    "no time of the latest prompt": ("prompt", "UPDATE logs SET prompted_at = NULL WHERE log = 1"),
}  # fmt: skip

UNSEEN: dict[str, tuple[str, str]] = {
    "a replacer in no log": (
        "placement",
        f"UPDATE events SET replaced_by = {at(3, 77)}, lane = lane + 1 WHERE id = {at(12)}"),
    "another folded title": ("title", "UPDATE logs SET title_folded = x'61' WHERE log = 1"),
    "a title that is no text": ("title", "UPDATE logs SET title = x'ff' WHERE log = 1"),
    "another seq of the title": ("title", "UPDATE logs SET title_seq = 2 WHERE log = 1"),
    "another seq of the latest prompt": (
        "prompt", "UPDATE logs SET prompted_seq = 2 WHERE log = 1"),
}  # fmt: skip


async def assert_found_and_rebuilt(path: Path, what: str, plain: dict[str, Any]) -> None:
    held = logical(path)
    async with sqlite_at(path) as store:
        faults = await store.check()
        assert kinds(faults) == {("full", what)}
        assert all(fault.repairable for fault in faults)
        await store.repair(faults)
        assert await store.check() == []
        assert await told(store) == plain
    assert {row[1] for row in logical(path)["events"]} == {row[1] for row in held["events"]}


@pytest.mark.parametrize("case", DERIVED)
def test_what_is_derived_is_found_wrong_and_rebuilt(
    path: Path, case: str, plain: dict[str, Any]
) -> None:
    what, sql = DERIVED[case]
    assert change(path, sql) > 0
    run(assert_found_and_rebuilt(path, what, plain))


@pytest.mark.parametrize("case", UNSEEN)
def test_what_is_derived_is_found_wrong_wherever_it_is_kept(
    path: Path, case: str, plain: dict[str, Any]
) -> None:
    what, sql = UNSEEN[case]
    assert change(path, sql) > 0
    run(assert_found_and_rebuilt(path, what, plain))


NUMBERS = {
    "place": f"events SET place = place + ? WHERE id >> 32 = {FULL} AND place NOTNULL",
    "replaced_by": (
        f"events SET replaced_by = replaced_by + ? WHERE id >> 32 = {FULL} AND replaced_by NOTNULL"
    ),
    "node": f"citers SET node = node + ? WHERE node >> 36 = {FULL}",
    "citer": f"citers SET citer = citer + ? WHERE node >> 36 = {FULL}",
    "low": f"spans SET low = low + abs(?) WHERE log = {FULL}",
    "high": f"spans SET high = high - abs(?) WHERE log = {FULL}",
    "block": f"spans SET block = block + ? WHERE log = {FULL}",
    "level": f"spans SET level = level + ? WHERE log = {FULL}",
    "ordinal": f"citations SET ordinal = ordinal + ? WHERE log = {FULL}",
    "seq": f"citations SET seq = seq + ? WHERE log = {FULL}",
    "log": f"citations SET log = log + ? WHERE log = {FULL}",
    "captured_through_seq": (
        "citations SET captured_through_seq = coalesce(captured_through_seq, 0) + ? "
        f"WHERE log = {FULL}"
    ),
    "prompted_at": f"logs SET prompted_at = prompted_at + ? WHERE log = {FULL}",
}


@given(
    column=st.sampled_from(sorted(NUMBERS)),
    by=st.integers(-3, 3).filter(bool) | st.integers(-(2**33), 2**33).filter(bool),
    which=st.integers(0, 14),
)
def test_any_other_number_in_any_derived_column_is_found_and_put_right(
    tmp_path_factory: pytest.TempPathFactory,
    template: Path,
    plain: dict[str, Any],
    column: str,
    by: int,
    which: int,
) -> None:
    path = Path(shutil.copy(template, tmp_path_factory.mktemp("number") / "log.db"))
    table, _, where = NUMBERS[column].partition(" WHERE ")
    name = table.split()[0]
    key = {"citers": "(node, citer)", "spans": "(level, block, log)",
           "citations": "(log, seq, ordinal)", "events": "id", "logs": "log"}[name]  # fmt: skip
    part = f"SELECT {key.strip('()')} FROM {name} WHERE {where} LIMIT 1 OFFSET {which}"
    try:
        changed = change(path, f"UPDATE {table} WHERE {key} = ({part})", by)
    except sqlite3.IntegrityError:
        changed = 0
    assume(changed)

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            faults = await store.check()
            assert "full" in {fault.session_id for fault in faults}
            await store.repair(faults)
            assert await store.check() == []
            assert await told(store) == plain

    run(scenario())


@pytest.mark.parametrize(
    "sql", ["UPDATE totals SET sessions = 7", "UPDATE totals SET events = events - 1"]
)
def test_totals_are_found_wrong_and_counted_anew(
    path: Path, sql: str, plain: dict[str, Any]
) -> None:
    change(path, sql)

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            faults = await store.check()
            assert kinds(faults) == {(None, "totals")}
            await store.repair(faults)
            assert await store.check() == []
            assert await told(store) == plain
            async with store.observe() as reader:
                counts = await reader.counts()
            assert (counts.sessions, counts.events) == (2, 24)

    run(scenario())


def test_totals_that_are_gone_are_counted_anew(path: Path) -> None:
    change(path, "DELETE FROM totals")

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            faults = await store.check()
            assert kinds(faults) == {(None, "totals")}
            await store.repair(faults)
            assert await store.check() == []

    run(scenario())


def test_many_faults_of_many_logs_are_put_right_at_once(path: Path, plain: dict[str, Any]) -> None:
    for sql in (
        "DELETE FROM citers",
        "DELETE FROM spans",
        "DELETE FROM citations",
        "DELETE FROM carried",
        "UPDATE logs SET title = NULL, prompted_at = NULL",
        "UPDATE events SET place = NULL, replaced_by = NULL, lane = lane & ~3",
        "UPDATE totals SET events = 0, sessions = 0",
    ):
        change(path, sql)

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            faults = await store.check()
            everything = {"placement", "links", "spans", "carried", "title", "prompt"}
            expected = {(each, what) for each in ("full", "other") for what in everything}
            assert kinds(faults) == expected | {("full", "citations"), (None, "totals")}
            await store.repair(faults)
            assert await store.check() == []
            assert await told(store) == plain

    run(scenario())


def test_a_log_goes_on_after_it_was_rebuilt(path: Path) -> None:
    change(path, "DELETE FROM citers")
    change(path, f"UPDATE events SET place = NULL WHERE id >> 32 = {FULL}")
    more = message(20, replaces=(14, 9), sources=[14, 13, 9, 0])

    async def scenario() -> None:
        plain = PlainLogStore()
        await write(plain, header("full"), [*full_log(), more])
        async with sqlite_at(path) as store:
            await store.repair(await store.check())
            await append(store, "full", [placed([*full_log(), more])[-1:]])
            assert await answers_now(store, "full") == await answers_now(plain, "full")
            assert await store.check() == []

    run(scenario())


@pytest.mark.parametrize("index", ["events_by_lane", "events_on_surface"])
def test_an_index_that_lacks_a_row_is_found_and_rebuilt(
    path: Path, index: str, plain: dict[str, Any]
) -> None:
    """The rows are as they must be; what is read through the index is not."""
    take_out_of_index(path, index, at(12))

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            faults = await store.check()
            assert faults != []
            await store.repair(faults)
            assert await store.check() == []
            assert await told(store) == plain

    run(scenario())


def take_out_of_index(path: Path, index: str, event_id: int) -> None:
    """Hide the index from SQLite while a row is put back that was deleted before."""
    (entry,) = rows(path, "SELECT * FROM sqlite_schema WHERE name = ?", index)
    (row,) = rows(path, "SELECT * FROM events WHERE id = ?", event_id)
    change(path, "DELETE FROM events WHERE id = ?", event_id)
    with connected(path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_schema WHERE name = ?", (index,))
    change(path, f"INSERT INTO events VALUES ({','.join('?' * len(row))})", *row)
    with connected(path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", entry)


# Damage of the log itself

RUN = "UPDATE events SET flags = 0, payload = CAST('{}' AS BLOB) WHERE id = " + str(at(3))

DAMAGE: dict[str, str] = {
    "an event is gone": f"DELETE FROM events WHERE id = {at(11)}",
    "the first event is gone": f"DELETE FROM events WHERE id = {at(0)}",
    "the last event is gone": f"DELETE FROM events WHERE id = {at(19)}",
    "an event has another seq": f"UPDATE events SET id = id + 40 WHERE id = {at(19)}",
    "the log ends later": "UPDATE logs SET last_seq = 25 WHERE log = 1",
    "a type has no name": f"UPDATE events SET lane = lane + (5000 << 2) WHERE id = {at(15)}",
    "a payload is no JSON": f"UPDATE events SET payload = x'ff' WHERE id = {at(18)}",
    "a payload is no object": (
        f"UPDATE events SET payload = CAST('[1]' AS BLOB) WHERE id = {at(18)}"
    ),
    "a compressed payload is damaged": f"UPDATE events SET payload = x'ff' WHERE id = {at(7)}",
    "a stream is damaged": f"UPDATE events SET stream = x'ff' WHERE id = {at(7)}",
    "a run is no JSON": f"UPDATE events SET payload = x'ff' WHERE id = {at(3)}",
    "a run is something else": f"UPDATE events SET payload = x'5b5d' WHERE id = {at(3)}",
    "a run is an event": f"UPDATE events SET members = NULL WHERE id = {at(3)}",
    "an event is a run": f"UPDATE events SET members = 1 WHERE id = {at(18)}",
    "a message was not appended": f"UPDATE events SET flags = flags & ~2 WHERE id = {at(12)}",
    "a log-only event was appended": f"UPDATE events SET flags = flags | 2 WHERE id = {at(15)}",
    "a replacement begins elsewhere": f"UPDATE events SET op_start = 1 WHERE id = {at(14)}",
    "a replacement cites nothing": f"UPDATE events SET sources = NULL WHERE id = {at(14)}",
    "sources are no JSON": f"UPDATE events SET sources = x'ff' WHERE id = {at(7)}",
    "a pruned result differs": (
        f'UPDATE events SET payload = CAST(\'{{"callId":"x"}}\' AS BLOB) WHERE id = {at(13)}'
    ),
}

UNREADABLE: dict[str, str] = {
    "a replacement has no end": f"UPDATE events SET op_end = NULL WHERE id = {at(14)}",
    "sources are a number": f"UPDATE events SET sources = CAST('5' AS BLOB) WHERE id = {at(7)}",
    "sources are an object": (
        f"UPDATE events SET sources = CAST('{{\"a\":1}}' AS BLOB) WHERE id = {at(7)}"
    ),
    "a run is a number": RUN.replace("{}", "5"),
    "a run has no texts": RUN.replace("{}", '["text-chunks", 1, 1, 0, [1, 1], 5, null, null]'),
    "notes are no JSON": "UPDATE logs SET notes = x'ff' WHERE log = 1",
    "more of the header is no JSON": "UPDATE logs SET extra = x'ff' WHERE log = 1",
    "the recorder is unknown": "UPDATE logs SET source_kind = 'nobody' WHERE log = 1",
    "the folder is no text": "UPDATE logs SET cwd = x'ff' WHERE log = 1",
}

HEADERS = [each for each, sql in UNREADABLE.items() if "UPDATE logs" in sql]

OVERLOOKED: dict[str, str] = {
    "a stream is gone": f"UPDATE events SET stream = NULL WHERE id = {at(7)}",
    "a stream belongs to nobody": f"UPDATE events SET flags = flags & ~16 WHERE id = {at(7)}",
    "a run has fewer gaps than texts": RUN.replace(
        "{}", '["text-chunks", 1, 1, 0, [1], ["a", "b", "c"], null, null]'
    ),
    "a run has texts that are none": RUN.replace(
        "{}", '["text-chunks", 1, 1, 0, [1, 1], [1, 2, 3], null, null]'
    ),
    "a run says another length": f"UPDATE events SET members = 2 WHERE id = {at(3)}",
    "an event lies behind the end": (
        "INSERT INTO events SELECT id + 1, lane, time, flags, members, place, replaced_by, "
        f"op_start, op_end, sources, payload, stream FROM events WHERE id = {at(18)} + 1"
    ),
    "the log ends earlier": "UPDATE logs SET last_seq = 18 WHERE log = 1",
    "more of the header is a list": ("UPDATE logs SET extra = CAST('[]' AS BLOB) WHERE log = 1"),
}


async def assert_found_and_left_alone(path: Path, plain: dict[str, Any]) -> None:
    async with sqlite_at(path) as store:
        faults = await store.check()
        assert ("full", "log") in kinds(faults)
        assert {fault.session_id for fault in faults} <= {"full", None}
        assert await answers_now(store, "other") == plain["other"]
        held = rows(path, "SELECT * FROM events"), rows(path, "SELECT * FROM citers")
        await store.repair(faults)
        assert (rows(path, "SELECT * FROM events"), rows(path, "SELECT * FROM citers")) == held
        assert ("full", "log") in kinds(await store.check())
        assert await answers_now(store, "other") == plain["other"]


@pytest.mark.parametrize("case", DAMAGE)
def test_damage_of_a_log_is_reported_and_left_alone(
    path: Path, case: str, plain: dict[str, Any]
) -> None:
    assert change(path, DAMAGE[case]) > 0
    run(assert_found_and_left_alone(path, plain))


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_cannot_be_decoded_at_all_is_a_fault_like_any_other(
    path: Path, case: str, plain: dict[str, Any]
) -> None:
    assert change(path, UNREADABLE[case]) > 0
    run(assert_found_and_left_alone(path, plain))


@pytest.mark.parametrize("case", OVERLOOKED)
def test_damage_that_still_decodes_is_reported(
    path: Path, case: str, plain: dict[str, Any]
) -> None:
    assert change(path, OVERLOOKED[case]) > 0
    run(assert_found_and_left_alone(path, plain))


def test_a_log_that_is_damaged_is_not_rebuilt_though_more_of_it_is_wrong(path: Path) -> None:
    change(path, DAMAGE["an event is gone"])
    change(path, "UPDATE logs SET title = x'61' WHERE log = 1")
    change(path, "UPDATE spans SET low = low + 1")

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            faults = await store.check()
            assert ("full", "log") in kinds(faults)
            assert ("other", "spans") in kinds(faults)
            await store.repair(faults)
            assert {fault.session_id for fault in await store.check()} == {"full"}
            assert (await stored(store, "full")).title == "a"

    run(scenario())


@pytest.mark.parametrize(
    "case",
    [
        "a type has no name",
        "a compressed payload is damaged",
        "a stream is damaged",
        "a run is no JSON",
        "a run is something else",
        "an event is a run",
    ],
)
def test_reading_what_does_not_decode_says_that_the_session_is_corrupt(
    path: Path, case: str
) -> None:
    change(path, DAMAGE[case])
    run(assert_corrupt(path))


@pytest.mark.parametrize(
    "case", ["sources are no JSON", "sources are a number", "sources are an object"]
)
def test_reading_sources_that_do_not_decode_says_that_the_session_is_corrupt(
    path: Path, case: str
) -> None:
    change(path, (DAMAGE | UNREADABLE)[case])
    run(assert_corrupt(path))


@pytest.mark.parametrize(
    "case", ["a run is a number", "a run has no texts", "a run has fewer gaps than texts"]
)
def test_reading_a_run_that_is_none_says_that_the_session_is_corrupt(path: Path, case: str) -> None:
    change(path, (UNREADABLE | OVERLOOKED)[case])
    run(assert_corrupt(path))


async def assert_corrupt(path: Path) -> None:
    async with sqlite_at(path) as store:
        session = await stored(store, "full")
        with pytest.raises(CorruptSession):
            async with store.observe() as reader:
                await reader.at(session, range(20))
                await reader.payloads(session, range(20))


@pytest.mark.parametrize("case", HEADERS)
def test_a_session_whose_row_is_damaged_does_not_hide_the_others(path: Path, case: str) -> None:
    change(path, UNREADABLE[case])

    async def scenario() -> None:
        async with sqlite_at(path) as store, store.observe() as reader:
            listed = await reader.sessions(ALL_SESSIONS, SessionOrder.CREATED, limit=9)
            assert "other" in [each.header.session_id for each in listed]
            assert "other" in await reader.find(["full", "other"])

    run(scenario())


def test_a_file_with_damaged_pages_is_reported(path: Path) -> None:
    ((page,),) = rows(path, "SELECT rootpage FROM sqlite_schema WHERE name = 'citers'")
    with path.open("r+b") as file:
        file.seek(4096 * (page - 1))
        file.write(b"\x55" * 4096)
    faults = run(faults_of(path))
    assert "file" in {fault.what for fault in faults}
    assert any(not fault.repairable for fault in faults)
