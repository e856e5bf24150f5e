"""Reads Claude Code's session files, and those of programs that record alike.

``~/.claude/projects/<folder>/<session id>.jsonl``. A subagent is a session of its own, under the
one that called it, in whichever of three places it was recorded: beside its parent
(``agent-<id>.jsonl``), below it (``<session id>/subagents/agent-<id>.jsonl``), or between the
parent's records (side chains).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from providers.recordings.claude_folder import ClaudeFolder
from providers.recordings.claude_records import (
    CONVERSATION_TYPES,
    Envelope,
    Envelopes,
    envelope,
    text_in,
)
from providers.recordings.claude_session import ClaudeSession
from providers.recordings.claude_sidechains import Sidechains
from providers.recordings.growing_file import opened_to_go_on
from providers.recordings.lines import BEGINNING, MAX_LINE_BYTES, Lines, Mark
from providers.recordings.records import epoch_millis, parsed
from providers.recordings.transcript import TranscriptLog, remembered
from providers.recordings.zstd_frames import DamagedFrame
from sessiongraph.header import (
    LATEST_VERSION,
    EpochMillis,
    SessionHeader,
    SessionSource,
    SourceKind,
)
from sessiongraph.recordings import (
    RecordedPart,
    RecordingReader,
    RecordingRefused,
    RecordingRewritten,
    RecordingState,
)
from sessiongraph.redaction import Redaction

SUBAGENT: Final = "subagent"

_LONGEST_META: Final = 64 * 1024
_FOREIGN_ID: Final = "session-"
"""How ids begin in files of programs that record like Claude Code, which has bare UUIDs."""


class ClaudeCodeReader(RecordingReader):
    """The reader of Claude Code's files; ``max_line_bytes``: longer lines are left out."""

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_line_bytes = max_line_bytes
        self._folders: dict[Path, ClaudeFolder] = {}

    def __reduce__(self) -> tuple[type[ClaudeCodeReader], tuple[int]]:
        """A copy in another process looks at the folders itself."""
        return ClaudeCodeReader, (self._max_line_bytes,)

    @property
    def kind(self) -> SourceKind:
        return SourceKind.CLAUDE_CODE

    def recognises(self, path: Path, beginning: Sequence[bytes]) -> bool:  # noqa: ARG002
        """A message in an envelope, a summary with its leaf, or a record with a session's id."""
        return any(_is_record(parsed(line)) for line in beginning)

    def open(
        self,
        path: Path,
        resume: RecordingState | None,
        part: RecordedPart | None = None,
        redaction: Redaction | None = None,
    ) -> TranscriptLog:
        """Find out which session the file is; it is open only during this call.

        Raises:
            RecordingRefused: the file cannot be read, or holds no conversation yet.
            RecordingRewritten: the part that was read before has changed.
        """
        with opened_to_go_on(path, resume) as (file, status, resume):
            lines = Lines(file, self._max_line_bytes)
            header = _identify(path, lines)
            if part is not None:
                header = _part_header(header, lines, part)
        if resume is not None and header.session_id != resume.session_id:
            raise RecordingRewritten(f"{path}: it is another session now")
        memory, sorting = remembered(resume)
        title_of: Callable[[str], str | None] = _untitled
        inherited_through: str | None = None
        sorter: Sidechains | None = None
        envelopes = Envelopes()
        if header.origin is None:
            folder = self._folders.setdefault(path.parent, ClaudeFolder(path.parent))
            folder.look()
            title_of = partial(_title_of, folder, path, redaction)
            sorter = Sidechains(envelopes, sorting)
            resumed = folder.resumed_from(path) if resume is None else None
            if resumed is not None:
                parent, inherited_through = resumed
                header = replace(header, parent_session=parent)
        teller = ClaudeSession(header, title_of, inherited_through, envelopes, memory)
        return TranscriptLog(
            path, status, self.kind, teller, resume, part, sorter, self._max_line_bytes, redaction
        )


