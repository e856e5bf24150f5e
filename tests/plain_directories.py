"""Where a working directory lies, told with the standard library: the model of ours."""

from __future__ import annotations

import ntpath
import posixpath
from collections.abc import Collection
from pathlib import PurePath, PurePosixPath, PureWindowsPath


def plain_path(directory: str) -> PurePath | None:
    """A directory without anything to skip or to climb; None for one that is not absolute.

    Names of Windows keep their case, letters of drives do not.
    """
    if directory.startswith("\\\\") or (directory[1:2] == ":" and directory[2:3] in ("/", "\\")):
        drive, rest = ntpath.splitdrive(directory)
        if not (drive.startswith("\\\\") or (drive[0].isascii() and drive[0].isalpha())):
            return None
        path = PureWindowsPath(ntpath.normpath(ntpath.join(drive.lower()[:2], rest)))
        return path if drive[1] == ":" else PureWindowsPath(ntpath.normpath(directory))
    if directory.startswith("/"):
        slashed = directory.replace("\\", "/")
        return PurePosixPath(posixpath.normpath("/" + slashed.lstrip("/")))
    return None


def plain_within(directory: str | None, prefixes: Collection[str] | None) -> bool:
    """Whether a directory is one of some others or below one of them; none given: anything is."""
    if prefixes is None:
        return True
    path = None if directory is None else plain_path(directory)
    return path is not None and any(_is_below(path, plain_path(each)) for each in prefixes)


def _is_below(path: PurePath, other: PurePath | None) -> bool:
    # Pure paths of Windows compare without case, the product does not: parts are compared.
    return (
        other is not None
        and type(path) is type(other)
        and path.parts[: len(other.parts)] == other.parts
    )
