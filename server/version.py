"""The version of this program, as its package metadata has it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

_UNINSTALLED: Final = "0+uninstalled"


def program_version() -> str:
    """The installed version; a checkout that was never installed says so."""
    try:
        return version("sessiongraph")
    except PackageNotFoundError:
        return _UNINSTALLED
