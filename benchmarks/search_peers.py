"""What searching stands beside: Tantivy asked and fed directly, and SQLite's FTS5."""

from __future__ import annotations

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import tantivy

from benchmarks.measuring import PeakMemory
from benchmarks.search_corpus import headers, texts
from benchmarks.stores import batches
from providers.sqlite.log_store import SqliteLogStore
from providers.tantivy.documents import LOG, SCHEMA, SEQ, DocumentMaker, key_in, tokens_of
from providers.tantivy.index import WRITER_BYTES, give_way
from providers.tantivy.queries import query_of
from sessiongraph.search.question import Question
from sessiongraph.text import semantic_text

_OVERFETCHED = 8
_ROWS = 10_000


def feed_tantivy(path: Path, documents: int, sessions: int) -> tuple[float, float]:
    """Documents a second of one thread that has the tokens already, and megabytes it took.

    The tokens lie in a file, a line each, so that all of the time is feeding: Tantivy's threads go
    on writing what was given to them while tokens are made between two measured parts, and that
    would count for nobody. They give way to other programs as ours do.
    """
    path.mkdir()
    at_hand = path / "tokens"
    with at_hand.open("w", encoding="utf-8") as lines:
        lines.writelines(f"{tokens_of(text)}\n" for text in texts(documents))
    each = documents // sessions
    event_type = "user/message"
    makers = [DocumentMaker(header, 1) for header in headers(sessions)]
    segments = path / "segments"
    segments.mkdir()
    index = tantivy.Index(SCHEMA, str(segments))
    with ThreadPoolExecutor(1, initializer=give_way) as patient:
        writer = patient.submit(index.writer, WRITER_BYTES, 1).result()
    with PeakMemory() as memory, at_hand.open(encoding="utf-8") as lines:
        begun = time.perf_counter()
        for number, tokens in enumerate(lines):
            maker, seq = makers[min(number // each, sessions - 1)], number % each
            traits = maker.traits(event_type, seq)
            writer.add_document(maker.document(traits, seq, seq, tokens, seq))
        writer.commit()
        seconds = time.perf_counter() - begun
    return documents / seconds, memory.grown_mb


class BareTantivy:
    """Asks an index and reads what it names from the store, with nothing around it.

    Of all hits it takes the log from its column, and the seqs of those that it shows; the session
    ids, which no column has, from what is stored with them.
    """

    def __init__(self, path: Path, store: SqliteLogStore) -> None:
        index = tantivy.Index.open(str(path))
        index.config_reader("manual")
        self._searcher = index.searcher()
        self._store = store

    async def top(self, question: Question, count: int) -> int:
        """The best document of each of ``count`` logs, with their texts; how many there are."""
        query = query_of(question)
        hits = self._searcher.search(query, _OVERFETCHED * count, count=False).hits
        addresses = [address for _, address in hits]
        logs = self._searcher.fast_field_values(LOG, addresses)
        best = dict(zip(reversed(logs), reversed(addresses), strict=True))
        chosen = list(best.values())[-count:]
        seqs = self._searcher.fast_field_values(SEQ, chosen)
        ids = [key_in(self._searcher, address).session_id for address in chosen]
        found = 0
        async with self._store.observe() as reader:
            sessions = await reader.find(ids)
            for session_id, seq in zip(ids, seqs, strict=True):
                events = await reader.at(sessions[session_id], [int(seq or 0)])
                found += sum(bool(semantic_text(each.event)) for each in events.values())
        return found


def feed_fts5(path: Path, documents: int, sessions: int) -> None:
    """The same texts in a table of FTS5."""
    each = documents // sessions
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIRTUAL TABLE docs USING fts5 (text, session UNINDEXED)")
        rows = ((text, at // each) for at, text in enumerate(texts(documents)))
        for batch in batches(rows, _ROWS):
            connection.executemany("INSERT INTO docs VALUES (?, ?)", batch)
        connection.commit()


def ask_fts5(connection: sqlite3.Connection, words: str, count: int) -> int:
    """The best document of each of ``count`` sessions; how many there are."""
    rows = connection.execute(
        "SELECT session, min(rank), text FROM docs WHERE docs MATCH ? "
        "GROUP BY session ORDER BY 2 LIMIT ?",
        (" ".join(f'"{word}"' for word in words.split()), count),
    ).fetchall()
    return len(rows)
