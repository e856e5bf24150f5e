"""Searching: questions beside a bare Tantivy and FTS5, building the index, searching under load.

The corpus is searched as few long sessions and as many short ones. Ours goes the whole way of the
engine: an observation of the corpus, the place where the index must be, filters, snippets. The bare
Tantivy is asked with the same query objects, groups what it gets, and reads the texts from the same
store.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks.figures import Figure, Limit, Sample, slowest_of_hundred
from benchmarks.http_load import Target, at_rest, request_times
from benchmarks.http_load import sessiongraph_server as our_server
from benchmarks.measuring import PeakMemory, Run, alternating, in_fresh_process
from benchmarks.scale import Scale
from benchmarks.search_corpus import (
    IN_ONE_PROJECT,
    QUESTIONS,
    build_searched,
    texts,
)
from benchmarks.search_peers import BareTantivy, ask_fts5, feed_fts5, feed_tantivy
from benchmarks.stores import opened
from providers.sqlite.log_store import SqliteLogStore
from providers.tantivy.analysing_apart import AnalysingApart
from providers.tantivy.index import WRITER_BYTES, TantivyIndex
from server.wiring import THREAD_SWITCH_S, now_ms
from sessiongraph.corpus import Corpus
from sessiongraph.cursor import KEY_BYTES, CursorCodec
from sessiongraph.filters import ALL_EVENTS, ALL_SESSIONS, SessionSelection
from sessiongraph.live_sessions import Durability, LiveLimits, LiveSessions
from sessiongraph.new_event import NewEvent
from sessiongraph.new_session import NewSession
from sessiongraph.paging import PageRequest
from sessiongraph.precedence import Precedence
from sessiongraph.query import SessionQuery
from sessiongraph.recent_events import RecentEvents
from sessiongraph.search.indexing import Indexing
from sessiongraph.search.question import IndexFilter, MatchMode, Question, SearchText
from sessiongraph.search.service import Search, SearchLimits
from sessiongraph.search.walks import Walks
from sessiongraph.writing import SessionWriting

AREA: Final = "searching"

_TOP: Final = 20
_FEW_SESSIONS: Final = 500
_EVENTS_OF_MANY: Final = 10
_BOTH_SHAPES: Final = 100_000
_APPENDS_EACH_S: Final = 1000
_WRITERS: Final = 20
_SEARCHES_EACH_S: Final = 20
_LOAD_TURNS: Final = 3
_LIKE_BARE: Final = Limit(1.5, "×")
_TENTH: Final = Limit(0.1, "×")
_LARGEST: Final = 1_000_000
_MORE_BY_HTTP_MS, _TWICE_AND_MS = 5.0, 2.0
_LOOKED_EVERY_S: Final = 0.5

_DOCUMENTS_S: Final = "documents/s"
_HTTP: Final = """
    query ($words: String!) { searchSessions(query: $words) {
        nodes { session { id title } bestMatch { seq snippet highlights { start end } } } } }
