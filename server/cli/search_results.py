"""What a search found, for people and as JSON."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from server.cli.output import moment, print_json, stderr_console, stdout_console, visible
from server.wiring import Services
from sessiongraph.filters import EventSelection, SessionSelection
from sessiongraph.paging import PageRequest
from sessiongraph.search.question import MatchMode
from sessiongraph.search.service import Search, SearchPage, SessionHit


async def find(
    services: Services,
    search: Search,
    query: str,
    mode: MatchMode,
    sessions: SessionSelection,
    events: EventSelection,
    limit: int,
) -> SearchPage[SessionHit]:
    """One page of sessions.

    Raises:
        InvalidQuery, InvalidLimit, IndexFailed: see :meth:`Search.sessions`.
    """
    async with services.query.observe() as observation:
        request = PageRequest(limit)
        return await search.sessions(observation.view, query, mode, sessions, events, request)


def print_found(page: SearchPage[SessionHit]) -> None:
    """Each session with its best place, the match highlighted on a terminal."""
    console = stdout_console()
    for hit in page.items:
        best = hit.best_match
        line = Text(visible(hit.session.session_id), "bold")
        if hit.session.title is not None:
            line.append(f"  {visible(hit.session.title)}", "default")
        console.print(line)
        where = f"  {best.seq}  {visible(best.type)}  {moment(best.time)}  {best.surface.value}"
        console.print(Text(where, "dim"))
        snippet = Text(visible(best.snippet.text))
        for span in best.snippet.highlights:
            snippet.stylize("bold yellow", span.start, span.end)
        console.print(Text("  ").append_text(snippet))
    if not page.items:
        stderr_console().print("nothing was found")
    elif page.has_next_page:
        stderr_console().print("there is more: see --limit")


def print_found_json(page: SearchPage[SessionHit]) -> None:
    """The same as one JSON object."""
    hits = [_as_json(hit) for hit in page.items]
    print_json({"hits": hits, "hasMore": page.has_next_page})


def _as_json(hit: SessionHit) -> dict[str, Any]:
    best = hit.best_match
    return {
        "sessionId": hit.session.session_id,
        "title": hit.session.title,
        "seq": best.seq,
        "type": best.type,
        "time": best.time,
        "surface": best.surface.value,
        "snippet": best.snippet.text,
        "highlights": [[span.start, span.end] for span in best.snippet.highlights],
    }
