"""``sessiongraph demo``: a whole server over sample sessions and a live agent, leaving nothing."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

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
    "demo",
    epilog=examples(
        "sessiongraph demo",
        "sessiongraph demo --port 0",
        "sessiongraph demo --once",
    ),
)
@click.option(
    "--once", is_flag=True, help="Run one operation of each kind, print the answers, and end."
)
@common_options
@listen_options
@search_option
@watch_option
def command(
    common: Common,
    once: bool,
    host: str | None,
    port: int | None,
    auth: str | None,
    search: str | None,
    watch: tuple[Path, ...],
) -> None:
    """Start a server over the bundled sample sessions, with a live agent, and say what to try.

    The agent works on small tasks in sessions of its own, one after the other, so that
    subscriptions move. With `--once` it tells a single story at once.

    The store is made anew in a temporary directory that goes when the demo ends; with `--data-dir`
    it is made there and stays. `--once` takes a free port unless one is given.
    """
    with ExitStack() as resources:
        folder = common.data_dir
        if folder is None:
            folder = Path(resources.enter_context(TemporaryDirectory(prefix="sessiongraph-demo-")))
        if once and port is None:
            port = 0
        level = common.log_level or "warning"
        settings = common.settings(
            data_dir=folder,
            log_level=level,
            host=host,
            port=port,
            auth=auth,
            search=search,
            watch=watch or None,
        )
        from server.cli.demo_agent import DemoAgent
        from server.cli.demo_stories import STORIES
        from server.cli.demo_tour import (
            import_samples,
            print_introduction,
            print_tour,
            print_welcome,
        )
        from server.cli.serving import serving

        async def demo() -> None:
            async with serving(settings, "demo") as server:
                report = await import_samples(server.services)
                agent = DemoAgent(server.live.writing, pace=0 if once else 1)
                live_id = await agent.begin()
                if once:
                    print_introduction(report, live_id)
                    await agent.tell(STORIES[0], live_id)
                    await print_tour(server)
                else:
                    print_welcome(server, settings.data_dir, report, live_id)
                    await agent.work_until(server.asked_to_stop, live_id)

        asyncio.run(demo())
