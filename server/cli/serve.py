"""``sessiongraph serve``: the server, until it is told to stop."""

from __future__ import annotations

import asyncio
from pathlib import Path

import rich_click as click

from server.cli.options import (
    Common,
    common_options,
    examples,
    listen_options,
    search_option,
    watch_option,
)


@click.command(
    "serve",
    epilog=examples(
        "sessiongraph serve",
        "sessiongraph serve --watch ~/.claude/projects --watch ~/.codex/sessions",
        "sessiongraph serve --port 0 --data-dir ./archive",
        "SESSIONGRAPH_PAGE_MAX=500 sessiongraph serve --log-level debug",
    ),
)
@common_options
@listen_options
@search_option
@watch_option
def command(
    common: Common,
    host: str | None,
    port: int | None,
    auth: str | None,
    search: str | None,
    watch: tuple[Path, ...],
) -> None:
    """Serve the GraphQL API over one data directory.

    Prints one line when it is ready, `listening on http://HOST:PORT`, and stops cleanly on SIGINT
    or SIGTERM. Whoever asks needs a token: `sessiongraph token show` prints the header to send.
    """
    settings = common.settings(host=host, port=port, auth=auth, search=search, watch=watch or None)
    from server.cli.serving import serving

    async def serve() -> None:
        async with serving(settings, "serve") as server:
            click.echo(f"listening on {server.url}")
            await server.asked_to_stop.wait()

    asyncio.run(serve())
