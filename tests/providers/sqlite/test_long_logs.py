"""Filters and windows over a log of many spans, against nothing but lists."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.event import DeltaRun, Entry, EventSurface
from sessiongraph.filters import EventSelection, Range
from sessiongraph.ports import WindowRequest
from tests.contracts.log_stage import append, one, stored
from tests.plain_store import run, take
from tests.strategies import delta_run, event, header, message, placed

TYPES = ("assistant/chunk", "user/message", "x/rare", "x/common", "no/such")
LENGTH = 70_000
"""More than one span of either size."""


class Known(NamedTuple):
    seq: int
    type: str
    time: int
    surface: EventSurface


class LongLog:
    """A store with one log, and what is known of it."""

    def __init__(self, path: Path) -> None:
        chance = random.Random(5)
        self.store = SqliteLogStore.open(path)
        self.known: list[Known] = []
        entries: list[Entry] = []
        time, last_node = 1_000, -1
        while len(self.known) < LENGTH:
            seq = len(self.known)
            time += chance.choice((1, 3, 20, -9, 400 if chance.random() < 0.01 else 2))
            kind = chance.random()
            if kind < 0.5:
                gaps = [chance.choice((0, 1, 5, -4)) for _ in range(chance.randrange(700))]
                entry: Entry = delta_run(seq, ["t"] * (len(gaps) + 1), time=time, gaps=gaps)
            elif kind < 0.6 and last_node >= 0:
                cited = [last_node, *range(max(0, seq - 300), seq)]
                sources = list(dict.fromkeys(cited))
                entry = message(seq, replaces=(last_node, last_node), sources=sources, time=time)
            elif kind < 0.7:
                entry = message(seq, time=time)
            else:
                entry = event(seq, "x/rare" if kind > 0.999 else "x/common", time=time)
            self._note(entry)
            entries.append(entry)
            if not isinstance(entry, DeltaRun) and entry.surface_op is not None:
                last_node = seq
        run(self._fill(entries))

    def _note(self, entry: Entry) -> None:
        if isinstance(entry, DeltaRun):
            for offset, time in enumerate(entry.times()):
                chunk = (entry.seq + offset, "assistant/chunk", time, EventSurface.LOG_ONLY)
                self.known.append(Known(*chunk))
            return
        surface = EventSurface.LOG_ONLY
        if entry.surface_op is not None:
            surface = EventSurface.CURRENT
            if entry.surface_op.start is not None:
                gone = self.known[entry.surface_op.start]
                self.known[gone.seq] = gone._replace(surface=EventSurface.SHADOWED)
        self.known.append(Known(entry.seq, entry.type, entry.time, surface))

    async def _fill(self, entries: list[Entry]) -> None:
        await self.store.create(header("a"))
        ready = placed(entries)
        await append(self.store, "a", [ready[n : n + 900] for n in range(0, len(ready), 900)])

    def expected(self, selection: EventSelection, window: WindowRequest) -> list[Known]:
        found = [
            each
            for each in self.known
            if within(selection.times, each.time)
            and within(selection.seqs, each.seq)
            and (selection.types is None or each.type in selection.types)
            and (selection.surfaces is None or each.surface in selection.surfaces)
            and (window.after is None or each.seq > window.after)
            and (window.before is None or each.seq < window.before)
        ]
        return take(found, window.limit, from_end=window.newest)


def within(bounds: Range, value: int) -> bool:
    return (bounds.low is None or value >= bounds.low) and (
        bounds.high is None or value <= bounds.high
    )


@contextmanager
def long_log(path: Path) -> Iterator[LongLog]:
    log = LongLog(path)
    try:
        yield log
    finally:
        run(log.store.close())


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LongLog]:
    with long_log(tmp_path_factory.mktemp("long") / "log.db") as log:
        yield log


@st.composite
def questions(draw: st.DrawFn) -> tuple[EventSelection, WindowRequest]:
    """Narrow and wide ranges of times and seqs, some types, some surfaces, a page of some size."""

    def span(highest: int) -> Range:
        low = draw(st.integers(-10, highest))
        width = draw(st.sampled_from((0, 3, 40, 400, 9_000, highest)))
        return Range(
            draw(st.sampled_from((low, low, None))), draw(st.sampled_from((low + width, None)))
        )

    everything = Range(None, None)
    selection = EventSelection(
        times=span(90_000) if draw(st.booleans()) else everything,
        seqs=span(LENGTH) if draw(st.booleans()) else everything,
        types=draw(st.none() | st.frozensets(st.sampled_from(TYPES))),
        surfaces=draw(st.none() | st.frozensets(st.sampled_from(EventSurface))),
    )
    window = WindowRequest(
        limit=draw(st.sampled_from((1, 2, 50, 300))),
        after=draw(st.none() | st.integers(-1, LENGTH)),
        before=draw(st.none() | st.integers(0, LENGTH)),
        newest=draw(st.booleans()),
    )
    return selection, window


@given(questions())
def test_every_filter_and_window_finds_what_a_list_finds(
    log: LongLog, question: tuple[EventSelection, WindowRequest]
) -> None:
    async def scenario() -> list[Known]:
        async with log.store.observe() as reader:
            found = await reader.events(await one(reader, "a"), *question)
            return [Known(each.seq, each.type, each.time, each.surface) for each in found]

    assert run(scenario()) == log.expected(*question)


@given(seq=st.integers(0, LENGTH - 1))
def test_citers_of_any_event_are_all_that_cite_it(log: LongLog, seq: int) -> None:
    async def scenario() -> list[int]:
        async with log.store.observe() as reader:
            session = await one(reader, "a")
            found = await reader.citers(session, seq)
            near = EventSelection(
                seqs=Range(seq, seq + 3_000), surfaces=frozenset({*EventSurface} - {LOG_ONLY})
            )
            later = await reader.events(session, near, WindowRequest(limit=10_000))
            cites = [each.seq for each in later if seq in (each.event.source_event_seqs or ())]
            assert found[: len(cites)] == cites
            return found

    assert run(scenario()) == sorted(set(run(scenario())))


LOG_ONLY = EventSurface.LOG_ONLY


def test_a_long_log_is_as_a_fold_from_scratch_says(log: LongLog) -> None:
    assert run(log.store.check()) == []
    assert run(stored(log.store, "a")).last_seq == len(log.known) - 1
