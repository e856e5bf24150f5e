"""Importing as a user does it: through a running server, from the recorders' own folders."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from providers.recordings.reading_apart import STARTED_FROM_BYTES
from tests.providers.recordings.transcript_writing import (
    SESSION,
    as_lines,
    asked,
    codex_meta,
    history,
    replied,
    text,
    write_lines,
)
from tests.server.processes import RunningServer, run, serving


def home(tmp_path: Path) -> dict[str, str]:
    """A home with recorders' folders in it, as an environment."""
    root = tmp_path / "home"
    write_lines(root / ".claude" / "projects" / "-x" / f"{SESSION}.jsonl", [asked(0, "hello")])
    day = root / ".codex" / "sessions" / "2026" / "01" / "01"
    write_lines(day / "rollout-1-c.jsonl", [codex_meta("c"), history(1, "user", "go")])
    return {"HOME": str(root)}


def test_a_command_imports_through_the_server_that_holds_the_directory(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [asked(0, "hello")])
    with serving(tmp_path / "data") as server:
        done = run("import", "--json", "--data-dir", tmp_path / "data", path)
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["imported"] == 1
        asking = f'{{ session(id: "{SESSION}") {{ lastSeq }} }}'
        assert server.ask(asking)["data"]["session"] == {"lastSeq": 1}
        again = run("import", "--data-dir", tmp_path / "data", path)
        assert again.returncode == 0
        assert "unchanged" in again.stdout
        bad = tmp_path / "bad.jsonl"
        bad.write_text("nothing\n")
        refused = run("import", "--data-dir", tmp_path / "data", "--quiet", bad)
        assert refused.returncode == 1
        assert f"refused {bad}:1: no reader knows this format" in refused.stderr


def test_discovered_folders_are_listed_and_imported_when_that_is_wanted(tmp_path: Path) -> None:
    environment = home(tmp_path)
    data = tmp_path / "data"
    asked_nobody = run("import", "--discover", "--data-dir", data, environment=environment)
    assert asked_nobody.returncode == 1
    assert "Claude Code" in asked_nobody.stderr
    assert "--yes" in asked_nobody.stderr
    assert not (data / "log.db").exists()
    done = run(
        "import", "--discover", "--yes", "--json", "--data-dir", data, environment=environment
    )
    assert (done.returncode, json.loads(done.stdout)["imported"]) == (0, 2)


def test_where_no_recorder_was_nothing_is_imported(tmp_path: Path) -> None:
    done = run(
        "import",
        "--discover",
        "--data-dir",
        tmp_path / "data",
        environment={"HOME": str(tmp_path / "nobody")},
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert "no recorder's folder was found" in done.stderr


def test_an_import_of_nothing_is_wrong_usage(tmp_path: Path) -> None:
    assert run("import", "--data-dir", tmp_path).returncode == 2


def test_secrets_are_counted_in_the_summary_and_gone_from_the_store(tmp_path: Path) -> None:
    secret = "AKIAQ7XW5N3RT2ZBV6LD"
    path = write_lines(tmp_path / "log.jsonl", [asked(0, f"use {secret}")])
    data = tmp_path / "data"
    done = run("import", "--redact", "on", "--data-dir", data, path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "redacted: aws-key (1)" in done.stdout
    shown = run("show", "--raw", SESSION, "--data-dir", data).stdout
    assert secret not in shown
    assert "[redacted:aws-key]" in shown
    with serving(data):
        refused = run("import", "--redact", "on", "--data-dir", data, path)
        assert refused.returncode == 1
        assert "its own setting `redact` holds" in refused.stderr
    by_setting = run(
        "import",
        "--json",
        "--data-dir",
        tmp_path / "other",
        path,
        environment={"SESSIONGRAPH_REDACT": "on"},
    )
    assert json.loads(by_setting.stdout)["redacted"] == {"aws-key": 1}


@contextmanager
def following(server: RunningServer, session_id: str) -> Iterator[http.client.HTTPResponse]:
    """The events of a session from the second on, as server-sent events."""
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    events = f'sessionEvents(sessionId: "{session_id}", afterSeq: 0) {{ seq type }}'
    query = f"subscription {{ {events} }}"
    headers = {
        **server.credentials,
        "content-type": "application/json",
        "accept": "text/event-stream",
    }
    with closing(connection):
        connection.request("POST", "/graphql", json.dumps({"query": query}), headers)
        with connection.getresponse() as response:
            yield response


@pytest.mark.parametrize("by", ["option", "environment", "file"])
def test_what_a_watched_file_gains_reaches_a_subscriber_within_a_second(
    tmp_path: Path, by: str
) -> None:
    folder = tmp_path / "watched"
    path = write_lines(folder / "log.jsonl", [asked(0, "hello")])
    arguments: list[str] = []
    environment: dict[str, str] = {}
    if by == "option":
        arguments = ["--watch", str(folder)]
    elif by == "environment":
        environment = {"SESSIONGRAPH_WATCH": json.dumps([str(folder)])}
    else:
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "sessiongraph.toml").write_text(f"watch = [{json.dumps(str(folder))}]")
    with serving(tmp_path / "data", *arguments, environment=environment) as server:
        asking = f'{{ session(id: "{SESSION}") {{ live lastSeq }} }}'
        deadline = time.monotonic() + 30
        while (seen := server.ask(asking)["data"]["session"]) is None:
            assert time.monotonic() < deadline
        assert seen["lastSeq"] == 1
        with following(server, SESSION) as stream:
            assert next_event(stream)["seq"] == 1
            # What happens before the system tells of changes is found by the look after that.
            write_growth(path, 1)
            assert [next_event(stream)["seq"] for _ in range(2)] == [2, 3]
            began = time.monotonic()
            write_growth(path, 2)
            assert next_event(stream)["type"] == "step/end"
            assert time.monotonic() - began < 1
        assert server.ask(asking)["data"]["session"]["live"]


def write_growth(path: Path, number: int) -> None:
    with path.open("ab") as file:
        file.write(as_lines([replied(number, f"m{number}", text("hi"))]))


def next_event(stream: http.client.HTTPResponse) -> dict[str, object]:
    for line in stream:
        if line.startswith(b"data:") and line.strip() != b"data:":
            event: dict[str, object] = json.loads(line[5:])["data"]["sessionEvents"]
            return event
    raise AssertionError("the stream ended")


def test_a_large_file_is_imported_by_a_command_and_by_a_server(tmp_path: Path) -> None:
    words = "what the tide brings in " * 200
    records = [asked(number, f"{words}{number}") for number in range(400)]
    path = write_lines(tmp_path / "log.jsonl", records)
    assert path.stat().st_size > STARTED_FROM_BYTES
    by_setting = {"SESSIONGRAPH_IMPORT_PROCESSES": "0"}
    asking = (
        f'{{ session(id: "{SESSION}") {{ lastSeq events(last: 2) {{ nodes {{ seq time }} }} }} }}'
    )
    told = []
    for name, environment in (("here", by_setting), ("apart", {})):
        data = tmp_path / name
        done = run("import", "--json", "--data-dir", data, path, environment=environment)
        assert (done.returncode, done.stderr) == (0, "")
        with serving(data) as server:
            told.append(server.ask(asking))
    with serving(tmp_path / "served") as server:
        done = run("import", "--json", "--data-dir", tmp_path / "served", path)
        assert (done.returncode, done.stderr) == (0, "")
        told.append(server.ask(asking))
    assert told[0]["data"]["session"]["lastSeq"] > 400
    assert told == [told[0]] * 3
