"""Reading through the query service, over the plain store and against the plain fold."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.corpus import Corpus, LogicalSession
from sessiongraph.cursor import KEY_BYTES, CursorCodec
from sessiongraph.errors import (
    EventNotFound,
    InvalidCursor,
    InvalidLimit,
    InvalidLineage,
    InvalidWindow,
    SessionNotFound,
    StaleCursor,
)
from sessiongraph.event import Entry, Seq, SessionEvent, events_of
from sessiongraph.families import Lineage
from sessiongraph.filters import ALL_EVENTS, ALL_SESSIONS, Availability, EventSelection
from sessiongraph.paging import Page, PageRequest
from sessiongraph.ports import CorpusCounts, SessionOrder
from sessiongraph.query import FailedObservation, Observation, QueryLimits, SessionQuery
from sessiongraph.text import semantic_text
from tests.plain_store import PlainFold, PlainLogStore, admits_event, plain_fold, run
from tests.strategies import (
    event,
    event_selections,
    header,
    logs,
    message,
    placed,
    prompt,
)

T = TypeVar("T")
CREATED = SessionOrder.CREATED
Fetch = Callable[[PageRequest], Awaitable[Page[T]]]


@asynccontextmanager
async def observing(
    store: PlainLogStore, limits: QueryLimits | None = None
) -> AsyncIterator[Observation]:
    query = SessionQuery(Corpus(store), CursorCodec(b"k" * KEY_BYTES), limits)
    async with query.observe() as observation:
        yield observation


async def store_of(*logs_by_id: tuple[str, list[Entry]]) -> PlainLogStore:
    store = PlainLogStore()
    for session_id, log in logs_by_id:
        staged = await store.stage(header(session_id))
        await staged.append(placed(log))
        await staged.publish(header(session_id))
    return store


async def session_of(observation: Observation, session_id: str = "a") -> LogicalSession:
    return (await observation.find([session_id]))[session_id]


def flat(log: list[Entry]) -> list[SessionEvent]:
    return [each for entry in log for each in events_of(entry)]


def folded(log: list[Entry]) -> PlainFold:
    return plain_fold(flat(log))


async def walked(fetch: Fetch[T], size: int, *, backwards: bool = False) -> list[T]:
    """All items of a list, page after page from either end, in the list's own order."""
    items: list[T] = []
    cursor: str | None = None
    while True:
        if backwards:
            page = await fetch(PageRequest(last=size, before=cursor))
            items = [*page.items, *items]
            more, cursor = page.has_previous_page, page.start_cursor
        else:
            page = await fetch(PageRequest(first=size, after=cursor))
            items = [*items, *page.items]
            more, cursor = page.has_next_page, page.end_cursor
        assert len(page.items) == size or not more
        if not more:
            return items


def naive_matches(log: list[Entry], selection: EventSelection) -> list[Seq]:
    """The events that pass, texts included, in log order."""
    fold = folded(log)
    return [
        each.seq
        for each in flat(log)
        if (selection.seqs.low is None or each.seq >= selection.seqs.low)
        and (selection.seqs.high is None or each.seq <= selection.seqs.high)
        and (selection.times.low is None or each.time >= selection.times.low)
        and (selection.times.high is None or each.time <= selection.times.high)
        and (selection.types is None or each.type in selection.types)
        and (selection.surfaces is None or fold.surface_of(each.seq) in selection.surfaces)
        and selection.admits_text(semantic_text(each))
    ]


# Events, documents and the surface of one session


@given(
    log=logs(),
    selection=event_selections(texts=True),
    size=st.integers(1, 4),
    backwards=st.booleans(),
)
def test_walking_the_events_of_a_session_yields_each_match_once_in_order(
    log: list[Entry], selection: EventSelection, size: int, backwards: bool
) -> None:
    async def scenario() -> list[Seq]:
        async with observing(await store_of(("a", log))) as observation:
            session = await session_of(observation)
            found = await walked(
                lambda request: observation.list_events(session, selection, request),
                size,
                backwards=backwards,
            )
            return [placed.seq for placed in found]

    assert run(scenario()) == naive_matches(log, selection)


