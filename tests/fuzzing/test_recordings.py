"""Recorders' files, damaged at random: each is imported or refused, whole or not at all.

Whatever was done to its bytes or to the values in its records, an import ends, raises nothing that
it does not handle, leaves a store that a check finds nothing wrong with, and has stored exactly the
sessions that it reports. The same file again changes nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.samples import sample_sessions
from sessiongraph.import_report import ImportReport
from tests.conftest import PROFILE
from tests.providers.recordings.dsh_writing import frame, header_row, json_lines, packed_row, row
from tests.providers.recordings.recorded_logs import RECORDINGS
from tests.providers.recordings.transcript_writing import (
    answered,
    as_lines,
    asked,
    claude,
    codex_meta,
    history,
    item,
    replied,
    screen,
    take,
    text,
    tokens,
    tool_use,
    uuid_of,
)
from tests.providers.recordings.transcript_writing import codex as codex_record
from tests.providers.sqlite.stores import sqlite_at

EXAMPLES = 400 if PROFILE == "long" else 12
ENDS_WITHIN_S = 30
LARGEST = 40_000

KEPT = {"trigger": "auto", "preservedMessages": {"uuids": [uuid_of(5)]}}

CODEX_PROMPT = {"type": "user_message", "message": "look into it", "kind": "plain"}

Edit = Callable[[bytes], bytes]


def dsh_packed() -> bytes:
    """Generation 0 with rows of packed chunks."""
    return json_lines(
        [
            header_row(cwd="/x"),
            row(0, "user/message", {"id": "m", "role": "user", "content": []}, surfaceOp="append"),
            row(1, "turn/start"),
            packed_row(2, ["a", "b", "c"]),
            packed_row(5, ['{"a"', ": 1}"], "tool-call-chunks"),
            row(7, "session/title", {"title": "t", "messageSeqs": [0]}),
        ]
    )


def dsh_compressed() -> bytes:
    """A frame of Zstandard for each row."""
    return b"".join(frame(line + b"\n") for line in dsh_packed().splitlines())


def claude_code() -> bytes:
    return as_lines(
        [
            asked(0, "look into it"),
            replied(1, "m1", text("I will"), usage=3),
            replied(2, "m1", tool_use("c1", command="ls"), usage=5, stop_reason="tool_use"),
            answered(3, "c1", "a\nb"),
            claude(4, "system", subtype="turn_duration", durationMs=3),
            replied(5, "m2", text("done"), usage=2, stop_reason="end_turn"),
            claude(6, "summary", summary="what it was about", leafUuid="x"),
            asked(7, "and now", origin={"kind": "task-notification"}),
            claude(8, "system", subtype="compact_boundary", compactMetadata=KEPT),
            asked(9, "Summary of it all", isCompactSummary=True),
        ]
    )


def codex() -> bytes:
    return as_lines(
        [
            codex_meta(),
            screen(1, "task_started"),
            history(2, "user", "look into it"),
            codex_record(3, "event_msg", CODEX_PROMPT),
            item(4, "reasoning", summary=[], encrypted_content="x"),
            item(5, "function_call", name="shell", arguments='{"command": ["ls"]}', call_id="c"),
            item(6, "function_call_output", call_id="c", output="a"),
            tokens(7, 20, 10),
            history(8, "assistant", "done"),
            screen(9, "task_complete"),
        ]
    )


def samples() -> dict[str, bytes]:
    """Small files of every recorder, and one of each generation that is bundled."""
    found = {
        "dsh-packed.jsonl": dsh_packed(),
        "dsh-frames.jsonl.zstd": dsh_compressed(),
        "claude.jsonl": claude_code(),
        "codex.jsonl": codex(),
    }
    with sample_sessions() as folder:
        for name in ("session.jsonl", "session.v3.jsonl", "session.v4.jsonl"):
            path = min(folder.rglob(name), key=lambda each: (each.stat().st_size, each))
            found[f"dsh-{name}"] = path.read_bytes()
    return found


def recorded() -> dict[str, bytes]:
    return {
        str(path.relative_to(RECORDINGS)): path.read_bytes()
        for path in sorted(RECORDINGS.rglob("*.jsonl"))
        if path.stat().st_size <= LARGEST
    }


SAMPLES = samples()
RECORDED = recorded()

odd_values = st.sampled_from(
    [
        *(None, True, -1, 0, 1.5, 2**53, 2**70, 1e308, "", "\ud800", "\x00", "append"),
        *([], {}, [None], {"a": []}, [[[[]]]], "9" * 400, "/home", {"type": "text"}),
    ]
)


@st.composite
def damages_of_bytes(draw: st.DrawFn) -> Edit:
    """Some octets changed, cut, doubled or put in."""
    edits = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["flip", "cut", "double", "insert", "end"]),
                st.floats(0, 1, exclude_max=True),
                st.integers(1, 200),
                st.binary(min_size=1, max_size=8),
            ),
            min_size=1,
            max_size=4,
        )
    )

    def apply(content: bytes) -> bytes:
        for kind, where, length, octets in edits:
            at = int(where * len(content))
            if kind == "flip":
                content = content[:at] + octets[:1] + content[at + 1 :]
            elif kind == "cut":
                content = content[:at] + content[at + length :]
            elif kind == "double":
                content = content[: at + length] + content[at:]
            elif kind == "insert":
                content = content[:at] + octets + content[at:]
            else:
                content = content[:at]
        return content

    return apply


@st.composite
def damages_of_records(draw: st.DrawFn) -> Edit:
    """Some values in some records replaced, removed, or moved to another record."""
    edits = draw(
        st.lists(
            st.tuples(
                st.floats(0, 1, exclude_max=True),
                st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=5),
                st.sampled_from(["replace", "remove", "swap"]),
                odd_values,
            ),
            min_size=1,
            max_size=4,
        )
    )

    def apply(content: bytes) -> bytes:
        lines = content.splitlines()
        for where, path, kind, value in edits:
            at = int(where * len(lines))
            if kind == "swap":
                other = int(path[0] * len(lines))
                lines[at], lines[other] = lines[other], lines[at]
                continue
            try:
                record = json.loads(lines[at])
            except ValueError:
                continue
            change(record, path, kind, value)
            lines[at] = json.dumps(record).encode("utf-8", "surrogatepass")
        return b"\n".join(lines) + b"\n"

    return apply


def change(value: Any, path: Sequence[float], kind: str, replacement: Any) -> None:
    """Change what lies at the end of a path of choices, or where it can be followed no further."""
    if not isinstance(value, dict | list) or not value:
        return
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[int(path[0] * len(keys))]
    if len(path) > 1 and isinstance(value[key], dict | list) and value[key]:
        change(value[key], path[1:], kind, replacement)
    elif kind == "remove":
        del value[key]
    else:
        value[key] = replacement


damages = st.one_of(damages_of_bytes(), damages_of_records())


async def imported(name: str, content: bytes, folder: Path, *, before: bytes | None) -> None:
    """Import the damaged file, by itself or as what became of a file that was imported before."""
    path = folder / name
    async with sqlite_at(folder / "log.db") as store:

        async def taken() -> ImportReport:
            async with asyncio.timeout(ENDS_WITHIN_S):
                return await take(store, path)

        if before is not None:
            path.write_bytes(before)
            assert not (await taken()).refused
        async with store.observe() as reader:
            known = (await reader.counts()).sessions
        path.write_bytes(content)
        report = await taken()
        assert await store.check() == []
        async with store.observe() as reader:
            counts = await reader.counts()
        assert counts.sessions - known <= report.imported
        if before is None:
            assert counts.sessions == report.imported
            assert report.imported or report.refused or not counts.events
        again = await taken()
        assert (again.imported, again.events) == (0, 0)
        async with store.observe() as reader:
            assert await reader.counts() == counts


def run_on(name: str, content: bytes, damage: Edit, *, grown: bool) -> None:
    with TemporaryDirectory() as folder:
        file = name.rpartition("/")[2]
        before = content if grown else None
        asyncio.run(imported(file, damage(content), Path(folder), before=before))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_damaged_file_is_imported_or_refused(name: str) -> None:
    @settings(max_examples=EXAMPLES)
    @given(damages)
    def holds(damage: Edit) -> None:
        run_on(name, SAMPLES[name], damage, grown=False)

    holds()


@pytest.mark.parametrize("name", ["dsh-packed.jsonl", "claude.jsonl", "codex.jsonl"])
def test_a_file_that_is_damaged_after_it_was_imported_harms_nothing(name: str) -> None:
    @settings(max_examples=EXAMPLES)
    @given(damages)
    def holds(damage: Edit) -> None:
        run_on(name, SAMPLES[name], damage, grown=True)

    holds()


@pytest.mark.skipif(not RECORDED, reason="no recordings: see tests/providers/recordings")
def test_a_damaged_recording_of_real_use_is_imported_or_refused() -> None:
    @settings(max_examples=2 * EXAMPLES)
    @given(st.sampled_from(sorted(RECORDED)), damages)
    def holds(name: str, damage: Edit) -> None:
        run_on(name, RECORDED[name], damage, grown=False)

    if RECORDED:
        holds()
