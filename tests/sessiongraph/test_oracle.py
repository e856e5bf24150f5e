"""The recorded sessions, read plainly into the plain store, against their known answers.

What ours says more on purpose is listed in the oracle's own README: reasoning is searchable, and so
are blocked turns, blocking hooks, retries, and errors of commands and compactions.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sessiongraph.corpus import Corpus, LogicalSession
from sessiongraph.cursor import KEY_BYTES, CursorCodec
from sessiongraph.event import PlacedEvent
from sessiongraph.families import Lineage
from sessiongraph.filters import ALL_EVENTS, ALL_SESSIONS, EventSelection, Range
from sessiongraph.header import SessionHeader
from sessiongraph.paging import Page, PageRequest
from sessiongraph.ports import SessionOrder
from sessiongraph.query import Observation, SessionQuery
from sessiongraph.trace import EventDocument
from tests.oracle import (
    answers,
    corpus_answers,
    needs_oracle,
    oracle_root,
    read_session,
    session_files,
)
from tests.plain_store import PlainLogStore, run
from tests.strategies import placed

pytestmark = needs_oracle

Answer = dict[str, Any]
ANSWERS = answers("none")
each_answer = pytest.mark.parametrize("answer", ANSWERS, ids=[each["id"] for each in ANSWERS])

ADDED_TYPES = {"hook/result", "llm/retry", "command/done", "compaction/end"}


async def load(store: PlainLogStore) -> None:
    for path in session_files():
        header, log = read_session(path)
        staged = await store.stage(header)
        await staged.append(placed(log))
        await staged.publish(header)


@pytest.fixture(scope="module")
def store() -> PlainLogStore:
    loaded = PlainLogStore()
    run(load(loaded))
    return loaded


@asynccontextmanager
async def observing(store: PlainLogStore) -> AsyncIterator[Observation]:
    query = SessionQuery(Corpus(store), CursorCodec(b"k" * KEY_BYTES))
    async with query.observe() as observation:
        yield observation


@asynccontextmanager
async def reading(
    store: PlainLogStore, session_id: str
) -> AsyncIterator[tuple[Observation, LogicalSession]]:
    async with observing(store) as observation:
        yield observation, (await observation.find([session_id]))[session_id]


async def all_events(observation: Observation, session: LogicalSession) -> list[PlacedEvent]:
    found: list[PlacedEvent] = []
    page: Page[PlacedEvent] | None = None
    while page is None or page.has_next_page:
        request = PageRequest(first=200, after=page.end_cursor if page else None)
        page = await observation.list_events(session, ALL_EVENTS, request)
        found += page.items
    return found


async def documents(
    observation: Observation, session: LogicalSession, selection: EventSelection = ALL_EVENTS
) -> list[EventDocument]:
    found: list[EventDocument] = []
    page: Page[EventDocument] | None = None
    while page is None or page.has_next_page:
        request = PageRequest(first=200, after=page.end_cursor if page else None)
        page = await observation.list_documents(session, selection, request)
        found += page.items
    return found


def told_header(header: SessionHeader) -> dict[str, Any]:
    """A header as the answers spell it."""
    told = {
        "version": header.version,
        "id": header.session_id,
        "createdAt": header.created_at,
        "cwd": header.cwd,
        "parentSession": header.parent_session,
        "seedLength": header.seed_length,
        "origin": header.origin,
        "delegationDepth": header.delegation_depth,
        "agentPreset": header.agent_preset,
    }
    return {key: value for key, value in told.items() if value is not None}


def told_session(session: LogicalSession) -> dict[str, Any]:
    return {
        "header": told_header(session.header),
        "live": session.live,
        "persisted": session.persisted,
    }


# One session


@each_answer
def test_the_log_has_the_recorded_events_on_the_recorded_surfaces(
    store: PlainLogStore, answer: Answer
) -> None:
    async def scenario() -> None:
        async with reading(store, answer["id"]) as (observation, session):
            events = await all_events(observation, session)
            assert told_header(session.header) == answer["header"]
            assert (len(events), session.last_seq) == (answer["events"], answer["lastSeq"])
            assert [each.type for each in events] == answer["types"]
            assert {str(each.seq): each.surface for each in events} == answer["surfaces"]

    run(scenario())


@each_answer
def test_the_current_surface_is_the_recorded_one_in_model_order(
    store: PlainLogStore, answer: Answer
) -> None:
    async def scenario() -> None:
        async with reading(store, answer["id"]) as (observation, session):
            page = await observation.list_surface(session, PageRequest(first=200))
            assert not page.has_next_page
            assert [each.seq for each in page.items] == answer["currentSurface"]

    run(scenario())


@each_answer
def test_every_event_traces_as_recorded(store: PlainLogStore, answer: Answer) -> None:
    async def scenario() -> None:
        async with reading(store, answer["id"]) as (observation, session):
            for seq, expected in answer["traces"].items():
                trace = await observation.trace(session, int(seq))
                told: dict[str, Any] = {
                    "replacementChain": list(trace.replacement_chain),
                    "replacedEventSeqs": list(trace.replaced_event_seqs),
                    "sourceEventSeqs": list(trace.source_event_seqs),
                    "derivedEventSeqs": list(trace.derived_event_seqs),
                }
                if trace.replaced_by is not None:
                    told |= {"replacedBy": trace.replaced_by}
                assert told == expected, f"event {seq}"

    run(scenario())


@each_answer
def test_texts_are_the_recorded_ones_and_what_is_added_on_purpose(
    store: PlainLogStore, answer: Answer
) -> None:
    async def scenario() -> None:
        async with reading(store, answer["id"]) as (observation, session):
            found = {each.placed.seq: each for each in await documents(observation, session)}
            expected = dict(map(tuple, answer["texts"]))
            for seq, document in found.items():
                assert without_additions(document) == expected.pop(seq, ""), f"event {seq}"
            assert expected == {}

    run(scenario())


def without_additions(document: EventDocument) -> str:
    """The text of a document without the parts that only ours has."""
    event = document.placed.event
    data = json.loads(event.payload)
    if event.type in ADDED_TYPES:
        return ""
    if event.type == "turn/end" and data["reason"]["kind"] == "blocked":
        return ""
    if event.type != "assistant/message":
        return document.text
    kept = []
    for block in data["message"]["content"]:
        if block["type"] == "text":
            kept.append(block["text"])
        elif block["type"] == "tool-call":
            kept += [block["name"], block["arguments"]]
    return "\n".join(part.strip() for part in kept if part.strip())


def selection_of(filters: list[dict[str, Any]]) -> EventSelection:
    selection = ALL_EVENTS
    for each in filters:
        kind = each["kind"]
        if kind == "text":
            selection = selection.narrowed(text=each["text"])
        elif kind == "surface":
            selection = selection.narrowed(surfaces=each["values"])
        elif kind == "type":
            selection = selection.narrowed(types=each["values"])
        elif kind == "seq":
            selection = selection.narrowed(seqs=Range.of("seq", each.get("from"), each.get("to")))
        else:
            raise AssertionError(f"the answers use a filter that this test does not know: {kind}")
    return selection


@each_answer
def test_filters_find_the_recorded_documents_and_what_is_added_on_purpose(
    store: PlainLogStore, answer: Answer
) -> None:
    async def scenario() -> None:
        async with reading(store, answer["id"]) as (observation, session):
            for asked in answer["filterEvents"]:
                selection = selection_of(asked["filters"])
                found = await documents(observation, session, selection)
                told = [
                    {
                        "seq": each.placed.seq,
                        "type": each.placed.type,
                        "surface": each.placed.surface,
                    }
                    for each in found
                    if selection.admits_text(without_additions(each)) and without_additions(each)
                ]
                assert told == asked["result"]["ok"], asked["filters"]

    run(scenario())


@each_answer
def test_the_lineage_is_the_recorded_one(store: PlainLogStore, answer: Answer) -> None:
    async def scenario() -> None:
        async with reading(store, answer["id"]) as (observation, session):
            lineage = (await observation.lineages([session]))[session.session_id]
            assert isinstance(lineage, Lineage)
            told: dict[str, Any] = {
                "target": told_session(lineage.target),
                "ancestors": [told_session(each) for each in lineage.ancestors],
                "descendants": await told_forest(observation, session),
                "complete": lineage.complete,
            }
            if lineage.complete:
                told["root"] = told_session(lineage.root)
            else:
                told["unresolvedParentId"] = lineage.path.unresolved_parent_id
            assert told == answer["lineage"]["ok"]

    run(scenario())


async def told_forest(observation: Observation, session: LogicalSession) -> list[dict[str, Any]]:
    """The descendants as nested lists."""
    page = await observation.list_descendants(session, PageRequest())
    nested: dict[str, list[dict[str, Any]]] = {session.session_id: []}
    for node in page.items:
        below: list[dict[str, Any]] = []
        nested[node.session.session_id] = below
        nested[node.parent_id].append({"session": told_session(node.session), "descendants": below})
    return nested[session.session_id]


@each_answer
def test_the_title_is_the_recorded_one(store: PlainLogStore, answer: Answer) -> None:
    async def scenario() -> None:
        async with reading(store, answer["id"]) as (_, session):
            expected = answer["title"]
            assert session.title == (None if expected is None else expected["title"])

    run(scenario())


# The corpus


def test_sessions_are_listed_in_the_recorded_order(store: PlainLogStore) -> None:
    async def scenario() -> None:
        async with observing(store) as observation:
            request = PageRequest(first=200)
            page = await observation.list_sessions(ALL_SESSIONS, SessionOrder.CREATED, request)
            assert [told_session(each) for each in page.items] == corpus_answers()["listSessions"]

    run(scenario())


def test_every_session_has_its_recorded_title(store: PlainLogStore) -> None:
    expected = {
        each["sessionId"]: each["title"] and each["title"]["title"]
        for each in corpus_answers()["titles"]
        if each["status"] == "fulfilled"
    }

    async def scenario() -> None:
        async with observing(store) as observation:
            found = await observation.find(list(expected))
            assert {each: session.title for each, session in found.items()} == expected

    run(scenario())


def test_every_recorded_file_was_read() -> None:
    root = oracle_root()
    assert root is not None
    assert len(session_files()) == len(list((root / "v0/none").glob("*/*"))) > 0
