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
        "sessiongraph import --discover",
        "sessiongraph import ~/.claude/projects ~/.codex/sessions",
        "sessiongraph import --dry-run session.jsonl",
        "sessiongraph import --json ~/.dsh/sessions | jq .refused",
    ),
)
@click.argument(
    "paths",
    nargs=-1,
    metavar="PATH...",
    type=click.Path(exists=True, path_type=Path),
)
@click.option(
    "--discover",
    is_flag=True,
    help="Find the folders of the recorders on this machine, show them, ask, and import them.",
)
@click.option("--yes", is_flag=True, help="With --discover: do not ask.")
@click.option("--dry-run", is_flag=True, help="Read and check everything, store nothing.")
@click.option(
    "--restore-deleted", is_flag=True, help="Import sessions again that were deleted here."
)
@click.option(
    "--redact",
    type=click.Choice(["on", "off"]),
    help="Replace secrets in the files before anything is stored. Default: off.",
)
@click.option("--quiet", is_flag=True, help="No progress and no summary; refusals still show.")
@json_option
@common_options
def command(
    common: Common,
    paths: tuple[Path, ...],
    discover: bool,
    yes: bool,
    dry_run: bool,
    restore_deleted: bool,
    redact: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Import recorders' files, or folders of them: dsh, Claude Code, Codex.

    What is new is imported, what has grown is resumed, what has not changed is left alone, so
    importing the same twice changes nothing. A file that cannot be read faithfully is reported with
    the reason and never stops the rest. While a server holds the data directory, it imports.

    Exits 1 when something was refused and nothing could be taken; 0 otherwise, also when some of
    the files were refused.
    """
    if not paths and not discover:
        raise click.UsageError("name files or folders, or give --discover")
    settings = common.settings(redact=redact)
    from server.cli.discovering import discovered
    from server.cli.import_report import ImportView, print_refusals, print_summary, report_as_json
    from server.cli.output import print_json

    if discover:
        paths = (*paths, *discovered(ask=not (yes or dry_run), quiet=quiet or as_json))
        if not paths:
            return
    view = ImportView(show=not (quiet or as_json))

    async def run() -> None:
        async with _opened(settings, dry_run=dry_run) as services:
            await view.run(services, paths, dry_run=dry_run, restore_deleted=restore_deleted)

    try:
        asyncio.run(run())
    except _HeldByServer as held:
        if redact is not None:
            raise CommandFailed(
                f"the server at {held.address} imports, and its own setting `redact` holds: stop "
                "it first, or leave --redact out"
            ) from held
        from server.cli.remote_import import import_through
        from server.data_directory import DataDirectory
        from server.tokens import TokenFile

        token = TokenFile(DataDirectory(settings.data_dir).token_path).existing_main()
        authorization = None if token is None else token.authorization
        view.follow(
            paths,
            import_through(held.address, authorization, paths, restore_deleted=restore_deleted),
        )
    report = view.report
    if as_json:
        print_json(report_as_json(report, dry_run=dry_run))
    else:
        print_refusals(report)
        if not quiet:
            print_summary(report, view.seconds, dry_run=dry_run)
    if report.refused and not (report.imported or report.resumed or report.unchanged):
        raise CommandFailed(f"nothing was imported: {len(report.refused)} refused")


class _HeldByServer(Exception):
    """The data directory is held by a server that answers at ``address``."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.address = address


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
            address = None if error.holder is None else error.holder.address
            if address is None:
                raise
            raise _HeldByServer(address) from error
    elif directory.log_path.exists():
        async with open_for_reading(settings) as services:
            yield services
    else:
        with TemporaryDirectory(prefix="sessiongraph-") as empty:
            async with open_for_writing(settings, DataDirectory(Path(empty))) as services:
                yield services
