"""Files come into the store whole or not at all, and a second import changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessiongraph.header import SourceKind
from sessiongraph.import_report import ImportReport
from sessiongraph.ports import LogStore
from tests.contracts.log_stage import Stores, conversation, one, stored, write
from tests.contracts.test_log_store import PROVIDERS
from tests.plain_store import run
from tests.providers.recordings.dsh_writing import (
    Json,
    header_row,
    json_lines,
    logical_events,
    packed_row,
    row,
)
from tests.providers.recordings.dsh_writing import write as write_file
from tests.providers.sqlite.imports import (
    IMPORTED,
    IMPORTED_AT,
    REFUSED,
    RESUMED,
    UNCHANGED,
    counted,
    prompts,
    reasons,
    replacing,
    said,
    take,
    told_log,
    told_store,
    touch,
)
from tests.strategies import header

NAMES = ["session.jsonl", "session.jsonl.zstd"]


@pytest.fixture(scope="module", params=PROVIDERS)
def stores(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(request.param, tmp_path_factory.mktemp("stores"))


async def seqs_of(store: LogStore, session_id: str = "s") -> list[int]:
    return [event[0] for event in (await told_log(store, session_id))["events"]]


# New files


@pytest.mark.parametrize("name", NAMES)
def test_a_new_file_becomes_a_session_with_what_its_rows_say(
    stores: Stores, tmp_path: Path, name: str
) -> None:
    rows: list[Json] = [*prompts(3), packed_row(3, ["a", "b", "c"]), replacing(6, 0, 2, [[0, 2]])]
    path = write_file(tmp_path / name, [header_row(cwd="/p", agentPreset="std"), *rows])

    async def scenario() -> None:
        async with stores.new() as store:
            assert counted(await take(store, path)) == IMPORTED
            told = await told_log(store, "s")
            expected = logical_events(rows)
            assert [event[:3] for event in told["events"]] == [
                (each["seq"], each["type"], each["time"]) for each in expected
            ]
            assert [node.seq for node in told["nodes"]] == [6]
            assert told["replaced"][6] == [0, 1, 2]
            found = (await stored(store, "s")).header
            assert (found.cwd, found.agent_preset, found.version) == ("/p", "std", 0)

    run(scenario())


def test_a_session_says_which_file_it_came_from_and_when(stores: Stores, tmp_path: Path) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(1), row(1, "x/y")])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            source = (await stored(store, "s")).header.source
            assert (source.kind, source.path) == (SourceKind.DSH, str(path.resolve()))
            assert source.imported_at == IMPORTED_AT
            assert source.notes == ("Types unknown to dsh are kept as opaque events: x/y (1).",)

    run(scenario())


@pytest.mark.parametrize("name", NAMES)
def test_a_file_with_nothing_but_a_header_is_an_empty_session(
    stores: Stores, tmp_path: Path, name: str
) -> None:
    path = write_file(tmp_path / name, [header_row()])

    async def scenario() -> None:
        async with stores.new() as store:
            assert counted(await take(store, path)) == IMPORTED
            assert (await stored(store, "s")).last_seq == -1
            assert counted(await take(store, path)) == UNCHANGED
            write_file(path, [header_row(), *prompts(2)])
            assert counted(await take(store, path)) == RESUMED
            assert await seqs_of(store) == [0, 1]

    run(scenario())


def test_a_link_and_the_file_behind_it_are_one_path(stores: Stores, tmp_path: Path) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(1)])
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)

    async def scenario() -> None:
        async with stores.new() as store:
            assert counted(await take(store, link)) == IMPORTED
            assert (await stored(store, "s")).header.source.path == str(path.resolve())
            assert counted(await take(store, path)) == UNCHANGED

    run(scenario())


# Unchanged files


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_did_not_change_is_left_alone(
    stores: Stores, tmp_path: Path, name: str
) -> None:
    path = write_file(tmp_path / name, [header_row(), *prompts(3)])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            before, session = await told_store(store), await stored(store, "s")
            assert counted(await take(store, path)) == UNCHANGED
            assert await told_store(store) == before
            assert (await stored(store, "s")).epoch == session.epoch

    run(scenario())


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_was_only_touched_is_unchanged_and_remembered_as_it_is_now(
    stores: Stores, tmp_path: Path, name: str
) -> None:
    path = write_file(tmp_path / name, [header_row(), *prompts(3)])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            before, session = await told_store(store), await stored(store, "s")
            touch(path, 5_000_000_000)
            assert counted(await take(store, path)) == UNCHANGED
            assert await told_store(store) == before
            assert (await stored(store, "s")).epoch == session.epoch
            async with store.observe() as reader:
                state = await reader.recording(str(path.resolve()))
            assert state is not None
            assert state.modified_ns == 5_000_000_000

    run(scenario())


def test_a_file_that_vanished_changes_nothing_but_is_reported(
    stores: Stores, tmp_path: Path
) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(3)])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            before = await told_store(store)
            path.unlink()
            report = await take(store, path)
            assert counted(report) == REFUSED
            assert await told_store(store) == before

    run(scenario())


# Deleted sessions


def test_a_deleted_session_stays_deleted(stores: Stores, tmp_path: Path) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(3)])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            await store.delete("s")
            write_file(path, [header_row(), *prompts(5)])
            report = await take(store, path)
            assert counted(report) == REFUSED
            assert "was deleted here" in reasons(report)[0][2]
            assert (await told_store(store))["ids"] == []

    run(scenario())


def test_a_deleted_session_comes_back_when_it_is_asked_for(stores: Stores, tmp_path: Path) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(3)])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            before, epoch = await told_store(store), (await stored(store, "s")).epoch
            await store.delete("s")
            assert counted(await take(store, path, restore_deleted=True)) == IMPORTED
            assert await told_store(store) == before
            assert (await stored(store, "s")).epoch != epoch
            async with store.observe() as reader:
                assert await reader.tombstones(["s"]) == set()
            assert counted(await take(store, path)) == UNCHANGED

    run(scenario())


def test_restoring_what_was_deleted_changes_nothing_for_the_others(
    stores: Stores, tmp_path: Path
) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(3)])

    async def scenario() -> None:
        async with stores.new() as store:
            assert counted(await take(store, path, restore_deleted=True)) == IMPORTED
            assert counted(await take(store, path, restore_deleted=True)) == UNCHANGED

    run(scenario())


# Refused files


def wrong_span(seq: int) -> Json:
    return replacing(seq, 1, 7, [1, 2])


def test_a_broken_surface_rule_is_refused_with_file_line_and_rule(
    stores: Stores, tmp_path: Path
) -> None:
    rows = [header_row(), *prompts(3), wrong_span(3), *prompts(2, first=4)]
    path = write_file(tmp_path / "log.jsonl", rows)

    async def scenario() -> None:
        async with stores.new() as store:
            report = await take(store, path)
            assert counted(report) == REFUSED
            (refused,) = report.refused
            assert (refused.path, refused.line) == (str(path.resolve()), 5)
            assert refused.reason == "event 3: replaces 7, which is not on the surface (rule 4)"
            assert (await told_store(store))["ids"] == []

    run(scenario())


def test_a_refused_growth_leaves_the_session_as_it_was(stores: Stores, tmp_path: Path) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(3)])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            before, session = await told_store(store), await stored(store, "s")
            write_file(path, [header_row(), *prompts(5), replacing(5, 0, 1, [0, 1]), wrong_span(6)])
            report = await take(store, path)
            assert [refused[1] for refused in reasons(report)] == [8]
            assert await told_store(store) == before
            assert (await stored(store, "s")).epoch == session.epoch
            write_file(path, [header_row(), *prompts(5), replacing(5, 0, 1, [0, 1])])
            assert counted(await take(store, path)) == RESUMED

    run(scenario())


def test_damage_before_a_turn_that_ended_refuses_the_file_with_its_line(
    stores: Stores, tmp_path: Path
) -> None:
    rows = [header_row(), *prompts(2), b'{"torn\n', row(3, "turn/end")]
    path = write_file(tmp_path / "log.jsonl", rows)

    async def scenario() -> None:
        async with stores.new() as store:
            report = await take(store, path)
            assert [refused[:2] for refused in reasons(report)] == [("log.jsonl", 4)]
            assert (await told_store(store))["ids"] == []

    run(scenario())


def test_a_refused_file_never_stops_the_others(stores: Stores, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    bad: dict[str, list[Json | bytes]] = {
        "a": [b"no json\n"],
        "c": [header_row(id="c"), *prompts(2), wrong_span(2)],
        "e": [header_row(id="e"), said(0), b"{\n", row(2, "turn/end")],
        "g": [header_row(id="")],
        "i": [header_row(id="i"), said(0), {"type": "turn/start", "data": {}}],
    }
    for name, rows in bad.items():
        write_file(folder / f"{name}.jsonl", rows)
    for name in "bdfhj":
        write_file(folder / f"{name}.jsonl", [header_row(id=name), *prompts(2)])

    async def scenario() -> None:
        async with stores.new() as store:
            report = await take(store, folder)
            assert counted(report) == (5, 0, 0, 5)
            assert [name for name, _, _ in reasons(report)] == [f"{name}.jsonl" for name in bad]
            assert sorted((await told_store(store))["ids"]) == list("bdfhj")
            again = await take(store, folder)
            assert counted(again) == (0, 0, 5, 5)
            assert reasons(again) == reasons(report)

    run(scenario())


def test_a_session_made_through_the_api_is_never_overwritten(
    stores: Stores, tmp_path: Path
) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(version=4, id="s"), *prompts(4)])

    async def scenario() -> None:
        async with stores.new() as store:
            await write(store, header("s", created_at=header_row()["createdAt"]), conversation(2))
            before = await told_store(store)
            report = await take(store, path)
            assert counted(report) == REFUSED
            assert "made through the API" in reasons(report)[0][2]
            assert await told_store(store) == before

    run(scenario())


# Reports


def test_progress_is_told_after_every_file_and_batch_and_at_the_end(
    stores: Stores, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write_file(folder / "a.jsonl", [header_row(id="a"), *prompts(2_500)])
    write_file(folder / "b.jsonl", [b"{}\n"])
    write_file(folder / "c.jsonl", [header_row(id="c"), *prompts(1)])
    seen: list[tuple[int, int, int, bool]] = []

    def watch(report: ImportReport) -> None:
        seen.append((report.files, report.imported, report.events, report.done))

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, folder, on_progress=watch)

    run(scenario())
    assert seen == [
        (1, 0, 125, False),
        (1, 0, 125 + 250, False),
        (1, 0, 375 + 500, False),
        (1, 0, 875 + 1_000, False),
        (1, 0, 2_500, False),
        (1, 1, 2_500, False),
        (2, 1, 2_500, False),
        (3, 1, 2_501, False),
        (3, 2, 2_501, False),
        (3, 2, 2_501, True),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_bytes_are_counted_as_json_and_events_one_by_one(
    stores: Stores, tmp_path: Path, name: str
) -> None:
    rows = [header_row(), *prompts(3), packed_row(3, ["a"] * 50)]
    path = write_file(tmp_path / name, rows)
    more = [*rows, *prompts(2, first=53)]

    async def scenario() -> None:
        async with stores.new() as store:
            report = await take(store, path)
            assert (report.events, report.bytes) == (53, len(json_lines(rows)))
            write_file(path, more)
            report = await take(store, path)
            assert report.events == 2
            assert report.bytes == len(json_lines(more[-2:]))

    run(scenario())


def test_what_was_refused_is_not_counted_as_read(stores: Stores, tmp_path: Path) -> None:
    good = write_file(tmp_path / "a.jsonl", [header_row(id="a"), *prompts(2)])
    bad = write_file(tmp_path / "b.jsonl", [header_row(id="b"), *prompts(1_500), wrong_span(1_500)])

    async def scenario() -> None:
        async with stores.new() as store:
            report = await take(store, good, bad)
            assert counted(report) == (1, 0, 0, 1)
            assert (report.events, report.bytes) == (2, len(good.read_bytes()))

    run(scenario())


def test_every_child_is_imported_whatever_the_order_of_files(
    stores: Stores, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write_file(folder / "a.jsonl", [header_row(id="child", parentSession="root"), said(0)])
    write_file(folder / "b.jsonl", [header_row(id="root"), said(0)])

    async def scenario() -> None:
        async with stores.new() as store:
            assert counted(await take(store, folder)) == (2, 0, 0, 0)
            async with store.observe() as reader:
                above = await reader.ancestors(["child"])
                assert above["child"][0].header == (await one(reader, "root")).header

    run(scenario())
