"""``sessiongraph search``: which sessions speak of something, and where."""

from __future__ import annotations

import asyncio

import rich_click as click

from server.cli.options import Common, common_options, examples, json_option


@click.command(
    "search",
    epilog=examples(
        "sessiongraph search 'flaky retry'",
        "sessiongraph search 连接池 --surface shadowed",
        "sessiongraph search src/ledger/post.py --mode phrase --type tool/call --since 30d",
        "sessiongraph search timeout --json | jq '.hits[].sessionId'",
    ),
)
@click.argument("query")
@click.option(
    "--mode",
    type=click.Choice(["all", "any", "phrase"]),
    default="all",
    help="Every word, any of them, or all of them in a row. Default: all.",
)
@click.option(
    "--cwd", "cwds", multiple=True, metavar="PATH", help="Only sessions of this working directory."
)
@click.option(
    "--since",
    metavar="WHEN",
    help="Only events since then: 2026-11-01, 2026-11-01T09:30 (UTC), or 12h, 30d ago.",
)
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only events of this type.")
@click.option(
    "--surface",
    "surfaces",
    multiple=True,
    type=click.Choice(["current", "shadowed", "log-only"]),
    help="Only events that stand there now.",
)
@click.option("--limit", type=click.IntRange(1), default=20, help="Most sessions. Default: 20.")
@json_option
@common_options
def command(
    common: Common,
    query: str,
    mode: str,
    cwds: tuple[str, ...],
    since: str | None,
    types: tuple[str, ...],
    surfaces: tuple[str, ...],
    limit: int,
    as_json: bool,
) -> None:
    """Search the words of all sessions, the best matches first, and show the best place in each.

    Chinese, Japanese and Korean are found by any part; names whole and by their words. QUERY is
    plain text: no character in it has a meaning of its own.

    Works beside a running server. Without one, the index is brought up to the store first.
    """
    from server.cli.moments import moment_since

    time_from = None if since is None else moment_since(since)
    settings = common.settings()
    from server.cli.search_results import find, print_found, print_found_json
    from server.cli.searching import search_open
    from sessiongraph.event import EventSurface
    from sessiongraph.filters import ALL_EVENTS, ALL_SESSIONS, Range
    from sessiongraph.search.question import MatchMode

    sessions = ALL_SESSIONS.narrowed(cwds=cwds or None)
    events = ALL_EVENTS.narrowed(
        times=Range(time_from),
        types=types or None,
        surfaces=[EventSurface(each) for each in surfaces] or None,
    )

    async def run() -> None:
        async with search_open(settings, show=not as_json) as (services, search):
            page = await find(services, search, query, MatchMode(mode), sessions, events, limit)
            (print_found_json if as_json else print_found)(page)

    asyncio.run(run())
