"""Reads Codex's session files: ``~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl``.

The first line says which session the file is; later lines like it are copies of other sessions'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from providers.recordings.codex_records import record_of
from providers.recordings.codex_session import CodexSession
from providers.recordings.growing_file import opened_to_go_on
from providers.recordings.lines import BEGINNING, MAX_LINE_BYTES, Lines
from providers.recordings.records import epoch_millis
from providers.recordings.transcript import TranscriptLog, remembered
from providers.recordings.zstd_frames import DamagedFrame
from sessiongraph.header import LATEST_VERSION, SessionHeader, SourceKind
from sessiongraph.recordings import (
    RecordedPart,
    RecordingReader,
    RecordingRefused,
    RecordingRewritten,
    RecordingState,
)
from sessiongraph.redaction import Redaction

SESSION_META: Final = "session_meta"


class CodexReader(RecordingReader):
    """The reader of Codex's files; ``max_line_bytes``: longer lines are left out."""

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_line_bytes = max_line_bytes

    @property
    def kind(self) -> SourceKind:
        return SourceKind.CODEX

    def recognises(self, path: Path, beginning: Sequence[bytes]) -> bool:  # noqa: ARG002
        """The first line is the session's own description."""
        return bool(beginning) and _meta(beginning[0]) is not None

    def open(
        self,
        path: Path,
        resume: RecordingState | None,
        part: RecordedPart | None = None,
        redaction: Redaction | None = None,
    ) -> TranscriptLog:
        """Read the first line; the file is open only during this call.

        Raises:
            RecordingRefused: the file cannot be read, or does not begin with a description.
            RecordingRewritten: the part that was read before has changed.
        """
        with opened_to_go_on(path, resume) as (file, status, resume):
            try:
                line = next(Lines(file, self._max_line_bytes).after(BEGINNING), None)
            except DamagedFrame as damage:
                raise RecordingRefused(path, 1, str(damage)) from damage
        meta = None if line is None else _meta(line)
        if meta is None:
            raise RecordingRefused(path, 1, "the first line is missing or no session_meta")
        header = _header(path, meta)
        if resume is not None and header.session_id != resume.session_id:
            raise RecordingRewritten(f"{path}: it is another session now")
        memory, _ = remembered(resume)
        payload = meta["payload"]
        inherits = isinstance(payload.get("forked_from_id"), str)
        teller = CodexSession(header, inherits=inherits, memory=memory)
        provider = payload.get("model_provider")
        teller.begin(provider if isinstance(provider, str) else None)
        return TranscriptLog(
            path, status, self.kind, teller, resume, part, None, self._max_line_bytes, redaction
        )


def _meta(line: bytes) -> dict[str, Any] | None:
    record = record_of(line)
    if record is None or record.type != SESSION_META or not isinstance(record.payload, dict):
        return None
    return {"timestamp": record.timestamp, "payload": record.payload}


def _header(path: Path, meta: Mapping[str, Any]) -> SessionHeader:
    payload = meta["payload"]
    session_id = payload.get("id")
    if not isinstance(session_id, str) or not session_id:
        raise RecordingRefused(path, 1, "the session has no id")
    times = (epoch_millis(payload.get("timestamp")), epoch_millis(meta["timestamp"]))
    created_at = next((time for time in times if time is not None), None)
    if created_at is None:
        raise RecordingRefused(path, 1, "the session has no time")
    spawn = _spawn(payload.get("source"))
    caller = _text(payload.get("parent_thread_id")) or _text(spawn.get("parent_thread_id"))
    return SessionHeader(
        LATEST_VERSION,
        session_id,
        created_at,
        _text(payload.get("cwd")),
        parent_session=caller or _text(payload.get("forked_from_id")),
        origin=None if caller is None else "subagent",
        delegation_depth=0 if caller is None else _depth(spawn.get("depth")),
        agent_preset=_text(payload.get("agent_role")) or _text(spawn.get("agent_role")),
    )


def _spawn(source: Any) -> Mapping[str, Any]:
    """How a subagent was made, empty for other sessions."""
    subagent = source.get("subagent") if isinstance(source, dict) else None
    spawn = subagent.get("thread_spawn") if isinstance(subagent, dict) else None
    return spawn if isinstance(spawn, dict) else {}


def _depth(value: Any) -> int:
    known = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return value if known else 1


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
