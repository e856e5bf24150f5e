"""The demo: an agent that works live over the sample sessions, and a tour of every operation."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from server.cli.demo_stories import STORIES
from server.cli.demo_tour import TOUR
from tests.server.processes import PROGRAM, ROOT, TIMEOUT_S, clean_environment, run


def test_the_tour_shows_one_operation_of_each_kind_and_leaves_nothing(tmp_path: Path) -> None:
    done = run("demo", "--once", environment={"TMPDIR": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    assert '"errors"' not in done.stdout
    assert "sample sessions" in done.stdout.splitlines()[0]
    for useless in ("sgt_", "http://", "Ctrl-C", "another terminal", "--data-dir"):
        assert useless not in done.stdout
    for stop in TOUR:
        assert f"\n{stop.title}\n" in done.stdout
    mutations = {name for stop in TOUR for name in re.findall(r"^mutation \{ (\w+)", stop.query)}
    assert mutations == {
        "createSession",
        "resumeSession",
        "appendEvents",
        "forkSession",
        "renameSession",
        "flushSession",
        "closeSession",
        "deleteSession",
    }
    assert STORIES[0].title in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_while_the_demo_runs_events_keep_coming(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "demo", "--port", "0"],
        env=clean_environment(TMPDIR=str(tmp_path)),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        assert process.stdout is not None
        welcome = ""
        while "Ctrl-C" not in welcome:
            line = process.stdout.readline()
            assert line, process.communicate(timeout=TIMEOUT_S)
            welcome += line
        url = next(iter(re.findall(r"http://\S+/graphql", welcome)))
        live_id = next(iter(re.findall(r"an agent that works in (\S+)", welcome)))
        authorization = next(iter(re.findall(r"^  Authorization: (.*)$", welcome, re.MULTILINE)))
        assert not re.search(r"http\S*sgt_", welcome)
        address = urlsplit(url)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=TIMEOUT_S)
        document = f'subscription {{ sessionEvents(sessionId: "{live_id}") {{ seq type }} }}'
        connection.request(
            "POST",
            address.path,
            json.dumps({"query": document}),
            {
                "content-type": "application/json",
                "accept": "text/event-stream",
                "authorization": authorization,
            },
        )
        frames = (
            json.loads(line.removeprefix(b"data:"))
            for line in connection.getresponse()
            if line.startswith(b"data: {")
        )
        events = [next(frames)["data"]["sessionEvents"] for _ in range(8)]
        connection.close()
        assert [event["seq"] for event in events] == list(range(8))
        assert {"turn/start", "user/message", "assistant/chunk"} <= {
            event["type"] for event in events
        }
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=TIMEOUT_S)
        assert (process.returncode, errors) == (0, "")
        assert list(tmp_path.iterdir()) == []
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate(timeout=TIMEOUT_S)