"""


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Everything about searching."""
    documents = scale.documents
    figures: list[Figure] = []
    shapes = [documents // _EVENTS_OF_MANY]
    if documents >= _BOTH_SHAPES:
        shapes.append(documents // _FEW_SESSIONS)
    for sessions in shapes:
        data_dir = folder / f"{sessions}"
        data_dir.mkdir()
        in_fresh_process(build_searched, data_dir / "log.db", documents, sessions)
        rate, memory = in_fresh_process(build_index, data_dir)
        bare, bare_memory = in_fresh_process(feed_tantivy, data_dir / "bare", documents, sessions)
        fts5 = data_dir / "fts5.db"
        in_fresh_process(feed_fts5, fts5, documents, sessions)
        corpus = f"{documents:,} documents in {sessions:,} sessions"
        figures += [
            Figure(
                AREA,
                f"building the index: {corpus}",
                Sample.of([rate], _DOCUMENTS_S),
                "bare Tantivy, one thread, tokens at hand",
                Sample.of([bare], _DOCUMENTS_S),
                ratio_limit=Limit(0.7, "×", least=True),
                note="ours reads the store, parses and cuts the texts meanwhile",
            ),
            Figure(
                AREA,
                f"memory of building it: {corpus}",
                Sample.of([memory], "MB"),
                "bare Tantivy",
                Sample.of([bare_memory], "MB"),
                Limit(700, "MB") if documents <= _LARGEST else None,
            ),
        ]
        asked = asyncio.run(_questions(scale, data_dir, corpus))
        figures += asked
        engine = {figure.name: figure.ours for figure in asked}
        figures += asyncio.run(_over_http(scale, data_dir, corpus, engine))
    return figures + _under_load(scale, data_dir, corpus)


def build_index(data_dir: Path) -> tuple[float, float]:
    """Documents a second of bringing an empty index up with a store, and megabytes it took."""

    async def build() -> tuple[float, float]:
        async with _searching(data_dir) as (_, search):
            with PeakMemory() as memory:
                begun = time.perf_counter()
                await search.indexing.catch_up()
                seconds = time.perf_counter() - begun
            return search.indexing.index.documents / seconds, memory.grown_mb

    return asyncio.run(build())


@asynccontextmanager
async def _searching(
    data_dir: Path, precedence: Precedence | None = None, recent: RecentEvents | None = None
) -> AsyncIterator[tuple[SqliteLogStore, Search]]:
    """The store and a search over it as a server has them, nothing running."""
    sys.setswitchinterval(THREAD_SWITCH_S)
    async with AsyncExitStack() as resources:
        store = await resources.enter_async_context(opened(data_dir / "log.db"))
        path, apart = data_dir / "index", AnalysingApart()
        index = await asyncio.to_thread(TantivyIndex.open, path, WRITER_BYTES, apart)
        resources.push_async_callback(index.close)
        walks = Walks(300, 64, 500_000)
        indexing = Indexing(
            store,
            store,
            index,
            on_commit=walks.commit,
            precedence=precedence,
            recent=recent,
        )
        cursors = CursorCodec(b"b" * KEY_BYTES)
        yield store, Search(indexing, walks, cursors, SearchLimits(), _nothing)


async def _nothing() -> None:
    """Nothing was accepted that is not on disk."""


async def _questions(scale: Scale, data_dir: Path, corpus: str) -> list[Figure]:
    figures = []
    rounds = max(5, scale.rounds // 2)
    fts5_rounds = max(3, scale.long_rounds)
    async with _searching(data_dir) as (store, search):
        query = SessionQuery(Corpus(store), CursorCodec(b"b" * KEY_BYTES))
        bare = BareTantivy(data_dir / "index" / "segments", store)
        for name, words in QUESTIONS.items():
            for where, sessions in (("", ALL_SESSIONS), (", one project", IN_ONE_PROJECT)):
                samples = await alternating(
                    rounds,
                    {
                        "ours": _ours(search, query, words, sessions),
                        "bare": _bare(bare, words, sessions),
                    },
                )
                figures.append(
                    Figure(
                        AREA,
                        f"{name}{where}: {corpus}",
                        samples["ours"],
                        "bare Tantivy and the same reads",
                        samples["bare"],
                        ratio_limit=_LIKE_BARE,
                    )
                )
        with closing(sqlite3.connect(data_dir / "fts5.db")) as fts5:

            async def ask_peer(_: int) -> None:
                ask_fts5(fts5, QUESTIONS["common"], _TOP)

            runs = {"ours": _ours(search, query, QUESTIONS["common"], ALL_SESSIONS)}
            samples = await alternating(fts5_rounds, {**runs, "fts5": ask_peer}, warm_up=1)
            figures.append(
                Figure(
                    AREA,
                    f"common, beside FTS5: {corpus}",
                    samples["ours"],
                    "SQLite FTS5",
                    samples["fts5"],
                    ratio_limit=_TENTH,
                )
            )
    return figures


def _ours(search: Search, query: SessionQuery, words: str, sessions: SessionSelection) -> Run:
    async def run(_: int) -> None:
        async with query.observe() as observation:
            page = await search.sessions(
                observation.view, words, MatchMode.ALL, sessions, ALL_EVENTS, PageRequest(_TOP)
            )
            if not page.items and sessions is ALL_SESSIONS:
                raise RuntimeError(f"{words} was not found")

    return run


def _bare(bare: BareTantivy, words: str, sessions: SessionSelection) -> Run:
    text = SearchText.of(words, MatchMode.ALL, 1000)
    question = Question(text, IndexFilter.of(sessions, ALL_EVENTS))

    async def run(_: int) -> None:
        await bare.top(question, _TOP)

    return run


async def _over_http(
    scale: Scale, data_dir: Path, corpus: str, engine: Mapping[str, Sample]
) -> list[Figure]:
    figures = []
    rounds = max(5, scale.rounds // 2)
    async with our_server(data_dir) as url:
        await at_rest(url)
        for name, words in QUESTIONS.items():
            alone = engine[f"{name}: {corpus}"]
            over = await request_times(rounds, Target.of_query(url, _HTTP, words=words))
            most = alone.median + min(_MORE_BY_HTTP_MS, alone.median + _TWICE_AND_MS)
            figures.append(
                Figure(
                    AREA,
                    f"{name}, over HTTP: {corpus}",
                    over,
                    "the engine alone",
                    alone,
                    Limit(most),
                    note="5 ms more than the engine, and twice that and 2 ms, at most",
                )
            )
    return figures


def _under_load(scale: Scale, data_dir: Path, corpus: str) -> list[Figure]:
    """Appends at a steady rate beside what is indexed, with search and without, in turn.

    Those without search have a store of their own: behind them, an index would have to catch up.
    """
    unsearched = data_dir / "unsearched"
    unsearched.mkdir()
    shutil.copyfile(data_dir / "log.db", unsearched / "log.db")
    appends: dict[bool, list[float]] = {True: [], False: []}
    searches: list[float] = []
    for turn in range(max(_LOAD_TURNS, scale.long_rounds // 2)):
        for searched in (True, False) if turn % 2 else (False, True):
            seconds = max(1.0, 2 * scale.load_s)
            folder = data_dir if searched else unsearched
            slowest, found = in_fresh_process(append_steadily, folder, seconds, turn, searched)
            appends[searched].append(slowest)
            searches += [found] if searched else []
    rate = f"while {_APPENDS_EACH_S:,} events/s are appended"
    return [
        Figure(
            AREA,
            f"p99 of searches {rate}: {corpus}",
            Sample.of(searches),
            limit=Limit(100),
            note=f"{_SEARCHES_EACH_S} searches/s, each for what was just appended",
        ),
        Figure(
            AREA,
            f"p99 of appends {rate} and searched: {corpus}",
            Sample.of(appends[True]),
            "search turned off",
            Sample.of(appends[False]),
            ratio_limit=_LIKE_BARE,
        ),
    ]


def append_steadily(
    data_dir: Path, seconds: float, turn: int, searched: bool
) -> tuple[float, float]:
    """Milliseconds that 99 of 100 appends, and of 100 searches, take at most.

    Each is counted from when it was due, so that one that takes long counts for all behind it.
    """
    return asyncio.run(_append_steadily(data_dir, seconds, turn, searched))


async def _append_steadily(
    data_dir: Path, seconds: float, turn: int, searched: bool
) -> tuple[float, float]:
    precedence, recent = Precedence(), RecentEvents()
    async with _searching(data_dir, precedence, recent) as (store, search):
        live = LiveSessions(store, LiveLimits(), recent=recent)
        corpus = Corpus(store, live)
        writing = SessionWriting(store, corpus, live, now_ms, precedence=precedence)
        query = SessionQuery(corpus, CursorCodec(b"b" * KEY_BYTES))
        said = list(texts(2000))
        numbers = count()
        latest: list[str] = []
        appended: list[float] = []
        found: list[float] = []
        running = asyncio.create_task(search.indexing.run()) if searched else None
        while searched and await search.lag():  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(_LOOKED_EVERY_S)
        end = time.perf_counter() + seconds

        async def write(name: str) -> None:
            await writing.create(NewSession(session_id=name), Durability.DURABLE)
            due = time.perf_counter()
            while due < end:
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                word = f"now{turn}x{next(numbers)}"
                text = f"{said[len(appended) % len(said)]} {word}"
                data = {
                    "id": "m",
                    "role": "user",
                    "source": {"kind": "user"},
                    "content": [{"type": "text", "text": text}],
                }
                event = NewEvent.of("user/message", data)
                await writing.append(name, [event], None, Durability.DURABLE)
                appended.append((time.perf_counter() - due) * 1e3)
                latest.append(word)
                due += _WRITERS / _APPENDS_EACH_S

        async def look() -> None:
            due = time.perf_counter() + 0.2
            while due < end:
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                await _ours(search, query, latest[-1], ALL_SESSIONS)(0)
                found.append((time.perf_counter() - due) * 1e3)
                due += 1 / _SEARCHES_EACH_S

        names = [f"turn {turn}, {searched}, {number}" for number in range(_WRITERS)]
        work = [write(name) for name in names]
        if searched:
            work.append(look())
        await asyncio.gather(*work)
        await writing.close_all()
        if running is not None:
            running.cancel()
            await asyncio.wait([running])
        return slowest_of_hundred(appended), slowest_of_hundred(found) if found else 0.0
