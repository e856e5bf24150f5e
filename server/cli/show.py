"""``sessiongraph show``: one session, its projections, and what its model sees now."""

from __future__ import annotations

import asyncio

import rich_click as click

from server.cli.options import Common, common_options, examples, json_option


@click.command(
    "show",
    epilog=examples(
        "sessiongraph show harbor-tour",
        "sessiongraph show harbor-tour --raw | head -3",
        "sessiongraph show harbor-tour --json | jq .surface[0].data",
        "sessiongraph show harbor-tour --json | jq '.projections.views[] | {key, value}'",
    ),
)
@click.argument("session_id", metavar="ID")
@click.option("--raw", is_flag=True, help="The whole log as JSON lines, the header first.")
@json_option
@common_options
def command(common: Common, session_id: str, raw: bool, as_json: bool) -> None:
    """Show a session: its header, its projections, and its current surface as a transcript."""
    if raw and as_json:
        raise click.UsageError("--raw is JSON already: leave out --json")
    settings = common.settings()
    from server.cli.transcript import print_log, print_session_json, print_transcript
    from server.wiring import open_for_reading

    async def run() -> None:
        async with open_for_reading(settings) as services:
            if raw:
                await print_log(services, session_id)
            elif as_json:
                await print_session_json(services, session_id)
            else:
                await print_transcript(services, session_id)

    asyncio.run(run())
