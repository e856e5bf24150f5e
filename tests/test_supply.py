"""What the project is built from: pinned, explained, and asked about aloud."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CONSTRAINTS = (ROOT / "constraints.txt").read_text("utf-8")
PINS = {
    canonicalize_name(line.partition("==")[0]): line.partition("==")[2]
    for line in CONSTRAINTS.splitlines()
    if line and not line.startswith("#")
}
ADVISORIES = {
    "h11": ("0.16", "CVE-2025-43859"),
    "pydantic-settings": ("2.14.2", "GHSA-4xgf-cpjx-pc3j"),
    "pygments": ("2.20", "CVE-2026-4539"),
    "python-dotenv": ("1.2.2", "CVE-2026-28684"),
    "starlette": ("1.3.1", "CVE-2026-54283"),
    "strawberry-graphql": ("0.315.7", "CVE-2026-47706"),
}
"""For what we ship with: the first version without anything that is publicly known against it."""


def declared() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"].values()
    listed = [*PROJECT["dependencies"], *(each for extra in extras for each in extra)]
    return [Requirement(each) for each in listed]


def test_the_constraints_are_versions_and_nothing_else() -> None:
    lines = [line for line in CONSTRAINTS.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line) for line in lines)
    assert len(PINS) == len(lines)


def test_every_declared_dependency_is_pinned_to_a_version_that_it_allows() -> None:
    for requirement in declared():
        pinned = PINS[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(pinned), f"{requirement} is not {pinned}"


@pytest.mark.parametrize("name", ADVISORIES)
def test_no_version_with_a_known_advisory_is_allowed(name: str) -> None:
    mended, advisory = ADVISORIES[name]
    (requirement,) = [
        Requirement(e) for e in PROJECT["dependencies"] if Requirement(e).name == name
    ]
    (lowest,) = [each.version for each in requirement.specifier if each.operator == ">="]
    assert Requirement(f"{name}>={mended}").specifier.contains(lowest)
    assert advisory in (ROOT / "docs" / "dependencies.md").read_text("utf-8")


def test_every_dependency_is_explained_those_of_extras_too() -> None:
    explained = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    assert [each.name for each in declared() if each.name not in explained] == []


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    loader = SourceFileLoader("audit", str(ROOT / ".ci" / "audit"))
    spec = importlib.util.spec_from_loader("audit", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


FOUND = {
    "dependencies": [
        {"name": "h11", "version": "0.14", "vulns": [{"id": "CVE-1", "fix_versions": ["0.16"]}]},
        {"name": "idna", "version": "3", "vulns": []},
    ]
}
UNKNOWN = {"dependencies": [{"name": "h11", "skip_reason": "not found"}]}


def test_found_nothing_and_could_not_ask_are_told_apart(audit: ModuleType) -> None:
    found, unasked = audit.of_pip_audit(json.dumps(FOUND))
    assert (found, unasked) == (["h11 0.14: CVE-1, mended in 0.16"], None)
    assert audit.of_pip_audit(json.dumps(UNKNOWN)) == (
        [],
        "1 of 1 packages could not be looked up",
    )
    assert audit.of_pip_audit('{"dependencies": []}') == ([], None)
    assert audit.of_pip_audit("")[1] is not None
    found, unasked = audit.of_npm_audit('{"vulnerabilities": {"x": {"severity": "high"}}}')
    assert (found, unasked) == (["x: high"], None)
    assert audit.of_npm_audit('{"error": {"code": "ENOAUDIT"}}')[1] is not None


@pytest.mark.parametrize(
    ("output", "arguments", "code", "said"),
    [
        ("", [], 0, "COULD NOT ASK"),
        (json.dumps(FOUND | {"vulnerabilities": {}}), [], 0, "FOUND in Python packages: h11 0.14"),
        (json.dumps(FOUND | {"vulnerabilities": {}}), ["--strict"], 1, "FOUND"),
        ('{"dependencies": [], "vulnerabilities": {}}', ["--strict"], 0, "nothing is known"),
    ],
)
def test_only_a_strict_audit_fails_and_only_for_what_it_found(
    audit: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    output: str,
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    monkeypatch.setattr(audit, "ask", lambda *_: (output, ""))
    monkeypatch.setattr("sys.argv", ["audit", *arguments])
    assert audit.main() == code
    assert said in capsys.readouterr().out


def test_the_run_installs_by_the_constraints_and_reports() -> None:
    run = (ROOT / ".ci" / "run").read_text("utf-8")
    assert "-c constraints.txt" in run
    assert ".ci/audit" in run
