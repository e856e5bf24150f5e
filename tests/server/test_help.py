"""Help, usage errors, and how fast the program is at hand."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.server.processes import ROOT, clean_environment, run

COMMANDS = [
    *("demo", "serve", "import", "search", "show", "lineage", "export", "check", "reindex"),
    *("backup", "token", "schema", "documents"),
]
OF_TOKENS = ["token show", "token create", "token list", "token revoke"]
PRINTING_DATA = [
    *OF_TOKENS,
    *("import", "search", "show", "lineage", "export", "check", "reindex", "backup"),
]


def test_the_help_names_every_command_in_one_line_each() -> None:
    done = run("--help")
    assert done.returncode == 0
    for command in COMMANDS:
        assert f" {command} " in done.stdout


def test_the_help_of_tokens_names_what_can_be_done_with_them() -> None:
    done = run("token", "--help")
    assert done.returncode == 0
    for command in OF_TOKENS:
        assert f" {command.split()[1]} " in done.stdout


@pytest.mark.parametrize("command", [*(each for each in COMMANDS if each != "token"), *OF_TOKENS])
def test_every_command_has_help_with_examples_and_the_common_options(command: str) -> None:
    done = run(*command.split(), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"$ sessiongraph {command}" in done.stdout
    for option in ("--data-dir", "--config", "--log-level"):
        assert option in done.stdout
    assert ("--json" in done.stdout) == (command in PRINTING_DATA)


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["serve", "--port", "70000"],
        ["serve", "--nonsense"],
        ["import"],
        ["import", "/nowhere/at/all"],
        ["search"],
        ["search", "a", "--mode", "fuzzy"],
        ["search", "a", "--since", "yesterday"],
        ["search", "a", "--limit", "0"],
        ["show"],
        ["show", "a", "--raw", "--json"],
        ["export"],
        ["export", "a", "--all"],
        ["export", "a", "b"],
        ["export", "--all"],
        ["export", "a", "--json"],
        ["token", "create"],
        ["token", "create", "--scope", "root"],
        ["token", "revoke"],
        ["backup"],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str]) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: sessiongraph" in done.stderr


def test_the_version_is_shown() -> None:
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("sessiongraph ")


def test_help_imports_nothing_heavy() -> None:
    heavy = (
        "strawberry",
        "graphql",
        "pydantic",
        "uvicorn",
        "starlette",
        "sqlite3",
        "structlog",
        "tantivy",
    )
    code = (
        "import sys\n"
        "from server.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n"
        f"    print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"],
        env=clean_environment(),
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stderr == "[]\n"
