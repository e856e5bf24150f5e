"""The machine that was measured on, without anything that names it."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

_LIBRARIES: Final = ("msgspec", "starlette", "strawberry-graphql", "uvicorn", "zstandard", "orjson")


def description() -> dict[str, str]:
    """What figures depend on, each with its name."""
    found = {
        "System": f"{platform.system()} on {platform.machine()}",
        "Cores": str(os.cpu_count()),
        "Memory": _memory(),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "SQLite": sqlite3.sqlite_version,
        "Switch interval": f"{sys.getswitchinterval() * 1e3:g} ms",
    }
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def load() -> str:
    """How busy the machine was when it was asked, beside us and others."""
    one, five, _ = os.getloadavg()
    return f"{one:.1f} over one minute, {five:.1f} over five"


def _memory() -> str:
    path = Path("/proc/meminfo")
    if path.exists():
        kilobytes = int(path.read_text(encoding="ascii").split()[1])
        return f"{kilobytes / 1024 / 1024:.0f} GiB"
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