@given(log=logs(), selection=event_selections(texts=True), size=st.integers(1, 4))
def test_the_documents_of_a_session_are_its_matches_that_have_text(
    log: list[Entry], selection: EventSelection, size: int
) -> None:
    async def scenario() -> list[tuple[Seq, str]]:
        async with observing(await store_of(("a", log))) as observation:
            session = await session_of(observation)
            found = await walked(
                lambda request: observation.list_documents(session, selection, request), size
            )
            return [(document.placed.seq, document.text) for document in found]

    texts = [semantic_text(each) for each in flat(log)]
    matches = naive_matches(log, selection)
    assert run(scenario()) == [(seq, texts[seq]) for seq in matches if texts[seq]]


@given(log=logs(), size=st.integers(1, 4), backwards=st.booleans())
def test_walking_the_surface_yields_the_current_nodes_in_model_order(
    log: list[Entry], size: int, backwards: bool
) -> None:
    async def scenario() -> list[Seq]:
        async with observing(await store_of(("a", log))) as observation:
            session = await session_of(observation)
            found = await walked(
                lambda request: observation.list_surface(session, request),
                size,
                backwards=backwards,
            )
            return [placed.seq for placed in found]

    assert run(scenario()) == folded(log).order


@given(log=logs(min_size=1), data=st.data())
def test_a_page_says_what_lies_beyond_either_of_its_ends(
    log: list[Entry], data: st.DataObject
) -> None:
    seqs = [each.seq for each in flat(log)]
    first = data.draw(st.integers(1, 5))
    place = data.draw(st.sampled_from(seqs))

    async def scenario() -> None:
        async with observing(await store_of(("a", log))) as observation:
            session = await session_of(observation)
            one = await observation.list_events(session, ALL_EVENTS, PageRequest(first=200))
            cursor = one.cursor(one.items[place])
            after = await observation.list_events(
                session, ALL_EVENTS, PageRequest(first=first, after=cursor)
            )
            rest = seqs[place + 1 :]
            assert [each.seq for each in after.items] == rest[:first]
            assert (after.has_previous_page, after.has_next_page) == (True, len(rest) > first)
            before = await observation.list_events(
                session, ALL_EVENTS, PageRequest(last=first, before=cursor)
            )
            rest = seqs[:place]
            assert [each.seq for each in before.items] == rest[-first:]
            assert (before.has_previous_page, before.has_next_page) == (len(rest) > first, True)

    run(scenario())


def test_a_text_scan_reads_on_until_it_has_a_page() -> None:
    log: list[Entry] = [prompt(seq, "noise") for seq in range(1_000)]
    for seq in (5, 700, 999):
        log[seq] = prompt(seq, "the needle")

    async def scenario() -> None:
        async with observing(await store_of(("a", log))) as observation:
            session = await session_of(observation)
            needle = ALL_EVENTS.narrowed(text="needle")
            page = await observation.list_events(session, needle, PageRequest(first=2))
            assert [each.seq for each in page.items] == [5, 700]
            assert page.has_next_page
            last = await observation.list_events(session, needle, PageRequest(last=2))
            assert [each.seq for each in last.items] == [700, 999]
            assert last.has_previous_page

    run(scenario())


def test_an_impossible_selection_is_an_empty_page() -> None:
    async def scenario() -> None:
        async with observing(await store_of(("a", [prompt(0, "x")]))) as observation:
            session = await session_of(observation)
            for impossible in (ALL_EVENTS.narrowed(types=[]), ALL_EVENTS.narrowed(surfaces=[])):
                page = await observation.list_events(session, impossible, PageRequest())
                assert (list(page.items), page.has_next_page) == ([], False)

    run(scenario())


