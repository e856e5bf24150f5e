"""Finding the recorders' own folders, and asking before anything of them is read in."""

from __future__ import annotations

import sys
from pathlib import Path

import rich_click as click
from rich.table import Table

from providers.recordings.discovery import ENDINGS
from providers.recordings.places import Place, places
from server.cli.failures import CommandFailed
from server.cli.output import stderr_console, visible

_MEGABYTE = 1_000_000


def discovered(*, ask: bool, quiet: bool) -> tuple[Path, ...]:
    """The folders to import; none when there are none, or the answer is no.

    Raises:
        CommandFailed: nobody is there to be asked.
    """
    found = [(place, *_size(place.path)) for place in places() if place.path.is_dir()]
    if not quiet or ask:
        _show(found)
    if not found or not ask:
        return tuple(place.path for place, _, _ in found)
    if not sys.stdin.isatty():
        raise CommandFailed("nobody is there to say yes: give --yes to import these folders")
    if not click.confirm("Import them?", default=True, err=True):
        return ()
    return tuple(place.path for place, _, _ in found)


def _show(found: list[tuple[Place, int, int]]) -> None:
    console = stderr_console()
    if not found:
        console.print("no recorder's folder was found: " + ", ".join(_looked_at()))
        return
    table = Table(box=None)
    for name, justify in (("recorder", "left"), ("folder", "left")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    table.add_column("files", justify="right")
    table.add_column("size", justify="right")
    for place, files, octets in found:
        size = f"{octets / _MEGABYTE:,.1f} MB"
        table.add_row(place.recorder, visible(str(place.path)), f"{files:,}", size)
    console.print(table)


def _looked_at() -> list[str]:
    return [visible(str(place.path)) for place in places()]


def _size(folder: Path) -> tuple[int, int]:
    """How many files that may be recordings are below a folder, and their bytes."""
    files = octets = 0
    for path in folder.rglob("*"):
        if path.name.endswith(ENDINGS) and path.is_file():
            files += 1
            octets += path.stat().st_size
    return files, octets
