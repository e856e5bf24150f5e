"""Preparing a message: all of its references or none, each source as of one moment."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.errors import PersistenceFailed, SessionGraphError
from sessiongraph.event import Entry, PlacedEvent
from sessiongraph.filters import EventSelection
from sessiongraph.ports import StoredSession, WindowRequest
from sessiongraph.references import prepare
from sessiongraph.references.errors import (
    InvalidReference,
    ReferenceBudgetExceeded,
    ReferenceCancelled,
    ReferenceReadFailed,
    SelfReference,
    TooManyReferences,
)
from sessiongraph.references.limits import ReferenceLimits
from sessiongraph.references.mention import ReferenceInput, mention_of
from sessiongraph.references.prepare import PreparedMessage, ReferenceService
from sessiongraph.references.uri import encode_uri
from tests.plain_store import PlainLogStore, PlainReader, run
from tests.sessiongraph.references.corpora import (
    SELF,
    answer,
    checkpoint,
    data_in,
    prepared,
    put,
    query_over,
    snapshots_in,
    store_of,
    talk,
    totals_told,
)
from tests.strategies import Json, header, logs, message, prompt, session_ids, user_message

Before = Callable[[], Awaitable[None]]


def store_with(*ids: str, log: list[Entry] | None = None) -> PlainLogStore:
    return store_of(*((header(each), talk(4, each) if log is None else log) for each in ids))


def cited(message: PreparedMessage) -> list[tuple[str, str]]:
    assert message.context is not None
    return [(each.session_id, each.label) for each in message.context.references]


def at_first_read(monkeypatch: pytest.MonkeyPatch, before: Before) -> None:
    """Let something happen when the events of a log are read for the first time."""
    read = PlainReader.events
    first = True

    async def events(
        reader: PlainReader,
        session: StoredSession,
        selection: EventSelection,
        window: WindowRequest,
    ) -> list[PlacedEvent]:
        nonlocal first
        if first:
            first = False
            await before()
        return await read(reader, session, selection, window)

    monkeypatch.setattr(PlainReader, "events", events)


def test_a_message_without_references_has_no_context() -> None:
    assert run(prepared(PlainLogStore(), text="hello")) == PreparedMessage("hello")


def test_mentions_in_the_text_come_before_those_beside_it_and_each_session_comes_once() -> None:
    store = store_with("a", "b", "c")
    text = (
        f"as in {mention_of(ReferenceInput('b', 'Bee'))} and {encode_uri('a')}, {encode_uri('b')}"
    )
    beside = (ReferenceInput("a", "Ay"), ReferenceInput("c"), ReferenceInput("c", "Sea"))
    message = run(prepared(store, *beside, text=text))
    assert message.text == "as in @Bee and @a, @b"
    assert cited(message) == [("b", "Bee"), ("a", "a"), ("c", "c")]
    assert [each["sessionId"] for each in snapshots_in(message)] == ["b", "a", "c"]


def test_a_snapshot_says_who_where_through_what_and_the_conversation() -> None:
    log: list[Entry] = [prompt(0, "question"), answer(1, "answer"), prompt(2, "more")]
    store = store_of((header("s", cwd="/proj"), log))
    message = run(prepared(store, ReferenceInput("s", "Title")))
    assert message.context is not None
    assert data_in(message.context.content) == (
        '[{"sessionId":"s","label":"Title","cwd":"/proj","capturedThroughSeq":2,"conversation":['
        '{"role":"user","text":"question"},{"role":"assistant","text":"answer"},'
        '{"role":"user","text":"more"}]}]'
    )
    assert message.context.size == len(message.context.content.encode())


def test_an_empty_session_has_an_empty_snapshot() -> None:
    message = run(prepared(store_with("s", log=[]), ReferenceInput("s")))
    assert snapshots_in(message) == [
        {
            "sessionId": "s",
            "label": "s",
            "cwd": None,
            "capturedThroughSeq": None,
            "conversation": [],
        }
    ]


@pytest.mark.parametrize(
    ("references", "text", "error"),
    [
        ([SELF], "", SelfReference),
        (["a", "b", "c", SELF], "", SelfReference),
        (["a", "b", "c", "d"], "", TooManyReferences),
        (["nowhere"], "", ReferenceReadFailed),
        (["a", "nowhere"], "", ReferenceReadFailed),
        ([7], "", InvalidReference),
        ([], encode_uri(SELF), SelfReference),
        ([], encode_uri("a") + "x", InvalidReference),
        (["b", "c", "d"], encode_uri("a"), TooManyReferences),
    ],
)
def test_a_message_that_cannot_carry_all_its_references_is_refused(
    references: list[Any], text: str, error: type[SessionGraphError]
) -> None:
    store = store_with("a", "b", "c", "d", SELF)
    with pytest.raises(error):
        run(prepared(store, *map(ReferenceInput, references), text=text))


def test_three_references_repeated_are_not_too_many() -> None:
    store = store_with("a", "b", "c")
    references = [ReferenceInput(each) for each in "abcabc"]
    assert len(cited(run(prepared(store, *references)))) == 3


def test_when_one_source_does_not_fit_the_whole_message_is_refused() -> None:
    store = store_with("a", "b" * 300)
    with pytest.raises(ReferenceBudgetExceeded):
        run(
            prepared(store, ReferenceInput("a"), ReferenceInput("b" * 300), max_reference_bytes=400)
        )


def test_of_several_failures_that_of_the_first_mention_is_told() -> None:
    store = store_with("a")
    with pytest.raises(ReferenceReadFailed, match="'no1'"):
        run(prepared(store, *map(ReferenceInput, ("a", "no1", "no2"))))


def test_a_source_whose_store_fails_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail() -> None:
        raise PersistenceFailed("the disk is gone")

    at_first_read(monkeypatch, fail)
    with pytest.raises(ReferenceReadFailed, match="the disk is gone"):
        run(prepared(store_with("a"), ReferenceInput("a")))


@pytest.mark.parametrize("length", [0, 1, 40, 1000])
@pytest.mark.parametrize("with_totals", [False, True])
def test_counts_are_exact_and_do_not_depend_on_whether_the_walk_ended_early(
    length: int, with_totals: bool
) -> None:
    log = talk(length)
    if length:
        log.append(checkpoint(length, "condensed", 0, length // 4))
        log += [prompt(length + 1, "last words")]
    service = ReferenceService(
        query_over(store_of((header("s"), log))),
        ReferenceLimits(max_reference_bytes=1000),
    )
    with totals_told(with_totals):
        message = run(service.prepare(SELF, "", [ReferenceInput("s")]))
    assert message.context is not None
    (stats,), (snapshot,) = message.context.references, snapshots_in(message)
    whole = [f"message {seq}" for seq in range(length // 4 + 1, length)]
    if length:
        whole = ["condensed", *whole, "last words"]
    texts = [each["text"] for each in snapshot["conversation"]]
    dropped = [text for text in whole if text not in texts]
    assert texts == [text for text in whole if text in texts]
    assert (stats.original_messages, stats.retained_messages) == (len(whole), len(texts))
    assert stats.omitted_messages == len(dropped)
    assert stats.omitted_bytes == sum(map(len, dropped))
    assert stats.truncated is bool(dropped)
    assert stats.compacted is bool(length)


def test_with_totals_a_long_surface_is_not_walked_to_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[int] = []
    events = PlainReader.events

    async def counted(reader: PlainReader, *question: Any) -> list[PlacedEvent]:
        found = await events(reader, *question)
        read.append(len(found))
        return found

    monkeypatch.setattr(PlainReader, "events", counted)
    service = ReferenceService(
        query_over(store_of((header("s"), talk(3000)))),
        ReferenceLimits(max_reference_bytes=1000),
    )
    message = run(service.prepare(SELF, "", [ReferenceInput("s")]))
    assert sum(read) <= 64
    assert message.context is not None
    assert message.context.references[0].original_messages == 3000


@given(log=logs(max_size=20), max_bytes=st.integers(100, 600))
def test_with_and_without_totals_the_snapshot_is_the_same(log: list[Entry], max_bytes: int) -> None:
    limits = ReferenceLimits(max_reference_bytes=max_bytes)
    query = query_over(store_of((header("s"), log)))
    service = ReferenceService(query, limits)

    def outcome() -> Any:
        try:
            return run(service.prepare(SELF, "", [ReferenceInput("s")]))
        except ReferenceBudgetExceeded as error:
            return error.message

    with_totals = outcome()
    with totals_told(False):
        assert outcome() == with_totals


def test_a_snapshot_is_of_one_moment_while_its_source_is_appended_to_and_compacted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = store_with("s", log=talk(300))
    before = run(prepared(store, ReferenceInput("s")))

    async def grow() -> None:
        log = [*talk(300), checkpoint(300, "condensed", 0, 298), prompt(301, "new")]
        put(store, header("s"), log)

    at_first_read(monkeypatch, grow)
    assert run(prepared(store, ReferenceInput("s"))) == before
    (now,) = snapshots_in(run(prepared(store, ReferenceInput("s"))))
    assert [each["text"] for each in now["conversation"]] == ["condensed", "message 299", "new"]
    assert now["capturedThroughSeq"] == 301


def test_sources_are_read_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = 0
    everybody = asyncio.Event()
    read = PlainReader.events

    async def together(reader: PlainReader, *question: Any) -> list[PlacedEvent]:
        nonlocal waiting
        waiting += 1
        if waiting == 3:
            everybody.set()
        await asyncio.wait_for(everybody.wait(), 5)
        return await read(reader, *question)

    monkeypatch.setattr(PlainReader, "events", together)
    message = run(prepared(store_with("a", "b", "c"), *map(ReferenceInput, "abc")))
    assert len(cited(message)) == 3


def test_a_cancelled_message_says_so_and_leaves_nothing_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def cancel() -> None:
        started = asyncio.Event()

        async def forever() -> None:
            started.set()
            await asyncio.Event().wait()

        at_first_read(monkeypatch, forever)
        task = asyncio.create_task(prepared(store_with("a", "b"), *map(ReferenceInput, "ab")))
        await started.wait()
        task.cancel()
        with pytest.raises(ReferenceCancelled):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(cancel())


def test_surfaces_are_put_together_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()
    read = prepare.said_in

    def noted(placed: PlacedEvent) -> Any:
        threads.add(threading.get_ident())
        return read(placed)

    monkeypatch.setattr(prepare, "said_in", noted)
    run(prepared(store_with("a"), ReferenceInput("a")))
    assert threads
    assert threading.get_ident() not in threads


def test_snapshots_do_not_nest() -> None:
    store = store_with("inner", log=[prompt(0, "innermost words")])
    first = run(prepared(store, ReferenceInput("inner")))
    assert first.context is not None
    carrying: Json = {
        **user_message(first.context.content, "session-reference"),
        "source": {"kind": "session-reference", "version": 1, "references": []},
    }
    log: list[Entry] = [prompt(0, first.text + "as @inner says"), message(1, data=carrying)]
    put(store, header("outer"), log)
    second = run(prepared(store, ReferenceInput("outer")))
    assert [each["text"] for each in snapshots_in(second)[0]["conversation"]] == ["as @inner says"]
    assert second.context is not None
    assert "innermost" not in second.context.content


@given(session_id=session_ids, label=st.none() | st.text(max_size=8))
def test_any_session_can_be_referenced_by_its_mention(session_id: str, label: str | None) -> None:
    session_id = session_id.encode("utf-16-le", "surrogatepass").decode(
        "utf-16-le", "surrogatepass"
    )
    store = store_with(session_id, log=[prompt(0, "words")])
    mention = mention_of(ReferenceInput(session_id, label))
    message = run(prepared(store, text=mention, session_id="somebody else"))
    shown = session_id if label is None else label
    assert message.text == f"@{shown}"
    assert cited(message) == [(session_id, shown)]


def test_a_long_text_is_prepared_like_a_short_one() -> None:
    words = "words " * 5000
    message = run(prepared(store_with("a"), text=words + encode_uri("a")))
    assert message.text == words + "@a"
    assert cited(message) == [("a", "a")]