def test_the_last_edge_can_be_asked_again_for_what_came_after() -> None:
    log: list[Entry] = [prompt(seq, "x") for seq in range(5)]

    async def scenario() -> None:
        store = await store_of(("a", log[:3]))
        async with observing(store) as observation:
            session = await session_of(observation)
            page = await observation.list_events(session, ALL_EVENTS, PageRequest())
            epoch = session.epoch
        await store.append("a", epoch, placed(log)[3:])
        async with observing(store) as observation:
            session = await session_of(observation)
            request = PageRequest(first=9, after=page.end_cursor)
            later = await observation.list_events(session, ALL_EVENTS, request)
            assert [each.seq for each in later.items] == [3, 4]

    run(scenario())


def test_a_cursor_of_a_replaced_log_is_stale() -> None:
    async def scenario() -> None:
        store = await store_of(("a", [prompt(0, "x")]))
        async with observing(store) as observation:
            session = await session_of(observation)
            page = await observation.list_events(session, ALL_EVENTS, PageRequest())
            nodes = await observation.list_surface(session, PageRequest())
        staged = await store.stage(header("a"))
        await staged.append(placed([prompt(0, "x")]))
        await staged.publish(header("a"))
        async with observing(store) as observation:
            session = await session_of(observation)
            with pytest.raises(StaleCursor):
                request = PageRequest(after=page.end_cursor)
                await observation.list_events(session, ALL_EVENTS, request)
            with pytest.raises(StaleCursor):
                await observation.list_surface(session, PageRequest(after=nodes.end_cursor))

    run(scenario())


def test_a_cursor_of_other_filters_or_another_session_is_stale() -> None:
    async def scenario() -> None:
        log: list[Entry] = [prompt(0, "x"), prompt(1, "y")]
        async with observing(await store_of(("a", log), ("b", log))) as observation:
            session = await session_of(observation)
            page = await observation.list_events(session, ALL_EVENTS, PageRequest())
            request = PageRequest(after=page.start_cursor)
            with pytest.raises(StaleCursor):
                narrowed = ALL_EVENTS.narrowed(types=["user/message"])
                await observation.list_events(session, narrowed, request)
            with pytest.raises(StaleCursor):
                other = await session_of(observation, "b")
                await observation.list_events(other, ALL_EVENTS, request)

    run(scenario())


def test_a_cursor_of_another_list_is_invalid() -> None:
    async def scenario() -> None:
        async with observing(await store_of(("a", [prompt(0, "x")]))) as observation:
            session = await session_of(observation)
            page = await observation.list_events(session, ALL_EVENTS, PageRequest())
            request = PageRequest(after=page.start_cursor)
            with pytest.raises(InvalidCursor):
                await observation.list_documents(session, ALL_EVENTS, request)
            with pytest.raises(InvalidCursor):
                await observation.list_surface(session, request)
            with pytest.raises(InvalidCursor):
                await observation.list_sessions(ALL_SESSIONS, CREATED, request)
            with pytest.raises(InvalidCursor):
                await observation.list_descendants(session, request)

    run(scenario())


def test_a_page_size_outside_the_limits_is_refused_by_every_list() -> None:
    async def scenario() -> None:
        limits = QueryLimits(page_max=10, lineage_page_max=20)
        async with observing(await store_of(("a", [])), limits) as observation:
            session = await session_of(observation)
            for first in (0, 11):
                request = PageRequest(first=first)
                with pytest.raises(InvalidLimit):
                    await observation.list_events(session, ALL_EVENTS, request)
                with pytest.raises(InvalidLimit):
                    await observation.list_documents(session, ALL_EVENTS, request)
                with pytest.raises(InvalidLimit):
                    await observation.list_surface(session, request)
                with pytest.raises(InvalidLimit):
                    await observation.list_sessions(ALL_SESSIONS, CREATED, request)
            with pytest.raises(InvalidLimit):
                await observation.list_descendants(session, PageRequest(first=21))

    run(scenario())


