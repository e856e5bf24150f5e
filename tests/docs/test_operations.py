"""The commands of docs/operations.md, run in their order, and the names that it mentions."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from server.settings import Settings
from sessiongraph.errors import error_classes
from tests.docs.test_readme import pattern

ROOT = Path(__file__).parents[2]
OPERATIONS = (ROOT / "docs" / "operations.md").read_text("utf-8")
CONSOLE = re.compile(r"```console\n(?P<block>(?:.*\n)*?)```")


def steps() -> list[tuple[str, str]]:
    """Each command and what is printed below it."""
    found: list[tuple[str, str]] = []
    for match in CONSOLE.finditer(OPERATIONS):
        for step in match["block"].split("$ ")[1:]:
            command, _, output = step.partition("\n")
            found.append((command, output))
    return found


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """An environment in which ``sessiongraph`` is this one, over the samples."""
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "sessiongraph"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m server.cli "$@"\n', "utf-8")
    program.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SESSIONGRAPH_")}
    return {
        **kept,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "SESSIONGRAPH_DATA_DIR": str(tmp_path / "data"),
    }


def test_backup_and_restore_as_written(tmp_path: Path, shell: dict[str, str]) -> None:
    samples = ROOT / "server" / "samples" / "sessions"
    done = [_run(f"sessiongraph import --quiet {samples}", tmp_path, shell)]
    assert done == [""]
    assert [command.split()[0] for command, _ in steps()] == [
        *("sessiongraph", "mkdir", "cp", "if", "sessiongraph"),
    ]
    for command, printed in steps():
        assert pattern(printed).fullmatch(_run(command, tmp_path, shell).strip()), command
    shutil.rmtree(tmp_path / "data")
    shown = _run("sessiongraph show harbor-tour --data-dir restored", tmp_path, shell)
    assert "harbor-tour" in shown


def _run(command: str, folder: Path, environment: dict[str, str]) -> str:
    return subprocess.run(
        ["sh", "-c", command],
        check=True,
        capture_output=True,
        encoding="utf-8",
        cwd=folder,
        env=environment,
    ).stdout


def test_every_setting_and_code_that_it_names_exists() -> None:
    limits = OPERATIONS.split("## Limits to tune")[1].split("\n## ")[0]
    named = set(re.findall(r"`([a-z_]+)`", limits))
    assert named <= set(Settings.model_fields)
    assert len(named) > 10
    codes = set(re.findall(r"`(SESSION_[A-Z_]+)`", OPERATIONS))
    assert codes <= {error.code for error in error_classes()}
