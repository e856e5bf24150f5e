"""What every log store must do for those who see the sessions of some directories only.

Lists and covers under places are part of :mod:`tests.contracts.log_store`, as any other filter is;
here are the reads that follow edges and those that count, and what the feed tells of logs that are
gone. ``test_log_store.py`` runs this suite on every provider.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.filters import ALL_SESSIONS
from sessiongraph.ports import CommitKind, LogStore, SessionOrder
from tests.contracts.log_stage import (
    Corpus,
    Stores,
    append,
    below,
    commits_through,
    conversation,
    position_of,
    publish,
    told_commit,
    told_session,
    write,
)
from tests.plain_store import run
from tests.strategies import citing, corpora, header, placed, places, working_directories


async def told_within(store: LogStore, places: frozenset[str], asked: list[str]) -> dict[str, Any]:
    """Everything that is counted, or found along edges, within some places."""
    async with store.observe() as reader:
        citations = {each: await reader.cited_by(each, limit=99, within=places) for each in asked}
        return {
            "counts": await reader.counts(places),
            "below": {each: set(await below(reader, each, places)) for each in asked},
            "cited by": {
                target: [(each.session_id, each.seq, each.ordinal) for each in found]
                for target, found in citations.items()
            },
        }


class ConfinedReadsContract:
    """The suite; a subclass provides the fixture ``stores``."""

    @given(corpus=corpora(), data=st.data())
    def test_counts_edges_and_citations_within_places_equal_the_plain_ones(
        self, stores: Stores, corpus: Corpus, data: st.DataObject
    ) -> None:
        ids = [new.session_id for new, _ in corpus]
        asked = [*dict.fromkeys([*ids, "c", "nobody"])]
        targets = st.lists(st.sampled_from(asked), max_size=2)

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                for new, log in corpus:
                    cited = [citing(len(log), *data.draw(targets))]
                    for each in (store, plain):
                        await write(each, new, [*log, *cited])
                for _ in range(4):
                    within = data.draw(places())
                    found = await told_within(store, within, asked)
                    assert found == await told_within(plain, within, asked)
                if ids:
                    gone = data.draw(st.sampled_from(ids))
                    for each in (store, plain):
                        await each.delete(gone)
                    found = await told_within(store, within, asked)
                    assert found == await told_within(plain, within, asked)

        run(scenario())

    @given(before=working_directories, after=working_directories, within=places())
    def test_a_log_that_is_read_anew_is_where_its_new_header_says(
        self, stores: Stores, before: str | None, after: str | None, within: frozenset[str]
    ) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                for each in (store, plain):
                    await publish(each, header("a", cwd=before), conversation(2))
                    await publish(each, header("a", cwd=after), conversation(3))
                found = await told_within(store, within, ["a"])
                assert found == await told_within(plain, within, ["a"])

        run(scenario())

    @given(cwd=working_directories, other=working_directories)
    def test_the_feed_tells_where_a_log_was_that_is_gone(
        self, stores: Stores, cwd: str | None, other: str | None
    ) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                told = []
                for each in (store, plain):
                    await publish(each, header("a", cwd=cwd), conversation(2))
                    await publish(each, header("a", cwd=other), conversation(1))
                    await append(each, "a", [placed(conversation(2))[1:]])
                    await each.delete("a")
                    told.append(await commits_through(each, await position_of(each)))
                mine, theirs = ([*map(told_commit, commits)] for commits in told)
                assert mine == theirs
                assert [(each.kind, each.removed_cwd) for each in told[0]] == [
                    (CommitKind.IMPORTED, None),
                    (CommitKind.REPLACED, cwd),
                    (CommitKind.APPENDED, None),
                    (CommitKind.DELETED, other),
                ]

        run(scenario())

    def test_more_places_than_are_merged_are_an_ordinary_filter(self, stores: Stores) -> None:
        many = frozenset(f"/p/{number}/" for number in range(0, 400, 2))
        made = [
            header(f"s{number}", number, cwd=f"/p/{number}", origin="subagent")
            for number in range(40)
        ]
        within = replace(ALL_SESSIONS, within=many)
        ids = frozenset(each.session_id for each in made)
        selections = [within, within.narrowed(origins=["subagent"]), replace(within, ids=ids)]

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                for new in made:
                    await store.create(new)
                    await plain.create(new)
                async with store.observe() as mine, plain.observe() as theirs:
                    for order in SessionOrder:
                        for selection in selections:
                            found = await mine.sessions(selection, order, limit=9)
                            expected = await theirs.sessions(selection, order, limit=9)
                            assert [*map(told_session, found)] == [*map(told_session, expected)]
                            assert len(found) == 9

        run(scenario())