def test_a_list_without_a_size_keeps_to_the_limit() -> None:
    async def scenario() -> None:
        log: list[Entry] = [prompt(seq, "x") for seq in range(30)]
        async with observing(await store_of(("a", log)), QueryLimits(page_max=10)) as observation:
            session = await session_of(observation)
            events = await observation.list_events(session, ALL_EVENTS, PageRequest())
            nodes = await observation.list_surface(session, PageRequest())
            assert (len(events.items), len(nodes.items)) == (10, 10)

    run(scenario())


# One event


@given(log=logs(min_size=1), data=st.data())
def test_a_window_is_the_event_and_its_neighbours_clipped_at_the_ends(
    log: list[Entry], data: st.DataObject
) -> None:
    seqs = [each.seq for each in flat(log)]
    seq = data.draw(st.sampled_from(seqs))
    before, after = data.draw(st.integers(0, 50)), data.draw(st.integers(0, 50))

    async def scenario() -> None:
        async with observing(await store_of(("a", log))) as observation:
            session = await session_of(observation)
            window = await observation.event_window(session, seq, before, after)
            expected = seqs[max(0, seq - before) : seq + after + 1]
            assert [each.seq for each in window.events] == expected
            assert window.target.seq == seq
            assert (window.start_seq, window.end_seq) == (expected[0], expected[-1])

    run(scenario())


@pytest.mark.parametrize(("before", "after"), [(-1, 0), (0, -1), (51, 0), (0, 51)])
def test_neighbours_outside_the_limits_are_an_invalid_window(before: int, after: int) -> None:
    async def scenario() -> None:
        async with observing(await store_of(("a", [prompt(0, "x")]))) as observation:
            with pytest.raises(InvalidWindow):
                await observation.event_window(await session_of(observation), 0, before, after)

    run(scenario())


@pytest.mark.parametrize("seq", [-1, 1, 2**40])
def test_an_unknown_seq_is_not_found(seq: Seq) -> None:
    async def scenario() -> None:
        async with observing(await store_of(("a", [prompt(0, "x")]))) as observation:
            session = await session_of(observation)
            with pytest.raises(EventNotFound):
                await observation.event_window(session, seq, 0, 0)
            with pytest.raises(EventNotFound):
                await observation.trace(session, seq)

    run(scenario())


@given(log=logs(min_size=1))
def test_a_trace_tells_the_links_of_every_event(log: list[Entry]) -> None:
    fold, events = folded(log), flat(log)

    def chain(seq: Seq) -> tuple[Seq, ...]:
        replacer = fold.replacer.get(seq)
        return () if replacer is None else (replacer, *chain(replacer))

    async def scenario() -> None:
        async with observing(await store_of(("a", log))) as observation:
            session = await session_of(observation)
            for each in events:
                trace = await observation.trace(session, each.seq)
                cited = each.source_event_seqs or ()
                citers = [e.seq for e in events if each.seq in (e.source_event_seqs or ())]
                assert trace.target.surface is fold.surface_of(each.seq)
                assert trace.replaced_by == fold.replacer.get(each.seq)
                assert trace.replacement_chain == chain(each.seq)
                assert trace.replaced_event_seqs == tuple(fold.removed.get(each.seq, ()))
                assert trace.source_event_seqs == cited
                assert trace.derived_event_seqs == tuple(citers)

    run(scenario())


def test_payloads_of_an_unknown_session_are_none() -> None:
    async def scenario() -> None:
        async with observing(await store_of(("a", [prompt(0, "x")]))) as observation:
            expected = {0: prompt(0, "x").payload}
            assert await observation.payloads("a", [0, 1]) == expected
            assert await observation.payloads("b", [0]) == {}

    run(scenario())


# Sessions