def _title_of(
    folder: ClaudeFolder, path: Path, redaction: Redaction | None, uuid: str
) -> str | None:
    title = folder.title_of(uuid, asking=path)
    if title is None or redaction is None:
        return title
    return redaction.replace(title.encode("utf-8", "surrogatepass")).decode(
        "utf-8", "surrogatepass"
    )


def _untitled(uuid: str) -> str | None:  # noqa: ARG001
    """Subagents have no titles."""
    return None


def _is_record(value: Mapping[str, Any] | None) -> bool:
    if value is None or not isinstance(value.get("type"), str):
        return False
    if value["type"] in ("user", "assistant"):
        return isinstance(value.get("message"), dict)
    if value["type"] == "summary":
        return isinstance(value.get("leafUuid"), str)
    return isinstance(value.get("sessionId"), str)


def _identify(path: Path, lines: Lines) -> SessionHeader:
    """The session that a file is, by its first record of a conversation.

    Raises:
        RecordingRefused: there is no such record yet.
    """
    created_at: EpochMillis | None = None
    number = 0
    try:
        for line in lines.after(BEGINNING):
            number += 1
            record = envelope(line) if line is not None else None
            if record is None or line is None:
                continue
            time = epoch_millis(record.timestamp)
            created_at = time if created_at is None else created_at
            if created_at is not None and text_in(record.type) in CONVERSATION_TYPES:
                return _header(path, record, line, created_at)
    except DamagedFrame as damage:
        raise RecordingRefused(path, number + 1, str(damage)) from damage
    raise RecordingRefused(path, number + 1, "the file ends before any record of a conversation")


def _header(path: Path, record: Envelope, line: bytes, created_at: EpochMillis) -> SessionHeader:
    given, agent = text_in(record.session_id), text_in(record.agent_id)
    session_id = given or f"{SourceKind.CLAUDE_CODE}-{sha256(line).hexdigest()[:16]}"
    cwd = text_in(record.cwd)
    if agent is not None and record.is_sidechain is True:
        own = f"agent-{agent}"
        parent = given
        if given in (own, None):
            below = path.parent.name == "subagents"
            parent = path.parent.parent.name if below else None
        described = _meta(path)
        depth, preset = described.get("spawnDepth"), described.get("agentType")
        return SessionHeader(
            LATEST_VERSION,
            own if parent is None else f"{parent}:{own}",
            created_at,
            cwd,
            parent_session=parent,
            origin=SUBAGENT,
            delegation_depth=depth if isinstance(depth, int) and depth > 0 else 1,
            agent_preset=text_in(preset),
        )
    source = SessionSource()
    if session_id.startswith(_FOREIGN_ID):
        source = SessionSource(SourceKind.OTHER)
    return SessionHeader(LATEST_VERSION, session_id, created_at, cwd, source=source)


def _meta(path: Path) -> dict[str, Any]:
    """What the small file beside a subagent's says of it; empty where there is none."""
    with suppress(OSError, ValueError):
        with path.with_name(f"{path.stem}.meta.json").open("rb") as file:
            value = json.loads(file.read(_LONGEST_META))
        return value if isinstance(value, dict) else {}
    return {}


def _part_header(main: SessionHeader, lines: Lines, part: RecordedPart) -> SessionHeader:
    """The session of a side chain, by the first of its lines that is new."""
    line = next(lines.after(Mark(*part.place)), None)
    record = envelope(line) if line is not None else None
    time = epoch_millis(record.timestamp) if record is not None else None
    return SessionHeader(
        LATEST_VERSION,
        f"{main.session_id}:{part.key}",
        main.created_at if time is None else time,
        main.cwd if record is None else text_in(record.cwd),
        parent_session=main.session_id,
        origin=SUBAGENT,
        delegation_depth=main.delegation_depth + 1,
        source=main.source,
    )
