"""``sessiongraph lineage``: the family of a session as a tree."""

from __future__ import annotations

import asyncio

import rich_click as click

from server.cli.options import Common, common_options, examples, json_option


@click.command(
    "lineage",
    epilog=examples(
        "sessiongraph lineage harbor-retry-fork-a",
        "sessiongraph lineage harbor-retry-fork-a --json | jq .complete",
    ),
)
@click.argument("session_id", metavar="ID")
@json_option
@common_options
def command(common: Common, session_id: str, as_json: bool) -> None:
    """Show the whole family of a session: its root, and everything that descends from it.

    Forks and subagents are children of the session that they came from. With each session stand the
    sessions that it cites, and those that cite it. When an ancestor is not in
    the store, the tree begins at the oldest one that is.
    """
    settings = common.settings()
    from server.cli.family import family_as_json, family_of, print_family
    from server.cli.output import print_json
    from server.wiring import open_for_reading

    async def run() -> None:
        async with (
            open_for_reading(settings) as services,
            services.query.observe() as observation,
        ):
            family = await family_of(observation, session_id)
        if as_json:
            print_json(family_as_json(family))
        else:
            print_family(family)

    asyncio.run(run())