@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_walking_the_corpus_yields_every_session_once_newest_first(size: int) -> None:
    async def scenario() -> None:
        store = PlainLogStore()
        for session_id, created_at in [("b", 5), ("a", 5), ("c", 9), ("d", 1), ("\x00", 5)]:
            await store.create(header(session_id, created_at))
        async with observing(store) as observation:
            found = await walked(
                lambda request: observation.list_sessions(ALL_SESSIONS, CREATED, request), size
            )
            assert [session.session_id for session in found] == ["c", "\x00", "a", "b", "d"]

    run(scenario())


def test_active_sessions_come_first_by_their_latest_prompt() -> None:
    async def scenario() -> None:
        store = await store_of(
            ("old", [prompt(0, "x", time=10)]),
            ("new", [prompt(0, "x", time=20)]),
            ("never", [event(0, "turn/start")]),
        )
        async with observing(store) as observation:
            found = await walked(
                lambda request: observation.list_sessions(
                    ALL_SESSIONS, SessionOrder.ACTIVE, request
                ),
                1,
            )
            assert [session.session_id for session in found] == ["new", "old", "never"]

    run(scenario())


def test_a_page_of_sessions_says_what_lies_beyond_either_of_its_ends() -> None:
    async def scenario() -> None:
        store = PlainLogStore()
        for number in range(4):
            await store.create(header(f"{number}", created_at=9 - number))
        async with observing(store) as observation:
            whole = await observation.list_sessions(ALL_SESSIONS, CREATED, PageRequest())
            assert (whole.has_previous_page, whole.has_next_page) == (False, False)
            for place, session in enumerate(whole.items):
                request = PageRequest(first=2, after=whole.cursor(session))
                page = await observation.list_sessions(ALL_SESSIONS, CREATED, request)
                assert page.has_previous_page
                assert page.has_next_page is (place + 3 < 4)

    run(scenario())


def test_the_page_after_the_only_session_has_a_previous_page() -> None:
    async def scenario() -> None:
        async with observing(await store_of(("a", []))) as observation:
            whole = await observation.list_sessions(ALL_SESSIONS, CREATED, PageRequest())
            request = PageRequest(after=whole.end_cursor)
            page = await observation.list_sessions(ALL_SESSIONS, CREATED, request)
            assert (list(page.items), page.has_previous_page) == ([], True)

    run(scenario())


def test_a_cursor_of_sessions_is_bound_to_filters_and_order() -> None:
    async def scenario() -> None:
        async with observing(await store_of(("a", []), ("b", []))) as observation:
            page = await observation.list_sessions(ALL_SESSIONS, CREATED, PageRequest(first=1))
            request = PageRequest(after=page.end_cursor)
            with pytest.raises(StaleCursor):
                await observation.list_sessions(ALL_SESSIONS, SessionOrder.ACTIVE, request)
            with pytest.raises(StaleCursor):
                narrowed = ALL_SESSIONS.narrowed(ids=["b"])
                await observation.list_sessions(narrowed, CREATED, request)

    run(scenario())


def test_stored_sessions_are_persisted_and_not_live() -> None:
    async def scenario() -> None:
        async with observing(await store_of(("a", [prompt(0, "x")]))) as observation:
            session = await session_of(observation)
            assert (session.live, session.persisted, session.last_seq) == (False, True, 0)
            for availability, found in [("live", 0), ("persisted", 1)]:
                selection = ALL_SESSIONS.narrowed(availability=[Availability(availability)])
                page = await observation.list_sessions(selection, CREATED, PageRequest())
                assert len(page.items) == found

    run(scenario())


def test_observing_several_gives_one_result_per_distinct_id_in_order() -> None:
    async def scenario() -> None:
        async with observing(await store_of(("a", []), ("b", []))) as observation:
            results = await observation.observe_each(["b", "ghost", "a", "b", "ghost"])
            assert [each.session_id for each in results] == ["b", "ghost", "a"]
            failed = results[1]
            assert isinstance(failed, FailedObservation)
            assert isinstance(failed.error, SessionNotFound)
            assert isinstance(results[0], LogicalSession)

    run(scenario())


