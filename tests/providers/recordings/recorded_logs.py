"""Where the recorded logs lie, and tests that need them are skipped where they do not."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
import zstandard

_SHARED = Path(__file__).resolve().parents[3].parent / "shared"
RECORDINGS = Path(os.environ.get("SESSIONGRAPH_RECORDINGS", _SHARED / "data"))
ORACLE = Path(os.environ.get("SESSIONGRAPH_ORACLE", _SHARED / "oracle"))

needs_recordings = pytest.mark.skipif(
    not RECORDINGS.is_dir(), reason=f"no recorded logs at {RECORDINGS} (SESSIONGRAPH_RECORDINGS)"
)
needs_oracle = pytest.mark.skipif(
    not ORACLE.is_dir(), reason=f"no oracle at {ORACLE} (SESSIONGRAPH_ORACLE)"
)


def session_files(root: Path) -> list[Path]:
    """Every plain and compressed log below a folder; none where the folder is missing."""
    return sorted((*root.rglob("*.jsonl"), *root.rglob("*.jsonl.zstd")))


def whole_rows(path: Path) -> list[Any]:
    """The finished lines of a log, parsed, by nothing but the standard library and zstandard."""
    content = path.read_bytes()
    if path.suffix == ".zstd":
        frames = zstandard.ZstdDecompressor().stream_reader(
            io.BytesIO(content), read_across_frames=True
        )
        content = b"".join(iter(lambda: frames.read(65536), b""))
    return [json.loads(line) for line in content.split(b"\n")[:-1]]
