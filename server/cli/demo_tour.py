"""What the demo has to say: what to try, and with ``--once`` one operation of each kind, answered.

The tour asks over real HTTP, like everybody; an answer with an error in it fails the demo. What it
writes stands on the story that the agent has told before, so it answers alike every time.
"""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from rich.syntax import Syntax
from rich.text import Text

from providers.recordings.discovery import find_recordings
from server.cli.failures import CommandFailed
from server.cli.output import stdout_console, visible
from server.cli.serving import RunningServer
from server.pages import GRAPHQL_PATH
from server.samples import sample_sessions
from server.wiring import READERS, Services
from sessiongraph.import_report import ImportReport

_TIMEOUT_S: Final = 30
_THEME: Final = "ansi_dark"


@dataclass(frozen=True, slots=True)
class Stop:
    """One operation of the tour.

    frames: of a subscription, how many answers are shown; 0 for what has one answer.
    """

    title: str
    query: str
    frames: int = 0


TOUR: Final = (
    Stop("The server", "{ server { version sessions events searchEnabled projectionKeys } }"),
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
        "Where was that? The sessions with the best match first",
        '{ searchSessions(query: "idempotency key", includeInherited: false, first: 2) '
        "{ nodes { session { id title } bestMatch { seq surface snippet "
        "highlights { start end } } } } }",
    ),
    Stop(
        "Part of a Chinese word, in one session",
        '{ searchEvents(sessionId: "harbor-zh-pool", query: "接池", first: 2) '
        "{ session { sessionId } nodes { seq type snippet } } }",
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
    Stop(
        "Values folded from the log of a session",
        '{ session(id: "harbor-release") { projections(keys: ["todos", "goal", "tokenUsage"]) '
        "{ asOfSeq views { key seq ... on TodosView { todos { content status } } "
        "... on GoalView { objective phase } ... on TokenUsageView { outputTokens } } } } }",
    ),
    Stop(
        "What the agent has just done",
        '{ session(id: "live-1") { title live persisted '
        'events(filters: [{ type: ["assistant/message"] }], last: 1) '
        "{ nodes { seq ... on AssistantMessageEvent { text model } } } } }",
    ),
    Stop(
        "Making a session",
        'mutation { createSession(input: { id: "tour", cwd: "/home/mei/harbor" }) '
        "{ session { id live persisted lastSeq } } }",
    ),
    Stop(
        "Appending to it, at the place where its log is",
        'mutation { appendEvents(input: { sessionId: "tour", expectedSeq: 0, events: ['
        '{ type: "turn/start", data: { turn: 1 } }, '
        '{ type: "user/message", data: { id: "m1", role: "user", source: { kind: "user" }, '
        'content: [{ type: "text", text: "What is left to do?" }] } }, '
        '{ type: "turn/end", data: { turn: 1, reason: { kind: "completed" } } }] }) '
        "{ session { lastSeq } events { seq type surface } } }",
    ),
    Stop(
        "An append that is answered before it is on disk",
        'mutation { appendEvents(input: { sessionId: "tour", durability: ACCEPTED, events: ['
        '{ type: "custom/note", data: { text: "on disk within 50 ms" } }] }) '
        "{ session { lastSeq live } } }",
    ),
    Stop(
        "Waiting until everything is on disk",
        'mutation { flushSession(id: "tour") { session { persisted lastSeq } } }',
    ),
    Stop(
        "A title",
        'mutation { renameSession(id: "tour", title: "A tour of the writes") '
        "{ session { title lastSeq } } }",
    ),
    Stop(
        "A fork",
        'mutation { forkSession(input: { sourceId: "tour", boundary: 2, id: "tour-fork" }) '
        "{ session { id lastSeq header { parentSession seedLength } } } }",
    ),
    Stop(
        "The first events of a session that is followed",
        'subscription { sessionEvents(sessionId: "tour") { seq type '
        "... on UserMessageEvent { text } ... on TitleEvent { title } } }",
        frames=5,
    ),
    Stop(
        "Following from where one was",
        'subscription { sessionEvents(sessionId: "tour", afterSeq: 2) { seq type } }',
        frames=2,
    ),
    Stop(
        "Values that are pushed when they change, a snapshot first",
        'subscription { projections(sessionId: "tour", keys: ["title", "activity"]) { '
        "... on ProjectionSnapshot { asOfSeq views { key seq value } } "
        "... on ProjectionChange { view { key seq value } } } }",
        frames=1,
    ),
    Stop(
        "A session that goes cold",
        'mutation { closeSession(id: "tour") { session { live persisted } } }',
    ),
    Stop(
        "And is taken up again",
        'mutation { resumeSession(id: "tour") { session { live lastSeq } } }',
    ),
    Stop(
        "Deleting for good",
        'mutation { deleteSession(id: "tour-fork") { deletedId } }',
    ),
)


