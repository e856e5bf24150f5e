"""A log that lies partly in the store and partly in memory answers as if it were in one place."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sessiongraph.corpus import Corpus, LogicalSession
from sessiongraph.cursor import KEY_BYTES, CursorCodec
from sessiongraph.errors import PersistenceFailed
from sessiongraph.event import EventSurface, SessionEvent
from sessiongraph.filters import ALL_EVENTS, EventSelection, Range
from sessiongraph.live_tail import TailedLog
from sessiongraph.paging import PageRequest
from sessiongraph.ports import LogStore, WindowRequest
from sessiongraph.query import Observation, SessionQuery
from sessiongraph.trace import EventTrace
from tests.contracts.log_stage import EVERYTHING, told_placed, write
from tests.plain_store import PlainLogStore, run
from tests.providers.sqlite.imports import single_events
from tests.sessiongraph.fixed_live import FixedLive, capture_of
from tests.sessiongraph.live_engine import a_store, many_examples, store_kinds
from tests.sessiongraph.stopped_store import StoppedStore
from tests.strategies import (
    event_selections,
    header,
    logs,
    message,
    placed,
    prompt,
    windows,
)

Log = list[SessionEvent]
HEADER = header("a")


COMPACTED = [
    *(prompt(seq, f"{seq}") for seq in range(6)),
    message(6, replaces=(0, 2), sources=[0, 1, 2]),
]
"""Six nodes, and a summary in the place of the first three."""


@st.composite
def cut_logs(draw: st.DrawFn) -> tuple[Log, int, int]:
    """A log, how much of it is known to be on disk, and how much the observation finds there."""
    log = single_events(draw(logs(min_size=1, max_size=14)))
    known = draw(st.integers(0, len(log)))
    return log, known, draw(st.integers(known, len(log)))


def observing(store: LogStore, live: FixedLive | None = None) -> Any:
    return SessionQuery(Corpus(store, live), CursorCodec(b"k" * KEY_BYTES)).observe()


@asynccontextmanager
async def both(
    kind: str, folder: Path, log: Log, known: int, found: int
) -> AsyncIterator[tuple[tuple[Observation, LogicalSession], tuple[Observation, LogicalSession]]]:
    """The log in two places, and the whole log in a plain store: each observed."""
    whole = PlainLogStore()
    await write(whole, HEADER, log)
    async with a_store(kind, folder) as store:
        epoch = await store.create(HEADER, placed(log)[:found])
        live = FixedLive({"a": capture_of(HEADER, log, known, epoch)})
        async with observing(store, live) as mine, observing(whole) as model:
            yield (
                (mine, (await mine.find(["a"]))["a"]),
                (model, (await model.find(["a"]))["a"]),
            )


def told_trace(trace: EventTrace) -> Any:
    return (
        told_placed(trace.target),
        trace.replacement_chain,
        trace.replaced_event_seqs,
        trace.source_event_seqs,
        trace.derived_event_seqs,
    )


async def answers(observation: Observation, session: LogicalSession, log: Log) -> dict[str, Any]:
    """Everything that can be asked about one session without a filter."""
    seqs = range(-1, len(log) + 1)
    here = range(len(log))
    at = await session.log.at(seqs)
    together = await TailedLog.each_at([(session.log, seq) for seq in seqs])
    assert {each.seq: told_placed(each) for each in together if each is not None} == {
        seq: told_placed(each) for seq, each in at.items()
    }
    assert [each is None for each in together] == [seq not in at for seq in seqs]
    page = PageRequest(first=200)
    documents = (await observation.list_documents(session, ALL_EVENTS, page)).items
    window = [await observation.event_window(session, seq, 2, 3) for seq in here]
    return {
        "session": (session.last_seq, session.title, session.prompted_at, session.header),
        "events": [told_placed(e) for e in await session.log.events(ALL_EVENTS, EVERYTHING)],
        "surface": [told_placed(e) for e in await session.log.surface(EVERYTHING)],
        "at": {seq: told_placed(each) for seq, each in at.items()},
        "payloads": await session.log.payloads(seqs),
        "replaced": [await session.log.replaced_by(seq) for seq in seqs],
        "chains": [await session.log.replacement_chain(seq) for seq in seqs],
        "citers": [await session.log.citers(seq) for seq in seqs],
        "traces": [told_trace(await observation.trace(session, seq)) for seq in here],
        "documents": [(told_placed(each.placed), each.text) for each in documents],
        "windows": [[told_placed(each) for each in found.events] for found in window],
    }


@many_examples
@given(kind=store_kinds, cut=cut_logs())
def test_a_log_in_two_places_answers_everything_like_the_whole_log(
    tmp_path: Path, kind: str, cut: tuple[Log, int, int]
) -> None:
    async def scenario() -> None:
        async with both(kind, tmp_path, *cut) as (mine, model):
            assert await answers(*mine, cut[0]) == await answers(*model, cut[0])

    run(scenario())


@many_examples
@given(
    kind=store_kinds,
    cut=cut_logs(),
    questions=st.lists(
        st.tuples(event_selections(), windows(st.integers(-2, 20))), min_size=1, max_size=12
    ),
)
@example(
    kind="sqlite",
    cut=(COMPACTED, 6, 6),
    questions=[
        (EventSelection(surfaces=frozenset({EventSurface.CURRENT})), WindowRequest(2)),
        (EventSelection(surfaces=frozenset({EventSurface.CURRENT})), WindowRequest(2, after=0)),
        (EventSelection(surfaces=frozenset({EventSurface.SHADOWED})), WindowRequest(2, before=2)),
    ],
)
@example(
    kind="sqlite",
    cut=([prompt(seq, f"{seq}") for seq in range(6)], 3, 3),
    questions=[
        (EventSelection(seqs=Range(None, 2)), WindowRequest(2, newest=True)),
        (EventSelection(times=Range(None, 5)), WindowRequest(2, newest=True)),
    ],
)
def test_a_log_in_two_places_gives_the_same_windows_under_every_filter(
    tmp_path: Path,
    kind: str,
    cut: tuple[Log, int, int],
    questions: list[tuple[EventSelection, WindowRequest]],
) -> None:
    async def scenario() -> None:
        async with both(kind, tmp_path, *cut) as ((_, mine), (_, model)):
            for selection, window in questions:
                found = await mine.log.events(selection, window)
                expected = await model.log.events(selection, window)
                assert [told_placed(e) for e in found] == [told_placed(e) for e in expected]

    run(scenario())


@many_examples
@given(
    kind=store_kinds,
    cut=cut_logs(),
    asked=st.lists(windows(st.integers(-2, 20)), min_size=1, max_size=12),
)
@example(kind="sqlite", cut=(COMPACTED, 6, 6), asked=[WindowRequest(2), WindowRequest(2, after=0)])
def test_a_log_in_two_places_gives_the_same_windows_of_its_surface(
    tmp_path: Path, kind: str, cut: tuple[Log, int, int], asked: list[WindowRequest]
) -> None:
    async def scenario() -> None:
        async with both(kind, tmp_path, *cut) as ((_, mine), (_, model)):
            for window in asked:
                found = await mine.log.surface(window)
                expected = await model.log.surface(window)
                assert [told_placed(e) for e in found] == [told_placed(e) for e in expected]

    run(scenario())


@many_examples
@given(
    kind=store_kinds, cut=cut_logs(), selection=event_selections(texts=True), size=st.integers(1, 5)
)
def test_text_filters_walk_a_log_in_two_places_like_the_whole_log(
    tmp_path: Path, kind: str, cut: tuple[Log, int, int], selection: EventSelection, size: int
) -> None:
    async def scenario() -> None:
        async with both(kind, tmp_path, *cut) as sides:
            walks = []
            for observation, session in sides:
                found: list[Any] = []
                after: str | None = None
                while True:
                    request = PageRequest(first=size, after=after)
                    page = await observation.list_events(session, selection, request)
                    found += [told_placed(each) for each in page.items]
                    if not page.has_next_page:
                        break
                    after = page.end_cursor
                walks.append(found)
            assert walks[0] == walks[1]

    run(scenario())


# Without the store

SUMMARY = message(4, replaces=(2, 3), sources=[2, 3, 0])
LONGER = [prompt(0, "0"), prompt(1, "1"), prompt(2, "2"), prompt(3, "3"), SUMMARY, prompt(5, "5")]


@asynccontextmanager
async def without_store(log: Log, known: int) -> AsyncIterator[LogicalSession]:
    store = StoppedStore(PlainLogStore())
    store.blind = True
    live = FixedLive({"a": capture_of(HEADER, log, known, 1)})
    async with observing(store, live) as observation:
        yield (await observation.find(["a"]))["a"]


def test_what_is_in_memory_is_answered_without_the_store() -> None:
    async def scenario() -> None:
        async with without_store(LONGER, known=2) as session:
            log = session.log
            assert (session.live, session.persisted, session.last_seq) == (True, True, 5)
            assert sorted(await log.at([2, 3, 4, 5])) == [2, 3, 4, 5]
            assert sorted(await log.payloads([4, 5])) == [4, 5]
            tail = await log.events(ALL_EVENTS, WindowRequest(10, after=1))
            assert [placed.seq for placed in tail] == [2, 3, 4, 5]
            newest = await log.events(ALL_EVENTS, WindowRequest(3, newest=True))
            assert [placed.seq for placed in newest] == [3, 4, 5]
            current = EventSelection(surfaces=frozenset({EventSurface.CURRENT}))
            newest = await log.events(current, WindowRequest(2, newest=True))
            assert [placed.seq for placed in newest] == [4, 5]
            newest = await log.surface(WindowRequest(1, newest=True))
            assert [placed.seq for placed in newest] == [5]
            assert await log.replaced_by(4) == [2, 3]
            assert await log.replacement_chain(3) == [4]
            assert await log.citers(3) == [4]

    run(scenario())


def test_what_is_only_in_the_store_fails_when_it_cannot_be_read() -> None:
    async def scenario() -> None:
        async with without_store(LONGER, known=2) as session:
            log = session.log
            for question in (
                log.events(ALL_EVENTS, WindowRequest(10)),
                log.events(ALL_EVENTS, WindowRequest(5, newest=True)),
                log.surface(WindowRequest(10)),
                log.at([1, 5]),
                log.payloads([1]),
                log.citers(0),
                log.replaced_by(1),
                log.replacement_chain(1),
            ):
                with pytest.raises(PersistenceFailed, match="the file cannot be read"):
                    await question

    run(scenario())
