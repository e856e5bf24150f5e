"""``sessiongraph check``: is everything in the store as it must be?"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import rich_click as click

from server.cli.failures import CommandFailed
from server.cli.options import Common, common_options, examples, json_option

if TYPE_CHECKING:
    from server.cli.verification import Verdict


@click.command(
    "check",
    epilog=examples(
        "sessiongraph check",
        "sessiongraph check --json | jq .faults",
        "sessiongraph check --repair",
    ),
)
@click.option(
    "--repair", is_flag=True, help="Rebuild what is derived; needs the directory to itself."
)
@json_option
@common_options
def command(common: Common, repair: bool, as_json: bool) -> None:
    """Verify the whole store: seqs, payloads, surface rules, placement, links, citations, counts.

    The checkpoints of projections are held to a fold of their logs, the full-text index to what the
    log says: its place, its documents, its checksums.

    What is derived can be rebuilt with `--repair`; a log that is damaged itself is left as it is.
    Without `--repair` it works beside a running server.

    Exits 1 when something is wrong and was not repaired.
    """
    settings = common.settings()
    from server.cli.output import print_json
    from server.cli.verification import print_verdict, verdict_as_json, verify, verify_and_repair
    from server.data_directory import DataDirectory
    from server.wiring import open_for_reading, open_for_writing

    async def run() -> Verdict:
        show = not as_json
        async with open_for_reading(settings) as services:
            if not repair:
                return await verify(services, show=show)
        directory = DataDirectory(settings.data_dir)
        with directory.hold("check --repair"):
            async with open_for_writing(settings, directory) as services:
                return await verify_and_repair(services, show=show)

    verdict = asyncio.run(run())
    if as_json:
        print_json(verdict_as_json(verdict))
    else:
        print_verdict(verdict)
    if verdict.faults:
        raise CommandFailed(verdict.summary())
