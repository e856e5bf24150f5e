"""Where recorders keep their files on this machine, unless they were told otherwise."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of one recorder."""

    recorder: str
    path: Path


def places(environment: Mapping[str, str] = os.environ, home: Path | None = None) -> list[Place]:
    """The folders that recorders on this machine would write to; they need not exist.

    ``DSH_HOME``, ``CLAUDE_CONFIG_DIR`` and ``CODEX_HOME`` move them as they do for the recorders;
    a blank value is none.
    """
    home = home or Path.home()

    def root(variable: str, name: str) -> list[Path]:
        given = environment.get(variable, "").strip()
        if not given:
            return [home / name]
        return [Path(each.strip()).expanduser() for each in given.split(",") if each.strip()]

    found = [Place("dsh", each / "sessions") for each in root("DSH_HOME", ".dsh")]
    found += [
        Place("Claude Code", each / "projects") for each in root("CLAUDE_CONFIG_DIR", ".claude")
    ]
    for each in root("CODEX_HOME", ".codex"):
        found += [Place("Codex", each / "sessions"), Place("Codex", each / "archived_sessions")]
    return found
