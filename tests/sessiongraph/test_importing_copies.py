"""What a file is when its session is known already: the same log, more of it, or another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sessiongraph.ports import LogStore
from tests.contracts.log_stage import Stores, stored
from tests.contracts.test_log_store import PROVIDERS
from tests.plain_store import run
from tests.providers.recordings.dsh_writing import TIME, Json, header_row, packed_row, row
from tests.providers.recordings.dsh_writing import write as write_file
from tests.providers.sqlite.imports import (
    IMPORTED,
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

NAMES = ["session.jsonl", "session.jsonl.zstd"]


@pytest.fixture(scope="module", params=PROVIDERS)
def stores(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(request.param, tmp_path_factory.mktemp("stores"))


def in_folder(folder: Path, name: str, rows: list[Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return write_file(folder / name, rows)


async def epoch_of(store: LogStore, session_id: str = "s") -> int:
    return (await stored(store, session_id)).epoch


# Rewritten files


@pytest.mark.parametrize("name", NAMES)
def test_a_rewritten_file_takes_the_place_of_its_session_under_a_new_epoch(
    stores: Stores, tmp_path: Path, name: str
) -> None:
    path = write_file(tmp_path / name, [header_row(), *prompts(4), replacing(4, 0, 3, [[0, 3]])])

    async def scenario() -> None:
        async with stores.new() as store, stores.new() as fresh:
            await take(store, path)
            before = await epoch_of(store)
            write_file(path, [header_row(cwd="/elsewhere"), said(0, "written anew"), said(1)])
            assert counted(await take(store, path)) == IMPORTED
            assert await epoch_of(store) != before
            await take(fresh, path)
            assert await told_store(store) == await told_store(fresh)
            assert counted(await take(store, path)) == UNCHANGED

    run(scenario())


def test_a_file_that_was_cut_back_takes_the_place_of_its_session(
    stores: Stores, tmp_path: Path
) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(4)])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            before = await epoch_of(store)
            write_file(path, [header_row(), *prompts(2)])
            assert counted(await take(store, path)) == IMPORTED
            assert await epoch_of(store) != before
            assert (await stored(store, "s")).last_seq == 1

    run(scenario())


def test_a_rewritten_file_that_breaks_a_rule_leaves_the_session_as_it_was(
    stores: Stores, tmp_path: Path
) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(4)])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            before = await told_store(store)
            write_file(path, [header_row(), said(0, "anew"), replacing(1, 7, 7, [0])])
            assert [refused[1] for refused in reasons(await take(store, path))] == [3]
            assert await told_store(store) == before

    run(scenario())


def test_a_rewritten_file_of_another_creation_time_is_a_conflict(
    stores: Stores, tmp_path: Path
) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(4)])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            before = await told_store(store)
            write_file(path, [header_row(createdAt=TIME + 1), *prompts(6)])
            report = await take(store, path)
            assert counted(report) == REFUSED
            assert "createdAt differ" in reasons(report)[0][2]
            assert await told_store(store) == before

    run(scenario())


def test_a_file_that_became_another_session_leaves_the_first_one_stored(
    stores: Stores, tmp_path: Path
) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(id="one"), *prompts(2)])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            first = await told_log(store, "one")
            write_file(path, [header_row(id="two"), *prompts(3)])
            assert counted(await take(store, path)) == IMPORTED
            assert sorted((await told_store(store))["ids"]) == ["one", "two"]
            assert await told_log(store, "one") == first
            assert counted(await take(store, path)) == UNCHANGED

    run(scenario())


def test_a_fork_whose_inherited_part_became_longer_is_read_anew(
    stores: Stores, tmp_path: Path
) -> None:
    mark = {"inherited": True}
    rows = [header_row(3, isSeeded=True), said(0), row(1, "session/end-seed", mark)]
    path = write_file(tmp_path / "log.jsonl", rows)

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            before = await epoch_of(store)
            assert (await stored(store, "s")).header.seed_length == 1
            write_file(path, [*rows, said(2), row(3, "session/end-seed", mark)])
            report = await take(store, path)
            assert (counted(report), report.events) == (IMPORTED, 4)
            assert await epoch_of(store) != before
            assert (await stored(store, "s")).header.seed_length == 3

    run(scenario())


# The same log from elsewhere

LOG: list[Json] = [
    *prompts(3),
    packed_row(3, ["a", "b", "c"]),
    replacing(6, 0, 1, [0, 1]),
    row(7, "turn/end", {"turn": 1, "reason": {"kind": "completed"}}),
]


@pytest.mark.parametrize(("first", "second"), [NAMES, NAMES[::-1]])
def test_a_copy_in_the_other_encoding_changes_nothing(
    stores: Stores, tmp_path: Path, first: str, second: str
) -> None:
    path = in_folder(tmp_path / "a", first, [header_row(), *LOG])
    copy = in_folder(tmp_path / "b", second, [header_row(), *LOG])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            before, epoch = await told_store(store), await epoch_of(store)
            for _ in range(2):
                report = await take(store, copy)
                assert (counted(report), report.events) == (UNCHANGED, 0)
            assert (await told_store(store), await epoch_of(store)) == (before, epoch)
            assert counted(await take(store, path)) == UNCHANGED

    run(scenario())


def test_a_copy_with_the_members_of_runs_written_out_is_the_same_log(
    stores: Stores, tmp_path: Path
) -> None:
    chunk = {"type": "text-delta", "index": 0}
    members = [
        row(3 + k, "assistant/chunk", {"turn": 1, "step": 2, "chunk": {**chunk, "text": text}})
        | {"time": TIME + 3 * k}
        for k, text in enumerate("abc")
    ]
    path = in_folder(tmp_path / "a", "log.jsonl", [header_row(), *LOG])
    copy = in_folder(tmp_path / "b", "log.jsonl", [header_row(), *LOG[:3], *members, *LOG[4:]])

    async def scenario() -> None:
        for one, other in ((path, copy), (copy, path)):
            async with stores.new() as store:
                assert counted(await take(store, one)) == IMPORTED
                assert counted(await take(store, other)) == UNCHANGED

    run(scenario())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("length", range(len(LOG)))
def test_a_longer_copy_grows_the_session(
    stores: Stores, tmp_path: Path, name: str, length: int
) -> None:
    path = in_folder(tmp_path / "a", "log.jsonl", [header_row(), *LOG[:length]])
    copy = in_folder(tmp_path / "b", name, [header_row(), *LOG])

    async def scenario() -> None:
        async with stores.new() as store, stores.new() as fresh:
            await take(store, path)
            before = await epoch_of(store)
            assert counted(await take(store, copy)) == RESUMED
            assert await epoch_of(store) == before
            await take(fresh, copy)
            assert await told_log(store, "s") == await told_log(fresh, "s")
            assert counted(await take(store, copy)) == UNCHANGED

    run(scenario())


def test_a_longer_copy_that_begins_inside_of_a_run_grows_the_session(
    stores: Stores, tmp_path: Path
) -> None:
    short = [*LOG[:3], packed_row(3, ["a", "b"])]
    path = in_folder(tmp_path / "a", "log.jsonl", [header_row(), *short])
    copy = in_folder(tmp_path / "b", "log.jsonl", [header_row(), *LOG])

    async def scenario() -> None:
        async with stores.new() as store, stores.new() as fresh:
            await take(store, path)
            report = await take(store, copy)
            assert (counted(report), report.events) == (RESUMED, 3)
            await take(fresh, copy)
            assert await told_log(store, "s") == await told_log(fresh, "s")

    run(scenario())


@pytest.mark.parametrize("length", range(len(LOG)))
def test_a_shorter_copy_changes_nothing(stores: Stores, tmp_path: Path, length: int) -> None:
    path = in_folder(tmp_path / "a", "log.jsonl", [header_row(), *LOG])
    copy = in_folder(tmp_path / "b", "log.jsonl", [header_row(), *LOG[:length]])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            before, epoch = await told_store(store), await epoch_of(store)
            assert counted(await take(store, copy)) == UNCHANGED
            assert (await told_store(store), await epoch_of(store)) == (before, epoch)

    run(scenario())


def test_the_first_file_changes_nothing_once_a_longer_copy_has_grown_the_session(
    stores: Stores, tmp_path: Path
) -> None:
    path = in_folder(tmp_path / "a", "log.jsonl", [header_row(), *LOG[:3]])
    copy = in_folder(tmp_path / "b", "log.jsonl", [header_row(), *LOG])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            await take(store, copy)
            before, epoch = await told_store(store), await epoch_of(store)
            touch(path, 5_000_000_000)
            assert counted(await take(store, path)) == UNCHANGED
            write_file(path, [header_row(), *LOG[:4]])
            assert counted(await take(store, path)) == UNCHANGED
            assert (await told_store(store), await epoch_of(store)) == (before, epoch)

    run(scenario())


def test_the_first_file_grows_the_session_when_it_has_overtaken_the_longer_copy(
    stores: Stores, tmp_path: Path
) -> None:
    path = in_folder(tmp_path / "a", "log.jsonl", [header_row(), *LOG[:3]])
    copy = in_folder(tmp_path / "b", "log.jsonl", [header_row(), *LOG[:4]])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            await take(store, copy)
            epoch = await epoch_of(store)
            write_file(path, [header_row(), *LOG])
            assert counted(await take(store, path)) == RESUMED
            assert await epoch_of(store) == epoch

    run(scenario())


def changed(index: int, **members: Any) -> list[Json]:
    return [*LOG[:index], {**LOG[index], **members}, *LOG[index + 1 :]]


DIFFERENCES = {
    "payload": (changed(1, data={"other": 1}), 1),
    "time": (changed(2, time=7), 2),
    "type": (changed(7 - 2, type="turn/start"), 7),
    "ignorable": (changed(0, ignorable=True), 0),
    "sources": (changed(4, sourceEventSeqs=[1, 0]), 6),
    "text of a delta": ([*LOG[:3], packed_row(3, ["a", "b", "X"]), *LOG[4:]], 5),
    "gap between deltas": ([*LOG[:3], packed_row(3, ["a", "b", "c"], dt=[3, 4]), *LOG[4:]], 5),
}


@pytest.mark.parametrize("what", DIFFERENCES)
def test_a_log_that_differs_is_refused_and_the_seq_is_named(
    stores: Stores, tmp_path: Path, what: str
) -> None:
    rows, seq = DIFFERENCES[what]
    path = in_folder(tmp_path / "a", "log.jsonl", [header_row(), *LOG])
    other = in_folder(tmp_path / "b", "log.jsonl", [header_row(), *rows, said(8)])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            before = await told_store(store)
            report = await take(store, other)
            assert counted(report) == REFUSED
            reason = reasons(report)[0][2]
            assert f"they differ from seq {seq} on" in reason
            assert str(path.resolve()) in reason
            assert await told_store(store) == before

    run(scenario())


def test_true_is_another_value_than_one(stores: Stores, tmp_path: Path) -> None:
    path = in_folder(tmp_path / "a", "log.jsonl", [header_row(), row(0, "x/y", {"n": [1]})])
    copy = in_folder(tmp_path / "b", "log.jsonl", [header_row(), row(0, "x/y", {"n": [True]})])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            assert counted(await take(store, copy)) == REFUSED

    run(scenario())


@pytest.mark.parametrize(
    "members",
    [{"version": 1}, {"createdAt": 1}, {"cwd": "/x"}, {"parentSession": "p"}, {"seedLength": 1},
     {"delegationDepth": 1}],
)  # fmt: skip
def test_another_identity_under_the_same_id_is_a_conflict(
    stores: Stores, tmp_path: Path, members: dict[str, Any]
) -> None:
    path = in_folder(tmp_path / "a", "log.jsonl", [header_row(), *LOG])
    other = in_folder(tmp_path / "b", "log.jsonl", [header_row(**members), *LOG])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            before = await told_store(store)
            report = await take(store, other)
            assert counted(report) == REFUSED
            assert f"{next(iter(members))} differ" in reasons(report)[0][2]
            assert await told_store(store) == before

    run(scenario())


def test_a_copy_of_a_fork_is_the_same_log_though_its_header_does_not_say_its_length(
    stores: Stores, tmp_path: Path
) -> None:
    rows = [
        header_row(3, isSeeded=True),
        said(0),
        row(1, "session/end-seed", {"inherited": True}),
        said(2),
    ]
    path = in_folder(tmp_path / "a", "log.jsonl", rows)
    copy = in_folder(tmp_path / "b", "log.jsonl", [*rows, said(3)])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            assert counted(await take(store, copy)) == RESUMED
            assert (await stored(store, "s")).header.seed_length == 1

    run(scenario())


def test_a_copy_of_many_events_is_compared_to_its_end(stores: Stores, tmp_path: Path) -> None:
    rows = [*prompts(1_200), packed_row(1_200, ["x"] * 600), *prompts(600, first=1_800)]
    path = in_folder(tmp_path / "a", "log.jsonl", [header_row(), *rows])
    longer = in_folder(tmp_path / "b", "log.jsonl.zstd", [header_row(), *rows, said(2_400)])
    rows[-1] = said(2_399, "another end")
    other = in_folder(tmp_path / "c", "log.jsonl", [header_row(), *rows])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            report = await take(store, longer, other)
            assert (counted(report), report.events) == ((0, 1, 0, 1), 1)
            assert "they differ from seq 2399 on (line 1802)" in reasons(report)[0][2]

    run(scenario())


# Sessions that no longer belong to their file


def test_a_detached_session_is_not_grown_by_its_file(stores: Stores, tmp_path: Path) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *LOG[:3]])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            await store.detach("s", await epoch_of(store), ["resumed here"])
            before = await told_store(store)
            write_file(path, [header_row(), *LOG])
            await take(store, path)
            assert await told_store(store) == before

    run(scenario())


# Generations


def generations(folder: Path) -> tuple[Path, Path]:
    """A session in version 0, and in version 3 with other seqs, in one folder."""
    old = in_folder(folder, "session.jsonl", [header_row(), *prompts(3)])
    rows = [row(0, "step/start"), said(1, "question 0"), said(2, "question 1")]
    new = in_folder(folder, "session.v3.jsonl", [header_row(3, isSeeded=False), *rows])
    return old, new


def test_the_highest_generation_of_a_folder_is_the_session(stores: Stores, tmp_path: Path) -> None:
    generations(tmp_path / "s")

    async def scenario() -> None:
        async with stores.new() as store:
            assert counted(await take(store, tmp_path)) == (1, 0, 1, 0)
            found = (await stored(store, "s")).header
            assert (found.version, Path(found.source.path or "").name) == (3, "session.v3.jsonl")
            assert counted(await take(store, tmp_path)) == (0, 0, 2, 0)

    run(scenario())


def test_a_higher_generation_that_appears_beside_takes_the_place(
    stores: Stores, tmp_path: Path
) -> None:
    old, new = generations(tmp_path / "s")

    async def scenario() -> None:
        async with stores.new() as store, stores.new() as fresh:
            await take(store, old)
            before = await epoch_of(store)
            assert counted(await take(store, new)) == IMPORTED
            assert await epoch_of(store) != before
            await take(fresh, new)
            assert await told_store(store) == await told_store(fresh)

    run(scenario())


def test_a_lower_generation_beside_is_ignored_even_when_it_grows(
    stores: Stores, tmp_path: Path
) -> None:
    old, new = generations(tmp_path / "s")

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, new)
            before, epoch = await told_store(store), await epoch_of(store)
            assert counted(await take(store, old)) == UNCHANGED
            write_file(old, [header_row(), *prompts(9)])
            assert counted(await take(store, old)) == UNCHANGED
            assert (await told_store(store), await epoch_of(store)) == (before, epoch)

    run(scenario())


def test_a_lower_generation_that_was_imported_first_is_ignored_after_the_higher_one(
    stores: Stores, tmp_path: Path
) -> None:
    old, new = generations(tmp_path / "s")

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, old)
            await take(store, new)
            before = await told_store(store)
            write_file(old, [header_row(), *prompts(9)])
            assert counted(await take(store, old)) == UNCHANGED
            assert await told_store(store) == before

    run(scenario())


def test_another_generation_in_another_folder_is_a_conflict(stores: Stores, tmp_path: Path) -> None:
    old, _ = generations(tmp_path / "a")
    _, new = generations(tmp_path / "b")

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, old)
            report = await take(store, new)
            assert counted(report) == REFUSED
            assert "version differ" in reasons(report)[0][2]

    run(scenario())


def test_a_broken_higher_generation_is_refused_and_the_lower_one_not_taken_instead(
    stores: Stores, tmp_path: Path
) -> None:
    _, new = generations(tmp_path / "s")
    write_file(new, [header_row(3), said(0), replacing(1, 5, 5, [0])])

    async def scenario() -> None:
        async with stores.new() as store:
            report = await take(store, tmp_path)
            assert counted(report) == (0, 0, 1, 1)
            assert [name for name, _, _ in reasons(report)] == ["session.v3.jsonl"]
            assert (await told_store(store))["ids"] == []

    run(scenario())
