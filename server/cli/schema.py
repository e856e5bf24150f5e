"""``sessiongraph schema``: the GraphQL schema that this version serves."""

from __future__ import annotations

import rich_click as click

from server.cli.options import Common, common_options, examples


@click.command("schema", epilog=examples("sessiongraph schema > schema.graphql"))
@common_options
def command(common: Common) -> None:
    """Print the GraphQL schema in the schema definition language."""
    common.settings()
    from schema.export import sdl

    click.echo(sdl(), nl=False)
