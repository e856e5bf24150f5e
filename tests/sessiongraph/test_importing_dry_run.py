"""A dry run reads and checks everything, stores nothing, and says what a real run would say."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.import_report import ImportReport
from tests.contracts.log_stage import Stores
from tests.contracts.test_log_store import PROVIDERS
from tests.plain_store import run
from tests.providers.recordings.dsh_writing import Json, header_row, row
from tests.providers.recordings.dsh_writing import write as write_file
from tests.providers.sqlite.imports import (
    IMPORTED,
    REFUSED,
    RESUMED,
    counted,
    prompts,
    replacing,
    said,
    take,
    touch,
)
from tests.providers.sqlite.raw import dump, settled
from tests.strategies import wrapped_result


@pytest.fixture(scope="module", params=PROVIDERS)
def stores(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(request.param, tmp_path_factory.mktemp("stores"))


def result(seq: int, text: str, **members: Any) -> Json:
    data = wrapped_result("c", [{"type": "text", "text": text}])
    return row(seq, "tool/result", data, **{"surfaceOp": "append", **members})


def pruned(seq: int, target: int) -> Json:
    op = {"op": "replace", "start": target, "end": target}
    return result(seq, "pruned", surfaceOp=op, sourceEventSeqs=[target])


def before(folder: Path) -> None:
    """Files of a first import."""
    names = ("grows", "same", "touched", "rewritten", "conflict", "breaks", "deleted")
    for name in (*names, "copied", "copied more", "copied less", "copied wrong"):
        write_file(folder / f"{name}.jsonl", [header_row(id=name), *prompts(3)])
    (folder / "generation").mkdir()
    write_file(folder / "generation/session.jsonl", [header_row(id="generation"), *prompts(3)])


def after(folder: Path) -> None:
    """What became of them, and what is new: one of everything that can happen to a file."""
    (folder / "copies").mkdir()
    for name in ("copied", "copied more", "copied less", "copied wrong"):
        (folder / f"{name}.jsonl").unlink()
    write_file(folder / "copies/a.jsonl.zstd", [header_row(id="copied"), *prompts(3)])
    write_file(folder / "copies/b.jsonl", [header_row(id="copied more"), *prompts(5)])
    write_file(folder / "copies/c.jsonl", [header_row(id="copied less"), *prompts(2)])
    write_file(folder / "copies/d.jsonl", [header_row(id="copied wrong"), said(0), said(1)])
    write_file(
        folder / "grows.jsonl",
        [header_row(id="grows"), *prompts(1_700), replacing(1_700, 0, 2, [[0, 2]]), said(1_701)],
    )
    touch(folder / "touched.jsonl", 5_000_000_000)
    write_file(folder / "rewritten.jsonl", [header_row(id="rewritten"), said(0, "anew")])
    write_file(folder / "conflict.jsonl", [header_row(id="conflict", createdAt=1), said(0)])
    rows = [header_row(id="breaks"), *prompts(4), replacing(4, 9, 9, [1])]
    write_file(folder / "breaks.jsonl", rows)
    rows = [header_row(3, id="generation"), *prompts(2)]
    write_file(folder / "generation/session.v3.jsonl", rows)
    write_file(folder / "new.jsonl.zstd", [header_row(id="new"), *prompts(5)])
    rows = [header_row(id="pruned"), result(0, "x"), *prompts(3_500, first=1), pruned(3_501, 0)]
    write_file(folder / "pruned.jsonl", rows)
    write_file(folder / "header.jsonl", [header_row(id="header")])
    write_file(folder / "refused.jsonl", [header_row(id="refused"), replacing(0, 1, 1, [])])
    write_file(folder / "foreign.jsonl", [{"type": "summary"}])


def as_told(report: ImportReport) -> dict[str, Any]:
    counted(report)
    return asdict(report)


def test_a_dry_run_reports_what_a_real_run_reports(stores: Stores, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with stores.new() as store:
            before(tmp_path)
            assert as_told(await take(store, tmp_path, dry_run=True)) == as_told(
                await take(store, tmp_path)
            )
            await store.delete("deleted")
            after(tmp_path)
            gone = await take(store, tmp_path / "deleted.jsonl", dry_run=True)
            assert counted(gone) == REFUSED
            dry = as_told(await take(store, tmp_path, dry_run=True))
            wet = as_told(await take(store, tmp_path))
            assert dry == wet
            assert (wet["imported"], wet["resumed"]) == (5, 2)

    run(scenario())


def test_a_dry_run_changes_nothing_in_the_store(tmp_path: Path) -> None:
    async def scenario() -> None:
        before(tmp_path)
        store = SqliteLogStore.open(tmp_path / "log.db")
        try:
            await take(store, tmp_path)
            await store.delete("deleted")
            await settled(store)
        finally:
            await store.close()
        held = dump(tmp_path / "log.db")
        after(tmp_path)
        for read_only in (False, True):
            store = SqliteLogStore.open(tmp_path / "log.db", read_only=read_only)
            try:
                counted(await take(store, tmp_path, dry_run=True))
            finally:
                await store.close()
            assert dump(tmp_path / "log.db") == held

    run(scenario())


def test_a_dry_run_tells_its_progress(stores: Stores, tmp_path: Path) -> None:
    write_file(tmp_path / "log.jsonl", [header_row(), *prompts(2_500)])
    told: dict[bool, list[tuple[int, bool]]] = {True: [], False: []}

    async def scenario() -> None:
        async with stores.new() as store:
            for dry_run, seen in told.items():
                await take(
                    store,
                    tmp_path,
                    dry_run=dry_run,
                    on_progress=lambda report, seen=seen: seen.append((report.events, report.done)),
                )

    run(scenario())
    assert told[True] == told[False] != []


def test_a_dry_run_checks_results_that_replace_results_of_the_same_file(
    stores: Stores, tmp_path: Path
) -> None:
    rows = [header_row(), result(0, "x"), *prompts(4_200, first=1), pruned(4_201, 0)]
    path = write_file(tmp_path / "log.jsonl", rows)

    async def scenario() -> None:
        async with stores.new() as store:
            assert counted(await take(store, path, dry_run=True)) == IMPORTED
            rows[-1]["data"]["step"] = 99
            write_file(path, rows)
            report = await take(store, path, dry_run=True)
            assert [refused.line for refused in report.refused] == [4_203]
            assert "(rule 5)" in report.refused[0].reason

    run(scenario())


def test_a_dry_run_checks_results_that_replace_stored_ones(stores: Stores, tmp_path: Path) -> None:
    rows = [header_row(), result(0, "x"), said(1)]
    path = write_file(tmp_path / "log.jsonl", rows)

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            write_file(path, [*rows, pruned(2, 0)])
            assert counted(await take(store, path, dry_run=True)) == RESUMED

    run(scenario())


@pytest.mark.xfail(reason="a dry run does not know what it took earlier in the same run")
def test_a_dry_run_knows_the_files_of_its_own_run(stores: Stores, tmp_path: Path) -> None:
    write_file(tmp_path / "a.jsonl", [header_row(), *prompts(3)])
    (tmp_path / "copies").mkdir()
    write_file(tmp_path / "copies/b.jsonl", [header_row(), *prompts(5)])
    write_file(tmp_path / "copies/c.jsonl", [header_row(createdAt=1), *prompts(5)])
    write_file(tmp_path / "copies/d.jsonl", [header_row(), *prompts(2)])

    async def scenario() -> None:
        async with stores.new() as store:
            dry = await take(store, tmp_path, dry_run=True)
            wet = await take(store, tmp_path)
            assert counted(wet) == (1, 1, 1, 1)
            assert counted(dry) == counted(wet)

    run(scenario())
