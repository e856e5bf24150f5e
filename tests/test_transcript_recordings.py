"""Sessions that Claude Code and Codex recorded in real use, imported into a store."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sessiongraph.ports import LogStore
from sessiongraph.recordings import RecordedLog
from tests.contracts.log_stage import all_entries, ids_in_order, one
from tests.providers.recordings.recorded_logs import RECORDINGS, needs_recordings, session_files
from tests.providers.recordings.transcript_writing import CLAUDE, CODEX, READERS, Told, take, tell
from tests.providers.sqlite.imports import told_store
from tests.providers.sqlite.stores import sqlite_at

pytestmark = needs_recordings

CLAUDE_FILES = [
    str(path.relative_to(RECORDINGS))
    for folder in ("claude-code", "other")
    for path in session_files(RECORDINGS / folder)
]
_CODEX = [str(path.relative_to(RECORDINGS)) for path in session_files(RECORDINGS / "codex")]
NO_CODEX = [
    f"codex/jazzyalex-agent-sessions/{name}.jsonl"
    for name in ("schema_drift", "session_branch", "session_simple", "session_toolcall")
]
CODEX_FILES = [name for name in _CODEX if name not in NO_CODEX]
SPOTTER = "claude-code/marot-spotter"
INCREMENTAL = RECORDINGS / "claude-code/codemie-ai-codemie-code/claude"
COMPACTED = "4d5611e5-241a-462a-8d15-5122611a9569"


def sessions_of(name: str) -> list[Told]:
    reader = CODEX if name.startswith("codex") else CLAUDE
    first, further = tell(reader, RECORDINGS / name)
    return [first, *further]


def records_of(name: str) -> list[Any]:
    records = []
    for line in (RECORDINGS / name).read_bytes().split(b"\n"):
        if line.strip():
            try:
                records.append(json.loads(line))
            except ValueError:
                records.append(None)
    return records


def test_there_are_recordings_to_try() -> None:
    assert len(CLAUDE_FILES) >= 23
    assert len(CODEX_FILES) >= 11


@pytest.mark.parametrize("name", [*CLAUDE_FILES, *CODEX_FILES])
def test_every_record_is_told_and_nothing_twice(name: str) -> None:
    """Records in = events out + opaque; of every line there is an event, in one session alone."""
    told: dict[int, int] = {}
    for number, session in enumerate(sessions_of(name)):
        for recorded in session.recorded:
            assert told.setdefault(recorded.line, number) == number
    lines = (RECORDINGS / name).read_bytes().split(b"\n")
    assert sorted(told) == [number for number, line in enumerate(lines, 1) if line.strip()]


@pytest.mark.parametrize("name", [*CLAUDE_FILES, *CODEX_FILES])
def test_the_opaque_events_are_the_records_word_for_word(name: str) -> None:
    records = dict(enumerate(records_of(name), 1))
    for session in sessions_of(name):
        for recorded in session.recorded:
            event = recorded.entry
            if event.ignorable and not event.type.endswith("/unreadable"):
                assert json.loads(event.payload) == records[recorded.line]


def test_every_file_is_imported_or_refused_with_file_and_line(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            names = [*CLAUDE_FILES, *_CODEX]
            for name in names:
                report = await take(store, RECORDINGS / name)
                refused = [(each.line, each.reason) for each in report.refused]
                expected = [(1, "no reader knows this format")] if name in NO_CODEX else []
                assert refused == expected, name
            assert await store.check() == []
            again = await take(store, *(RECORDINGS / name for name in names))
            assert (again.imported, again.resumed, len(again.refused)) == (0, 0, len(NO_CODEX))

    asyncio.run(scenario())


@pytest.mark.parametrize("name", CLAUDE_FILES)
def test_claude_usage_is_counted_once_for_each_message(name: str) -> None:
    expected: dict[str, Any] = {}
    for number, record in enumerate(records_of(name)):
        message = record.get("message") if isinstance(record, dict) else None
        if isinstance(message, dict) and record.get("type") == "assistant":
            usage = message.get("usage")
            if isinstance(usage, dict):
                expected[message.get("id") or str(number)] = usage.get("output_tokens", 0)
    counted: dict[tuple[int, int, int], int] = {}
    for session, told in enumerate(sessions_of(name)):
        for event in told.of_type("assistant/message"):
            if "usage" in event.data:
                key = (session, event.data["turn"], event.data["step"])
                counted[key] = event.data["usage"]["outputTokens"]
    assert sum(counted.values()) == sum(v for v in expected.values() if isinstance(v, int))


@pytest.mark.parametrize("name", CODEX_FILES)
def test_codex_usage_adds_up_to_the_last_total(name: str) -> None:
    total = 0
    for record in records_of(name):
        payload = record.get("payload") if isinstance(record, dict) else None
        info = payload.get("info") if isinstance(payload, dict) else None
        if isinstance(info, dict) and "total_token_usage" in info:
            total = info["total_token_usage"]["output_tokens"] or total
    (told,) = sessions_of(name)
    usages = [event.data["chunk"]["usage"] for event in told.of_type("assistant/chunk")]
    assert sum(usage["outputTokens"] for usage in usages) == total


@pytest.mark.parametrize("name", CODEX_FILES)
def test_prompts_and_replies_that_stand_twice_are_on_the_surface_once(name: str) -> None:
    screen: dict[str, list[str]] = {"user_message": [], "agent_message": []}
    for record in records_of(name):
        payload = record.get("payload") if isinstance(record, dict) else None
        if isinstance(payload, dict) and payload.get("type") in screen and "message" in payload:
            screen[payload["type"]].append(payload["message"])
    (told,) = sessions_of(name)
    if any(event.type == "user/message" and "codex" in event.data for event in told.surface):
        pytest.skip("compacted: the surface is not the whole conversation")
    persons = [
        event for event in told.of_type("user/message") if event.data["source"]["kind"] == "user"
    ]
    assert len(persons) >= len(screen["user_message"])
    spoken = [
        event
        for event in told.surface
        if event.type == "assistant/message"
        and any(block["type"] == "text" for block in event.data["message"]["content"])
    ]
    answers = [
        record
        for record in records_of(name)
        if isinstance(record, dict)
        and record.get("type") == "response_item"
        and record["payload"].get("type") == "message"
        and record["payload"].get("role") == "assistant"
    ]
    assert len(spoken) == max(len(answers), len(screen["agent_message"]))


def test_what_was_compacted_is_shadowed_by_the_summary(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await take(store, RECORDINGS / SPOTTER / f"{COMPACTED}.jsonl")
            async with store.observe() as view:
                session = await one(view, COMPACTED)
                entries = await all_entries(view, session)
                summary = next(e for e in entries if b"compact-checkpoint" in e.payload)
                nodes = await view.surface_nodes(session)
                assert nodes[0].seq == summary.seq
                assert all(node.seq > summary.seq for node in nodes[1:])
                before = [e for e in entries if e.seq < summary.seq and e.surface_op is not None]
                assert len(before) > 100
                for event in before[::40]:
                    chain = await view.replacement_chain(session, event.seq)
                    assert chain[-1] == summary.seq

    asyncio.run(scenario())


@pytest.mark.parametrize("name", ["incremental-simple", "incremental-subagents"])
@pytest.mark.parametrize("moved", [True, False])
def test_a_session_at_two_moments_is_the_later_one(tmp_path: Path, name: str, moved: bool) -> None:
    """moved: both moments under one path, as a file that grew; else from two places."""

    def lay(turn: str, root: Path) -> Path:
        shutil.copy(INCREMENTAL / name / f"{turn}.jsonl", root / "session.jsonl")
        if (INCREMENTAL / name / turn).is_dir():
            folder = root / "session" / "subagents"
            shutil.copytree(INCREMENTAL / name / turn / "subagents", folder, dirs_exist_ok=True)
        return root

    async def imported(store: LogStore, *turns: str) -> dict[str, Any]:
        for turn in turns:
            root = tmp_path / ("both" if moved else turn)
            root.mkdir(exist_ok=True)
            report = await take(store, lay(turn, root))
            assert report.refused == []
        told = await told_store(store)
        del told["headers"], told["counts"]
        return told

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "a.db") as store, sqlite_at(tmp_path / "b.db") as later:
            both = await imported(store, "turn-1", "turn-2")
            assert await store.check() == []
            assert both == await imported(later, "turn-2")

    asyncio.run(scenario())


def test_subagents_hang_under_their_parents_in_the_recorded_layouts(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            await take(store, RECORDINGS / "claude-code")
            async with store.observe() as view:
                found = await view.find(await ids_in_order(view))
                children = [
                    each.header for each in found.values() if each.header.origin == "subagent"
                ]
                assert len(children) >= 12
                for header in children:
                    assert header.parent_session in found
                    assert header.delegation_depth == 1

    asyncio.run(scenario())


def test_no_file_is_recognised_by_two_readers() -> None:
    for path in session_files(RECORDINGS):
        with path.open("rb") as file:
            beginning = file.read(65536).split(b"\n")[:-1] or [path.read_bytes()]
        knowing = [reader for reader in READERS if reader.recognises(path, beginning)]
        assert len(knowing) <= 1, path


def test_readings_are_read_once() -> None:
    log: RecordedLog = CLAUDE.open(RECORDINGS / CLAUDE_FILES[0], None)
    log.entries()
    with pytest.raises(RuntimeError):
        log.entries()
