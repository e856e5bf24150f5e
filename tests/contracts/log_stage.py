"""What the suites of the log store are played on: providers, what is written, how answers compare.

A provider is compared with :class:`tests.plain_store.PlainLogStore`. Handles and the values of
epochs and positions are its own business, and are left out of what is told.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import strategies as st

from sessiongraph.cover_query import CoverQuery
from sessiongraph.event import (
    Entry,
    PlacedEvent,
    SessionEvent,
)
from sessiongraph.filters import ALL_EVENTS, ALL_SESSIONS
from sessiongraph.header import SessionHeader
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.ports import (
    ChildLink,
    Commit,
    CommitFeed,
    LogReader,
    LogStore,
    SessionOrder,
    StoredSession,
    WindowRequest,
    Within,
)
from sessiongraph.recordings import RecordingState
from tests.plain_store import PlainLogStore
from tests.strategies import (
    placed,
    places,
    prompt,
    words,
)

EVERYTHING = WindowRequest(limit=10_000)
Corpus = list[tuple[SessionHeader, list[Entry]]]


@dataclass(frozen=True)
class Provider:
    """One implementation of the port.

    durable: whether a store that is opened again at the same path has everything.
    """

    name: str
    open: Callable[[Path], LogStore]
    durable: bool


class Stores:
    """Opens stores of one provider, each in a folder of its own, and closes them."""

    def __init__(self, provider: Provider, root: Path) -> None:
        self.provider = provider
        self._root = root
        self._numbers = count()

    def new_path(self) -> Path:
        folder = self._root / str(next(self._numbers))
        folder.mkdir()
        return folder / "log.db"

    @asynccontextmanager
    async def at(self, path: Path) -> AsyncIterator[LogStore]:
        store = self.provider.open(path)
        try:
            yield store
        finally:
            await store.close()

    @asynccontextmanager
    async def new(self) -> AsyncIterator[LogStore]:
        async with self.at(self.new_path()) as store:
            yield store

    @asynccontextmanager
    async def twins(self) -> AsyncIterator[tuple[LogStore, LogStore]]:
        """A new store and the plain one, to be fed alike."""
        async with self.new() as store:
            yield store, PlainLogStore()


def cover_queries(rows: Sequence[StoredSession]) -> st.SearchStrategy[CoverQuery]:
    """Parts of covers that are there, in another case too, and of such as are not."""
    covers = [""]
    for row in rows:
        covers += [row.header.session_id, row.header.cwd or "", row.title or ""]
    bounds = st.integers(0, 12)
    parts = st.builds(
        lambda cover, first, length: cover[first : first + length],
        st.sampled_from(covers),
        bounds,
        bounds,
    )
    ids = st.frozensets(st.sampled_from([row.header.session_id for row in rows] or ["x"]))
    within = st.none() | st.none() | places()
    return st.builds(
        CoverQuery,
        parts
        | parts.map(str.swapcase)
        | words
        | st.sampled_from(["\0", "\ufffe", '"', "%", "' OR"]),
        st.sampled_from([None, "/p", *(row.header.cwd for row in rows)]),
        st.integers(1, 9),
        ids,
        within,
    )


# Feeding stores.


async def write(
    store: LogStore, new: SessionHeader, log: Sequence[Entry], *, batches: int = 1
) -> None:
    """A session with this log, appended in so many batches."""
    await store.create(new)
    if log:
        size = -(-len(log) // batches)
        entries = placed(log)
        await append(
            store,
            new.session_id,
            [entries[start : start + size] for start in range(0, len(log), size)],
        )


async def append(store: LogStore, session_id: str, batches: Sequence[list[PlacedEntry]]) -> None:
    """Batches behind each other, under the epoch that the log has now."""
    epoch = (await stored(store, session_id)).epoch
    for batch in batches:
        await store.append(session_id, epoch, batch)


async def stored(store: LogStore, session_id: str) -> StoredSession:
    """The session as it is now."""
    async with store.observe() as reader:
        return await one(reader, session_id)


async def position_of(store: LogStore) -> int:
    """The position of the latest commit."""
    async with store.observe() as reader:
        return reader.position


def feed_of(store: LogStore) -> CommitFeed:
    """The commits of a store; whoever keeps logs tells of them."""
    return cast(CommitFeed, store)


async def commits_through(store: LogStore, position: int, after: int = 0) -> list[Commit]:
    """The feed after a position up to another."""
    commits: list[Commit] = []
    if position > after:
        async for batch in feed_of(store).follow(after):
            commits += batch
            if commits[-1].position >= position:
                break
    return commits


def told_commit(commit: Commit) -> tuple[Any, ...]:
    """A commit without what is the provider's own."""
    return (
        commit.kind,
        commit.session_id,
        commit.first_seq,
        commit.last_seq,
        commit.relisted,
        commit.removed_cwd,
    )


