"""``sessiongraph reindex``: the full-text index, thrown away and built anew."""

from __future__ import annotations

import asyncio
import time

import rich_click as click

from server.cli.options import Common, common_options, examples, json_option


@click.command(
    "reindex",
    epilog=examples(
        "sessiongraph reindex",
        "sessiongraph reindex --json | jq .documents",
    ),
)
@json_option
@common_options
def command(common: Common, as_json: bool) -> None:
    """Drop the full-text index and build it anew from the store, with progress on a terminal.

    The index holds nothing of its own, so nothing can be lost. Needs the data directory to itself;
    a running server repairs its index by itself.
    """
    settings = common.settings()
    from server.cli.output import print_json
    from server.cli.searching import rebuild_index

    began = time.monotonic()
    reached = asyncio.run(rebuild_index(settings, show=not as_json))
    seconds = time.monotonic() - began
    if as_json:
        print_json(
            {
                "documents": reached.documents,
                "position": reached.position,
                "seconds": round(seconds, 3),
            }
        )
    else:
        click.echo(f"{reached.documents:,} documents indexed in {seconds:,.1f} s")
