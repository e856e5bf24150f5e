"""What every log store must do, whatever it is made of.

A provider passes when it answers like :class:`tests.plain_store.PlainLogStore`, which was fed the
same entries. Handles and the values of epochs and positions are its own business; that epochs
change and positions grow is not. ``test_log_store.py`` runs this suite on every provider.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sessiongraph.cover_query import CoverQuery
from sessiongraph.directories import place_of
from sessiongraph.errors import LogConflict
from sessiongraph.event import (
    DeltaKind,
    Entry,
    PlacedEvent,
    Seq,
    SessionEvent,
    events_of,
)
from sessiongraph.filters import ALL_EVENTS, ALL_SESSIONS, EventSelection, SessionSelection
from sessiongraph.header import SessionHeader, SessionSource, SourceKind
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.ports import (
    ChildLink,
    Commit,
    CommitFeed,
    CommitKind,
    CorpusCounts,
    LogReader,
    LogStore,
    SessionKey,
    SessionOrder,
    StoredSession,
    WindowRequest,
    Within,
)
from sessiongraph.recordings import RecordingState
from sessiongraph.surface import Surface
from tests.plain_store import PlainLogStore, prefix_of, run
from tests.strategies import (
    any_text,
    corpora,
    delta_run,
    event,
    event_selections,
    header,
    headers,
    logs,
    message,
    placed,
    places,
    prompt,
    session_selections,
    splits,
    windows,
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
        "surface": [told_placed(e) for e in await reader.surface(session, EVERYTHING)],
        "nodes": await reader.surface_nodes(session),
        "totals": await reader.conversation_totals(session),
        "at": {seq: told_placed(each) for seq, each in at.items()},
        "payloads": await reader.payloads(session, seqs),
        "replaced": [await reader.replaced_by(session, seq) for seq in seqs],
        "replacers": await reader.replacers(session, seqs),
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


class LogStoreContract:
    """The suite; a subclass provides the fixture ``stores``."""

    # Creating and appending

    def test_a_new_log_is_empty(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(header("a"))
                session = await stored(store, "a")
                assert told_session(session) == (header("a"), -1, None, None)
                async with store.observe() as reader:
                    assert await reader.events(session, ALL_EVENTS, EVERYTHING) == []
                    assert await reader.surface(session, EVERYTHING) == []
                    assert await all_entries(reader, session) == []
                    assert await reader.counts() == CorpusCounts(sessions=1, events=0)

        run(scenario())

    @given(new=headers())
    def test_a_header_comes_back_as_it_was_given(self, stores: Stores, new: SessionHeader) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(new)
                assert (await stored(store, new.session_id)).header == new

        run(scenario())

    @given(log=logs())
    def test_a_log_can_be_created_with_its_first_entries(
        self, stores: Stores, log: list[Entry]
    ) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                epoch = await store.create(header("a"), placed(log))
                await write(plain, header("a"), log)
                assert (await stored(store, "a")).epoch == epoch
                assert await answers_now(store, "a") == await answers_now(plain, "a")
                async with store.observe() as reader, plain.observe() as model:
                    assert await reader.counts() == await model.counts()

        run(scenario())

    def test_an_id_that_is_taken_is_a_conflict(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation())
                before = await answers_now(store, "a")
                with pytest.raises(LogConflict):
                    await store.create(header("a", created_at=7), placed(conversation(2)))
                assert await answers_now(store, "a") == before

        run(scenario())

    def test_positions_grow_with_every_commit(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                positions = [await position_of(store)]
                epoch = await store.create(header("a"))
                positions.append(await position_of(store))
                log = placed(conversation(3))
                positions += [await store.append("a", epoch, [entry]) for entry in log]
                staged = await store.stage(header("c"))
                await staged.append(placed(conversation(2)))
                positions.append(await staged.publish(header("c")))
                assert await position_of(store) >= positions[-1]
                positions.append(await store.detach("a", epoch, []))
                await store.delete("a")
                positions.append(await position_of(store))
                assert positions == sorted(set(positions))

        run(scenario())

    @pytest.mark.parametrize("first", [0, 2, 4, 5])
    def test_an_append_at_the_wrong_seq_is_refused_and_changes_nothing(
        self, stores: Stores, first: Seq
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(3))
                before = await answers_now(store, "a")
                wrong = placed(conversation(7))[first:]
                with pytest.raises(LogConflict):
                    await append(store, "a", [wrong])
                assert await answers_now(store, "a") == before

        run(scenario())

    @pytest.mark.parametrize("limit", [4, 200])
    def test_a_read_that_is_ended_by_who_weighs_it_leaves_nothing_behind(
        self, stores: Stores, limit: int
    ) -> None:
        """What is read afterwards is of its own moment."""
        told: list[int] = []

        def refuse_the_third(size: int) -> None:
            told.append(size)
            if len(told) == 3:
                raise LookupError

        window = WindowRequest(limit, take=refuse_the_third)
        messages = ALL_EVENTS.narrowed(types=["user/message", "assistant/message"])

        async def scenario() -> None:
            log = placed(conversation(20))
            async with stores.new() as store:
                await store.create(header("a"), log[:10])
                for count in range(10, 20):
                    for read in (
                        lambda reader, session: reader.events(session, ALL_EVENTS, window),
                        lambda reader, session: reader.events(session, messages, window),
                        lambda reader, session: reader.surface(session, window),
                    ):
                        told.clear()
                        async with store.observe() as reader:
                            session = await one(reader, "a")
                            assert session.last_seq == count - 1
                            with pytest.raises(LookupError):
                                await read(reader, session)
                        assert len(told) == 3
                    await append(store, "a", [log[count : count + 1]])

        run(scenario())

    def test_an_append_under_another_epoch_is_refused_and_changes_nothing(
        self, stores: Stores
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(3))
                before = await stored(store, "a")
                with pytest.raises(LogConflict):
                    await store.append("a", before.epoch + 1, placed(conversation(4))[3:])
                assert told_session(await stored(store, "a")) == told_session(before)

        run(scenario())

    def test_an_append_to_an_unknown_log_is_a_conflict(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                with pytest.raises(LogConflict):
                    await store.append("nobody", 1, placed(conversation(1)))

        run(scenario())

    def test_an_append_can_be_repeated_at_the_right_seq_after_a_conflict(
        self, stores: Stores
    ) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                entries = placed(conversation(5))
                await store.create(header("a"))
                epoch = (await stored(store, "a")).epoch
                await store.append("a", epoch, entries[:2])
                with pytest.raises(LogConflict):
                    await store.append("a", epoch, entries[3:])
                await store.append("a", epoch, entries[2:])
                await write(plain, header("a"), conversation(5))
                assert await answers_now(store, "a") == await answers_now(plain, "a")

        run(scenario())

    def test_appends_to_many_logs_at_once_all_arrive(self, stores: Stores) -> None:
        async def scenario() -> None:
            ids = [f"session {number}" for number in range(12)]
            async with stores.twins() as (store, plain):
                work = [write(store, header(each), conversation(6), batches=3) for each in ids]
                await asyncio.gather(*work)
                await write(plain, header(ids[0]), conversation(6))
                expected = (await answers_now(plain, ids[0]))["payloads"]
                for each in ids:
                    assert (await answers_now(store, each))["payloads"] == expected

        run(scenario())

    def test_of_many_appends_at_one_seq_exactly_one_wins(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(header("a"))
                epoch = (await stored(store, "a")).epoch
                rivals = [placed([prompt(0, f"rival {number}")]) for number in range(6)]
                work = (store.append("a", epoch, rival) for rival in rivals)
                results = await asyncio.gather(*work, return_exceptions=True)
                won = [
                    rival for rival, end in zip(rivals, results, strict=True) if end in range(99)
                ]
                assert sum(isinstance(end, LogConflict) for end in results) == len(rivals) - 1
                payloads = (await answers_now(store, "a"))["payloads"]
                assert payloads == {0: won[0][0].entry.payload}  # type: ignore[union-attr]

        run(scenario())

    # Reading one log

    @given(log=logs())
    def test_every_answer_about_a_log_equals_the_plain_one(
        self, stores: Stores, log: list[Entry]
    ) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log)
                await write(plain, header("a"), log)
                assert await answers_now(store, "a") == await answers_now(plain, "a")

        run(scenario())

    @given(batches=logs(min_size=1).flatmap(splits))
    def test_a_log_is_the_same_in_whatever_batches_it_came(
        self, stores: Stores, batches: list[list[Entry]]
    ) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                log = [entry for batch in batches for entry in batch]
                entries = iter(placed(log))
                await store.create(header("a"))
                await append(store, "a", [[next(entries) for _ in batch] for batch in batches])
                await write(plain, header("a"), log)
                assert await answers_now(store, "a") == await answers_now(plain, "a")

        run(scenario())

    @given(log=logs(min_size=3), data=st.data())
    def test_event_windows_equal_the_plain_ones_under_every_filter(
        self, stores: Stores, log: list[Entry], data: st.DataObject
    ) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log)
                await write(plain, header("a"), log)
                async with store.observe() as mine, plain.observe() as theirs:
                    session, model = await one(mine, "a"), await one(theirs, "a")
                    keys = st.integers(-1, session.last_seq + 1)
                    for _ in range(8):
                        selection = data.draw(st.just(ALL_EVENTS) | event_selections())
                        window = data.draw(windows(keys))
                        found = await mine.events(session, selection, window)
                        expected = await theirs.events(model, selection, window)
                        assert [*map(told_placed, found)] == [*map(told_placed, expected)]

        run(scenario())

    @given(log=logs(min_size=3), data=st.data())
    def test_surface_windows_equal_the_plain_ones(
        self, stores: Stores, log: list[Entry], data: st.DataObject
    ) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log)
                await write(plain, header("a"), log)
                async with store.observe() as mine, plain.observe() as theirs:
                    session, model = await one(mine, "a"), await one(theirs, "a")
                    for _ in range(6):
                        window = data.draw(windows(st.integers(-1, session.last_seq + 1)))
                        found = await mine.surface(session, window)
                        expected = await theirs.surface(model, window)
                        assert [*map(told_placed, found)] == [*map(told_placed, expected)]

        run(scenario())

    @given(log=logs(min_size=1), data=st.data())
    def test_a_range_of_entries_holds_exactly_the_events_of_the_range(
        self, stores: Stores, log: list[Entry], data: st.DataObject
    ) -> None:
        """Runs at the borders may come whole."""

        async def scenario() -> None:
            events = [each for entry in log for each in events_of(entry)]
            first = data.draw(st.integers(0, len(events)))
            last = data.draw(st.none() | st.integers(0, len(events)))
            bound = len(events) if last is None else last
            async with stores.new() as store:
                await write(store, header("a"), log)
                async with store.observe() as reader:
                    session = await one(reader, "a")
                    found = [e async for page in reader.entries(session, first, last) for e in page]
                members = [each for entry in found for each in events_of(entry)]
                inside = [told_event(e) for e in members if first <= e.seq <= bound]
                assert inside == [told_event(e) for e in events if first <= e.seq <= bound]
                assert all(e.last_seq >= first and e.seq <= bound for e in found)

        run(scenario())

    @pytest.mark.parametrize("kind", DeltaKind)
    def test_a_delta_run_comes_back_as_one_entry(self, stores: Stores, kind: DeltaKind) -> None:
        async def scenario() -> None:
            texts = ["", "\ud800", "\x00", "超时 🚀", "\ufeff"]
            call = {"call_id": "c\x00", "name": "\udfff"} if kind is DeltaKind.TOOL_CALL else {}
            given_run = delta_run(1, texts, kind=kind, gaps=[-5, 0, 7, 1], **call)
            async with stores.new() as store:
                await write(store, header("a"), [prompt(0, "go"), given_run, event(6, "turn/end")])
                async with store.observe() as reader:
                    session = await one(reader, "a")
                    found = await all_entries(reader, session)
                assert told_entry(found[1]) == told_entry(given_run)

        run(scenario())

    def test_payloads_are_kept_to_the_byte(self, stores: Stores) -> None:
        async def scenario() -> None:
            texts = [
                b'{ "b":1,\t"a" : [1.0, 1e2, -0.0, 123456789012345678901234567890] }',
                b'{"lone":"\\ud800","escaped":"\\u00e9","twice":1,"twice":2}',
                '{"plain":"\u2028 \U0001f680 \x7f"}'.encode(),
                b'{"message":{"content":[]},"stream":[ {"type":"chunk"} ], "after":1}',
            ]
            names = ["a/b", "user/note", "custom/thing", "assistant/attempt"]
            log: list[Entry] = [
                SessionEvent(seq, name, 5, text)
                for seq, (name, text) in enumerate(zip(names, texts, strict=True))
            ]
            async with stores.new() as store:
                await write(store, header("a"), log)
                async with store.observe() as reader:
                    session = await one(reader, "a")
                    assert await reader.payloads(session, range(4)) == dict(enumerate(texts))
                    found = await all_entries(reader, session)
                assert [told_entry(entry)[3] for entry in found] == texts

        run(scenario())

    def test_large_events_of_many_logs_are_read_together(self, stores: Stores) -> None:
        async def scenario() -> None:
            dice = random.Random(5)
            logs = {
                f"s{n}": [prompt(0, "a"), prompt(1, dice.randbytes(50_000).hex())]
                for n in range(12)
            }
            async with stores.new() as store:
                for session_id, log in logs.items():
                    await write(store, header(session_id), log)
                async with store.observe() as reader:
                    found = await reader.find(logs)
                    wanted = [(each, seq) for seq in (1, 2, 0, -1) for each in found.values()]
                    events = await reader.each_at(wanted)
            for (session, seq), each in zip(wanted, events, strict=True):
                if seq not in (0, 1):
                    assert each is None
                    continue
                assert each is not None
                session_id = session.header.session_id
                expected = logs[session_id][seq].payload
                assert (each.session_id, each.event.payload) == (session_id, expected)

        run(scenario())

    def test_a_long_log_comes_in_pages(self, stores: Stores) -> None:
        async def scenario() -> None:
            log: list[Entry] = [event(seq, "x/y", {"n": seq}) for seq in range(6_000)]
            async with stores.new() as store:
                await write(store, header("a"), log, batches=6)
                async with store.observe() as reader:
                    session = await one(reader, "a")
                    pages = [[e.seq for e in page] async for page in reader.entries(session)]
                assert len(pages) > 1
                assert [seq for page in pages for seq in page] == list(range(6_000))

        run(scenario())

    def test_a_long_chain_of_replacements_is_followed_to_its_end(self, stores: Stores) -> None:
        async def scenario() -> None:
            length = 1_200
            log: list[Entry] = [message(0)]
            log += [message(n, replaces=(n - 1, n - 1), sources=[n - 1]) for n in range(1, length)]
            async with stores.new() as store:
                await write(store, header("a"), log)
                async with store.observe() as reader:
                    session = await one(reader, "a")
                    chain = await reader.replacement_chain(session, 0)
                    assert chain == list(range(1, length))
                    assert await reader.replacement_chain(session, length - 1) == []

        run(scenario())

    def test_the_nodes_of_the_surface_are_enough_to_go_on_appending(self, stores: Stores) -> None:
        log: list[Entry] = [
            *conversation(4),
            message(4, replaces=(0, 1), sources=[0, 1]),
            message(5, replaces=(4, 2), sources=[4, 2]),
        ]
        more = message(6, replaces=(5, 3), sources=[3, 5])

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log)
                async with store.observe() as reader:
                    session = await one(reader, "a")
                    nodes = await reader.surface_nodes(session)
                surface = Surface(lambda seq: {}, nodes, session.last_seq + 1)
                entry = PlacedEntry(more, surface.advance(more))
                await store.append("a", session.epoch, [entry])
                await write(plain, header("a"), [*log, more])
                assert await answers_now(store, "a") == await answers_now(plain, "a")

        run(scenario())

    def test_the_title_is_that_of_the_last_title_event_that_has_one(self, stores: Stores) -> None:
        titles: list[Entry] = [
            event(0, "session/title", {"title": "first"}),
            event(1, "session/title", {"title": "second \ud800"}),
            event(2, "session/title", {"title": 3}),
            event(3, "session/titled", {"title": "no title event"}),
        ]

        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(header("a"))
                seen = []
                for entry in placed(titles):
                    await append(store, "a", [[entry]])
                    seen.append((await stored(store, "a")).title)
                assert seen == ["first", "second \ud800", "second \ud800", "second \ud800"]

        run(scenario())

    def test_prompted_at_is_the_time_of_the_last_message_by_a_person(self, stores: Stores) -> None:
        injected = {"source": {"kind": "plugin"}, "content": []}
        log: list[Entry] = [
            prompt(0, "hello", time=50),
            message(1, "user/message", injected, time=60),
            message(2, "assistant/message", time=70),
            prompt(3, "a clock that ran backwards", time=40),
            message(4, "user/message", {"source": {"kind": "user"}}, time=80),
        ]

        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(header("a"))
                seen = []
                for entry in placed(log):
                    await append(store, "a", [[entry]])
                    seen.append((await stored(store, "a")).prompted_at)
                assert seen == [50, 50, 50, 40, 40]

        run(scenario())

    def test_ids_are_any_string(self, stores: Stores) -> None:
        ids = ["\x00", "a\x00b", "a", "\ud800", "\udfff\ud800", "🚀", "é", "e\u0301", " ", "A"]
        ids += ["x" * 100_000, "%", "_", "'; --", "\n"]

        async def scenario() -> None:
            async with stores.new() as store:
                for session_id in ids:
                    await write(store, header(session_id), [prompt(0, repr(session_id)[:99])])
                async with store.observe() as reader:
                    found = await reader.find([*ids, "nobody"])
                    assert set(found) == set(ids)
                    for session_id in ids:
                        (only,) = await reader.events(found[session_id], ALL_EVENTS, EVERYTHING)
                        assert only.session_id == session_id
                        expected = prompt(0, repr(session_id)[:99])
                        assert told_event(only.event) == told_event(expected)
                    assert await ids_in_order(reader) == sorted(ids)

        run(scenario())

    # One observation

    def test_an_observation_does_not_see_what_is_committed_after_it(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(3))
                await write(store, header("b"), conversation(1))
                async with store.observe() as reader:
                    position = reader.position
                    before = (await reader.counts(), await answers(reader, "a"))
                    log = [*conversation(3), message(3, replaces=(0, 2), sources=[0, 1, 2])]
                    await append(store, "a", [placed(log)[3:]])
                    await store.create(header("c"))
                    await store.delete("b")
                    await publish(store, header("d"), conversation(2))
                    assert (await reader.counts(), await answers(reader, "a")) == before
                    assert set(await reader.find(["a", "b", "c", "d"])) == {"a", "b"}
                    assert await ids_in_order(reader) == ["a", "b"]
                    assert await reader.tombstones(["b"]) == set()
                    assert reader.position == position

        run(scenario())

    def test_observations_of_different_moments_stand_side_by_side(self, stores: Stores) -> None:
        async def see_and_go_on(store: LogStore, rest: list[PlacedEntry], epoch: int) -> list[int]:
            async with store.observe() as reader:
                first = (await one(reader, "a")).last_seq
                if not rest:
                    return [first]
                await store.append("a", epoch, rest[:1])
                later = await see_and_go_on(store, rest[1:], epoch)
                assert (await one(reader, "a")).last_seq == first
                return [first, *later]

        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(header("a"))
                epoch = (await stored(store, "a")).epoch
                seen = await see_and_go_on(store, placed(conversation(3)), epoch)
                assert seen == [-1, 0, 1, 2]

        run(scenario())

    def test_questions_of_one_observation_can_be_asked_at_once(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(5))
                expected = await answers_now(store, "a")
                async with store.observe() as reader:
                    found = await asyncio.gather(*(answers(reader, "a") for _ in range(8)))
                assert found == [expected] * 8

        run(scenario())

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

    # Staging

    @given(log=logs(min_size=1), data=st.data())
    def test_a_staged_log_is_invisible_until_it_is_published(
        self, stores: Stores, log: list[Entry], data: st.DataObject
    ) -> None:
        batches = data.draw(splits(log))

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await store.create(header("parent"))
                child = header("a", parent_session="parent")
                staged = await store.stage(child)
                entries = iter(placed(log))
                for batch in batches:
                    await staged.append([next(entries) for _ in batch])
                    async with store.observe() as reader:
                        assert await reader.find(["a"]) == {}
                        assert await ids_in_order(reader) == ["parent"]
                        assert await reader.descendants("parent") == []
                        assert await reader.counts() == CorpusCounts(sessions=1, events=0)
                await staged.publish(child)
                await write(plain, child, log)
                assert await answers_now(store, "a") == await answers_now(plain, "a")
                async with store.observe() as reader:
                    assert await reader.descendants("parent") == [
                        ChildLink("a", "parent", child.created_at)
                    ]

        run(scenario())

    def test_payloads_of_staged_events_and_of_those_before_them_can_be_read(
        self, stores: Stores
    ) -> None:
        attempt = event(3, "assistant/attempt", {"stream": ["a", "b"], "z": 1})
        log = [*conversation(3), attempt, delta_run(4, ["x", "y"]), *conversation(7)[6:]]
        expected = {entry.seq: entry.payload for entry in log if isinstance(entry, SessionEvent)}

        async def scenario() -> None:
            async with stores.new() as store:
                staged = await store.stage(header("a"))
                await staged.append(placed(log)[:2])
                await staged.append(placed(log)[2:4])
                for seq in range(4):
                    assert await staged.payload(seq) == expected[seq]
                await staged.publish(header("a"))
                growth = await store.stage_growth(await stored(store, "a"))
                await growth.append(placed(log)[4:])
                assert {seq: await growth.payload(seq) for seq in expected} == expected
                await growth.abandon()

        run(scenario())

    def test_the_header_given_at_publishing_is_the_one_that_stands(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                staged = await store.stage(header("a"))
                await staged.append(placed(conversation(2)))
                final = header("a", seed_length=1, extra={"noted": "at the end"})
                await staged.publish(final)
                assert (await stored(store, "a")).header == final

        run(scenario())

    def test_an_abandoned_log_leaves_nothing_and_its_id_is_free(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                staged = await store.stage(header("a"))
                await staged.append(placed(conversation(3)))
                await staged.abandon()
                async with store.observe() as reader:
                    assert await reader.counts() == CorpusCounts(sessions=0, events=0)
                await write(store, header("a"), conversation(2))
                await write(plain, header("a"), conversation(2))
                assert await answers_now(store, "a") == await answers_now(plain, "a")

        run(scenario())

    @given(old=logs(max_size=6), new=logs(max_size=6))
    def test_a_staged_log_takes_the_place_of_a_stored_one_under_a_new_epoch(
        self, stores: Stores, old: list[Entry], new: list[Entry]
    ) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), old)
                before = await stored(store, "a")
                as_before = await answers_now(store, "a")
                staged = await store.stage(header("a", created_at=5))
                await staged.append(placed(new))
                async with store.observe() as reader:
                    assert await answers(reader, "a") == as_before
                    await staged.publish(header("a", created_at=5))
                    assert await answers(reader, "a") == as_before
                await write(plain, header("a", created_at=5), new)
                assert await answers_now(store, "a") == await answers_now(plain, "a")
                after = await stored(store, "a")
                assert after.epoch != before.epoch
                async with store.observe() as reader:
                    events = sum(entry.last_seq - entry.seq + 1 for entry in new)
                    assert await reader.counts() == CorpusCounts(sessions=1, events=events)

        run(scenario())

    def test_a_replaced_log_takes_no_appends_under_its_old_epoch(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(2))
                old = await stored(store, "a")
                await publish(store, header("a"), conversation(2))
                with pytest.raises(LogConflict):
                    await store.append("a", old.epoch, placed(conversation(3))[2:])
                assert (await stored(store, "a")).last_seq == 1

        run(scenario())

    @given(batches=logs(min_size=2).flatmap(splits), base=st.integers(0, 3))
    def test_growth_is_invisible_until_published_though_it_replaces_older_nodes(
        self, stores: Stores, batches: list[list[Entry]], base: int
    ) -> None:
        log = [entry for batch in batches for entry in batch]
        start = sum(len(batch) for batch in batches[:base])

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log[:start])
                before, as_before = await stored(store, "a"), await answers_now(store, "a")
                growth = await store.stage_growth(before)
                entries = iter(placed(log)[start:])
                for batch in batches[base:]:
                    await growth.append([next(entries) for _ in batch])
                    assert await answers_now(store, "a") == as_before
                noted = header("a", extra={"grew": True})
                await growth.publish(noted)
                await write(plain, noted, log)
                assert await answers_now(store, "a") == await answers_now(plain, "a")
                assert (await stored(store, "a")).epoch == before.epoch

        run(scenario())

    def test_abandoned_growth_leaves_the_log_as_it_was_and_open_to_appends(
        self, stores: Stores
    ) -> None:
        log = [*conversation(3), message(3, replaces=(0, 1), sources=[0, 1])]
        other = [*conversation(3), message(3, replaces=(1, 2), sources=[1, 2])]

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log[:3])
                before = await answers_now(store, "a")
                growth = await store.stage_growth(await stored(store, "a"))
                await growth.append(placed(log)[3:])
                await growth.abandon()
                assert await answers_now(store, "a") == before
                await append(store, "a", [placed(other)[3:]])
                await write(plain, header("a"), other)
                assert await answers_now(store, "a") == await answers_now(plain, "a")

        run(scenario())

    @pytest.mark.parametrize("meanwhile", ["append", "replace", "delete", "grow"])
    def test_growth_of_a_log_that_changed_meanwhile_is_a_conflict(
        self, stores: Stores, meanwhile: str
    ) -> None:
        log = [*conversation(3), message(3, replaces=(0, 1), sources=[0, 1])]
        other = [*conversation(3), message(3, replaces=(1, 2), sources=[1, 2])]

        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), log[:3])
                base = await stored(store, "a")
                growth = await store.stage_growth(base)
                await growth.append(placed(log)[3:])
                if meanwhile == "append":
                    await append(store, "a", [placed(other)[3:]])
                elif meanwhile == "replace":
                    await publish(store, header("a"), log[:3])
                elif meanwhile == "delete":
                    await store.delete("a")
                else:
                    rival = await store.stage_growth(base)
                    await rival.append(placed(other)[3:])
                    await rival.publish(header("a"))
                async with store.observe() as reader:
                    position, counts = reader.position, await reader.counts()
                    before = None if meanwhile == "delete" else await answers(reader, "a")
                with pytest.raises(LogConflict):
                    await growth.publish(header("a", extra={"must": "not show"}))
                await growth.abandon()
                async with store.observe() as reader:
                    assert (reader.position, await reader.counts()) == (position, counts)
                    if before is not None:
                        assert await answers(reader, "a") == before

        run(scenario())

    # Forking

    @given(log=logs(min_size=1), data=st.data())
    def test_a_fork_begins_with_the_events_up_to_the_boundary_and_goes_on_by_itself(
        self, stores: Stores, log: list[Entry], data: st.DataObject
    ) -> None:
        last = log[-1].last_seq
        boundary = data.draw(st.just(last) | st.integers(0, last))
        child = header("child", parent_session="a", seed_length=boundary + 1)
        prefix = prefix_of(log, boundary)
        own: list[Entry] = [event(boundary + 1, "session/end-seed"), prompt(boundary + 2, "own")]
        step = placed([*prefix, *own])[len(prefix) :]

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log)
                source, before = await stored(store, "a"), await answers_now(store, "a")
                fork = await store.fork(source, boundary, child)
                await fork.append(step[:1])
                async with store.observe() as reader:
                    assert await reader.find(["child"]) == {}
                    assert await ids_in_order(reader) == ["a"]
                await fork.publish(child)
                await append(store, "child", [step[1:]])
                await write(plain, child, [*prefix, *own])
                assert await answers_now(store, "child") == await answers_now(plain, "child")
                assert await answers_now(store, "a") == before
                async with store.observe() as reader:
                    counts = CorpusCounts(sessions=2, events=last + 1 + boundary + 3)
                    assert await reader.counts() == counts

        run(scenario())

    def test_a_fork_of_a_fork_outlives_both_its_ancestors(self, stores: Stores) -> None:
        log = [*conversation(3), message(3, replaces=(0, 1), sources=[0, 1]), prompt(4, "end")]

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log)
                for parent, child, boundary in [("a", "b", 3), ("b", "c", 2)]:
                    new = header(child, parent_session=parent)
                    fork = await store.fork(await stored(store, parent), boundary, new)
                    await fork.publish(new)
                await store.delete("a")
                await store.delete("b")
                await write(plain, header("c", parent_session="b"), log[:3])
                assert await answers_now(store, "c") == await answers_now(plain, "c")

        run(scenario())

    def test_a_fork_whose_id_is_taken_meanwhile_is_a_conflict(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(3))
                fork = await store.fork(await stored(store, "a"), 1, header("b"))
                await write(store, header("b"), conversation(1))
                before = await answers_now(store, "b")
                with pytest.raises(LogConflict):
                    await fork.publish(header("b"))
                await fork.abandon()
                assert await answers_now(store, "b") == before

        run(scenario())

    def test_an_abandoned_fork_leaves_nothing(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(3))
                before = await answers_now(store, "a")
                fork = await store.fork(await stored(store, "a"), 1, header("b"))
                await fork.abandon()
                async with store.observe() as reader:
                    assert await ids_in_order(reader) == ["a"]
                    assert await reader.counts() == CorpusCounts(sessions=1, events=3)
                    assert await answers(reader, "a") == before

        run(scenario())

    @pytest.mark.parametrize("meanwhile", ["replace", "delete"])
    def test_a_fork_of_a_log_that_is_gone_is_whole_or_a_conflict(
        self, stores: Stores, meanwhile: str
    ) -> None:
        log = conversation(40)

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log)
                await write(plain, header("b"), log[:30])
                source = await stored(store, "a")
                if meanwhile == "replace":
                    await publish(store, header("a"), conversation(2))
                else:
                    await store.delete("a")
                try:
                    fork = await store.fork(source, 29, header("b"))
                    await fork.publish(header("b"))
                except LogConflict:
                    async with store.observe() as reader:
                        assert await reader.find(["b"]) == {}
                else:
                    assert await answers_now(store, "b") == await answers_now(plain, "b")

        run(scenario())

    # Detaching

    def test_a_detached_log_names_no_file_and_keeps_everything_else(self, stores: Stores) -> None:
        file = SessionSource(SourceKind.DSH, "/log", 5, ("torn",))
        recording = RecordingState("/log", "a", 10, 1, 10, 3, 2, "f")

        async def scenario() -> None:
            async with stores.new() as store:
                await publish(store, header("a", source=file), conversation(3), recording)
                before, as_before = await stored(store, "a"), await answers_now(store, "a")
                await store.detach("a", before.epoch, ["torn", "resumed here"])
                source = replace(file, path=None, notes=("torn", "resumed here"))
                after = await stored(store, "a")
                assert after.header == header("a", source=source)
                assert (after.epoch, after.last_seq) == (before.epoch, before.last_seq)
                now = await answers_now(store, "a")
                assert {**now, "session": None} == {**as_before, "session": None}
                async with store.observe() as reader:
                    assert await reader.recording("/log") is None

        run(scenario())

    def test_of_a_log_that_was_replaced_no_other_file_is_remembered(self, stores: Stores) -> None:
        first = RecordingState("/first", "a", 10, 1, 10, 3, 2, "f", b"m")
        other = replace(first, path="/other")
        second = replace(first, path="/second", fingerprint="g")
        apart = replace(first, path="/apart", session_id="b")

        async def scenario() -> None:
            async with stores.new() as store:
                await publish(store, header("a"), conversation(3), first)
                await publish(store, header("b"), conversation(3), apart)
                await store.remember_recording(other)
                await publish(store, header("a"), conversation(2), second)
                async with store.observe() as reader:
                    paths = ("/first", "/other", "/second", "/apart")
                    found = [await reader.recording(path) for path in paths]
                assert found == [None, None, second, apart]

        run(scenario())

    def test_detaching_under_another_epoch_or_what_is_gone_is_a_conflict(
        self, stores: Stores
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                epoch = await store.create(header("a"))
                for session_id, wrong in [("a", epoch + 1), ("b", epoch)]:
                    with pytest.raises(LogConflict):
                        await store.detach(session_id, wrong, [])

        run(scenario())

    # Recordings

    @given(
        path=any_text,
        numbers=st.lists(st.integers(0, 2**62), min_size=5, max_size=5),
        memory=st.binary(max_size=9),
    )
    def test_how_far_a_recording_was_read_comes_back_as_it_was_left(
        self, stores: Stores, path: str, numbers: list[int], memory: bytes
    ) -> None:
        size, modified, offset, line, seq = numbers
        session_id = "a\x00\ud800"
        state = RecordingState(
            path, session_id, size, modified, offset, line, seq, "f" * 32, memory
        )

        async def scenario() -> None:
            async with stores.new() as store:
                staged = await store.stage(header(state.session_id))
                async with store.observe() as reader:
                    assert await reader.recording(path) is None
                await staged.publish(header(state.session_id), state)
                async with store.observe() as reader:
                    assert await reader.recording(path) == state
                looked = replace(state, size=size // 2, modified_ns=0)
                await store.remember_recording(looked)
                async with store.observe() as reader:
                    assert await reader.recording(path) == looked
                    assert await reader.recording(path + "x") is None

        run(scenario())

    def test_growth_and_its_recording_become_visible_together(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                first = RecordingState("/log", "a", 10, 1, 10, 3, 2, "first")
                await publish(store, header("a"), conversation(2), first)
                growth = await store.stage_growth(await stored(store, "a"))
                await growth.append(placed(conversation(4))[2:])
                second = RecordingState("/log", "a", 20, 2, 20, 5, 4, "second")
                seen = []
                for publishes in (False, True):
                    if publishes:
                        await growth.publish(header("a"), second)
                    async with store.observe() as reader:
                        last_seq = (await one(reader, "a")).last_seq
                        seen.append((last_seq, await reader.recording("/log")))
                assert seen == [(1, first), (3, second)]

        run(scenario())

    def test_a_conflicting_growth_does_not_move_its_recording(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                first = RecordingState("/log", "a", 10, 1, 10, 3, 2, "first")
                await publish(store, header("a"), conversation(2), first)
                growth = await store.stage_growth(await stored(store, "a"))
                await growth.append(placed(conversation(4))[2:])
                await append(store, "a", [placed(conversation(3))[2:]])
                with pytest.raises(LogConflict):
                    await growth.publish(header("a"), replace(first, size=20))
                await growth.abandon()
                async with store.observe() as reader:
                    assert await reader.recording("/log") == first

        run(scenario())

    # The feed of commits

    @given(log=logs(min_size=1), data=st.data())
    def test_the_feed_tells_what_was_done_in_the_order_in_which_it_was_done(
        self, stores: Stores, log: list[Entry], data: st.DataObject
    ) -> None:
        cut = data.draw(st.integers(0, len(log)))
        file = SessionSource(SourceKind.DSH, "/log", 5)

        async def act(store: LogStore) -> list[int]:
            """Everything that commits; answers the epochs of ``a`` in the order it had them."""
            epochs = [await store.create(header("a"), placed(log)[:cut])]
            if cut < len(log):
                await append(store, "a", [placed(log)[cut:]])
            fork = await store.fork(await stored(store, "a"), 0, header("child"))
            await fork.publish(header("child"))
            await publish(store, header("a", source=file), conversation(2))
            epochs.append((await stored(store, "a")).epoch)
            growth = await store.stage_growth(await stored(store, "a"))
            await growth.append(placed(conversation(3))[2:])
            await growth.publish(header("a", source=file))
            await store.detach("a", epochs[-1], [])
            await store.delete("a")
            await store.delete("a")
            abandoned = await store.stage(header("b"))
            await abandoned.abandon()
            await publish(store, header("c"), conversation(1))
            return epochs

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                epochs, _ = await act(store), await act(plain)
                commits = await commits_through(store, await position_of(store))
                model = await commits_through(plain, await position_of(plain))
                assert [told_commit(each) for each in commits] == [told_commit(e) for e in model]
                positions = [each.position for each in commits]
                assert positions == sorted(set(positions))
                of_a = [each for each in commits if each.session_id == "a"]
                begins = [each.kind is CommitKind.REPLACED for each in of_a].index(True)
                assert {each.epoch for each in of_a[:begins]} == {epochs[0]}
                assert {each.epoch for each in of_a[begins:]} == {epochs[1]}

        run(scenario())

    def test_the_feed_can_be_followed_from_any_position_and_while_it_grows(
        self, stores: Stores
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                epoch = await store.create(header("a"))
                log = placed(conversation(12))
                for entry in log[:6]:
                    await store.append("a", epoch, [entry])
                middle = await position_of(store)
                known = await commits_through(store, middle)
                starts = [0, *(each.position for each in known)]

                async def follow(after: int) -> list[Commit]:
                    found: list[Commit] = []
                    async for commits in feed_of(store).follow(after):
                        found += commits
                        if any(each.session_id == "the end" for each in commits):
                            break
                    return found

                following = [asyncio.create_task(follow(start)) for start in starts]
                for entry in log[6:]:
                    await store.append("a", epoch, [entry])
                    await asyncio.sleep(0)
                await store.create(header("the end"))
                everything = await commits_through(store, await position_of(store))
                for start, follower in zip(starts, following, strict=True):
                    expected = [each for each in everything if each.position > start]
                    assert await follower == expected

        run(scenario())

    def test_following_ends_with_the_store(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(header("a"))
                following = asyncio.create_task(commits_through(store, 10**9))
                await asyncio.sleep(0)
            assert [each.kind for each in await following] == [CommitKind.CREATED]
            assert await commits_through(store, 10**9) == []

        run(scenario())

    # Deleting

    def test_a_deleted_log_is_gone_and_leaves_a_tombstone(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(3))
                await write(store, header("b", parent_session="a"), conversation(2))
                epoch = (await stored(store, "a")).epoch
                assert await store.delete("a") is True
                async with store.observe() as reader:
                    assert set(await reader.find(["a", "b"])) == {"b"}
                    assert await ids_in_order(reader) == ["b"]
                    assert await reader.counts() == CorpusCounts(sessions=1, events=2)
                    assert await reader.tombstones(["a", "b", "c"]) == {"a"}
                    assert (await reader.ancestors(["b"])).get("b", []) == []
                    assert [link.session_id for link in await reader.descendants("a")] == ["b"]
                with pytest.raises(LogConflict):
                    await store.append("a", epoch, placed(conversation(4))[3:])

        run(scenario())

    def test_deleting_what_is_not_there_says_so(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(header("a"))
                assert await store.delete("b") is False
                assert await store.delete("a") is True
                assert await store.delete("a") is False
                async with store.observe() as reader:
                    assert await reader.tombstones(["a", "b"]) == {"a"}

        run(scenario())

    def test_an_id_that_is_created_again_has_another_epoch_and_an_empty_log(
        self, stores: Stores
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                epochs = []
                for _ in range(3):
                    await write(store, header("a"), conversation(2))
                    epochs.append((await stored(store, "a")).epoch)
                    await store.delete("a")
                await store.create(header("a"))
                last = await stored(store, "a")
                assert len({*epochs, last.epoch}) == 4
                assert told_session(last) == (header("a"), -1, None, None)
                async with store.observe() as reader:
                    assert await reader.surface(last, EVERYTHING) == []
                    assert await reader.citers(last, 0) == []

        run(scenario())

    def test_creating_a_deleted_id_takes_the_tombstone_away(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(header("a"))
                await store.delete("a")
                await store.create(header("a"))
                async with store.observe() as reader:
                    assert await reader.tombstones(["a"]) == set()

        run(scenario())

    def test_publishing_a_deleted_id_takes_the_tombstone_away(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(2))
                await store.delete("a")
                await publish(store, header("a"), conversation(1))
                async with store.observe() as reader:
                    assert await reader.tombstones(["a"]) == set()
                    assert (await one(reader, "a")).last_seq == 0

        run(scenario())

    # Opening again

    @given(log=logs())
    def test_everything_is_there_when_the_store_is_opened_again(
        self, durable_stores: Stores, log: list[Entry]
    ) -> None:
        recording = RecordingState("/log", "staged", 1, 2, 3, 4, 5, "f")

        async def scenario() -> None:
            path = durable_stores.new_path()
            async with durable_stores.at(path) as store:
                await write(store, header("a"), log, batches=2)
                await publish(store, header("staged"), log, recording)
                await store.create(header("gone"))
                await store.delete("gone")
                before = [await answers_now(store, each) for each in ("a", "staged")]
                session = await stored(store, "a")
                async with store.observe() as reader:
                    position, counts = reader.position, await reader.counts()
            async with durable_stores.at(path) as store:
                assert [await answers_now(store, each) for each in ("a", "staged")] == before
                assert (await stored(store, "a")).epoch == session.epoch
                async with store.observe() as reader:
                    assert (reader.position, await reader.counts()) == (position, counts)
                    assert await reader.recording("/log") == recording
                    assert await reader.tombstones(["gone", "a"]) == {"gone"}

        run(scenario())

    def test_a_log_goes_on_where_it_was_when_the_store_is_opened_again(
        self, durable_stores: Stores
    ) -> None:
        log = [*conversation(3), message(3, replaces=(0, 1), sources=[0, 1])]

        async def scenario() -> None:
            path = durable_stores.new_path()
            async with durable_stores.at(path) as store:
                await write(store, header("a"), log[:3])
            async with durable_stores.at(path) as store:
                await append(store, "a", [placed(log)[3:]])
                plain = PlainLogStore()
                await write(plain, header("a"), log)
                assert await answers_now(store, "a") == await answers_now(plain, "a")

        run(scenario())

    def test_what_was_staged_and_not_published_is_gone_when_the_store_is_opened_again(
        self, durable_stores: Stores
    ) -> None:
        log = [*conversation(3), message(3, replaces=(0, 1), sources=[0, 1])]

        async def scenario() -> None:
            path = durable_stores.new_path()
            async with durable_stores.at(path) as store:
                await write(store, header("a"), log[:3])
                before = await answers_now(store, "a")
                growth = await store.stage_growth(await stored(store, "a"))
                await growth.append(placed(log)[3:])
                staged = await store.stage(header("b"))
                await staged.append(placed(conversation(2)))
            async with durable_stores.at(path) as store:
                assert await answers_now(store, "a") == before
                async with store.observe() as reader:
                    assert await reader.find(["b"]) == {}
                    assert await reader.counts() == CorpusCounts(sessions=1, events=3)
                await append(store, "a", [placed(log)[3:]])
                assert (await stored(store, "a")).last_seq == 3

        run(scenario())

    def test_the_feed_goes_on_where_it_was_when_the_store_is_opened_again(
        self, durable_stores: Stores
    ) -> None:
        async def scenario() -> None:
            path = durable_stores.new_path()
            async with durable_stores.at(path) as store:
                await write(store, header("a"), conversation(2))
                before = await commits_through(store, await position_of(store))
            async with durable_stores.at(path) as store:
                await store.delete("a")
                again = await commits_through(store, before[-1].position)
                assert again[: len(before)] == before
                (deletion,) = await commits_through(
                    store, await position_of(store), before[-1].position
                )
                assert told_commit(deletion) == (CommitKind.DELETED, "a", 0, 1, False, None)

        run(scenario())

    def test_epochs_and_positions_never_repeat_across_openings(
        self, durable_stores: Stores
    ) -> None:
        async def scenario() -> None:
            path = durable_stores.new_path()
            epochs, positions = [], []
            for _ in range(3):
                async with durable_stores.at(path) as store:
                    epochs.append(await store.create(header("a")))
                    positions.append(await position_of(store))
                    await store.delete("a")
            assert len(set(epochs)) == 3
            assert positions == sorted(set(positions))

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


def durable_or_skip(stores: Stores) -> Iterator[Stores]:
    """For the fixture ``durable_stores``: skips providers that keep nothing on disk."""
    if not stores.provider.durable:
        pytest.skip(f"{stores.provider.name} keeps nothing on disk")
    yield stores
