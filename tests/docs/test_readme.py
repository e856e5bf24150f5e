"""The tour in the README, taken."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from server.samples import sample_sessions
from tests.server.processes import clean_environment, serving

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.compile(r"```console\n\$ (?P<command>.*)\n(?P<output>(?:.*\n)*?)```")
TOUR = [
    (match["command"], match["output"])
    for match in CONSOLE.finditer(README)
    if not match["command"].startswith("sessiongraph serve")
]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme") / "data"


def run(command: str, data_dir: Path) -> str:
    """What a command of the tour prints; the samples stand for the reader's own sessions."""
    program, *arguments = shlex.split(command)
    assert program == "sessiongraph"
    environment = {**os.environ, "SESSIONGRAPH_DATA_DIR": str(data_dir), "COLUMNS": "200"}
    with sample_sessions() as samples:
        arguments = [
            str(samples) if argument == "~/.dsh/sessions" else argument for argument in arguments
        ]
        return subprocess.run(
            [sys.executable, "-m", "server.cli", *arguments],
            check=True,
            capture_output=True,
            encoding="utf-8",
            env=environment,
            cwd=ROOT,
        ).stdout


def pattern(printed: str) -> re.Pattern[str]:
    """What is printed, with an ellipsis for what differs from run to run."""
    parts = (re.escape(part) for part in printed.strip().split("…"))
    return re.compile(".*?".join(parts), re.DOTALL)


def test_every_command_of_the_tour_prints_what_the_readme_shows(data_dir: Path) -> None:
    commands = [command.split()[1] for command, _ in TOUR]
    assert commands == ["import", "search", "search", "lineage", "show", "check"]
    for command, printed in TOUR:
        output = "\n".join(line.rstrip() for line in run(command, data_dir).splitlines())
        expected = "\n".join(line.rstrip() for line in printed.splitlines())
        assert pattern(expected).match(output.strip()), (command, output)


def test_the_readme_has_one_command_that_runs_it_and_one_that_passes_the_tests() -> None:
    assert "pip install . && sessiongraph demo" in README
    assert "pip install '.[test]' && pytest" in README
    assert "pip install -qq '.[test]'" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_projection_in_the_readme_is_the_one_of_the_example() -> None:
    example = ROOT / "docs" / "example-projection" / "word_count.py"
    (shown,) = re.findall(r"```python\n(WORD_COUNT = .*?)```", README, re.DOTALL)
    assert shown in example.read_text(encoding="utf-8")
    assert len(shown.splitlines()) <= 10


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed here")
def test_every_curl_of_the_readme_is_answered_as_it_shows(tmp_path: Path) -> None:
    commands = re.findall(r"```sh\n(sessiongraph token show \| curl .*?)```", README, re.DOTALL)
    (write,) = re.findall(r"```graphql\n(mutation \{\n  createSession.*?)```", README, re.DOTALL)
    with serving(tmp_path) as server:
        assert "errors" not in server.ask(write)
        query, following = (curl(command, server.url, tmp_path) for command in commands)
    found = json.loads(query)["data"]["sessions"]["nodes"]
    assert [node["id"] for node in found] == ["my-session"]
    assert following.splitlines()[:2] == [
        "event: next",
        'data: {"data":{"sessionEvents":{"seq":0,"type":"user/message"}}}',
    ]


def curl(command: str, url: str, data_dir: Path) -> str:
    """What a shell makes of it; a stream without an end is cut off after a while."""
    program = f'sessiongraph() {{ {shlex.quote(sys.executable)} -m server.cli "$@"; }}\n'
    address = command.replace("http://127.0.0.1:8642", url)
    return subprocess.run(
        ["bash", "-c", program + address.replace("curl -N", "curl -N --max-time 3", 1)],
        check=False,
        capture_output=True,
        encoding="utf-8",
        env=clean_environment(SESSIONGRAPH_DATA_DIR=str(data_dir)),
        cwd=ROOT,
    ).stdout
