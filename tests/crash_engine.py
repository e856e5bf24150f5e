"""An engine to be killed: many writers that say each acknowledgement aloud, and an index behind.

Run as a program it waits for orders on stdin, one to a line (a JSON list of the store's path and a
seed), and forks a process for each, so that Python is started only once. That process says its own
pid, then one line for everything it was told is done, until it is killed; the program then says
``over``. Lines are short enough for a pipe to take them whole.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import structlog

from providers.sqlite.log_store import SqliteLogStore
from providers.tantivy.index import TantivyIndex
from sessiongraph.corpus import Corpus
from sessiongraph.errors import SessionNotFound
from sessiongraph.live_sessions import Durability, LiveLimits, LiveSessions
from sessiongraph.new_event import NewEvent
from sessiongraph.new_session import NewSession
from sessiongraph.search.indexing import Indexing
from sessiongraph.writing import SessionWriting
from tests.strategies import user_message

SESSIONS = ("a", "b", "c")
WRITERS = 32


def index_of(path: Path) -> Path:
    """Where the index of a store lies."""
    return path.with_suffix(".index")


def say(*words: Any) -> None:
    """One whole line, past every buffer."""
    os.write(1, json.dumps(words).encode() + b"\n")


async def write_until_killed(path: Path, seed: int) -> None:
    """Append, fork and delete for ever."""
    dice = random.Random(seed)
    store = SqliteLogStore.open(path)
    live = LiveSessions(store, LiveLimits(write_delay_ms=dice.choice((0, 5, 50))))
    writing = SessionWriting(store, Corpus(store, live), live, lambda: 1_780_000_000_000)
    for session_id in SESSIONS:
        try:
            await writing.resume(session_id)
        except SessionNotFound:
            await writing.create(NewSession(session_id), Durability.DURABLE)
    index = TantivyIndex.open(index_of(path), 16 << 20)
    indexing = Indexing(store, store, index, commit_ms=dice.choice((0, 5, 50)))
    following = asyncio.create_task(indexing.run())
    say("ready")

    async def writer(name: int) -> None:
        for turn in range(1_000_000):
            session_id = dice.choice(SESSIONS)
            session = live.get(session_id)
            assert session is not None
            if name == 0 and turn % 4 == 3 and session.committed_seq >= 0:
                child = f"{seed}.{turn}"
                await writing.fork(session_id, None, child)
                say("forked", session_id, child)
                if turn % 8 == 3:
                    say("deleting", child)
                    await writing.delete(child)
                    say("deleted", child)
                continue
            size = dice.choice((1, 1, 1, 2, 5))
            texts = [f"{seed}.{name}.{turn}/{part}/{size}" for part in range(size)]
            durability = dice.choice(list(Durability))
            events = [NewEvent.of("user/message", user_message(text)) for text in texts]
            appended = await writing.append(session_id, events, None, durability)
            say(durability.value, session_id, appended[0].seq, texts)

    await asyncio.gather(following, *(writer(name) for name in range(WRITERS)))


def main() -> None:
    """Take orders until stdin ends."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    for order in sys.stdin:
        path, seed = json.loads(order)
        pid = os.fork()
        if pid == 0:
            say("pid", os.getpid())
            asyncio.run(write_until_killed(Path(path), seed))
        os.waitpid(pid, 0)
        say("over")


if __name__ == "__main__":
    main()
