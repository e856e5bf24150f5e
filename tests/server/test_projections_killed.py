"""A server that is killed between two checkpoints: a longer tail afterwards, the right values."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

from tests.providers.sqlite import raw
from tests.server.processes import RunningServer, run, serving

SELDOM = {
    "SESSIONGRAPH_CHECKPOINT_MS": "3600000",
    "SESSIONGRAPH_CHECKPOINT_EVENTS": "1000000",
}
"""Checkpoints at the end of a turn and of a session alone."""

APPEND = """mutation ($events: [EventInput!]!) {
    appendEvents(input: {sessionId: "s", events: $events}) { session { lastSeq } } }"""
VIEWS = """query ($freshness: ProjectionFreshness) { session(id: "s") {
    projections(keys: ["title", "activity"], freshness: $freshness) {
        asOfSeq views { key seq value } } } }"""


def title(text: str) -> dict[str, Any]:
    return {"type": "session/title", "data": {"title": text, "messageSeqs": []}}


def append(server: RunningServer, *events: dict[str, Any]) -> int:
    answer = server.ask(APPEND, events=list(events))
    seq: int = answer["data"]["appendEvents"]["session"]["lastSeq"]
    return seq


def read(server: RunningServer, freshness: str) -> tuple[int, Any]:
    snapshot = server.ask(VIEWS, freshness=freshness)["data"]["session"]["projections"]
    values = {view["key"]: view["value"] for view in snapshot["views"]}
    return snapshot["asOfSeq"], values.get("title")


def test_a_server_that_was_killed_shows_everything_that_was_acknowledged(tmp_path: Path) -> None:
    database = tmp_path / "log.db"
    for kill in range(2):
        with serving(tmp_path, environment=SELDOM) as server:
            if not kill:
                server.ask('mutation { createSession(input: {id: "s"}) { session { id } } }')
            else:
                server.ask('mutation { resumeSession(id: "s") { session { id } } }')
            turn = [
                {"type": "turn/start", "data": {"turn": kill}},
                {"type": "turn/end", "data": {"turn": kill, "reason": {"kind": "completed"}}},
            ]
            ended = append(server, title(f"checkpoint {kill}"), *turn)
            while read(server, "STORED")[0] < ended:
                pass
            for number in range(4):
                last = append(server, title(f"kill {kill}, title {number}"))
            assert read(server, "CURRENT") == (last, f"kill {kill}, title 3")
            server.stop(signal.SIGKILL)
        assert raw.rows(database, "SELECT max(seq) FROM checkpoints") == [(ended,)]
        shown = run("show", "s", "--json", "--data-dir", tmp_path)
        views = json.loads(shown.stdout)["projections"]["views"]
        assert views[0] == {"key": "title", "seq": last, "value": f"kill {kill}, title 3"}
        with serving(tmp_path, environment=SELDOM) as server:
            seq, stored = read(server, "STORED")
            assert (seq, stored) in (
                (ended, f"checkpoint {kill}"),
                (last, f"kill {kill}, title 3"),
            )
            assert read(server, "CURRENT")[1] == f"kill {kill}, title 3"
