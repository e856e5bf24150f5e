"""Small stores whose every part is in use, and stores that are open for one block."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.event import Entry
from sessiongraph.ports import LogStore
from tests.contracts.log_stage import answers_now, ids_in_order, write
from tests.plain_store import PlainLogStore
from tests.strategies import (
    delta_run,
    event,
    header,
    message,
    prompt,
    user_message,
    wrapped_result,
)


@asynccontextmanager
async def sqlite_at(path: Path, **options: Any) -> AsyncIterator[SqliteLogStore]:
    store = SqliteLogStore.open(path, **options)
    try:
        yield store
    finally:
        await store.close()


def full_log() -> list[Entry]:
    """A log in which everything occurs that a store keeps: 20 events in 17 rows.

    A large message with its stream apart (7), a run (3 to 5), a replacement of 0, 2 and 6 (10) and
    one of a replacement (14), cited ranges, a title, citations of other sessions, a pruned result.
    """
    stream = [{"type": "text-chunks", "time0": 1, "index": 0, "dt": [], "texts": ["ab" * 800]}]
    words = [{"type": "text", "text": "many words " * 90}]
    said = {"turn": 1, "step": 1, "message": {"id": "a", "role": "assistant", "content": words}}
    cites = {"sessionId": "other", "label": "the other", "capturedThroughSeq": 3}
    reference = {"kind": "session-reference", "references": [cites, {"sessionId": "third"}]}
    result = wrapped_result("c", [{"type": "text", "text": "long output"}])
    pruned = wrapped_result("c", [{"type": "text", "text": "pruned"}])
    return [
        prompt(0, "hello", time=1_000),
        event(1, "session/title", {"title": "The Title  of it"}, time=1_001),
        message(2, "assistant/message", {"message": {"content": []}}, time=1_002),
        delta_run(3, ["a", "b", "c"], time=1_010, gaps=[5, -20]),
        message(6, "user/message", user_message("injected", "plugin"), time=1_003),
        message(7, "assistant/message", {**said, "stream": stream}, sources=[3, 4, 5], time=990),
        message(8, "tool/result", result, sources=[7], time=1_004),
        message(9, "user/message", {**user_message(""), "source": reference}, time=1_005),
        message(10, "user/message", user_message("summary", "plugin"), replaces=(0, 6),
                sources=[0, 2, 6, 1], time=1_006),
        event(11, "todo/write", {"todos": []}, time=1_007, ignorable=True),
        prompt(12, "another question", time=1_008),
        message(13, "tool/result", pruned, replaces=(8, 8), sources=[8], time=1_009),
        message(14, "user/message", user_message("sum", "plugin"), replaces=(10, 7),
                sources=[7, 10, *range(2, 7)], time=1_011),
        event(15, "turn/end", {"turn": 1, "reason": {"kind": "completed"}}, time=1_012),
        delta_run(16, ["x", "y"], time=1_013),
        event(18, "custom/thing", {"n": 1}, time=1_014),
        prompt(19, "the last", time=1_015),
    ]  # fmt: skip


def other_log() -> list[Entry]:
    """A smaller log with something of everything that is derived."""
    return [
        prompt(0, "one"),
        prompt(1, "two"),
        event(2, "session/title", {"title": "Other"}),
        message(3, replaces=(0, 1), sources=[0, 1, 2]),
    ]


async def fill(store: LogStore) -> None:
    """Two sessions, ``full`` and ``other``."""
    await write(store, header("full"), full_log(), batches=3)
    await write(store, header("other"), other_log())


async def filled(path: Path) -> None:
    """A store's file with both sessions in it, closed."""
    async with sqlite_at(path) as store:
        await fill(store)


async def told(store: LogStore) -> dict[str, Any]:
    """Every answer about every session."""
    async with store.observe() as reader:
        ids = await ids_in_order(reader)
    return {session_id: await answers_now(store, session_id) for session_id in sorted(ids)}


async def told_plainly() -> dict[str, Any]:
    """What the plain model says about both sessions."""
    plain = PlainLogStore()
    await fill(plain)
    return await told(plain)