async def one(reader: LogReader, session_id: str) -> StoredSession:
    """The session as this observation sees it."""
    return (await reader.find([session_id]))[session_id]


async def publish(
    store: LogStore,
    new: SessionHeader,
    log: Sequence[Entry],
    recording: RecordingState | None = None,
) -> None:
    """A session with this log, staged and published."""
    staged = await store.stage(new)
    await staged.append(placed(log))
    await staged.publish(new, recording)


def conversation(length: int = 4) -> list[Entry]:
    """A log of so many prompts."""
    return [prompt(seq, f"question {seq}", time=1000 + seq) for seq in range(length)]


# Answers in a form in which those of two providers can be compared.


def told_session(session: StoredSession) -> tuple[Any, ...]:
    """A session without what is the provider's own."""
    return (session.header, session.last_seq, session.title, session.prompted_at)


def told_event(event: SessionEvent) -> tuple[Any, ...]:
    """An event's envelope and payload text."""
    return (
        event.seq,
        event.type,
        event.time,
        event.payload,
        event.surface_op,
        event.source_event_seqs,
        event.ignorable,
    )


def told_placed(each: PlacedEvent) -> tuple[Any, ...]:
    """A placed event; the stream, which may be elided, is left out on both sides."""
    payload: Any = each.event.payload
    if each.type in ("assistant/message", "assistant/attempt"):
        payload = json.loads(payload)
        payload.pop("stream", None)
    else:
        assert not each.elided, f"{each.type} has no stream that could be left out"
    envelope = tuple(part for part in told_event(each.event) if part is not each.event.payload)
    return (each.session_id, envelope, payload, each.placement)


def told_entry(entry: Entry) -> tuple[Any, ...]:
    """An entry; a run by its members' texts and gaps."""
    if isinstance(entry, SessionEvent):
        return told_event(entry)
    return (
        entry.kind,
        entry.seq,
        entry.time,
        entry.turn,
        entry.step,
        entry.index,
        list(entry.gaps),
        list(entry.texts),
        entry.call_id,
        entry.name,
    )


async def all_entries(reader: LogReader, session: StoredSession) -> list[Entry]:
    """The log, its pages joined."""
    return [entry async for page in reader.entries(session) for entry in page]


async def answers(reader: LogReader, session_id: str) -> dict[str, Any]:
    """Everything that can be asked about one session."""
    session = await one(reader, session_id)
    seqs = range(-1, session.last_seq + 2)
    at = await reader.at(session, seqs)
    twice = [*reversed(seqs), *seqs]
    together = await reader.each_at([(session, seq) for seq in twice])
    for seq, each in zip(twice, together, strict=True):
        assert (each is None) == (seq not in at)
        assert each is None or told_placed(each) == told_placed(at[seq])
    return {
        "session": told_session(session),
        "events": [told_placed(e) for e in await reader.events(session, ALL_EVENTS, EVERYTHING)],
        "envelopes": await reader.envelopes(session, ALL_EVENTS, EVERYTHING),
        "surface": [told_placed(e) for e in await reader.surface(session, EVERYTHING)],
        "nodes": await reader.surface_nodes(session),
        "totals": await reader.conversation_totals(session),
        "at": {seq: told_placed(each) for seq, each in at.items()},
        "payloads": await reader.payloads(session, seqs),
        "replaced": [await reader.replaced_by(session, seq) for seq in seqs],
        "replacers": await reader.each_replacer([(session, seq) for seq in seqs]),
        "chains": [await reader.replacement_chain(session, seq) for seq in seqs],
        "citers": [await reader.citers(session, seq) for seq in seqs],
        "entries": [told_entry(entry) for entry in await all_entries(reader, session)],
    }


async def answers_now(store: LogStore, session_id: str) -> dict[str, Any]:
    """Everything that can be asked about one session now."""
    async with store.observe() as reader:
        return await answers(reader, session_id)


async def below(reader: LogReader, session_id: str, within: Within = None) -> list[ChildLink]:
    """The edges below a session; whether a circle's edge back to itself is given is left open."""
    links = await reader.descendants(session_id, within)
    return [link for link in links if link.session_id != session_id]


async def ids_in_order(
    reader: LogReader, order: SessionOrder = SessionOrder.CREATED, **bounds: Any
) -> list[str]:
    """The ids of the whole list."""
    rows = await reader.sessions(ALL_SESSIONS, order, limit=10_000, **bounds)
    return [row.header.session_id for row in rows]


def durable_or_skip(stores: Stores) -> Iterator[Stores]:
    """For the fixture ``durable_stores``: skips providers that keep nothing on disk."""
    if not stores.provider.durable:
        pytest.skip(f"{stores.provider.name} keeps nothing on disk")
    yield stores
