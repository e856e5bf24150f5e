"""Filled stores: corpora written straight through the log store's port, no file in between.

Each ``build_`` function makes one store of one shape, the same on every run, and is called in a
process of its own, so that building leaves nothing in the memory of what is measured afterwards.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from benchmarks.conversations import BEGINNING_MS, Conversation, Habits
from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.corpus import Corpus
from sessiongraph.cursor import KEY_BYTES, CursorCodec
from sessiongraph.event import APPEND, Entry, Seq, SessionEvent
from sessiongraph.header import SessionHeader
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.ports import LogStore, StoredSession
from sessiongraph.query import SessionQuery
from sessiongraph.surface import Surface

T = TypeVar("T")

DEEP, WIDE, BUSHY = "deep", "wide", "bushy"
"""Families of sessions: a chain, one parent of all, three children each."""

PROJECTS: Final = 10
_STAGED_AT_ONCE: Final = 1000
_WRITTEN_AT_ONCE: Final = 256
_CHILDREN: Final = 3
_COPIED: Final = 8
_DAY_MS: Final = 86_400_000


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[SqliteLogStore]:
    """The store at a path, made when there is none."""
    store = await asyncio.to_thread(SqliteLogStore.open, path)
    try:
        yield store
    finally:
        await store.close()


def query_over(store: LogStore) -> SessionQuery:
    """The reading service, with the limits that a server has when nobody sets them."""
    return SessionQuery(Corpus(store), CursorCodec(b"b" * KEY_BYTES))


def placed(entries: Iterable[Entry]) -> Iterator[PlacedEntry]:
    """A whole log's entries with their transitions."""
    surface = Surface(_nothing_is_asked)
    return (PlacedEntry(entry, surface.advance(entry)) for entry in entries)


async def write_session(store: LogStore, header: SessionHeader, entries: Iterable[Entry]) -> None:
    """A session of any length, staged and published."""
    staged = await store.stage(header)
    for batch in batches(placed(entries), _STAGED_AT_ONCE):
        await staged.append(batch)
    await staged.publish(header)


async def create_session(
    store: LogStore, header: SessionHeader, entries: Iterable[Entry] = ()
) -> int:
    """A short session, appended at once; its epoch."""
    epoch = await store.create(header)
    log = list(placed(entries))
    if log:
        await store.append(header.session_id, epoch, log)
    return epoch


async def many_at_once(work: Iterable[Awaitable[T]]) -> list[T]:
    """Await all, some hundred at a time, so that they share commits."""
    results: list[T] = []
    for batch in batches(work, _WRITTEN_AT_ONCE):
        results.extend(await asyncio.gather(*batch))
    return results


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items in order, ``size`` at a time."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def build_long_sessions(path: Path, events: dict[str, int], streamed: frozenset[str]) -> None:
    """One session for each name, of so many events; those in ``streamed`` have their deltas."""

    async def build() -> None:
        async with opened(path) as store:
            for seed, (name, count) in enumerate(events.items()):
                talk = Conversation(seed, Habits(streamed=name in streamed))
                await write_session(store, header_of(name, 0), talk.entries(count))

    asyncio.run(build())


def build_corpus(path: Path, sessions: int, events_each: int) -> None:
    """Many short sessions over ten projects; every tenth belongs to one of ten parents."""

    async def build() -> None:
        async with opened(path) as store:
            await many_at_once(
                create_session(store, header, _short_log(number, header, events_each))
                for number, header in enumerate(_corpus_headers(sessions))
            )

    asyncio.run(build())


def build_copies(path: Path, session_ids: Sequence[str], events_each: int) -> None:
    """A session of so many events for each id, copied from a few; those are there as well."""

    async def copy(store: LogStore, source: StoredSession, header: SessionHeader) -> None:
        staged = await store.fork(source, source.last_seq, header)
        await staged.publish(header)

    async def build() -> None:
        async with opened(path) as store:
            names = [f"copied {number}" for number in range(_COPIED)]
            for seed, name in enumerate(names):
                await write_session(
                    store, header_of(name, seed), Conversation(seed).entries(events_each)
                )
            async with store.observe() as reader:
                sources = list((await reader.find(names)).values())
            await many_at_once(
                copy(store, sources[number % _COPIED], header_of(session_id, number))
                for number, session_id in enumerate(session_ids)
            )

    asyncio.run(build())


def build_families(path: Path, families: dict[str, int]) -> None:
    """For each shape a family of so many sessions without events."""

    async def build() -> None:
        async with opened(path) as store:
            for shape, size in families.items():
                headers = (family_member(shape, number) for number in range(size))
                await many_at_once(store.create(header) for header in headers)

    asyncio.run(build())


def build_reference_shapes(path: Path, sessions: int, events_each: int, long_events: int) -> None:
    """One family of sessions with a log each, and one long session beside it."""

    async def build() -> None:
        async with opened(path) as store:
            await many_at_once(
                create_session(
                    store, family_member(BUSHY, number), Conversation(number).entries(events_each)
                )
                for number in range(sessions)
            )
            talk = Conversation(sessions)
            await write_session(store, header_of("long", 0), talk.entries(long_events))

    asyncio.run(build())


def header_of(session_id: str, number: int, **members: Any) -> SessionHeader:
    """A header whose time grows with the number."""
    members = {"cwd": f"/projects/{number % PROJECTS}", **members}
    return SessionHeader(0, session_id, BEGINNING_MS + number * 1000, **members)


def family_member(shape: str, number: int) -> SessionHeader:
    """A session of a family; number 0 is the root of all others."""
    parent = {DEEP: number - 1, WIDE: 0, BUSHY: (number - 1) // _CHILDREN}[shape]
    return header_of(
        f"{shape}-{number}", number, parent_session=None if number == 0 else f"{shape}-{parent}"
    )


def prompt(seq: Seq, time: int, text: str) -> SessionEvent:
    """A message by a person, appended to the surface."""
    block = {"type": "text", "text": text}
    data = {"id": f"m-{seq}", "role": "user", "source": {"kind": "user"}, "content": [block]}
    return SessionEvent(seq, "user/message", time, msgspec.json.encode(data), APPEND)


def _corpus_headers(sessions: int) -> Iterator[SessionHeader]:
    chance = random.Random(sessions)
    for number in range(sessions):
        parent = f"parent-{number % 10}" if chance.random() < 0.1 else None
        yield SessionHeader(
            0,
            f"session-{number:06}-{chance.randrange(10**9)}",
            BEGINNING_MS - chance.randrange(400 * _DAY_MS),
            cwd=f"/projects/{chance.randrange(PROJECTS)}",
            parent_session=parent,
            origin="subagent" if parent else None,
        )


def _short_log(number: int, header: SessionHeader, events: int) -> Iterator[SessionEvent]:
    for seq in range(events):
        time = header.created_at + seq * 1000
        if seq == 1:
            title = {"title": f"修复 retry ledger, part {number}", "messageSeqs": [0]}
            yield SessionEvent(seq, "session/title", time, msgspec.json.encode(title))
        else:
            yield prompt(seq, time, f"look at the ledger of project {number}")


def _nothing_is_asked(seq: Seq) -> NoReturn:
    raise AssertionError(f"no corpus replaces a tool result, yet {seq} was asked for")
