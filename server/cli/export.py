"""``sessiongraph export``: sessions as files of JSON lines that can be imported again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import rich_click as click

from server.cli.options import Common, common_options, examples, json_option


@click.command(
    "export",
    epilog=examples(
        "sessiongraph export harbor-tour > harbor-tour.jsonl",
        "sessiongraph export harbor-tour harbor-audit --output ./exported",
        "sessiongraph export --all --output ./exported",
    ),
)
@click.argument("session_ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "every", is_flag=True, help="Export every session.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="One ID: the file to write, or a folder; default stdout. Several, or --all: the folder.",
)
@json_option
@common_options
def command(
    common: Common,
    session_ids: tuple[str, ...],
    every: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Write sessions as JSON lines in dsh's format, whole, importable again as they are.

    Several sessions go into a folder, each into one of its own, as dsh lays out its sessions.
    `--json` prints what was written where, an object a line.
    """
    if every == bool(session_ids):
        raise click.UsageError("name the sessions to export, or ask for --all")
    several = every or len(set(session_ids)) > 1
    if output is None and several:
        raise click.UsageError("several sessions go into a folder: give --output DIR")
    if output is None and as_json:
        raise click.UsageError("the session itself is printed: leave out --json or give --output")
    to_folder = several or (output is not None and output.is_dir())
    settings = common.settings()
    from server.cli.export_files import (
        Exported,
        export_to_file,
        export_to_folder,
        export_to_stdout,
    )
    from server.cli.output import print_json
    from server.wiring import open_for_reading

    async def run() -> None:
        async with open_for_reading(settings) as services:
            if output is None:
                await export_to_stdout(services, session_ids[0])
            elif to_folder:
                chosen = None if every else session_ids
                async for exported in export_to_folder(services, chosen, output):
                    tell(exported)
            else:
                tell(await export_to_file(services, session_ids[0], output))

    def tell(exported: Exported) -> None:
        if as_json:
            print_json(exported.as_json())
        else:
            click.echo(exported.line())

    asyncio.run(run())
