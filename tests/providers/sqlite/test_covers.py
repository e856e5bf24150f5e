"""The index of covers: whatever is looked at first, the same is found in the same order."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.sqlite import covers
from sessiongraph.cover_query import CoverQuery
from sessiongraph.filters import ALL_SESSIONS
from sessiongraph.ports import SessionOrder
from tests.contracts.log_stage import Corpus, cover_queries, write
from tests.plain_store import PlainLogStore, run
from tests.providers.sqlite.raw import change
from tests.providers.sqlite.stores import filled, sqlite_at
from tests.strategies import corpora, event, header


@pytest.mark.parametrize("looked_at_first", [0, 1, 2])
@given(corpus=corpora(), data=st.data())
def test_the_index_finds_what_a_look_at_everything_finds(
    tmp_path_factory: pytest.TempPathFactory,
    looked_at_first: int,
    corpus: Corpus,
    data: st.DataObject,
) -> None:
    path = tmp_path_factory.mktemp("covers") / "log.db"
    plain = PlainLogStore()

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            for new, log in corpus:
                for each in (store, plain):
                    await write(each, new, log)
            async with store.observe() as mine, plain.observe() as theirs:
                rows = await theirs.sessions(ALL_SESSIONS, SessionOrder.CREATED, limit=99)
                for _ in range(8):
                    query = data.draw(cover_queries(rows))
                    found = [each.header.session_id for each in await mine.covered(query)]
                    expected = [each.header.session_id for each in await theirs.covered(query)]
                    assert found == expected

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covers, "_LOOKED_AT_FIRST", looked_at_first)
        run(scenario())


@pytest.mark.parametrize("at_most", [0, 128])
@pytest.mark.parametrize("part", ["retry", "RETRY pol", "ry", "y", "策略", "策", "略"])
def test_a_rare_part_is_found_by_its_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, at_most: int
) -> None:
    monkeypatch.setattr(covers, "_LOOKED_AT_FIRST", 5)
    monkeypatch.setattr(covers, "_GRAMS_AT_MOST", at_most)
    monkeypatch.setattr(covers, "_MANY", at_most)

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            for number in range(30):
                title = "Retry policy 重试策略" if number == 7 else f"nothing {number}"
                log = [event(0, "session/title", {"title": title})]
                await write(store, header(f"s{number}", number), log)
            async with store.observe() as reader:
                found = await reader.covered(CoverQuery(part, None, 50))
            assert [each.header.session_id for each in found] == ["s7"]

    run(scenario())


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM covers",
        "UPDATE covers SET line = 'nothing'",
        "UPDATE covers SET newest = newest + 1",
        "UPDATE covers SET cwd = x'61'",
        "INSERT INTO covers VALUES (999, 0, x'61', NULL, 'of nobody')",
        "UPDATE covers SET log = log + 100",
    ],
)
def test_covers_are_found_wrong_and_made_anew(tmp_path: Path, sql: str) -> None:
    path = tmp_path / "log.db"
    run(filled(path))
    assert change(path, sql) > 0

    async def scenario() -> None:
        async with sqlite_at(path) as store:
            faults = await store.check()
            assert {(each.session_id, each.what) for each in faults} == {(None, "covers")}
            await store.repair(faults)
            assert await store.check() == []
            async with store.observe() as reader:
                everything = await reader.sessions(ALL_SESSIONS, SessionOrder.CREATED, limit=9)
                for each in everything:
                    query = CoverQuery(each.header.session_id, None, 9)
                    assert each in await reader.covered(query)

    run(scenario())
