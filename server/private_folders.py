"""Folders that their owner alone may look into: for what is as confidential as the store."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PRIVATE: Final = 0o700


def make_private_folder(path: Path) -> None:
    """Make a folder, and those above it, where they are missing: each that is made is private.

    Those that exist stay as they are. (``Path.mkdir`` has its mode for the lowest one alone.)

    Raises:
        OSError: one cannot be made, or is no folder.
    """
    if not path.parent.is_dir():
        make_private_folder(path.parent)
    path.mkdir(mode=_PRIVATE, exist_ok=True)
