"""Recall over real logs: what the reference finds, every piece of Chinese, names whole and by part.

What an event holds is told here by plain means (slices, regular expressions), what is found by the
product: importer, index and search as the server puts them together.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from providers.sqlite.log_store import SqliteLogStore
from providers.tantivy.index import TantivyIndex
from sessiongraph.corpus import Corpus
from sessiongraph.cursor import CursorCodec
from sessiongraph.event import EventSurface, Seq
from sessiongraph.filters import ALL_EVENTS, ALL_SESSIONS, EventSelection, SessionSelection
from sessiongraph.paging import PageRequest
from sessiongraph.ports import SessionOrder
from sessiongraph.search.indexing import Indexing
from sessiongraph.search.question import IndexFilter, MatchMode, Question, SearchText
from sessiongraph.search.service import Search, SearchLimits
from sessiongraph.search.walks import Walks
from sessiongraph.text import semantic_text
from tests.oracle import corpus_answers, needs_oracle, oracle_root
from tests.providers.recordings.recorded_logs import RECORDINGS, needs_recordings
from tests.providers.sqlite.imports import take
from tests.sessiongraph.live_engine import EVERYTHING

Key = tuple[str, Seq]
HAN = re.compile("[\u4e00-\u9fff]+")
NAME = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z][A-Za-z0-9]*(?:[_./][A-Za-z0-9]+)+|[a-z]+[A-Z][A-Za-z]*)"
    r"(?![^\W_])"
)
WORD = re.compile(r"(?<![^\W_])[A-Za-z]{3,}(?![^\W_])")
MOST = 4000
"""Questions of one kind; more are thinned out evenly."""


class Corpora:
    """Imported logs and the search over them."""

    def __init__(self, folder: Path, *sources: Path) -> None:
        self._runner = asyncio.Runner()
        self._runner.run(self._open(folder, sources))

    async def _open(self, folder: Path, sources: tuple[Path, ...]) -> None:
        async def nothing_to_settle() -> None:
            return

        # One thread for everything, begun here: a test must not leave threads that it began.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        self.store = SqliteLogStore.open(folder / "log.db")
        await take(self.store, *sources)
        self.index = TantivyIndex.open(folder / "index", 16 << 20)
        indexing = Indexing(self.store, self.store, self.index)
        await indexing.catch_up()
        self.corpus = Corpus(self.store)
        cursors = CursorCodec(b"k" * 32)
        walks = Walks(300, 64, 10_000)
        self.search = Search(indexing, walks, cursors, SearchLimits(), nothing_to_settle)
        self.texts: dict[Key, str] = {}
        async with self.corpus.observe() as view:
            for session in await view.sessions(ALL_SESSIONS, SessionOrder.CREATED, limit=1000):
                for placed in await session.log.events(ALL_EVENTS, EVERYTHING):
                    text = semantic_text(placed.event)
                    if text:
                        self.texts[session.session_id, placed.seq] = text

    def close(self) -> None:
        async def close() -> None:
            await self.index.close()
            await self.store.close()

        self._runner.run(close())
        self._runner.close()

    def found(self, query: str, mode: MatchMode) -> set[Key]:
        """Every event that answers."""
        question = Question(SearchText.of(query, mode, 10_000), IndexFilter())
        ranking = self._runner.run(self.index.observe().rank(question, 100_000, distinct=False))
        assert ranking.complete
        return {(hit.session_id, hit.seq) for hit in ranking.hits}

    def sessions(self, query: str, sessions: SessionSelection, events: EventSelection) -> set[str]:
        async def ask() -> set[str]:
            async with self.corpus.observe() as view:
                page = await self.search.sessions(
                    view, query, MatchMode.PHRASE, sessions, events, PageRequest(200)
                )
                assert not page.has_next_page
                return {hit.session.session_id for hit in page.items}

        return self._runner.run(ask())

    def places_of(self, pieces: Any) -> dict[str, set[Key]]:
        """Every piece of every text, with the events that hold it."""
        found: defaultdict[str, set[Key]] = defaultdict(set)
        for key, text in self.texts.items():
            for piece in pieces(text):
                found[piece].add(key)
        step = len(found) // MOST + 1
        return dict(sorted(found.items())[::step])


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpora]:
    root = oracle_root()
    assert root is not None
    corpora = Corpora(tmp_path_factory.mktemp("oracle"), root / "v0" / "none")
    yield corpora
    corpora.close()


@pytest.fixture(scope="module")
def live_logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpora]:
    corpora = Corpora(tmp_path_factory.mktemp("live"), RECORDINGS / "dsh" / "live")
    yield corpora
    corpora.close()


def pieces_of_chinese(text: str) -> Iterator[str]:
    for run in HAN.findall(text):
        for size in (1, 2, 3, 5, len(run)):
            for at in range(len(run) - size + 1):
                yield run[at : at + size]


def names(text: str) -> Iterator[str]:
    yield from NAME.findall(text)


def words(text: str) -> Iterator[str]:
    yield from (word.lower() for word in WORD.findall(text))


REQUESTS = [] if oracle_root() is None else corpus_answers()["searchSessions"]


def _selections(request: dict[str, Any]) -> tuple[SessionSelection, EventSelection]:
    sessions, events = ALL_SESSIONS, ALL_EVENTS
    for each in request.get("sessionFilters", ()):
        kind, values = each["kind"], each["values"]
        if kind == "parent":
            sessions = sessions.narrowed(parents=values)
        elif kind == "cwd":
            sessions = sessions.narrowed(cwds=values)
        elif kind == "id":
            sessions = sessions.narrowed(ids=values)
        else:
            assert kind == "availability"
            sessions = sessions.narrowed(availability=values)
    for each in request.get("eventFilters", ()):
        if each["kind"] == "surface":
            events = events.narrowed(surfaces=map(EventSurface, each["values"]))
        else:
            assert each["kind"] == "type"
            events = events.narrowed(types=each["values"])
    return sessions, events


@needs_oracle
@pytest.mark.parametrize("number", range(len(REQUESTS)))
def test_every_phrase_that_the_reference_finds_is_found(oracle: Corpora, number: int) -> None:
    request, result = REQUESTS[number]["request"], REQUESTS[number]["result"]
    hits = [hit for page in result["ok"]["pages"] for hit in page]
    if not hits and not re.search(r"[^\W_]|\U0001f680", request["query"]):
        pytest.skip("the reference finds nothing, and there is nothing to be found")
    found = oracle.sessions(request["query"], *_selections(request))
    events = oracle.found(request["query"], MatchMode.PHRASE)
    for hit in hits:
        if (hit["id"], hit["bestSeq"]) not in oracle.texts:
            assert request["query"] in ("retry", "NOT", "interrupted", "Outcome is unknown")
            continue  # an invented closing event
        assert hit["id"] in found
        assert (hit["id"], hit["bestSeq"]) in events


@needs_oracle
@needs_recordings
@pytest.mark.parametrize("which", ["oracle", "live_logs"])
def test_every_piece_of_chinese_finds_its_events(
    which: str, oracle: Corpora, live_logs: Corpora
) -> None:
    corpora = {"oracle": oracle, "live_logs": live_logs}[which]
    pieces = corpora.places_of(pieces_of_chinese)
    assert len(pieces) > 20
    for piece, holders in pieces.items():
        mode = MatchMode.PHRASE if len(piece) % 2 else MatchMode.ALL
        assert corpora.found(piece, mode) >= holders, piece


@needs_oracle
@needs_recordings
@pytest.mark.parametrize("which", ["oracle", "live_logs"])
def test_names_are_found_whole_and_by_their_words(
    which: str, oracle: Corpora, live_logs: Corpora
) -> None:
    corpora = {"oracle": oracle, "live_logs": live_logs}[which]
    whole = corpora.places_of(names)
    assert len(whole) > 10
    for name, holders in list(whole.items())[:600]:
        for mode in (MatchMode.ALL, MatchMode.PHRASE):
            assert corpora.found(name, mode) >= holders, name
        for word in re.findall(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])|[0-9]+(?![A-Za-z0-9])", name):
            if re.search(rf"(?:^|[_./]|(?<=[a-z])(?=[A-Z])){word}(?=$|[_./A-Z])", name):
                assert corpora.found(word, MatchMode.ALL) >= holders, (name, word)


@needs_oracle
def test_case_width_and_accents_do_not_matter(oracle: Corpora) -> None:
    for word, holders in list(oracle.places_of(words).items())[:200]:
        wide = "".join(chr(ord(letter) + 0xFEE0) for letter in word)
        accented = unicodedata.normalize("NFC", "".join(letter + "\u0301" for letter in word))
        for variant in (word, word.upper(), word.title(), wide, wide.upper(), accented):
            assert oracle.found(variant, MatchMode.ALL) >= holders, variant
