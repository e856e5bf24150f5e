"""Files as Claude Code and Codex write them, record by record, and what is told of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from providers.recordings.claude_code import ClaudeCodeReader
from providers.recordings.codex import CodexReader
from providers.recordings.discovery import find_recordings
from providers.recordings.dsh import DshReader
from sessiongraph.event import SessionEvent, events_of
from sessiongraph.header import SessionHeader
from sessiongraph.import_report import ImportReport
from sessiongraph.importing import Importer
from sessiongraph.ports import LogStore
from sessiongraph.recordings import RecordedLog, RecordedPart, RecordingReader, RecordingState
from sessiongraph.surface import Surface
from tests.providers.sqlite.imports import IMPORTED_AT

Json = dict[str, Any]

CLAUDE, CODEX = ClaudeCodeReader(), CodexReader()
READERS: Sequence[RecordingReader] = (DshReader(), CODEX, CLAUDE)

SESSION = "aaaaaaaa-0000-4000-8000-000000000001"
START = 1_780_000_000_000


def iso(millis: int) -> str:
    moment = datetime.fromtimestamp(millis / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def uuid_of(number: int) -> str:
    return f"bbbbbbbb-0000-4000-8000-{number:012d}"


# Claude Code


def claude(number: int, kind: str, message: Json | None = None, **members: Any) -> Json:
    """One record; its number makes its uuid, its time, and by default its parent."""
    record: Json = {
        "parentUuid": uuid_of(number - 1) if number else None,
        "isSidechain": False,
        "cwd": "/home/mei/harbor",
        "sessionId": SESSION,
        "version": "2.1.0",
        "type": kind,
        "uuid": uuid_of(number),
        "timestamp": iso(START + number * 1000),
    }
    if message is not None:
        record["message"] = message
    return {**record, **members}


def asked(number: int, text: str, **members: Any) -> Json:
    return claude(number, "user", {"role": "user", "content": text}, **members)


def answered(number: int, call_id: str, content: Any, **members: Any) -> Json:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    if members.pop("is_error", False):
        block["is_error"] = True
    return claude(number, "user", {"role": "user", "content": [block]}, **members)


def replied(
    number: int, message_id: str, *blocks: Json, usage: int | None = None, **members: Any
) -> Json:
    """A piece of a reply; usage: its output tokens, with 10 input tokens."""
    message: Json = {
        "id": message_id,
        "role": "assistant",
        "model": "claude-opus-4-6",
        "content": list(blocks),
        "stop_reason": members.pop("stop_reason", None),
    }
    if usage is not None:
        message["usage"] = {"input_tokens": 10, "output_tokens": usage}
    return claude(number, "assistant", message, **members)


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def tool_use(call_id: str, name: str = "Bash", **arguments: Any) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


# Codex


def codex(number: int, kind: str, payload: Json) -> Json:
    return {"timestamp": iso(START + number * 1500), "type": kind, "payload": payload}


def codex_meta(session_id: str = SESSION, number: int = 0, **members: Any) -> Json:
    payload = {
        "id": session_id,
        "timestamp": iso(START),
        "cwd": "/home/mei/harbor",
        "model_provider": "openai",
    }
    return codex(number, "session_meta", {**payload, **members})


def item(number: int, kind: str, **members: Any) -> Json:
    return codex(number, "response_item", {"type": kind, **members})


def screen(number: int, kind: str, **members: Any) -> Json:
    return codex(number, "event_msg", {"type": kind, **members})


def history(number: int, role: str, words: str) -> Json:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(number, "message", role=role, content=[{"type": kind, "text": words}])


def tokens(number: int, total: int, last: int) -> Json:
    def usage(count: int) -> Json:
        return {"input_tokens": count, "cached_input_tokens": count // 2, "output_tokens": 3}

    total_usage = {**usage(total), "output_tokens": 3 * total}
    info = {"total_token_usage": total_usage, "last_token_usage": usage(last)}
    return screen(number, "token_count", info={**info, "model_context_window": 9000})


# Reading


class Told:
    """What one reading gave of one session."""

    def __init__(self, log: RecordedLog) -> None:
        self.recorded = list(log.entries())
        self.header: SessionHeader = log.header
        self.state: RecordingState = log.state
        self.parts: Sequence[RecordedPart] = log.parts
        self.events: list[SessionEvent] = [
            event for recorded in self.recorded for event in events_of(recorded.entry)
        ]
        by_seq = {event.seq: event for event in self.events}
        self.surface_seqs: list[int] = []
        if not self.events or self.events[0].seq == 0:
            surface = Surface(lambda seq: by_seq[seq].data)
            for event in self.events:
                surface.advance(event)
            self.surface_seqs = surface.current()
        self.surface = [by_seq[seq] for seq in self.surface_seqs]

    def of_type(self, *types: str) -> list[SessionEvent]:
        return [event for event in self.events if event.type in types]

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.events]


def write_lines(path: Path, records: Iterable[Json]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_lines(records))
    return path


def as_lines(records: Iterable[Json]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def tell(
    reader: RecordingReader, path: Path, resume: RecordingState | None = None
) -> tuple[Told, list[Told]]:
    """The first session of a file, and the further ones."""
    told = Told(reader.open(path, resume))
    return told, [Told(reader.open(path, None, part)) for part in told.parts]


async def take(store: LogStore, *paths: Path, **options: Any) -> ImportReport:
    """Import files of any recorder as the program does."""
    importer = Importer(store, lambda: IMPORTED_AT)
    return await importer.run(find_recordings(paths, READERS), **options)