async def import_samples(services: Services) -> ImportReport:
    """Import the bundled sample sessions."""
    with sample_sessions() as folder:
        return await services.importer.run(find_recordings([folder], READERS))


def print_introduction(report: ImportReport, live_id: str) -> None:
    """What a tour asks about; ``live_id`` is where the agent works. The server ends with the tour,
    so there is no address and no token to tell.
    """
    line = f"SessionGraph demo: {_samples(report)}, and what an agent does in {live_id}"
    stdout_console().print(Text(line), soft_wrap=True)


def print_welcome(
    server: RunningServer, data_dir: Path, report: ImportReport, live_id: str
) -> None:
    """The addresses, the token, and a few commands; ``live_id`` is where the agent works first."""
    url = server.url
    query = json.dumps({"query": TOUR[0].query})
    following = json.dumps(
        {"query": f'subscription {{ sessionEvents(sessionId: "{live_id}") {{ seq type }} }}'}
    )
    at = f"--data-dir {data_dir}"
    post = f"curl {url}{GRAPHQL_PATH} -H 'content-type: application/json'"
    token: tuple[str, ...] = ()
    if server.authorization is not None:
        post = f"sessiongraph token show {at} | {post} -H @-"
        token = ("", f"  Authorization: {server.authorization}", "", "The pages ask for that line.")
    lines = (
        f"SessionGraph demo: {_samples(report)}, and an agent that works in {live_id}",
        "",
        f"  The app      {url}/app/",
        f"  GraphiQL     {url}/",
        f"  GraphQL      {url}{GRAPHQL_PATH}",
        *token,
        "",
        "To try in another terminal:",
        "",
        f"  sessiongraph show harbor-tour {at}",
        f"  sessiongraph lineage harbor-retry-fork-a {at}",
        f"  {post} -d '{query}'",
        f"  {post} -H 'accept: text/event-stream' -N -d '{following}'",
        "",
        "Ctrl-C ends it.",
    )
    console = stdout_console()
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    console.file.flush()


def _samples(report: ImportReport) -> str:
    return f"{report.imported + report.unchanged + report.resumed} sample sessions"


async def print_tour(server: RunningServer) -> None:
    """Ask everything that the tour asks, in order, and print the answers.

    Raises:
        CommandFailed: an answer has errors.
    """
    console = stdout_console()
    for stop in TOUR:
        console.print()
        console.print(Text(stop.title, "bold"))
        console.print(Text(visible(stop.query), "cyan"), soft_wrap=True)
        for answer in await asyncio.to_thread(ask, server, stop):
            pretty = visible(json.dumps(answer, ensure_ascii=False, indent=2))
            if console.is_terminal:
                console.print(Syntax(pretty, "json", theme=_THEME, word_wrap=True))
            else:
                console.print(Text(pretty))
            if "errors" in answer:
                raise CommandFailed(f"the stop {stop.title!r} was answered with an error")


def ask(server: RunningServer, stop: Stop) -> list[dict[str, Any]]:
    """The answers of a server at one stop."""
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(
        str(address.hostname), address.port or 80, timeout=_TIMEOUT_S
    )
    headers = {"content-type": "application/json"}
    if server.authorization is not None:
        headers["authorization"] = server.authorization
    if stop.frames:
        headers["accept"] = "text/event-stream"
    try:
        connection.request("POST", GRAPHQL_PATH, json.dumps({"query": stop.query}), headers)
        response = connection.getresponse()
        if not stop.frames:
            return [json.loads(response.read())]
        # The stream would go on; what is shown is its beginning.
        return list(itertools.islice(_frames(response), stop.frames))
    finally:
        connection.close()


def _frames(response: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    """The responses in a stream of server-sent events."""
    for line in response:
        field, _, value = line.partition(b":")
        if field == b"data" and value.strip():
            yield json.loads(value)
