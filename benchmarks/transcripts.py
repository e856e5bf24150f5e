"""Importing Claude Code's and Codex's files: how fast and in how much memory; and what it costs to
watch many files in which nothing happens.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.conversations import BEGINNING_MS
from benchmarks.dsh_files import json_lines
from benchmarks.figures import Figure, Limit, Sample
from benchmarks.measuring import PeakMemory, alternating, in_fresh_process, peak_of_children_mb
from benchmarks.scale import Scale
from benchmarks.single_imports import import_into, memory_of_imports, opened_for_once
from benchmarks.stores import opened
from providers.recordings.discovery import find_recordings
from providers.recordings.reading_apart import ReadingApart
from providers.sqlite.preparing import prepare_entry
from server.data_directory import DataDirectory
from server.settings import Settings
from server.wiring import READERS, open_for_serving
from sessiongraph.importing import Importer

AREA: Final = "transcripts"

_TARGET_MB_S: Final = 25
_FILE_BYTES: Final = 10_000_000
_SHORT: Final = 4
_WARM_UP: Final = 1
_ENOUGH: Final = Limit(1, "×", least=True)
_IDLE: Final = Limit(1, "%")
_WORDS: Final = "the harbor answers when the tide has turned and every boat is counted " * 12
_OUTPUT: Final = "".join(f"{n:4}\tline {n} of what a tool printed\n" for n in range(60))


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Rates of both recorders, then memory, then the cost of watching."""
    figures = []
    for name, turns in (("Claude Code", _claude_turns), ("Codex", _codex_turns)):
        path = folder / f"{name}.jsonl"
        _write(path, turns(), scale.import_bytes)
        figures += in_fresh_process(_rates, scale, name, path)
    memory = memory_of_imports(
        AREA,
        folder,
        scale.long_import_bytes,
        lambda path, octets: _write(path, _claude_turns(), octets),
    )
    figures += [memory, *_many_files(scale, folder)]
    if scale.watched_s:
        figures.append(_watching(scale, folder))
    return figures


def _rates(scale: Scale, name: str, path: Path) -> list[Figure]:
    """Rates into a store that is open and empty, as a server's is open."""
    lines = json_lines(path)
    size = sum(map(len, lines)) + len(lines)

    async def decoding(_: int) -> None:
        for line in lines:
            msgspec.json.decode(line)

    async def run() -> dict[str, Sample]:
        async with AsyncExitStack() as stack:
            places = [path.parent / f"{name}-{n}.db" for n in range(_WARM_UP + scale.long_rounds)]
            stores = iter([await stack.enter_async_context(opened(each)) for each in places])

            reading = stack.enter_context(ReadingApart(prepare=prepare_entry))

            async def ours(_: int) -> None:
                await import_into(next(stores), path, reading)

            runs = {"ours": ours, "msgspec.json.decode": decoding}
            return await alternating(scale.long_rounds, runs, warm_up=_WARM_UP)

    taken = asyncio.run(run())
    for left in path.parent.glob(f"{name}-*.db*"):
        left.unlink()
    rates = {
        key: Sample(
            tuple(size / 1e6 / (value / 1e3) for value in sample.values), "MB/s", sample.cpu_ms
        )
        for key, sample in taken.items()
    }
    reached = Sample.of((value / _TARGET_MB_S for value in rates["ours"].values), "×")
    return [
        Figure(AREA, f"{name}: times {_TARGET_MB_S} MB/s", reached, limit=_ENOUGH),
        Figure(
            AREA,
            f"{name}: JSON",
            rates["ours"],
            "msgspec.json.decode",
            rates["msgspec.json.decode"],
        ),
    ]


