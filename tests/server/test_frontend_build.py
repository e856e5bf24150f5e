"""The build hook puts the browser's half into the package, and builds without it where it must."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
ASSETS = "/server/graphiql/assets/**"
APP = "/server/frontend/built/**"

GIVES_BUNDLES = (
    "mkdir -p node_modules/react && printf react > node_modules/react/react.min.js"
    " && printf MIT > node_modules/react/LICENSE"
)
BUILDS_APP = 'mkdir -p "$6/assets" && printf page > "$6/index.html" && printf 1 >> runs'


@pytest.fixture
def build_hook() -> ModuleType:
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_hook(build_hook: ModuleType, root: Path) -> tuple[list[str], list[str]]:
    """The warnings of the hook, and what it adds to the package."""
    warnings: list[str] = []
    hook = build_hook.FrontendBuildHook(
        str(root), {}, None, None, "", "wheel", SimpleNamespace(display_warning=warnings.append)
    )
    build_data: dict[str, list[str]] = {"artifacts": []}
    hook.initialize("standard", build_data)
    return warnings, build_data["artifacts"]


@pytest.fixture
def source_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build_hook: ModuleType) -> Path:
    """A tree in which one bundle and a small app are asked for, and no npm on the path."""
    for folder in ("server/graphiql", "server/frontend", "frontend-example/graphiql"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        (tmp_path / "frontend-example/graphiql" / name).write_text("{}", "utf-8")
    for name in build_hook.APP_FILES:
        (tmp_path / "frontend-example" / name).write_text("{}", "utf-8")
    (tmp_path / "frontend-example/src").mkdir()
    (tmp_path / "frontend-example/src/main.tsx").write_text("one", "utf-8")
    digest = base64.b64encode(hashlib.sha384(b"react").digest()).decode()
    bundle = {"package": "react", "version": "1.0.0", "path": "react.min.js"}
    bundles = {"react.js": bundle | {"integrity": f"sha384-{digest}"}}
    (tmp_path / "server/graphiql/bundles.json").write_text(json.dumps(bundles), "utf-8")
    monkeypatch.delenv("SESSIONGRAPH_SKIP_FRONTEND", raising=False)
    return tmp_path


def put_npm(
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    ci: str = GIVES_BUNDLES,
    run: str = BUILDS_APP,
) -> None:
    """An npm that does as it is told; it is called as `npm --loglevel=error ci|run ...`."""
    folder = tree / "bin"
    folder.mkdir(exist_ok=True)
    npm = folder / "npm"
    runs = f"cd {tree} && {run}"
    npm.write_text(f'#!/bin/sh\nif [ "$2" = ci ]; then\n{ci}\nelse\n{runs}\nfi\n', encoding="utf-8")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_both_parts_are_built_and_then_kept(
    build_hook: ModuleType, source_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_npm(source_tree, monkeypatch)
    assert run_hook(build_hook, source_tree) == ([], [ASSETS, APP])
    assets, app = source_tree / "server/graphiql/assets", source_tree / "server/frontend/built"
    assert (assets / "react.js").read_text("utf-8") == "react"
    assert (app / "index.html").read_text("utf-8") == "page"
    for folder in (assets, app):
        assert "MIT" in (folder / "LICENSES.txt").read_text("utf-8")

    (source_tree / "bin/npm").unlink()
    assert run_hook(build_hook, source_tree) == ([], [ASSETS, APP])


def test_app_is_built_again_when_a_source_has_changed(
    build_hook: ModuleType, source_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_npm(source_tree, monkeypatch)
    for expected in ("1", "1"):
        run_hook(build_hook, source_tree)
        assert (source_tree / "runs").read_text("utf-8") == expected
    (source_tree / "frontend-example/src/main.tsx").write_text("two", "utf-8")
    run_hook(build_hook, source_tree)
    assert (source_tree / "runs").read_text("utf-8") == "11"


def test_build_goes_on_without_bundles_that_are_not_the_known_ones(
    build_hook: ModuleType, source_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "mkdir -p node_modules/react && printf other > node_modules/react/react.min.js"
    put_npm(source_tree, monkeypatch, ci=other)
    reason = "react.js from npm is not the file that bundles.json names"
    assert run_hook(build_hook, source_tree) == ([f"Building without GraphiQL: {reason}"], [APP])
    assert not (source_tree / "server/graphiql/assets").exists()


def test_build_goes_on_without_an_app_that_does_not_build(
    build_hook: ModuleType, source_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_npm(source_tree, monkeypatch, run="echo 'main.tsx: no such thing' >&2; exit 1")
    reason = "npm failed with 1: main.tsx: no such thing"
    warning = f"Building without the example front end: {reason}"
    assert run_hook(build_hook, source_tree) == ([warning], [ASSETS])
    assert not (source_tree / "server/frontend/built").exists()


@pytest.mark.parametrize(
    ("npm", "reason"),
    [
        ("echo 'npm error offline' >&2; exit 7", "npm failed with 7: npm error offline"),
        (None, "npm is not on the path"),
    ],
)
def test_build_goes_on_without_npm(
    build_hook: ModuleType,
    source_tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    npm: str | None,
    reason: str,
) -> None:
    if npm is None:
        monkeypatch.setenv("PATH", str(source_tree))
    else:
        put_npm(source_tree, monkeypatch, ci=npm)
    warnings, artifacts = run_hook(build_hook, source_tree)
    assert warnings == [
        f"Building without GraphiQL: {reason}",
        f"Building without the example front end: {reason}",
    ]
    assert artifacts == []


def test_build_can_be_told_to_leave_both_out(
    build_hook: ModuleType, source_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_npm(source_tree, monkeypatch)
    monkeypatch.setenv("SESSIONGRAPH_SKIP_FRONTEND", "1")
    warnings, artifacts = run_hook(build_hook, source_tree)
    assert [line.rpartition(": ")[2] for line in warnings] == [
        "SESSIONGRAPH_SKIP_FRONTEND is 1"
    ] * 2
    assert artifacts == []


@pytest.mark.parametrize("folder", ["frontend-example", "frontend-example/graphiql"])
def test_lock_files_name_no_host(folder: str) -> None:
    text = (ROOT / folder / "package-lock.json").read_text("utf-8")
    assert '"resolved"' not in text
    packages = json.loads(text)["packages"]
    assert all("integrity" in entry for path, entry in packages.items() if path)
