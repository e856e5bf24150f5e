"""Page after page: every hit of the observation once, and no page of another question."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sessiongraph.errors import InvalidCursor, InvalidLimit, StaleCursor
from sessiongraph.event import EventSurface
from sessiongraph.filters import ALL_EVENTS, ALL_SESSIONS
from sessiongraph.search.question import MatchMode
from sessiongraph.search.service import SearchPage
from tests.plain_store import run
from tests.sessiongraph.search.engine import Searched, plain_at, searched, tantivy_at

CURRENT = ALL_EVENTS.narrowed(surfaces=[EventSurface.CURRENT])
SHADOWED = ALL_EVENTS.narrowed(surfaces=[EventSurface.SHADOWED])


async def filled(one: Searched, sessions: int = 12, each: int = 4) -> None:
    for number in range(sessions):
        session_id = f"s{number:02}"
        await one.engine.begin(session_id)
        texts = [f"word {'filler ' * ((number * 7 + k) % 5)}" for k in range(each)]
        await one.engine.say(*texts, to=session_id)


async def walk(
    ask: Callable[[str | None], Awaitable[SearchPage[Any]]],
    between: Callable[[], Awaitable[None]] | None = None,
) -> list[tuple[str, int]]:
    """Every hit of every page, in order."""
    found: list[tuple[str, int]] = []
    after: str | None = None
    while True:
        page = await ask(after)
        found += [item.key for item in page.items]
        assert (page.end_cursor is None) == (not page.has_next_page)
        assert page.has_previous_page == (after is not None)
        if not page.has_next_page:
            return found
        after = page.end_cursor
        if between is not None:
            await between()


@pytest.mark.parametrize("index_at", [tantivy_at, plain_at])
@pytest.mark.parametrize("first", [1, 5, 12, 13])
def test_a_walk_is_the_one_big_page_in_pieces(tmp_path: Path, first: int, index_at: Any) -> None:
    async def check() -> None:
        async with searched(tmp_path, index_at=index_at) as one:
            await filled(one)
            whole = [hit.key for hit in (await one.page("word")).items]
            assert await walk(lambda after: one.page("word", first, after)) == whole
            inside = [hit.key for hit in (await one.inside("s03", "word")).items]
            assert len(inside) == 4
            assert await walk(lambda after: one.inside("s03", "word", first, after)) == inside

    run(check())


@pytest.mark.parametrize("surface", [ALL_EVENTS, CURRENT, SHADOWED])
def test_a_walk_keeps_to_its_observation_while_others_append_and_compact(
    tmp_path: Path, surface: Any
) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            await filled(one)
            for number in range(0, 12, 2):
                await one.compact(f"s{number:02}", 0, 1, "word in a summary")
            expected = await one.expected("word", events=surface)
            turn = 0

            async def between() -> None:
                nonlocal turn
                turn += 1
                session_id = f"s{11 - turn:02}"
                standing = await one.standing(session_id)
                await one.compact(session_id, standing[0], standing[-1], "word word word")
                await one.engine.say("word new", to=session_id)
                await one.engine.begin(f"new{turn}")
                await one.engine.say("word", to=f"new{turn}")

            found = await walk(lambda after: one.page("word", 2, after, events=surface), between)
            assert turn >= 2
            assert len(found) == len(set(found))
            assert {session_id for session_id, _ in found} == {each for each, _ in expected}
            assert set(found) <= expected

    run(check())


def test_a_walk_inside_a_session_with_a_surface_filter_yields_what_stood_when_it_began(
    tmp_path: Path,
) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            await one.engine.begin()
            await one.engine.say(*["word"] * 300)
            expected = {seq for _, seq in await one.expected("word", events=CURRENT)}
            compacted = 0

            async def between() -> None:
                nonlocal compacted
                standing = await one.standing("a")
                await one.compact("a", standing[0], standing[40], "word again")
                compacted += 1

            found = await walk(
                lambda after: one.inside("a", "word", 60, after, events=CURRENT), between
            )
            assert compacted == 4
            assert sorted(seq for _, seq in found) == sorted(expected)

    run(check())


def test_the_cursor_of_any_hit_goes_on_behind_it_as_often_as_it_is_asked(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            await filled(one)
            whole = [hit.key for hit in (await one.page("word")).items]
            page = await one.page("word", 5)
            for number, item in enumerate(page.items):
                for _ in range(2):
                    rest = await one.page("word", 5, page.cursor(item))
                    assert [hit.key for hit in rest.items] == whole[number + 1 : number + 6]
            last = await one.page("word", 12)
            assert last.end_cursor is None
            assert (await one.page("word", 12, last.cursor(last.items[-1]))).items == []

    run(check())


def test_a_cursor_of_another_question_is_stale(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            await filled(one)
            cursor = (await one.page("word filler", 2)).end_cursor
            assert (await one.page("  WORD\nfiller!", 2, cursor)).items
            asked: list[dict[str, Any]] = [
                {"query": "word"},
                {"query": "filler word"},
                {"mode": MatchMode.ANY},
                {"first": 3},
                {"sessions": ALL_SESSIONS.narrowed(cwds=[None])},
                {"events": CURRENT},
                {"include_inherited": False},
            ]
            for changed in asked:
                with pytest.raises(StaleCursor):
                    await one.page(
                        **{"query": "word filler", "first": 2, "after": cursor, **changed}
                    )
            inside = (await one.inside("s01", "word", 2)).end_cursor
            with pytest.raises(StaleCursor):
                await one.inside("s02", "word", 2, inside)
            some = ALL_SESSIONS.narrowed(ids=["s01", "s02", "s03"])
            cursor = (await one.page("word", 2, sessions=some)).end_cursor
            turned = ALL_SESSIONS.narrowed(ids=["s03", "s01", "s02"])
            assert (await one.page("word", 2, cursor, sessions=turned)).items

    run(check())


def test_what_was_not_issued_for_this_field_is_invalid(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            await filled(one)
            cursor = (await one.page("word", 2)).end_cursor
            assert cursor is not None
            for forged in ("", "x", cursor[:-1], cursor + "A", cursor.swapcase()):
                with pytest.raises(InvalidCursor):
                    await one.page("word", 2, forged)
            with pytest.raises(InvalidCursor):
                await one.inside("s01", "word", 2, cursor)

    run(check())


@pytest.mark.parametrize("first", [0, -1, 201])
def test_a_page_size_outside_the_limits_is_refused(tmp_path: Path, first: int) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            with pytest.raises(InvalidLimit):
                await one.page("word", first)

    run(check())


def test_a_deletion_ends_every_walk(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            await filled(one)
            cursor = (await one.page("word", 2)).end_cursor
            inside = (await one.inside("s01", "word", 2)).end_cursor
            await one.engine.begin("other")
            await one.engine.say("nothing to find here", to="other")
            assert (await one.page("word", 2, cursor)).items
            await one.delete("other")
            with pytest.raises(StaleCursor):
                await one.page("word", 2, cursor)
            with pytest.raises(StaleCursor):
                await one.inside("s01", "word", 2, inside)

    run(check())


def test_a_walk_ends_with_its_time(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path, ttl_s=0.2) as one:
            await filled(one)
            cursor = (await one.page("word", 2)).end_cursor
            assert (await one.page("word", 2, cursor)).items
            assert len(one.walks) == 1
            async with asyncio.timeout(5):
                while len(one.walks):  # noqa: ASYNC110 - what is waited for tells nobody
                    await asyncio.sleep(0.02)
            with pytest.raises(StaleCursor):
                await one.page("word", 2, cursor)

    run(check())


def test_the_oldest_walk_gives_way_to_newer_ones(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path, walks_max=2) as one:
            await filled(one)
            cursors = [(await one.page("word", first)).end_cursor for first in (2, 3, 4)]
            with pytest.raises(StaleCursor):
                await one.page("word", 2, cursors[0])
            for first, cursor in ((3, cursors[1]), (4, cursors[2])):
                assert (await one.page("word", first, cursor)).items

    run(check())


def test_walks_that_remember_too_much_give_way(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path, hits_max=4) as one:
            await filled(one)
            first = (await one.page("word", 3)).end_cursor
            second = (await one.page("word", 4)).end_cursor
            with pytest.raises(StaleCursor):
                await one.page("word", 3, first)
            assert (await one.page("word", 4, second)).items

    run(check())


def test_the_same_search_of_the_same_state_is_the_same_walk(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            await filled(one)
            cursors = {(await one.page("word", 2)).end_cursor for _ in range(3)}
            assert len(cursors) == len(one.walks) == 1
            await one.engine.say("another word", to="s01")
            cursors.add((await one.page("word", 2)).end_cursor)
            assert len(cursors) == len(one.walks) == 2

    run(check())


def test_a_search_whose_cursors_nobody_asks_for_is_not_held(tmp_path: Path) -> None:
    async def check() -> None:
        async with searched(tmp_path) as one:
            await filled(one)
            page = await one.page("word", 2)
            assert len(one.walks) == 0
            assert page.end_cursor is not None
            assert page.start_cursor is not None
            assert len(one.walks) == 1

    run(check())
