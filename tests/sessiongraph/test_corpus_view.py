"""One observation of a corpus whose sessions lie in memory, in the store, or in both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.corpus import Corpus, CorpusView, LogicalSession
from sessiongraph.errors import LogConflict, SourceConflict
from sessiongraph.event import Entry, EventEnvelope
from sessiongraph.filters import ALL_EVENTS, ALL_SESSIONS, Availability, SessionSelection
from sessiongraph.header import SessionHeader
from sessiongraph.paging import PageRequest
from sessiongraph.ports import CorpusCounts, SessionKey, SessionOrder
from sessiongraph.query import FailedObservation
from tests.contracts.log_stage import EVERYTHING, conversation, publish, told_placed
from tests.plain_store import PlainLogStore, PlainReader, run
from tests.sessiongraph.fixed_live import FixedLive, capture_of
from tests.sessiongraph.live_engine import (
    ACCEPTED,
    LAZY,
    a_store,
    many_examples,
    opened,
    store_kinds,
)
from tests.strategies import corpora, event, header, placed, prompt, session_selections, words


class Place(Enum):
    """Where a session is. AHEAD and OVERTAKEN: live, the store behind or in front of memory."""

    PERSISTED = "persisted"
    CLEAN = "clean"
    AHEAD = "ahead"
    OVERTAKEN = "overtaken"
    ONLY_LIVE = "only live"
    JUST_WRITTEN = "just written"

    @property
    def live(self) -> bool:
        return self is not Place.PERSISTED

    @property
    def persisted(self) -> bool:
        return self is not Place.ONLY_LIVE


@dataclass(frozen=True)
class Put:
    """One session of the corpus.

    known: events that the live half knows to be on disk. stored: events that are there.
    visible: events that the live half shows.
    """

    header: SessionHeader
    log: Sequence[Entry]
    place: Place
    known: int
    stored: int
    visible: int

    @property
    def session_id(self) -> str:
        return self.header.session_id


@st.composite
def mixed_corpora(
    draw: st.DrawFn, places: Sequence[Place] = tuple(Place), max_size: int = 7
) -> list[Put]:
    """Sessions in any of the places, their titles and prompts before and behind any cut."""
    corpus = []
    for new, log in draw(corpora(max_size)):
        log = list(log)
        for _ in range(draw(st.integers(0, 3))):
            seq = len(log)
            more: list[Entry] = [
                event(seq, "session/title", {"title": draw(words)}),
                prompt(seq, "more", time=draw(st.integers(1000, 1003))),
                event(seq, "turn/start", {"turn": 1}),
            ]
            log.append(draw(st.sampled_from(more)))
        place = draw(st.sampled_from(places))
        size = len(log)
        known = stored = visible = size
        if place in (Place.AHEAD, Place.OVERTAKEN):
            known = draw(st.integers(0, size))
        if place is Place.AHEAD:
            stored = draw(st.integers(known, size))
        elif place is Place.OVERTAKEN:
            visible = draw(st.integers(known, size))
        elif place is Place.ONLY_LIVE:
            known = stored = 0
        elif place is Place.JUST_WRITTEN:
            known, stored = 0, draw(st.integers(0, size))
        corpus.append(Put(new, log, place, known, stored, visible))
    return corpus


def whole_live(places: Sequence[Place] = tuple(Place)) -> list[Place]:
    """Places in which memory is as new as the store."""
    return [place for place in places if place is not Place.OVERTAKEN]


@asynccontextmanager
async def observed(
    kind: str, folder: Path, corpus: list[Put]
) -> AsyncIterator[tuple[CorpusView, Model]]:
    """The corpus in its places, and all of it in one plain place."""
    whole = PlainLogStore()
    async with a_store(kind, folder) as store:
        ahead, clean = {}, {}
        for put in corpus:
            await whole.create(put.header, placed(put.log))
            epoch = None
            if put.place.persisted:
                epoch = await store.create(put.header, placed(put.log)[: put.stored])
            if put.place is Place.JUST_WRITTEN:
                epoch = None
            if put.place.live:
                live = capture_of(put.header, put.log[: put.visible], put.known, epoch)
                where = clean if put.place is Place.CLEAN else ahead
                where[put.session_id] = live
        corpus_of = Corpus(store, FixedLive(ahead, clean))
        async with corpus_of.observe() as view, whole.observe() as reader:
            yield view, Model(reader, corpus)


class Model:
    """The same corpus by brute force."""

    def __init__(self, reader: PlainReader, corpus: list[Put]) -> None:
        self.reader = reader
        self.puts = {put.session_id: put for put in corpus}

    async def told(self, session_id: str) -> Any:
        (row,) = (await self.reader.find([session_id])).values()
        put = self.puts[session_id]
        facts = (row.header, row.last_seq, row.title, row.prompted_at)
        return (*facts, put.place.live, put.place.persisted)

    def available(self, wanted: Collection[Availability] | None) -> set[str]:
        return {
            put.session_id
            for put in self.puts.values()
            if wanted is None
            or (put.place.live and Availability.LIVE in wanted)
            or (put.place.persisted and Availability.PERSISTED in wanted)
        }

    async def sessions(
        self, selection: SessionSelection, order: SessionOrder, **bounds: Any
    ) -> list[Any]:
        ids = self.available(selection.availability)
        logs = {key: log for key, log in self.reader._logs.items() if key in ids}
        reader = PlainReader(0, logs, {}, set())
        rows = await reader.sessions(replace(selection, availability=None), order, **bounds)
        return [await self.told(row.header.session_id) for row in rows]


def told(session: LogicalSession) -> Any:
    facts = (session.header, session.last_seq, session.title, session.prompted_at)
    return (*facts, session.live, session.persisted)


keys = st.builds(
    SessionKey,
    st.integers(999, 1006),
    st.sampled_from(("", "a", "b", "c", "🚀")),
    st.none() | st.integers(999, 1004),
)


@many_examples
@given(
    kind=store_kinds,
    corpus=mixed_corpora(whole_live()),
    selections=st.lists(session_selections(), min_size=1, max_size=6),
    order=st.sampled_from(SessionOrder),
    limit=st.integers(1, 5),
    after=st.none() | keys,
    before=st.none() | keys,
)
def test_lists_of_a_mixed_corpus_equal_the_plain_ones(
    tmp_path: Path,
    kind: str,
    corpus: list[Put],
    selections: list[SessionSelection],
    order: SessionOrder,
    limit: int,
    after: SessionKey | None,
    before: SessionKey | None,
) -> None:
    bounds = {"limit": limit, "after": after, "before": before}

    async def scenario() -> None:
        async with observed(kind, tmp_path, corpus) as (view, model):
            for selection in [ALL_SESSIONS, *selections]:
                found = await view.sessions(selection, order, **bounds)
                assert [told(each) for each in found] == await model.sessions(
                    selection, order, **bounds
                )

    run(scenario())


@many_examples
@given(
    kind=store_kinds,
    corpus=mixed_corpora(whole_live()),
    order=st.sampled_from(SessionOrder),
    size=st.integers(1, 3),
)
@pytest.mark.parametrize("wanted", [None, *Availability], ids=str)
def test_walking_a_mixed_corpus_in_either_direction_yields_every_session_once(
    tmp_path: Path,
    kind: str,
    wanted: Availability | None,
    corpus: list[Put],
    order: SessionOrder,
    size: int,
) -> None:
    selection = ALL_SESSIONS if wanted is None else ALL_SESSIONS.narrowed(availability=[wanted])

    async def scenario() -> None:
        async with observed(kind, tmp_path, corpus) as (view, model):
            expected = [each[0] for each in await model.sessions(selection, order, limit=100)]
            forwards: list[LogicalSession] = []
            while page := await view.sessions(
                selection, order, limit=size, after=forwards[-1].key() if forwards else None
            ):
                forwards += page
            backwards: list[LogicalSession] = []
            last = SessionKey(-1, "\U0010ffff")
            while page := await view.sessions(
                selection, order, limit=size, before=backwards[0].key() if backwards else last
            ):
                backwards = [*page, *backwards]
            assert [each.header for each in forwards] == expected
            assert [each.header for each in backwards] == expected

    run(scenario())


@many_examples
@given(kind=store_kinds, corpus=mixed_corpora())
def test_finding_counting_and_reading_a_mixed_corpus_equal_the_plain_ones(
    tmp_path: Path, kind: str, corpus: list[Put]
) -> None:
    async def scenario() -> None:
        async with observed(kind, tmp_path, corpus) as (view, model):
            ids = [*model.puts, "nobody"]
            found = await view.find(ids)
            assert {key: told(each) for key, each in found.items()} == {
                key: await model.told(key) for key in model.puts
            }
            events = sum(len(put.log) for put in corpus)
            assert await view.counts() == CorpusCounts(len(corpus), events)
            for session_id, session in found.items():
                (row,) = (await model.reader.find([session_id])).values()
                expected = await model.reader.events(row, ALL_EVENTS, EVERYTHING)
                mine = await session.log.events(ALL_EVENTS, EVERYTHING)
                assert [told_placed(e) for e in mine] == [told_placed(e) for e in expected]
                envelopes = await session.log.envelopes(ALL_EVENTS, EVERYTHING)
                assert envelopes == [EventEnvelope.of(each) for each in expected]

    run(scenario())


@many_examples
@given(
    kind=store_kinds,
    corpus=mixed_corpora(max_size=9),
    wanted=st.none() | st.sampled_from(Availability),
)
def test_what_a_list_yields_can_be_read(
    tmp_path: Path, kind: str, corpus: list[Put], wanted: Availability | None
) -> None:
    selection = ALL_SESSIONS if wanted is None else ALL_SESSIONS.narrowed(availability=[wanted])

    async def scenario() -> None:
        async with observed(kind, tmp_path, corpus) as (view, model):
            for session in await view.sessions(selection, SessionOrder.CREATED, limit=100):
                events = await session.log.events(ALL_EVENTS, EVERYTHING)
                assert len(events) == len(model.puts[session.session_id].log)
                surface = await session.log.surface(EVERYTHING)
                assert [placed.placement.replaced_by for placed in surface] == [None] * len(surface)

    run(scenario())


@many_examples
@given(kind=store_kinds, corpus=mixed_corpora(max_size=9))
def test_lineage_of_a_mixed_corpus_equals_the_plain_one(
    tmp_path: Path, kind: str, corpus: list[Put]
) -> None:
    async def scenario() -> None:
        async with observed(kind, tmp_path, corpus) as (view, model):
            paths = await view.ancestors(list(model.puts))
            expected = await model.reader.ancestors(list(model.puts))
            assert {key: [each.session_id for each in path] for key, path in paths.items()} == {
                key: [each.header.session_id for each in path] for key, path in expected.items()
            }
            for session_id in [*model.puts, "nobody"]:
                links = await view.descendants(session_id)
                below = [link for link in links if link.session_id != session_id]
                model_links = await model.reader.descendants(session_id)
                model_below = [link for link in model_links if link.session_id != session_id]
                assert sorted(below, key=str) == sorted(model_below, key=str)

    run(scenario())


# Two logs under one id


def test_another_log_that_is_imported_under_the_id_of_a_live_session_is_a_conflict(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log.db", LAZY) as engine:
            await engine.begin(durability=ACCEPTED)
            await engine.accept("mine")
            await publish(engine.store, header("a", created_at=7), conversation(3))
            async with engine.query.observe() as observation:
                (failed,) = await observation.observe_each(["a"])
                assert isinstance(failed, FailedObservation)
                assert isinstance(failed.error, SourceConflict)
                assert "createdAt" in failed.error.message
                page = await observation.list_sessions(
                    ALL_SESSIONS, SessionOrder.CREATED, PageRequest(first=10)
                )
                (listed,) = page.items
                assert (listed.live, listed.persisted, listed.last_seq) == (True, True, 0)
            assert await engine.heard() == ["mine"]
            with pytest.raises(LogConflict):
                await engine.writing.flush("a")
            session = await engine.look()
            assert session is not None
            assert (session.live, session.last_seq, session.conflict) == (False, 2, None)

    run(scenario())