def _many_files(scale: Scale, folder: Path) -> list[Figure]:
    """A folder of both recorders' files, imported in one go: how fast, and the memory it takes."""
    octets = scale.long_import_bytes
    (_, short), (rate, long) = (
        in_fresh_process(_import_folder, folder / f"files-{size}", size)
        for size in (octets // _SHORT, octets)
    )
    megabytes = octets // 1_000_000
    of_all = f"{megabytes:,} MB in files of {_FILE_BYTES // 1_000_000} MB, of both"
    return [
        Figure(
            AREA,
            f"{of_all}: times {_TARGET_MB_S} MB/s",
            Sample.of([rate / _TARGET_MB_S], "×"),
            limit=_ENOUGH,
        ),
        *(
            Figure(
                AREA,
                f"{of_all}: memory of the process that {does}",
                Sample.of([long[does]], "MB"),
                f"of {megabytes // _SHORT:,} MB",
                Sample.of([short[does]], "MB"),
                Limit(100, "MB"),
                note="constant memory: a bound that does not depend on what is imported",
            )
            for does in ("writes", "reads")
        ),
    ]


def _import_folder(folder: Path, octets: int) -> tuple[float, dict[str, float]]:
    """Megabytes a second of importing new files, and the most memory of both processes."""
    folder.mkdir()
    sources = itertools.cycle((_claude_turns, _codex_turns))
    for number in range(octets // _FILE_BYTES):
        _write(folder / f"{number}.jsonl", next(sources)(f"s{number}"), _FILE_BYTES)
    megabytes = sum(path.stat().st_size for path in folder.iterdir()) / 1e6

    async def run() -> float:
        async with opened_for_once(folder.with_suffix(".db")) as store:
            with ReadingApart(prepare=prepare_entry) as reading:
                importer = Importer(store, lambda: BEGINNING_MS, open_recording=reading)
                begun = time.perf_counter()
                report = await importer.run(find_recordings([folder], READERS))
                taken = time.perf_counter() - begun
        if report.refused:
            raise RuntimeError(f"not everything was imported: {report.refused}")
        return megabytes / taken

    with PeakMemory() as memory:
        rate = asyncio.run(run())
    shutil.rmtree(folder)
    return rate, {"writes": memory.grown_mb, "reads": peak_of_children_mb()}


def _watching(scale: Scale, folder: Path) -> Figure:
    files = scale.watched
    share = in_fresh_process(_idle_share, folder / "watched", files, scale.watched_s)
    return Figure(
        AREA,
        f"a core's share while {files:,} watched files do nothing",
        Sample.of([share], "%"),
        limit=_IDLE,
        note=f"the whole server, over {scale.watched_s} s, with its looks at all files",
    )


def _idle_share(folder: Path, files: int, seconds: int) -> float:
    long_ago = BEGINNING_MS / 1000
    for number in range(files):
        path = folder / str(number % 50) / f"{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, _claude_turns(f"s{number}"), 1)
        os.utime(path, (long_ago, long_ago))

    async def run() -> float:
        settings = Settings(data_dir=folder.with_name("data"), watch=(folder,))
        directory = DataDirectory(settings.data_dir)
        with directory.hold("benchmark"):
            async with open_for_serving(settings, directory) as services:
                while (await _sessions(services)) < files:  # noqa: ASYNC110 - nothing tells of it
                    await asyncio.sleep(0.5)
                begun, used = time.perf_counter(), time.process_time()
                await asyncio.sleep(seconds)
                return (time.process_time() - used) / (time.perf_counter() - begun) * 100

    return asyncio.run(run())


async def _sessions(services: Any) -> int:
    async with services.store.observe() as view:
        counts = await view.counts()
    count: int = counts.sessions
    return count


def _write(path: Path, turns: Iterator[list[dict[str, Any]]], octets: int) -> None:
    """Turn after turn until the file is so large."""
    written = 0
    with path.open("wb") as file:
        while written < octets:
            lines = b"".join(json.dumps(record).encode() + b"\n" for record in next(turns))
            written += file.write(lines)


def _time(number: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(BEGINNING_MS / 1000 + number))


def _claude_turns(session_id: str = "s") -> Iterator[list[dict[str, Any]]]:
    """Turns with the shares that recorded files have: most records report progress."""
    number = 0

    def record(kind: str, **members: Any) -> dict[str, Any]:
        nonlocal number
        number += 1
        return {
            "parentUuid": f"{number - 1:036}" if number > 1 else None,
            "isSidechain": False,
            "cwd": "/home/mei/harbor",
            "sessionId": session_id,
            "version": "2.1.0",
            "gitBranch": "main",
            "type": kind,
            **members,
            "uuid": f"{number:036}",
            "timestamp": _time(number),
        }

    def reply(block: dict[str, Any]) -> dict[str, Any]:
        usage = {"input_tokens": 3, "cache_read_input_tokens": 900, "output_tokens": 50}
        message = {"id": f"msg_{number // 40}", "role": "assistant", "model": "claude-opus-4-6"}
        return record("assistant", message={**message, "content": [block], "usage": usage})

    while True:
        turn = [record("user", message={"role": "user", "content": "Count the boats."})]
        turn.append(reply({"type": "thinking", "thinking": _WORDS, "signature": "s" * 300}))
        turn.append(reply({"type": "text", "text": _WORDS}))
        for _ in range(6):
            call = f"toolu_{number}"
            arguments = {"command": "ls -la", "description": _WORDS[:90]}
            turn.append(reply({"type": "tool_use", "id": call, "name": "Bash", "input": arguments}))
            turn += [record("progress", data={"hookEvent": "PostToolUse"}) for _ in range(6)]
            result = {"type": "tool_result", "tool_use_id": call, "content": _OUTPUT}
            message = {"role": "user", "content": [result]}
            also = {"stdout": _OUTPUT, "stderr": "", "interrupted": False}
            turn.append(record("user", message=message, toolUseResult=also))
        yield turn


def _codex_turns(session_id: str = "s") -> Iterator[list[dict[str, Any]]]:
    number = total = 0

    def record(kind: str, **payload: Any) -> dict[str, Any]:
        nonlocal number
        number += 1
        return {"timestamp": _time(number), "type": kind, "payload": payload}

    meta = {"id": session_id, "timestamp": _time(0), "cwd": "/home/mei/harbor"}
    turn = [record("session_meta", **meta)]
    while True:
        text = [{"type": "input_text", "text": "Count the boats."}]
        turn.append(record("response_item", type="message", role="user", content=text))
        turn.append(record("event_msg", type="user_message", message="Count the boats."))
        for _ in range(6):
            call = f"call_{number}"
            turn.append(record("turn_context", model="gpt-5.2", cwd="/home/mei/harbor"))
            summary = [{"type": "summary_text", "text": _WORDS[:200]}]
            turn.append(
                record(
                    "response_item", type="reasoning", summary=summary, encrypted_content="x" * 900
                )
            )
            item = {"name": "shell", "arguments": '{"command":["ls"]}', "call_id": call}
            turn.append(record("response_item", type="function_call", **item))
            output = json.dumps({"output": _OUTPUT, "metadata": {"exit_code": 0}})
            turn.append(
                record("response_item", type="function_call_output", call_id=call, output=output)
            )
            total += 100
            usage = {"input_tokens": total, "cached_input_tokens": 0, "output_tokens": total // 10}
            info = {"total_token_usage": usage, "last_token_usage": usage}
            turn += [record("event_msg", type="token_count", info=info) for _ in range(2)]
        words = [{"type": "output_text", "text": _WORDS}]
        turn.append(record("event_msg", type="agent_message", message=_WORDS))
        turn.append(record("response_item", type="message", role="assistant", content=words))
        yield turn
        turn = []
