"""Lists of sessions, and the walks along their lineage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.directories import place_of
from sessiongraph.filters import ALL_SESSIONS, EventSelection, SessionSelection
from sessiongraph.ports import (
    LogReader,
    SessionKey,
    SessionOrder,
)
from tests.contracts.log_stage import (
    EVERYTHING,
    Corpus,
    Stores,
    append,
    below,
    conversation,
    cover_queries,
    ids_in_order,
    told_session,
    write,
)
from tests.plain_store import run
from tests.strategies import (
    corpora,
    event,
    header,
    placed,
    session_selections,
    words,
)


class SessionListsContract:
    """Needs the fixture ``stores``; see :mod:`tests.contracts.log_store`."""

    # Lists of sessions

    @given(corpus=corpora(), data=st.data())
    def test_sessions_equal_the_plain_ones_under_every_filter_order_and_bound(
        self, stores: Stores, corpus: Corpus, data: st.DataObject
    ) -> None:
        keys = st.builds(
            SessionKey,
            st.integers(999, 1006),
            st.sampled_from(("", "b", "\ud800lone", "🚀", "nul\x00")),
            st.none() | st.integers(999, 1004),
        )

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                for new, log in corpus:
                    await write(store, new, log)
                    await write(plain, new, log)
                async with store.observe() as mine, plain.observe() as theirs:
                    rows = await theirs.sessions(ALL_SESSIONS, SessionOrder.CREATED, limit=99)
                    known = st.sampled_from([row.key() for row in rows]) if rows else st.nothing()
                    bounds = st.none() | keys | known
                    for _ in range(8):
                        selection = data.draw(st.just(ALL_SESSIONS) | session_selections())
                        order = data.draw(st.sampled_from(SessionOrder))
                        limit = data.draw(st.integers(1, 5))
                        after, before = data.draw(bounds), data.draw(bounds)
                        found = await mine.sessions(
                            selection, order, limit=limit, after=after, before=before
                        )
                        expected = await theirs.sessions(
                            selection, order, limit=limit, after=after, before=before
                        )
                        assert [*map(told_session, found)] == [*map(told_session, expected)]

        run(scenario())

    @given(corpus=corpora(), data=st.data())
    def test_sessions_are_found_by_any_part_of_their_covers_in_the_order_asked_for(
        self, stores: Stores, corpus: Corpus, data: st.DataObject
    ) -> None:
        """Also after titles were changed and sessions deleted and made again."""

        async def scenario() -> None:
            async with stores.twins() as (store, plain):

                async def assert_found() -> None:
                    async with store.observe() as mine, plain.observe() as theirs:
                        rows = await theirs.sessions(ALL_SESSIONS, SessionOrder.CREATED, limit=99)
                        for _ in range(8):
                            query = data.draw(cover_queries(rows))
                            found = await mine.covered(query)
                            expected = await theirs.covered(query)
                            assert list(map(told_session, found)) == list(
                                map(told_session, expected)
                            )

                for new, log in corpus:
                    for each in (store, plain):
                        await write(each, new, log)
                await assert_found()
                if corpus:
                    new, log = data.draw(st.sampled_from(corpus))
                    title = event(len(log), "session/title", {"title": data.draw(words)})
                    more = placed([*log, title])[-1:]
                    gone = data.draw(st.sampled_from(corpus))[0].session_id
                    for each in (store, plain):
                        await append(each, new.session_id, [more])
                        await each.delete(gone)
                    await assert_found()

        run(scenario())

    @pytest.mark.parametrize("order", SessionOrder)
    @given(corpus=corpora(), size=st.integers(1, 4))
    def test_walking_all_pages_in_either_direction_yields_every_session_once(
        self, stores: Stores, order: SessionOrder, corpus: Corpus, size: int
    ) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                for new, log in corpus:
                    await write(store, new, log)
                    await write(plain, new, log)
                async with store.observe() as mine, plain.observe() as theirs:
                    expected = await ids_in_order(theirs, order)
                    assert [key.session_id async for key in _forward(mine, order, size)] == expected
                    walked = [key.session_id async for key in _backward(mine, order, size)]
                    assert walked == expected[::-1]

        run(scenario())

    def test_a_walk_yields_what_stays_exactly_once_while_others_come_and_go(
        self, stores: Stores
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                for number in range(0, 40, 2):
                    await store.create(header(f"{number:02}", created_at=1000 - number // 4))
                walked: list[str] = []
                key: SessionKey | None = None
                for turn in range(20):
                    async with store.observe() as reader:
                        page = await reader.sessions(
                            ALL_SESSIONS, SessionOrder.CREATED, limit=3, after=key
                        )
                    if not page:
                        break
                    walked += [row.header.session_id for row in page]
                    key = page[-1].key()
                    await store.delete(walked[0] if turn == 0 else f"{36 - turn * 8:02}")
                    await store.create(header(f"new {turn}", created_at=1000 - turn))
                stayed = {f"{number:02}" for number in range(0, 40, 2)} - {"28", "20", "12", "04"}
                stayed.discard(walked[0])
                assert [each for each in walked if each in stayed] == sorted(stayed)
                assert len(walked) == len(set(walked))

        run(scenario())

    def test_many_values_of_several_filters_are_one_question(self, stores: Stores) -> None:
        wanted = SessionSelection(
            parents=frozenset(f"p{number}" for number in range(64)),
            cwds=frozenset(f"/w/{number}" for number in range(1000)),
            within=frozenset(place_of(f"/w/{number}") or "" for number in range(900)),
        )

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                for number in range(0, 70, 7):
                    cwd = f"/w/{number * 17}"
                    new = header(f"s{number}", 1000 - number, cwd=cwd, parent_session=f"p{number}")
                    for each in (store, plain):
                        await each.create(new)
                async with store.observe() as mine, plain.observe() as theirs:
                    found = await mine.sessions(wanted, SessionOrder.CREATED, limit=9)
                    expected = await theirs.sessions(wanted, SessionOrder.CREATED, limit=9)
                    assert [*map(told_session, found)] == [*map(told_session, expected)]
                    assert 0 < len(found) < 9

        run(scenario())

    @pytest.mark.parametrize(
        "selection",
        [
            SessionSelection(ids=frozenset()),
            SessionSelection(cwds=frozenset()),
            SessionSelection(parents=frozenset()),
            SessionSelection(sources=frozenset()),
            SessionSelection(origins=frozenset()),
            SessionSelection(availability=frozenset()),
        ],
    )
    def test_an_empty_set_of_values_matches_no_session(
        self, stores: Stores, selection: SessionSelection
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(header("a"))
                async with store.observe() as reader:
                    assert await reader.sessions(selection, SessionOrder.CREATED, limit=9) == []

        run(scenario())

    def test_a_set_of_very_many_values_is_an_ordinary_filter(self, stores: Stores) -> None:
        async def scenario() -> None:
            many = frozenset(f"id {number}" for number in range(40_000))
            async with stores.new() as store:
                await write(store, header("id 7"), conversation(2))
                await store.create(header("other"))
                async with store.observe() as reader:
                    selection = SessionSelection(ids=many)
                    rows = await reader.sessions(selection, SessionOrder.CREATED, limit=9)
                    assert [row.header.session_id for row in rows] == ["id 7"]
                    assert set(await reader.find(many)) == {"id 7"}
                    assert set(await reader.at(rows[0], range(-1, 40_000))) == {0, 1}
                    assert await reader.tombstones(many) == set()
                    wide = EventSelection(types=many | {"user/message"})
                    assert len(await reader.events(rows[0], wide, EVERYTHING)) == 2

        run(scenario())

    # Lineage

    @given(corpus=corpora())
    def test_ancestors_and_descendants_equal_the_plain_ones(
        self, stores: Stores, corpus: Corpus
    ) -> None:
        ids = [new.session_id for new, _ in corpus]
        asked = [*ids, "c", "nobody"]

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                for new, _ in corpus:
                    await store.create(new)
                    await plain.create(new)
                async with store.observe() as mine, plain.observe() as theirs:
                    found, expected = await mine.ancestors(asked), await theirs.ancestors(asked)
                    for each in asked:
                        above = [row.header.session_id for row in found.get(each, [])]
                        model = [row.header.session_id for row in expected.get(each, [])]
                        assert above == model
                        links = await below(mine, each)
                        assert len(links) == len({link.session_id for link in links})
                        assert set(links) == set(await below(theirs, each))

        run(scenario())

    @pytest.mark.parametrize(
        "parents",
        [
            {"a": "a"},
            {"a": "b", "b": "a"},
            {"a": "b", "b": "c", "c": "b"},
            {"a": "b", "b": "c", "c": "a", "d": "a"},
        ],
    )
    def test_a_circle_ends_both_walks(self, stores: Stores, parents: dict[str, str]) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                for child, parent in parents.items():
                    await store.create(header(child, parent_session=parent))
                    await plain.create(header(child, parent_session=parent))
                async with store.observe() as mine, plain.observe() as theirs:
                    for each in parents:
                        found = (await mine.ancestors([each]))[each]
                        expected = (await theirs.ancestors([each]))[each]
                        assert [*map(told_session, found)] == [*map(told_session, expected)]
                        links = await below(mine, each)
                        assert set(links) == set(await below(theirs, each))

        run(scenario())

    @pytest.mark.parametrize("length", [1_500, pytest.param(10_000, marks=pytest.mark.long)])
    def test_deep_chains_are_walked_to_their_ends(self, stores: Stores, length: int) -> None:
        ids = [f"{number:05}" for number in range(length)]

        async def scenario() -> None:
            async with stores.new() as store:
                chain = [header(child, parent_session=parent) for parent, child in pairwise(ids)]
                await asyncio.gather(*(store.create(new) for new in [header(ids[0]), *chain]))
                async with store.observe() as reader:
                    above = (await reader.ancestors([ids[-1]]))[ids[-1]]
                    assert [row.header.session_id for row in above] == ids[-2::-1]
                    links = await reader.descendants(ids[0])
                    assert {link.session_id for link in links} == set(ids[1:])

        run(scenario())

    @pytest.mark.parametrize("width", [1_500, pytest.param(10_000, marks=pytest.mark.long)])
    def test_wide_fans_are_seen_whole(self, stores: Stores, width: int) -> None:
        ids = [f"{number:05}" for number in range(width)]

        async def scenario() -> None:
            async with stores.new() as store:
                children = (header(each, parent_session="root") for each in ids)
                await asyncio.gather(*(store.create(new) for new in [header("root"), *children]))
                async with store.observe() as reader:
                    links = await reader.descendants("root")
                    assert sorted(link.session_id for link in links) == ids

        run(scenario())


async def _forward(reader: LogReader, order: SessionOrder, size: int) -> AsyncIterator[SessionKey]:
    key: SessionKey | None = None
    while page := await reader.sessions(ALL_SESSIONS, order, limit=size, after=key):
        for row in page:
            yield row.key()
        key = page[-1].key()


async def _backward(reader: LogReader, order: SessionOrder, size: int) -> AsyncIterator[SessionKey]:
    rows = await reader.sessions(ALL_SESSIONS, order, limit=10_000)
    if not rows:
        return
    key = rows[-1].key()
    yield key
    while page := await reader.sessions(ALL_SESSIONS, order, limit=size, before=key):
        for row in reversed(page):
            yield row.key()
        key = page[0].key()
