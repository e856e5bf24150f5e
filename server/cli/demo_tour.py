"""What the demo has to say: what to try, and with ``--once`` one query of each kind, answered.

The tour asks over real HTTP, like everybody; an answer with an error in it fails the demo.
"""

from __future__ import annotations

import asyncio
import http.client
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from rich.syntax import Syntax
from rich.text import Text

from providers.recordings.discovery import find_recordings
from server.cli.failures import CommandFailed
from server.cli.output import stdout_console, visible
from server.pages import GRAPHQL_PATH
from server.samples import sample_sessions
from server.wiring import READERS, Services
from sessiongraph.importing import ImportReport

_TIMEOUT_S: Final = 30
_THEME: Final = "ansi_dark"


@dataclass(frozen=True, slots=True)
class Stop:
    """One query of the tour."""

    title: str
    query: str


TOUR: Final = (
    Stop("The server", "{ server { version sessions events searchEnabled } }"),
    Stop(
        "The newest sessions",
        "{ sessions(first: 3) { nodes { id title lastSeq header { createdAt origin } } "
        "pageInfo { hasNextPage } } }",
    ),
    Stop(
        "Several sessions at once, one of them missing",
        '{ observeSessions(ids: ["harbor-tour", "nowhere"]) { ... on SessionRecord { id title } '
        "... on ObservationFailure { sessionId code } } }",
    ),
    Stop(
        "The last prompt of a session",
        '{ session(id: "harbor-tour") { events(filters: [{ type: ["user/message"] }], last: 1) '
        "{ nodes { seq surface ... on UserMessageEvent { text sourceKind } } } } }",
    ),
    Stop(
        "An event and its neighbours",
        '{ session(id: "harbor-tour") { event(seq: 5, before: 1, after: 1) '
        "{ startSeq endSeq events { seq type } } } }",
    ),
    Stop(
        "A literal text, found without an index",
        '{ session(id: "harbor-zh-pool") { documents(filters: [{ text: "连接池" }], first: 2) '
        "{ nodes { seq type surface text } } } }",
    ),
    Stop(
        "What the model sees now",
        '{ session(id: "harbor-ledger-migration") { surface { capturedThroughSeq '
        "events(first: 2) { nodes { seq type } pageInfo { hasNextPage } } } } }",
    ),
    Stop(
        "What became of a prompt that was compacted away",
        '{ session(id: "harbor-ledger-migration") { trace(seq: 6) '
        "{ target { surface } replacedBy replacementChain } } }",
    ),
    Stop(
        "The family of a fork",
        '{ session(id: "harbor-retry-fork-a") { lineage { complete ancestors { id } '
        "descendants { nodes { depth session { id title } } } } } }",
    ),
)


async def import_samples(services: Services) -> ImportReport:
    """Import the bundled sample sessions."""
    with sample_sessions() as folder:
        return await services.importer.run(find_recordings([folder], READERS))


def print_welcome(url: str, data_dir: Path, report: ImportReport) -> None:
    """The addresses, and a few commands to try."""
    count = report.imported + report.unchanged + report.resumed
    query = json.dumps({"query": TOUR[0].query})
    lines = (
        f"SessionGraph demo: {count} sample sessions",
        "",
        f"  GraphiQL     {url}/",
        f"  GraphQL      {url}{GRAPHQL_PATH}",
        "",
        "To try in another terminal:",
        "",
        f"  sessiongraph show harbor-tour --data-dir {data_dir}",
        f"  sessiongraph lineage harbor-retry-fork-a --data-dir {data_dir}",
        f"  curl {url}{GRAPHQL_PATH} -H 'content-type: application/json' -d '{query}'",
        "",
        "Ctrl-C ends it.",
    )
    console = stdout_console()
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    console.file.flush()


async def print_tour(url: str) -> None:
    """Ask every query of the tour and print the answers.

    Raises:
        CommandFailed: an answer has errors.
    """
    console = stdout_console()
    for stop in TOUR:
        answer = await asyncio.to_thread(ask, url, stop.query)
        console.print()
        console.print(Text(stop.title, "bold"))
        console.print(Text(visible(stop.query), "cyan"), soft_wrap=True)
        pretty = visible(json.dumps(answer, ensure_ascii=False, indent=2))
        if console.is_terminal:
            console.print(Syntax(pretty, "json", theme=_THEME, word_wrap=True))
        else:
            console.print(Text(pretty))
        if "errors" in answer:
            raise CommandFailed(f"the query {stop.title!r} was answered with an error")


def ask(url: str, query: str) -> dict[str, Any]:
    """The answer of a server to one query."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(
        str(address.hostname), address.port or 80, timeout=_TIMEOUT_S
    )
    try:
        body = json.dumps({"query": query})
        connection.request("POST", GRAPHQL_PATH, body, {"content-type": "application/json"})
        answer: dict[str, Any] = json.loads(connection.getresponse().read())
        return answer
    finally:
        connection.close()
