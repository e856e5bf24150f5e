"""A file of any recorder, cut at any byte and grown again, gives the session of the whole file.

Imported each time it has grown, into a store; the expected side is one import of the whole file.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plain_store import PlainLogStore
from tests.providers.recordings.dsh_writing import header_row, row
from tests.providers.recordings.recorded_logs import RECORDINGS, needs_recordings
from tests.providers.recordings.transcript_writing import (
    START,
    Json,
    answered,
    as_lines,
    asked,
    claude,
    codex,
    codex_meta,
    history,
    iso,
    item,
    replied,
    screen,
    take,
    text,
    tokens,
    tool_use,
    uuid_of,
)
from tests.providers.sqlite.imports import said, told_store
from tests.providers.sqlite.stores import sqlite_at


def claude_records(choose: random.Random) -> list[Json]:
    """A conversation with everything that depends on what stood before."""
    records: list[Json] = []
    chain: list[int] = []
    for _ in range(choose.randrange(1, 14)):
        n = len(records)
        message = f"m{n // choose.choice((2, 3, 5))}"
        kind = choose.randrange(11)
        if kind == 0:
            records.append(asked(n, choose.choice(("go", "日本", "<system-reminder>", "x" * 90))))
        elif kind in (1, 2):
            records.append(replied(n, message, text(f"words {n}"), usage=n))
        elif kind == 3:
            records.append(replied(n, message, tool_use(f"c{n}"), usage=n))
        elif kind == 4:
            records.append(answered(n, f"c{n - 1}", [text("found")]))
        elif kind == 5:
            kept = {"preservedMessages": {"uuids": [uuid_of(max(0, n - 1))]}}
            records.append(claude(n, "system", subtype="compact_boundary", compactMetadata=kept))
            records.append(asked(n + 1, "Summary", isCompactSummary=True))
        elif kind == 6:
            leaf = choose.randrange(n + 4)
            records.append({"type": "summary", "summary": f"s{n}", "leafUuid": uuid_of(leaf)})
        elif kind == 7:
            title = choose.choice(("custom-title", "ai-title"))
            records.append({"type": title, "customTitle": f"t{n}", "aiTitle": f"a{n}"})
        elif kind == 8:
            records.append(claude(n, "progress", data={"n": n}))
        elif kind == 9:
            parent = uuid_of(chain[-1]) if chain and choose.random() < 0.7 else None
            chain.append(n)
            records.append(asked(n, f"aside {n}", isSidechain=True, parentUuid=parent))
        else:
            records.append(replied(n, "failed", text("API Error"), isApiErrorMessage=True))
    return records


def codex_records(choose: random.Random) -> list[Json]:
    forked = choose.random() < 0.5
    records = [codex_meta(forked_from_id="parent") if forked else codex_meta()]
    for n in range(1, choose.randrange(2, 14)):
        records += choose.choice(
            (
                [history(n, "user", "go")],
                [screen(n, "user_message", message="go")],
                [history(n, "user", "go on"), screen(n, "user_message", message="go on!")],
                [screen(n, "agent_message", message="ok"), history(n, "assistant", "ok")],
                [item(n, "function_call", name="shell", arguments="{}", call_id=f"c{n}")],
                [item(n, "function_call_output", call_id=f"c{n - 1}", output="out")],
                [tokens(n, n * 10, 10), tokens(n, n * 10, 10)],
                [codex(n, "turn_context", {"model": "gpt-5.2"})],
                [screen(n, "task_started")],
                [screen(n, "turn_aborted", reason="interrupted")],
                [codex(n, "compacted", {"message": "Summary"}), screen(n, "context_compacted")],
                [screen(n, "context_compacted"), codex(n, "compacted", {"message": "Summary"})],
                [screen(n, "thread_name_updated", thread_name="name")],
                [{**history(n, "assistant", "copied"), "timestamp": iso(START)}],
            )
        )
    return records


def dsh_row(choose: random.Random, seq: int) -> Json:
    """One of those that are counted in a note, or one that is not."""
    return choose.choice(
        (
            said(seq, "x" * choose.randrange(40)),
            {**said(seq, "placed by nobody"), "surfaceOp": None},
            row(seq, "hook/result"),
            row(seq, f"custom/{choose.randrange(3)}"),
            row(seq, "bash/sandbox-mode", {"cost": 12345678901234567890}),
            row(seq, "context/message", said(seq)["data"]),
            row(seq, stamp=seq),
            row(seq, data={"huge": 12345678901234567890}, later={}, stamp=0),
        )
    )


def dsh_records(choose: random.Random) -> list[Json]:
    rows = [dsh_row(choose, seq) for seq in range(choose.randrange(1, 9))]
    if choose.random() < 0.3:
        rows.append(row(len(rows), "custom/broken", "not an object", stamp=0))
    return [header_row(), *rows]


RECORDERS = {"claude": claude_records, "codex": codex_records, "dsh": dsh_records}


async def grown(store: Any, path: Path, content: bytes, cuts: Sequence[int]) -> dict[str, Any]:
    for length in [*sorted(cuts), len(content)]:
        await asyncio.to_thread(path.write_bytes, content[:length])
        await take(store, path)
    return await told_store(store)


@pytest.mark.parametrize("recorder", RECORDERS)
@given(seed=st.integers(0, 2**32), data=st.data())
def test_a_file_cut_anywhere_and_grown_is_the_session_of_the_whole_file(
    tmp_path_factory: pytest.TempPathFactory, recorder: str, seed: int, data: st.DataObject
) -> None:
    content = as_lines(RECORDERS[recorder](random.Random(seed)))
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=5))
    path = tmp_path_factory.mktemp("grow") / "log.jsonl"

    async def scenario() -> None:
        piecewise = await grown(PlainLogStore(), path, content, cuts)
        assert piecewise == await grown(PlainLogStore(), path, content, [])

    asyncio.run(scenario())


@needs_recordings
@pytest.mark.parametrize(
    "name",
    [
        "claude-code/d-kimuson-claude-code-viewer/projects/sample-project/"
        "fe5e1c67-53e7-4862-81ae-d0e013e3270b.jsonl",
        "claude-code/codemie-ai-codemie-code/claude/incremental-simple/turn-2.jsonl",
        "codex/jnarowski-agentcmd/full/"
        "rollout-2025-09-25T15-12-14-019982b8-3422-79e0-8b3b-05abaf4f3c3e.jsonl",
        "codex/jazzyalex-agent-sessions/small.jsonl",
        "dsh/live/live-mode-switching-2026-07-07.session.jsonl",
    ],
)
def test_a_recorded_file_grown_in_steps_is_the_session_of_the_whole_file(
    tmp_path: Path, name: str
) -> None:
    content = (RECORDINGS / name).read_bytes()
    choose = random.Random(7)
    cuts = [choose.randrange(len(content)) for _ in range(12)]
    path = tmp_path / Path(name).name

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "a.db") as store, sqlite_at(tmp_path / "b.db") as whole:
            piecewise = await grown(store, path, content, cuts)
            assert await store.check() == []
            assert piecewise == await grown(whole, path, content, [])

    asyncio.run(scenario())
