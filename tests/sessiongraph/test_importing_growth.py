"""A file that grew is read on from where it was, and the session ends up as if read at once."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from providers.recordings.dsh_export import export_lines
from sessiongraph.event import Entry
from sessiongraph.header import SessionHeader, SessionSource, SourceKind
from sessiongraph.ports import LogStore
from sessiongraph.recordings import UNFINISHED_LINE
from tests.contracts.log_stage import Stores, append, stored
from tests.contracts.test_log_store import PROVIDERS
from tests.plain_store import run
from tests.providers.recordings.dsh_writing import (
    Json,
    frame,
    header_row,
    json_lines,
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
    told_plainly,
    told_store,
)
from tests.strategies import logs, placed, prompt, wrapped_result

NAMES = ["session.jsonl", "session.jsonl.zstd"]


@pytest.fixture(scope="module", params=PROVIDERS)
def stores(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(request.param, tmp_path_factory.mktemp("stores"))


async def whole(stores: Stores, path: Path) -> dict[str, Any]:
    """What a new store says that reads the file at once."""
    async with stores.new() as store:
        await take(store, path)
        return await told_store(store)


async def notes_of(store: LogStore, session_id: str = "s") -> tuple[str, ...]:
    return (await stored(store, session_id)).header.source.notes


# What grew


@pytest.mark.parametrize("name", NAMES)
def test_what_a_file_gained_is_appended_under_the_same_epoch(
    stores: Stores, tmp_path: Path, name: str
) -> None:
    path = write_file(tmp_path / name, [header_row(), *prompts(3)])
    more = [row(3, "session/title", {"title": "later"}), packed_row(4, ["a", "b"]), said(6)]

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            before = await stored(store, "s")
            write_file(path, [header_row(), *prompts(3), *more])
            report = await take(store, path)
            assert (counted(report), report.events) == (RESUMED, 4)
            after = await stored(store, "s")
            assert (after.epoch, after.last_seq, after.title) == (before.epoch, 6, "later")
            assert await told_store(store) == await whole(stores, path)
            assert counted(await take(store, path)) == UNCHANGED

    run(scenario())


@pytest.mark.parametrize("name", NAMES)
def test_a_compaction_in_the_growth_shadows_nodes_of_before(
    stores: Stores, tmp_path: Path, name: str
) -> None:
    path = write_file(tmp_path / name, [header_row(), *prompts(4)])
    more = [said(4), replacing(5, 1, 4, [0, [1, 4]]), replacing(6, 0, 5, [5, 0]), said(7)]

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            write_file(path, [header_row(), *prompts(4), *more])
            assert counted(await take(store, path)) == RESUMED
            told = await told_log(store, "s")
            assert [node.seq for node in told["nodes"]] == [6, 7]
            assert (told["replaced"][5], told["replaced"][6]) == ([1, 2, 3, 4], [0, 5])
            assert told["chains"][2] == [5, 6]
            assert await told_store(store) == await whole(stores, path)

    run(scenario())


def test_growth_by_many_batches_is_one_growth(stores: Stores, tmp_path: Path) -> None:
    """Replacements reach from the third batch into the stored part and into all before it."""
    rows = [*prompts(2_210), replacing(2_210, 3, 1_500, [[3, 1_500]]), *prompts(1_000, first=2_211)]
    removed = [2_210, *range(1_501, 2_210), *range(2_211, 2_301)]
    rows.append(replacing(3_211, 2_210, 2_300, removed))
    path = write_file(tmp_path / "log.jsonl", [header_row(), *rows[:10]])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            write_file(path, [header_row(), *rows])
            report = await take(store, path)
            assert (counted(report), report.events) == (RESUMED, 3_202)
            async with store.observe() as reader:
                session = (await reader.find(["s"]))["s"]
                nodes = [node.seq for node in await reader.surface_nodes(session)]
                assert nodes == [0, 1, 2, 3_211, *range(2_301, 3_211)]
                assert await reader.replaced_by(session, 3_211) == removed
                assert await reader.replacement_chain(session, 5) == [2_210, 3_211]

    run(scenario())


@pytest.mark.parametrize("name", NAMES)
def test_growth_by_blank_lines_is_no_growth(stores: Stores, tmp_path: Path, name: str) -> None:
    path = write_file(tmp_path / name, [header_row(), *prompts(2)])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            before = await told_store(store)
            write_file(path, [header_row(), *prompts(2), b"\n", b"  \n"])
            assert counted(await take(store, path)) == UNCHANGED
            assert await told_store(store) == before
            write_file(path, [header_row(), *prompts(2), b"\n", b"  \n", said(2)])
            assert counted(await take(store, path)) == RESUMED

    run(scenario())


def test_a_log_that_was_appended_to_here_is_not_cut_back_to_its_file(
    stores: Stores, tmp_path: Path
) -> None:
    """What the file gained is another event 2 than the one that was appended here."""
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(2)])
    appended: list[Entry] = [prompt(seq, "appended here") for seq in range(3)]

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            await append(store, "s", [placed(appended)[2:]])
            before = await told_store(store)
            write_file(path, [header_row(), *prompts(3)])
            assert counted(await take(store, path)) == REFUSED
            assert await told_store(store) == before

    run(scenario())


# Torn ends


def test_growth_that_completes_a_torn_line_takes_the_note_away(
    stores: Stores, tmp_path: Path
) -> None:
    content = json_lines([header_row(), *prompts(3)])
    path = tmp_path / "log.jsonl"

    async def scenario() -> None:
        async with stores.new() as store:
            path.write_bytes(content[:-20])
            assert counted(await take(store, path)) == IMPORTED
            assert await notes_of(store) == (UNFINISHED_LINE,)
            path.write_bytes(content)
            assert counted(await take(store, path)) == RESUMED
            assert await notes_of(store) == ()
            assert await told_store(store) == await whole(stores, path)

    run(scenario())


def test_growth_that_ends_in_another_torn_line_says_so_once(stores: Stores, tmp_path: Path) -> None:
    content = json_lines([header_row(), *prompts(4)])
    path = tmp_path / "log.jsonl"

    async def scenario() -> None:
        async with stores.new() as store:
            for length in (-200, -20):
                path.write_bytes(content[:length])
                await take(store, path)
                assert await notes_of(store) == (UNFINISHED_LINE,)
            assert (await stored(store, "s")).last_seq == 2

    run(scenario())


def test_a_torn_line_that_only_became_longer_is_no_growth(stores: Stores, tmp_path: Path) -> None:
    content = json_lines([header_row(), *prompts(3)])
    path = tmp_path / "log.jsonl"

    async def scenario() -> None:
        async with stores.new() as store:
            path.write_bytes(content[:-30])
            await take(store, path)
            before = await told_store(store)
            path.write_bytes(content[:-10])
            assert counted(await take(store, path)) == UNCHANGED
            assert await told_store(store) == before

    run(scenario())


def test_a_recorder_that_cut_its_torn_line_and_went_on_has_grown(
    stores: Stores, tmp_path: Path
) -> None:
    content = json_lines([header_row(), *prompts(2)])
    path = tmp_path / "log.jsonl"

    async def scenario() -> None:
        async with stores.new() as store:
            path.write_bytes(content + json_lines([said(2, "never finished")])[:-9])
            await take(store, path)
            epoch = (await stored(store, "s")).epoch
            path.write_bytes(content + json_lines([said(2, "written anew"), said(3)]))
            assert counted(await take(store, path)) == RESUMED
            assert (await stored(store, "s")).epoch == epoch
            assert await told_store(store) == await whole(stores, path)

    run(scenario())


def test_a_torn_frame_that_was_completed_takes_the_note_away(
    stores: Stores, tmp_path: Path
) -> None:
    """All lines of the torn frame could be read; only its end was missing."""
    content = frame(json_lines([header_row()])) + frame(json_lines(prompts(3)))
    path = tmp_path / "log.jsonl.zstd"

    async def scenario() -> None:
        async with stores.new() as store:
            path.write_bytes(content[:-2])
            await take(store, path)
            assert await notes_of(store) == (UNFINISHED_LINE,)
            path.write_bytes(content)
            await take(store, path)
            assert await notes_of(store) == ()

    run(scenario())


def test_a_broken_tail_that_was_written_anew_leaves_no_note(stores: Stores, tmp_path: Path) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), *prompts(2), b'{"broken\n'])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            assert len(await notes_of(store)) == 1
            write_file(path, [header_row(), *prompts(4)])
            assert counted(await take(store, path)) == RESUMED
            assert await notes_of(store) == ()

    run(scenario())


def test_notes_after_growth_are_those_of_one_reading(stores: Stores, tmp_path: Path) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), row(0, "x/y")])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            write_file(path, [header_row(), *(row(seq, "x/y") for seq in range(3))])
            await take(store, path)
            assert await told_store(store) == await whole(stores, path)

    run(scenario())


# Tool results that replace results from long before


def result(seq: int, text: str, call_id: str = "c", **members: Any) -> Json:
    data = wrapped_result(call_id, [{"type": "text", "text": text}])
    return row(seq, "tool/result", data, **{"surfaceOp": "append", **members})


def pruned(seq: int, target: int, call_id: str = "c", text: str = "pruned") -> Json:
    op = {"op": "replace", "start": target, "end": target}
    return result(seq, text, call_id, surfaceOp=op, sourceEventSeqs=[target])


FAR = 4_500
"""Events after which a payload is no longer at hand: four batches and a half."""


def far_apart(*last: Json) -> list[Json]:
    """A result, thousands of other results and prompts, and these rows at the end."""
    between = [
        result(seq, "between", f"call {seq}") if seq % 3 else said(seq) for seq in range(1, FAR)
    ]
    return [header_row(), result(0, "x" * 5_000), *between, *last]


def test_a_result_replaces_one_that_was_staged_thousands_of_events_ago(
    stores: Stores, tmp_path: Path
) -> None:
    path = write_file(tmp_path / "log.jsonl", far_apart(pruned(FAR, 0), pruned(FAR + 1, FAR)))

    async def scenario() -> None:
        async with stores.new() as store:
            assert counted(await take(store, path)) == IMPORTED
            async with store.observe() as reader:
                session = (await reader.find(["s"]))["s"]
                assert await reader.replacement_chain(session, 0) == [FAR, FAR + 1]

    run(scenario())


def test_a_result_that_differs_from_one_thousands_of_events_ago_is_refused(
    stores: Stores, tmp_path: Path
) -> None:
    path = write_file(tmp_path / "log.jsonl", far_apart(pruned(FAR, 0, "another call")))

    async def scenario() -> None:
        async with stores.new() as store:
            report = await take(store, path)
            assert [refused[:2] for refused in reasons(report)] == [("log.jsonl", FAR + 2)]
            assert "(rule 5)" in reasons(report)[0][2]
            assert (await told_store(store))["ids"] == []

    run(scenario())


@pytest.mark.parametrize("call_id", ["c", "another call"])
def test_growth_replaces_a_result_of_the_stored_part_or_is_refused(
    stores: Stores, tmp_path: Path, call_id: str
) -> None:
    path = write_file(tmp_path / "log.jsonl", [header_row(), result(0, "x"), said(1)])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            rows = [header_row(), result(0, "x"), said(1), pruned(2, 0, call_id)]
            write_file(path, rows)
            expected = RESUMED if call_id == "c" else REFUSED
            assert counted(await take(store, path)) == expected
            assert (await stored(store, "s")).last_seq == (2 if call_id == "c" else 1)

    run(scenario())


def test_growth_replaces_a_result_staged_thousands_of_events_ago_in_the_same_growth(
    stores: Stores, tmp_path: Path
) -> None:
    rows = far_apart(pruned(FAR, 0), pruned(FAR + 1, 1, "call 1"), pruned(FAR + 2, 4, "call 4"))
    path = write_file(tmp_path / "log.jsonl", rows[:3])

    async def scenario() -> None:
        async with stores.new() as store:
            await take(store, path)
            write_file(path, rows)
            assert counted(await take(store, path)) == RESUMED
            async with store.observe() as reader:
                session = (await reader.find(["s"]))["s"]
                found = [await reader.replacement_chain(session, seq) for seq in (0, 1, 4)]
                assert found == [[FAR], [FAR + 1], [FAR + 2]]

    run(scenario())


# Any growth at all


@st.composite
def recorded_logs(draw: st.DrawFn) -> tuple[SessionHeader, list[Entry], bytes]:
    """A log of any generation and the content of the file that says the same."""
    version = draw(st.integers(0, 4))
    source = SessionSource(SourceKind.DSH, "replaced by the path", IMPORTED_AT)
    header = SessionHeader(version, "s", 1_780_000_000_000, "/p", source=source)
    log = draw(logs(min_size=1, max_size=12))
    return header, log, b"".join(export_lines(header, log))


def in_frames(content: bytes, edges: list[int]) -> bytes:
    bounds = [0, *sorted(edges), len(content)]
    return b"".join(frame(content[a:b]) for a, b in pairwise(bounds) if a < b)


@pytest.mark.timeout(1_800)
@given(recorded=recorded_logs(), data=st.data())
def test_a_file_cut_anywhere_and_imported_step_by_step_is_the_session_it_says(
    tmp_path_factory: pytest.TempPathFactory,
    stores: Stores,
    recorded: tuple[SessionHeader, list[Entry], bytes],
    data: st.DataObject,
) -> None:
    header, log, content = recorded
    path = tmp_path_factory.mktemp("grow") / "log.jsonl"
    if data.draw(st.booleans()):
        content = in_frames(content, data.draw(st.lists(st.integers(0, len(content)), max_size=5)))
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=5))

    async def scenario() -> None:
        async with stores.new() as store:
            for length in [*sorted(cuts), len(content)]:
                path.write_bytes(content[:length])
                counted(await take(store, path))
            assert await told_log(store, "s") == await told_plainly(header, log)
            found = (await stored(store, "s")).header
            source = replace(header.source, path=str(path.resolve()), notes=found.source.notes)
            assert found == replace(header, source=source)
            assert counted(await take(store, path)) == UNCHANGED

    run(scenario())
