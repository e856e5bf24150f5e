"""``sessiongraph backup``: a consistent copy, while a server serves or without one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from server.cli.options import Common, common_options, examples, json_option

if TYPE_CHECKING:
    from server.backup import Backup
    from server.data_directory import DataDirectory


@click.command(
    "backup",
    epilog=examples(
        "sessiongraph backup sessions-2026-12-01.db",
        'sessiongraph backup --json "/backups/$(date +%F).db" | jq .bytes',
    ),
)
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@json_option
@common_options
def command(common: Common, file: Path, as_json: bool) -> None:
    """Copy the whole store into FILE, a database of its own, while it is being written to or not.

    The copy is of one moment, is verified, and appears under its name only when it is whole. Images
    of recordings go into the folder FILE.media beside it. What can be made again is left out (the
    full-text index), and so are secrets: tokens, and the key of cursors. docs/operations.md shows
    how to restore it.

    Refuses to write over anything.
    """
    settings = common.settings()
    from server.cli.output import print_json
    from server.data_directory import DataDirectory

    made = _back_up(DataDirectory(settings.data_dir), file, show=not as_json)
    if as_json:
        print_json(
            {
                "file": str(made.file.absolute()),
                "bytes": made.octets,
                "sessions": made.sessions,
                "events": made.events,
                "mediaFiles": made.media_files,
            }
        )
    else:
        media = f", {made.media_files:,} media files" if made.media_files else ""
        click.echo(
            f"{made.file}: {made.sessions:,} sessions, {made.events:,} events{media}, "
            f"{made.octets:,} bytes"
        )


def _back_up(directory: DataDirectory, file: Path, *, show: bool) -> Backup:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    from server.backup import back_up
    from server.cli.output import stderr_console

    console = stderr_console()
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not (show and console.is_terminal),
    ) as progress:
        task = progress.add_task("copying", total=None)
        return back_up(
            directory,
            file,
            lambda copied, total: progress.update(task, completed=copied, total=total),
        )
