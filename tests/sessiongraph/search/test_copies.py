"""What a fork copied is left out while its parent has it, and never when nothing else has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.event import Seq
from sessiongraph.new_session import NewSession
from sessiongraph.search.copies import _LONGEST_CIRCLE
from tests.plain_store import run
from tests.providers.recordings.dsh_writing import header_row, row
from tests.providers.recordings.dsh_writing import write as write_file
from tests.providers.recordings.transcript_writing import (
    asked,
    codex_meta,
    history,
    iso,
    replied,
    text,
    write_lines,
)
from tests.providers.recordings.transcript_writing import take as take_transcripts
from tests.providers.sqlite.imports import said, take
from tests.sessiongraph.live_engine import DURABLE, each_in_a_file_of_its_own
from tests.sessiongraph.live_engine import said as prompt
from tests.sessiongraph.search.engine import Searched, searched

OWN = {"include_inherited": False}


async def record(
    one: Searched,
    folder: Path,
    session_id: str,
    *texts: str,
    parent: str | None = None,
    seed: int | None = None,
    created: int = 1000,
    version: int = 0,
) -> None:
    """Import a recording of dsh."""
    members: dict[str, Any] = {} if parent is None else {"parentSession": parent}
    if version < 2 and seed is not None:
        members["seedLength"] = seed
    rows = [said(seq, each) for seq, each in enumerate(texts)]
    if version >= 2:
        members["isSeeded"] = seed is not None
        if seed is not None:
            assert seed == len(texts)
            rows.append(row(seed, "session/end-seed", {"inherited": True}))
    header = header_row(version, id=session_id, createdAt=created, **members)
    report = await take(
        one.engine.store, write_file(folder / f"{session_id}.jsonl", [header, *rows])
    )
    assert report.refused == []


async def own(one: Searched, query: str = "original") -> set[str]:
    """Sessions that say something themselves; a plain look says the same."""
    found = await one.found(query, **OWN)
    assert found == {session_id for session_id, _ in await one.expected(query, **OWN)}
    return found


def test_a_session_that_names_itself_as_its_parent_says_everything_itself(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            await record(one, tmp_path, "a", "original", parent="a", seed=1)
            assert await own(one) == {"a"}

    run(check())


@pytest.mark.parametrize("length", [2, 3, _LONGEST_CIRCLE + 2])
def test_one_of_the_sessions_of_a_circle_has_the_original(tmp_path: Path, length: int) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            ids = [f"s{number:03}" for number in range(length)]
            for child, parent in zip(ids, [*ids[1:], ids[0]], strict=True):
                await record(one, tmp_path, child, "original", parent=parent, seed=1)
            found = await one.found("original", **OWN)
            assert "s000" in found
            await record(one, tmp_path, "behind", "original", parent=ids[1], seed=1)
            assert length > _LONGEST_CIRCLE or await own(one) == {"s000"}

    run(check())


def test_sessions_of_one_age_that_are_no_circle_give_way_whatever_their_ids(
    tmp_path: Path,
) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            await record(one, tmp_path, "z", "original")
            await record(one, tmp_path, "y", "original", parent="z", seed=1)
            await record(one, tmp_path, "x", "original", parent="y", seed=1)
            assert await own(one) == {"z"}

    run(check())


@pytest.mark.parametrize("version", [0, 4])
def test_a_copy_stays_where_an_older_session_of_that_name_says_something_else(
    tmp_path: Path, version: int
) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            await record(one, tmp_path, "parent", "another", "original", version=version)
            texts = ("original", "original")
            await record(
                one, tmp_path, "fork", *texts, parent="parent", seed=2, created=2000,
                version=version,
            )  # fmt: skip
            hits = (await one.page("original", **OWN)).items
            assert {hit.best_match.key for hit in hits} == {
                ("parent", 1),
                ("fork", 0),
            }
            assert await own(one) == {"parent", "fork"}
            assert await own(one, "another") == {"parent"}

    run(check())


def test_a_fork_made_here_is_compared_with_what_took_the_name_of_its_parent(
    tmp_path: Path,
) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            await record(one, tmp_path, "a", "original", created=1000)
            await one.engine.writing.fork("a", 0, "b")
            assert await own(one) == {"a"}
            await one.delete("a")
            await one.engine.writing.create(NewSession("a", created_at=1), DURABLE)
            await one.engine.writing.append("a", [prompt("another")], None, DURABLE)
            assert await own(one) == {"b"}

    run(check())


def test_a_copy_of_another_generation_is_one_by_its_place(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            await record(one, tmp_path, "parent", "before", "original")
            await record(one, tmp_path, "fork", "original", parent="parent", seed=1, version=4)
            assert await own(one) == {"parent"}

    run(check())


def test_what_dsh_renames_in_a_fork_is_a_copy_still(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            for session_id, members in (
                ("parent", {}),
                ("fork", {"parentSession": "parent", "seedLength": 1}),
            ):
                message = said(0, "original")
                message["data"]["id"] = f"message of {session_id}"
                rows = [header_row(id=session_id, **members), message]
                await take(one.engine.store, write_file(tmp_path / f"{session_id}.jsonl", rows))
            assert await own(one) == {"parent"}

    run(check())


def test_copies_of_recorders_that_number_anew_are_left_out(tmp_path: Path) -> None:
    original = [asked(0, "original"), replied(1, "m1", text("one")), asked(2, "never copied")]
    copied = [{**record, "sessionId": "resumed"} for record in original[:2]]
    summary = {"type": "summary", "summary": "A name", "leafUuid": "unknown"}
    at_once = iso(9_000)

    async def check() -> None:
        async with searched(tmp_path) as one:
            store, folder = one.engine.store, tmp_path / "claude"
            folder.mkdir()
            first = write_lines(folder / "first.jsonl", original)
            await take_transcripts(store, first)
            again = [summary, *copied, asked(7, "go on", sessionId="resumed")]
            await take_transcripts(store, write_lines(folder / "resumed.jsonl", again))
            meta = codex_meta("root")
            words, answer = (history(5, role, "codex original") for role in ("user", "assistant"))
            await take_transcripts(
                store, write_lines(tmp_path / "rollout-1.jsonl", [meta, words, answer])
            )
            records = [codex_meta("child", forked_from_id="root"), meta, words]
            records = [{**record, "timestamp": at_once} for record in records]
            later = {**history(5, "user", "later"), "timestamp": iso(99_000)}
            await take_transcripts(
                store, write_lines(tmp_path / "rollout-2.jsonl", [*records, later])
            )
            assert len(await one.found("original")) == 4
            assert len(await own(one)) == 2

    run(check())


def test_copies_of_a_fork_that_is_gone_count_for_its_own_fork(tmp_path: Path) -> None:
    """Nothing says any more where that one had them from, as an ancestry ends there, too."""

    async def check() -> None:
        async with searched(tmp_path) as one:
            await one.engine.begin()
            await one.engine.say("original")
            await one.engine.writing.fork("a", 0, "b")
            await one.engine.writing.fork("b", 0, "c")
            await one.delete("b")
            assert await own(one) == {"a", "c"}
            await one.delete("a")
            assert await own(one) == {"c"}

    run(check())


families = st.lists(
    st.tuples(
        st.sampled_from([None, *"abcdef"]),
        st.sampled_from([None, 0, 1, 2, 3]),
        st.sampled_from([1000, 2000]),
        st.lists(st.sampled_from(["original", "another"]), min_size=1, max_size=3),
        st.sampled_from([0, 0, 1]),
    ),
    min_size=2,
    max_size=6,
)


@each_in_a_file_of_its_own
@given(families)
def test_no_text_is_left_out_that_nothing_else_has(
    tmp_path_factory: pytest.TempPathFactory,
    family: list[tuple[str | None, Seq | None, int, list[str], int]],
) -> None:
    async def check() -> None:
        folder = tmp_path_factory.mktemp("copies")
        async with searched(folder) as one:
            for session_id, (parent, seed, created, texts, version) in zip(
                "abcdef", family, strict=False
            ):
                await record(
                    one, folder, session_id, *texts, parent=parent, seed=seed, created=created,
                    version=version,
                )  # fmt: skip
            for query in ("original", "another"):
                found = await own(one, query)
                of_one_version = {version for *_, version in family} == {0}
                if of_one_version:
                    assert bool(found) is bool(await one.found(query))

    run(check())
