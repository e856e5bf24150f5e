"""``sessiongraph import``: recorders' files into the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import rich_click as click

from server.cli.failures import CommandFailed
from server.cli.options import Common, common_options, examples, json_option

if TYPE_CHECKING:
    from server.settings import Settings
    from server.wiring import Services


@click.command(
    "import",
    epilog=examples(
        "sessiongraph import ~/.dsh/sessions",
        "sessiongraph import --dry-run session.jsonl",
        "sessiongraph import --json ~/.dsh/sessions | jq .refused",
    ),
)
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="PATH...",
    type=click.Path(exists=True, path_type=Path),
)
@click.option("--dry-run", is_flag=True, help="Read and check everything, store nothing.")
@click.option(
    "--restore-deleted", is_flag=True, help="Import sessions again that were deleted here."
)
@click.option("--quiet", is_flag=True, help="No progress and no summary; refusals still show.")
@json_option
@common_options
def command(
    common: Common,
    paths: tuple[Path, ...],
    dry_run: bool,
    restore_deleted: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Import recorders' files, or folders of them.

    What is new is imported, what has grown is resumed, what has not changed is left alone, so
    importing the same twice changes nothing. A file that cannot be read faithfully is reported with
    the reason and never stops the rest.

    Exits 1 when something was refused and nothing could be taken; 0 otherwise, also when some of
    the files were refused.
    """
    settings = common.settings()
    from server.cli.import_report import ImportView, print_refusals, print_summary, report_as_json
    from server.cli.output import print_json

    async def run() -> ImportView:
        async with _opened(settings, dry_run=dry_run) as services:
            view = ImportView(show=not (quiet or as_json))
            await view.run(services, paths, dry_run=dry_run, restore_deleted=restore_deleted)
            return view

    view = asyncio.run(run())
    report = view.report
    if as_json:
        print_json(report_as_json(report, dry_run=dry_run))
    else:
        print_refusals(report)
        if not quiet:
            print_summary(report, view.seconds, dry_run=dry_run)
    if report.refused and not (report.imported or report.resumed or report.unchanged):
        raise CommandFailed(f"nothing was imported: {len(report.refused)} refused")


@asynccontextmanager
async def _opened(settings: Settings, *, dry_run: bool) -> AsyncIterator[Services]:
    """The services to import with; a trial without a store gets an empty one of its own."""
    from server.data_directory import DataDirectory, DirectoryInUse
    from server.wiring import open_for_reading, open_for_writing

    directory = DataDirectory(settings.data_dir)
    if not dry_run:
        try:
            with directory.hold("import"):
                async with open_for_writing(settings, directory) as services:
                    yield services
        except DirectoryInUse as error:
            raise CommandFailed(
                f"{error}; stop it first: a running server cannot import for others yet"
            ) from error
    elif directory.log_path.exists():
        async with open_for_reading(settings) as services:
            yield services
    else:
        with TemporaryDirectory(prefix="sessiongraph-") as empty:
            async with open_for_writing(settings, DataDirectory(Path(empty))) as services:
                yield services
