"""Builds the browser's half into the package, so that its pages work without the internet.

Two parts, each with npm from a committed lock file, in a temporary folder:

* **GraphiQL**: its ready-made bundles are checked against the hashes in
  ``server/graphiql/bundles.json`` and copied to ``server/graphiql/assets/``; there is no bundler.
* **The example front end**: Vite builds ``frontend-example/`` into ``server/frontend/built/``.

Where npm is missing or fails, or with ``SESSIONGRAPH_SKIP_FRONTEND=1``, one line says so and the
package is built without them: the server then shows pages that say how to get them.

What is there already, as in a source distribution, is kept when it is right: bundles by their
hashes, the front end by the hash of the sources that it was built from.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ASSETS = "server/graphiql/assets"
APP = "server/frontend/built"
APP_SOURCE = "frontend-example"
APP_FILES = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts")
APP_FOLDERS = ("public", "src")
SOURCE_HASH = "SOURCES.sha256"
LICENSES = "LICENSES.txt"
NPM_TIMEOUT_S = 600


class FrontendNotBuilt(Exception):
    """A part could not be built; the message says why in one line."""


class FrontendBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs before every wheel, editable install and source distribution."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build both parts and add them, ignored by git, to what is packaged."""
        root = Path(self.root)
        parts = (("GraphiQL", build_assets, ASSETS), ("the example front end", build_app, APP))
        for name, build, folder in parts:
            try:
                if os.environ.get("SESSIONGRAPH_SKIP_FRONTEND") == "1":
                    raise FrontendNotBuilt("SESSIONGRAPH_SKIP_FRONTEND is 1")
                build(root)
            except FrontendNotBuilt as reason:
                self.app.display_warning(f"Building without {name}: {reason}")
            else:
                build_data["artifacts"].append(f"/{folder}/**")


def build_assets(root: Path) -> None:
    """Put every bundle of GraphiQL into the assets folder of the source tree at ``root``.

    Raises:
        FrontendNotBuilt: npm is missing or failed, or gave a file with another hash.
    """
    bundles = json.loads((root / "server/graphiql/bundles.json").read_bytes())
    assets = root / ASSETS
    if (assets / LICENSES).is_file() and all(
        _has_hash(assets / name, bundle["integrity"]) for name, bundle in bundles.items()
    ):
        return
    with tempfile.TemporaryDirectory(prefix="sessiongraph-graphiql-") as temporary:
        folder = Path(temporary)
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(root / APP_SOURCE / "graphiql" / name, folder / name)
        modules = _install(folder)
        for name, bundle in bundles.items():
            if not _has_hash(modules / bundle["package"] / bundle["path"], bundle["integrity"]):
                raise FrontendNotBuilt(f"{name} from npm is not the file that bundles.json names")
        try:
            assets.mkdir(exist_ok=True)
            for name, bundle in bundles.items():
                shutil.copyfile(modules / bundle["package"] / bundle["path"], assets / name)
            (assets / LICENSES).write_text(_licenses(modules), "utf-8")
        except OSError as error:
            raise FrontendNotBuilt(f"cannot write {ASSETS}: {error}") from error


def build_app(root: Path) -> None:
    """Build the example front end of the source tree at ``root`` into its server package.

    Raises:
        FrontendNotBuilt: the sources or npm are missing, or npm or Vite failed.
    """
    source, built = root / APP_SOURCE, root / APP
    files = _app_files(source)
    if not files:
        raise FrontendNotBuilt(f"{APP_SOURCE} is not complete")
    source_hash = _source_hash(source, files)
    stamp = built / SOURCE_HASH
    if stamp.is_file() and stamp.read_text("ascii").strip() == source_hash:
        return
    with tempfile.TemporaryDirectory(prefix="sessiongraph-app-") as temporary:
        folder = Path(temporary)
        for path in files:
            copy = folder / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        modules = _install(folder)
        made = folder / "built"
        _npm(folder, "run", "build", "--", "--outDir", str(made), "--logLevel", "warn")
        (made / LICENSES).write_text(_licenses(modules), "utf-8")
        (made / SOURCE_HASH).write_text(f"{source_hash}\n", "ascii")
        try:
            shutil.rmtree(built, ignore_errors=True)
            shutil.copytree(made, built)
        except OSError as error:
            raise FrontendNotBuilt(f"cannot write {APP}: {error}") from error


def _app_files(source: Path) -> list[Path]:
    """Every file that decides what is built; nothing when one of the fixed ones is missing."""
    fixed = [source / name for name in APP_FILES]
    if not all(path.is_file() for path in fixed):
        return []
    found = (path for folder in APP_FOLDERS for path in sorted((source / folder).rglob("*")))
    return [*fixed, *(path for path in found if path.is_file())]


def _source_hash(source: Path, files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        name = path.relative_to(source).as_posix()
        digest.update(f"{name}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _install(folder: Path) -> Path:
    """Install what the lock file in ``folder`` says, without development tools."""
    _npm(folder, "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund")
    return folder / "node_modules"


def _npm(folder: Path, *arguments: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise FrontendNotBuilt("npm is not on the path")
    command = [npm, "--loglevel=error", *arguments]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=NPM_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FrontendNotBuilt(f"npm did not run: {error}") from error
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise FrontendNotBuilt(f"npm failed with {done.returncode}: {said[0]}")


def _has_hash(path: Path, integrity: str) -> bool:
    if not path.is_file():
        return False
    digest = hashlib.sha384(path.read_bytes()).digest()
    return integrity == f"sha384-{base64.b64encode(digest).decode()}"


def _licenses(modules: Path) -> str:
    """The licence texts of everything that a bundle may hold."""
    found = sorted(
        path
        for path in (*modules.glob("*/LICEN[CS]E*"), *modules.glob("@*/*/LICEN[CS]E*"))
        if path.is_file()
    )
    return "\n\n".join(
        f"{path.parent.relative_to(modules).as_posix()}\n\n{path.read_text('utf-8').strip()}\n"
        for path in found
    )
