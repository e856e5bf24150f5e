"""Sessions with known answers, where they are at hand: found by ``SESSIONGRAPH_ORACLE`` or beside
the repository, at ``../shared/oracle``.

Files are read here with nothing but ``json``, so that what is expected of the product's own readers
does not depend on them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sessiongraph.event import Entry, SessionEvent, SurfaceOp
from sessiongraph.header import SessionHeader, SessionSource, SourceKind
from tests.strategies import json_text

_PACKED = {
    "text-chunks": ("text-delta", "texts", "text"),
    "reasoning-chunks": ("reasoning-delta", "texts", "text"),
    "tool-call-chunks": ("tool-call-delta", "args", "argumentsDelta"),
}
_HEADER_KEYS = {"type", "version", "id", "createdAt", "cwd", "parentSession", "seedLength"}
_HEADER_KEYS |= {"origin", "delegationDepth", "agentPreset"}


def oracle_root() -> Path | None:
    """Where the recorded sessions and their answers are; None where they are not."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "oracle"
    root = Path(os.environ.get("SESSIONGRAPH_ORACLE", beside))
    return root if (root / "answers").is_dir() else None


needs_oracle = pytest.mark.skipif(
    oracle_root() is None, reason="no oracle: set SESSIONGRAPH_ORACLE or lay ../shared/oracle"
)


@cache
def answers(encoding: str) -> list[dict[str, Any]]:
    """The answers about each session of one encoding (none, zstd), by id; empty elsewhere."""
    root = oracle_root()
    if root is None:
        return []
    files = sorted((root / "answers" / encoding).glob("*.json"))
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


@cache
def corpus_answers() -> dict[str, Any]:
    """The answers about the whole corpus; empty elsewhere."""
    root = oracle_root()
    if root is None:
        return {}
    found: dict[str, Any] = json.loads((root / "answers/corpus.json").read_text(encoding="utf-8"))
    return found


def session_files(encoding: str = "none") -> list[Path]:
    """The recorded files of generation 0 in one encoding; empty elsewhere."""
    root = oracle_root()
    return [] if root is None else sorted((root / "v0" / encoding).rglob("session.jsonl*"))


def read_session(path: Path) -> tuple[SessionHeader, list[Entry]]:
    """One uncompressed file of generation 0, packed rows expanded, an unfinished last line cut."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    header = _header_of(json.loads(lines[0]), path)
    return header, [event for line in lines[1:] for event in _events_of(json.loads(line))]


def _header_of(row: dict[str, Any], path: Path) -> SessionHeader:
    return SessionHeader(
        version=row["version"],
        session_id=row["id"],
        created_at=row["createdAt"],
        cwd=row.get("cwd"),
        parent_session=row.get("parentSession"),
        seed_length=row.get("seedLength"),
        origin=row.get("origin"),
        delegation_depth=row.get("delegationDepth", 0),
        agent_preset=row.get("agentPreset"),
        source=SessionSource(SourceKind.DSH, str(path)),
        extra={key: value for key, value in row.items() if key not in _HEADER_KEYS},
    )


def _events_of(row: dict[str, Any]) -> Iterator[SessionEvent]:
    if row["type"] in _PACKED:
        yield from _members_of(row)
        return
    op = row.get("surfaceOp")
    if op is not None:
        op = SurfaceOp() if op == "append" else SurfaceOp(op["start"], op["end"])
    sources = row.get("sourceEventSeqs")
    yield SessionEvent(
        seq=row["seq"],
        type=row["type"],
        time=row["time"],
        text=json_text(row["data"]),
        surface_op=op,
        source_event_seqs=None if sources is None else tuple(_expanded(sources)),
        ignorable=row.get("ignorable", False),
    )


def _members_of(row: dict[str, Any]) -> Iterator[SessionEvent]:
    delta, pieces, member = _PACKED[row["type"]]
    data = row["data"]
    time = row["time0"]
    for k, piece in enumerate(data[pieces]):
        time += data["dt"][k - 1] if k else 0
        chunk = {"type": delta, "index": data["index"], member: piece}
        chunk |= {key: data[key] for key in ("id", "name") if key in data}
        payload = json_text({"turn": data["turn"], "step": data["step"], "chunk": chunk})
        yield SessionEvent(row["seq0"] + k, "assistant/chunk", time, payload)


def _expanded(members: list[int | list[int]]) -> Iterator[int]:
    """Citations as written: single seqs and inclusive ranges."""
    for member in members:
        if isinstance(member, int):
            yield member
        else:
            yield from range(member[0], member[1] + 1)