def test_counts_are_of_the_whole_corpus() -> None:
    async def scenario() -> None:
        store = await store_of(("a", [prompt(0, "x"), prompt(1, "y")]), ("b", [message(0)]))
        async with observing(store) as observation:
            assert await observation.counts() == CorpusCounts(sessions=2, events=3)

    run(scenario())


# Lineage


async def family(parents: dict[str, str | None]) -> PlainLogStore:
    store = PlainLogStore()
    for number, (session_id, parent) in enumerate(parents.items()):
        await store.create(header(session_id, number, parent_session=parent))
    return store


def test_a_lineage_is_complete_with_a_root_or_partial_with_the_first_unknown_parent() -> None:
    async def scenario() -> None:
        store = await family({"a": None, "b": "a", "c": "b", "x": "ghost", "y": "x"})
        async with observing(store) as observation:
            found = await observation.find(["a", "c", "y"])
            answers = await observation.lineages(list(found.values()))
            told = {}
            for session_id, answer in answers.items():
                assert isinstance(answer, Lineage)
                above = [each.session_id for each in answer.ancestors]
                told[session_id] = (above, answer.complete, answer.path.unresolved_parent_id)
            assert told == {
                "a": ([], True, None),
                "c": (["b", "a"], True, None),
                "y": (["x"], False, "ghost"),
            }
            lineage = answers["c"]
            assert isinstance(lineage, Lineage)
            assert lineage.root.session_id == "a"

    run(scenario())


def test_a_circle_fails_for_its_own_sessions_only() -> None:
    async def scenario() -> None:
        store = await family({"a": "b", "b": "a", "below": "a", "self": "self", "fine": None})
        async with observing(store) as observation:
            found = await observation.find(["a", "b", "below", "self", "fine"])
            answers = await observation.lineages(list(found.values()))
            failed = {each for each, got in answers.items() if isinstance(got, InvalidLineage)}
            assert failed == {"a", "b", "below", "self"}
            assert isinstance(answers["fine"], Lineage)

    run(scenario())


@pytest.mark.parametrize("size", [1, 2, 5])
def test_walking_the_descendants_yields_the_forest_in_pre_order(size: int) -> None:
    async def scenario() -> None:
        parents = {"root": None, "b": "root", "a": "root", "b1": "b", "a1": "a", "b2": "b"}
        async with observing(await family(parents)) as observation:
            root = await session_of(observation, "root")
            pages = []
            cursor = None
            while True:
                request = PageRequest(first=size, after=cursor)
                page = await observation.list_descendants(root, request)
                pages += [(n.session.session_id, n.parent_id, n.depth) for n in page.items]
                assert page.total_count == 5
                if not page.has_next_page:
                    break
                cursor = page.end_cursor
            assert pages == [
                ("b", "root", 1),
                ("b1", "b", 2),
                ("b2", "b", 2),
                ("a", "root", 1),
                ("a1", "a", 2),
            ]

    run(scenario())


def test_a_cursor_of_a_descendant_that_is_gone_is_stale() -> None:
    async def scenario() -> None:
        store = await family({"root": None, "a": "root", "b": "root"})
        async with observing(store) as observation:
            root = await session_of(observation, "root")
            page = await observation.list_descendants(root, PageRequest(first=1))
        await store.delete("a")
        async with observing(store) as observation:
            root = await session_of(observation, "root")
            with pytest.raises(StaleCursor):
                await observation.list_descendants(root, PageRequest(after=page.end_cursor))

    run(scenario())


@given(log=logs(), selection=event_selections())
def test_the_plain_store_and_the_selection_agree_on_single_events(
    log: list[Entry], selection: EventSelection
) -> None:
    """The models that tests are measured with, measured with each other."""

    async def scenario() -> None:
        store = await store_of(("a", log))
        async with store.observe() as reader:
            (stored,) = (await reader.find(["a"])).values()
            plain = reader.log_of(stored)
            found = [each.seq for each in plain.events if admits_event(selection, plain, each)]
            assert found == naive_matches(log, selection)

    run(scenario())
