"""What is handed over from memory is what the store holds, or it is not handed over."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from providers.sqlite.checkpoints import SqliteCheckpointStore
from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.corpus import Corpus
from sessiongraph.event import SessionEvent
from sessiongraph.filters import ALL_EVENTS
from sessiongraph.live_sessions import LiveSessions
from sessiongraph.new_event import NewEvent
from sessiongraph.new_session import NewSession
from sessiongraph.ports import Commit, LogReader, WindowRequest
from sessiongraph.projections.registry import Registry
from sessiongraph.projections.service import Projections
from sessiongraph.projections.units import FIRST_PARTY
from sessiongraph.recent_events import RecentEvents
from sessiongraph.search.growth import changes_of
from sessiongraph.search.ports import IndexChange, Learn
from sessiongraph.writing import SessionWriting
from tests.plain_store import run
from tests.sessiongraph.live_engine import BEGINNING_MS, DURABLE, PROMPT
from tests.sessiongraph.projections.driven import until
from tests.strategies import event, user_message

_numbers = count()
_PAGE = WindowRequest(1000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recent")


class CountingStore(SqliteLogStore):
    """Counts who looks into it."""

    looks = 0

    @override
    def observe(self) -> AbstractAsyncContextManager[LogReader]:
        self.looks += 1
        return super().observe()


class Writer:
    """Sessions that are written to over a real file, their events kept for followers."""

    def __init__(self, path: Path, octets: int = 1 << 20) -> None:
        self.store = CountingStore.open(path)
        self.recent = RecentEvents(octets)
        self.live = LiveSessions(self.store, PROMPT, recent=self.recent)
        self.writing = SessionWriting(
            self.store, Corpus(self.store, self.live), self.live, lambda: BEGINNING_MS
        )

    async def begin(self, session_id: str) -> None:
        await self.writing.create(NewSession(session_id=session_id), DURABLE)

    async def say(self, session_id: str, texts: list[str]) -> None:
        events = [NewEvent.of("user/message", user_message(text)) for text in texts]
        await self.writing.append(session_id, events, None, DURABLE)

    async def commits(self) -> list[Commit]:
        async with self.store.observe() as reader:
            last = reader.position
        found: list[Commit] = []
        if last:
            async for some in self.store.follow(0):
                found += some
                if found[-1].position >= last:
                    break
        return found

    async def stored(self, session_id: str, epoch: int) -> list[SessionEvent] | None:
        """The log as it is read; None when it is gone."""
        async with self.store.observe() as reader:
            session = (await reader.find([session_id])).get(session_id)
            if session is None or session.epoch != epoch:
                return None
            placed = await reader.events(session, ALL_EVENTS, _PAGE)
            return [each.event for each in placed]


@given(
    batches=st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 4), st.integers(1, 9))),
    most=st.integers(0, 40),
    asked=st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 12), st.integers(-1, 6)),
)
def test_the_latest_batches_are_kept_and_given_whole_or_not_at_all(
    batches: list[tuple[str, int, int]], most: int, asked: tuple[str, int, int]
) -> None:
    recent = RecentEvents(most)
    logs: dict[str, list[SessionEvent]] = {"a": [], "b": []}
    added: list[tuple[str, list[SessionEvent], int]] = []
    for session_id, size, octets in batches:
        log = logs[session_id]
        events = [event(len(log) + number) for number in range(size)]
        log += events
        added.append((session_id, events, octets))
        recent.add(session_id, 7, events, octets)
    while sum(octets for _, _, octets in added) > most:
        added.pop(0)
    session_id, first, more = asked
    kept = {each.seq: each for name, events, _ in added if name == session_id for each in events}
    wanted = range(first, first + more + 1)
    expected = [kept[seq] for seq in wanted] if all(seq in kept for seq in wanted) else None
    assert recent.between(session_id, 7, first, first + more) == expected
    if wanted:
        assert recent.between(session_id, 8, first, first + more) is None


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.sampled_from("ab"), st.lists(st.text(), min_size=1)),
        st.tuples(st.sampled_from(["delete", "close", "resume"]), st.sampled_from("ab")),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(steps=_STEPS, octets=st.sampled_from([0, 3000, 1 << 20]))
def test_what_a_commit_brought_is_given_as_the_store_has_it(
    folder: Path, steps: list[Any], octets: int
) -> None:
    async def scenario() -> None:
        writer = Writer(folder / f"{next(_numbers)}.db", octets)
        try:
            for kind, session_id, *texts in steps:
                live = writer.live.get(session_id) is not None
                if kind == "say":
                    if not live:
                        async with writer.store.observe() as reader:
                            is_stored = session_id in await reader.find([session_id])
                        if is_stored:
                            await writer.writing.resume(session_id)
                        else:
                            await writer.begin(session_id)
                    await writer.say(session_id, *texts)
                elif kind == "delete":
                    await writer.writing.delete(session_id)
                elif kind == "close" and live:
                    await writer.writing.close(session_id)
            last: Commit | None = None
            for commit in await writer.commits():
                if commit.last_seq < commit.first_seq:
                    continue
                held = writer.recent.between(
                    commit.session_id, commit.epoch, commit.first_seq, commit.last_seq
                )
                log = await writer.stored(commit.session_id, commit.epoch)
                if log is not None:
                    last = commit
                    if held is not None:
                        read = log[commit.first_seq : commit.last_seq + 1]
                        assert [(e.payload, e.data) for e in held] == [
                            (e.payload, e.data) for e in read
                        ]
                        assert all(a.same_as(b) for a, b in zip(held, read, strict=True))
                if octets >= 1 << 20 and commit.kind.name == "APPENDED":
                    assert held is not None
            if octets == 0 and last is not None:
                assert writer.recent.between(last.session_id, last.epoch, 0, last.last_seq) is None
        finally:
            await writer.store.close()

    run(scenario())


def test_a_log_made_anew_under_a_known_id_is_never_taken_for_the_old_one(tmp_path: Path) -> None:
    async def scenario() -> None:
        writer = Writer(tmp_path / "log.db")
        await writer.begin("a")
        await writer.say("a", ["old", "older"])
        old = writer.live.get("a")
        assert old is not None and old.epoch is not None
        await writer.writing.delete("a")
        await writer.begin("a")
        await writer.say("a", ["new"])
        new = writer.live.get("a")
        assert new is not None and new.epoch is not None
        assert writer.recent.between("a", new.epoch, 0, 1) is None
        (held,) = writer.recent.between("a", new.epoch, 0, 0) or []
        assert held.data == user_message("new")
        await writer.store.close()

    run(scenario())


def test_the_drive_folds_what_is_in_memory_without_a_look_at_the_store(tmp_path: Path) -> None:
    async def scenario() -> None:
        writer = Writer(tmp_path / "log.db")
        store = writer.store
        checkpoints = SqliteCheckpointStore(store)
        driven = Projections(Registry(FIRST_PARTY), store, store, checkpoints, recent=writer.recent)
        running = asyncio.ensure_future(driven.run())
        await writer.begin("a")
        await writer.say("a", ["first"])
        session = await driven._drive.ready("a")
        looks = store.looks
        for number in range(20):
            await writer.say("a", [f"{number} {each}" for each in range(50)])
            await until(lambda last=50 * (number + 1): session.seq == last)  # type: ignore[misc]
        # Some may still look at what came before it was open.
        assert store.looks - looks < 10
        read = Projections(Registry(FIRST_PARTY), store, store, checkpoints)
        folded, replayed = session.snapshot(), await read.snapshot("a")
        assert (folded.as_of_seq, folded.views) == (replayed.as_of_seq, replayed.views)
        driven.stop()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        await driven.aclose()
        await read.aclose()
        await store.close()

    run(scenario())


def test_the_index_learns_the_same_from_memory_as_from_the_store(tmp_path: Path) -> None:
    async def scenario() -> None:
        writer = Writer(tmp_path / "log.db")
        for session_id in ("a", "b", "c"):
            await writer.begin(session_id)
            await writer.say(session_id, [f"{session_id} {number}" for number in range(70)])
            await writer.say(session_id, ["more"])
        await writer.writing.delete("c")

        async def learnt(recent: RecentEvents) -> list[Any]:
            changes = await changes_of(
                writer.store, recent, await writer.commits(), lambda: asyncio.sleep(0)
            )
            return [told for each in changes for told in _told(each)]

        from_memory = await learnt(writer.recent)
        assert len(from_memory) == 1 + 2 * 71
        assert from_memory == await learnt(RecentEvents())
        await writer.store.close()

    run(scenario())


def _told(change: IndexChange) -> list[Any]:
    if not isinstance(change, Learn):
        return [change]
    return [(change.header, change.epoch, each.seq, each.payload) for each in change.events]
