"""Builds GraphiQL into the package, so that its page works without the internet.

Where npm is at hand, the four packages that the page needs are installed from the committed lock
file into a temporary folder, their ready-made bundles are checked against the hashes in
``server/graphiql/bundles.json`` and copied to ``server/graphiql/assets/``; there is no bundler.
Where npm is missing or fails, or with ``SESSIONGRAPH_SKIP_FRONTEND=1``, one line says so and the
package is built without them: the server then shows a page that says how to get GraphiQL.

Assets that are there already, as in a source distribution, are kept when their hashes are right.
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
LICENSES = "LICENSES.txt"
NPM_TIMEOUT_S = 600


class FrontendNotBuilt(Exception):
    """The assets could not be built; the message says why in one line."""


class GraphiqlBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs before every wheel, editable install and source distribution."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build the assets and add them, ignored by git, to what is packaged."""
        root = Path(self.root)
        try:
            if os.environ.get("SESSIONGRAPH_SKIP_FRONTEND") == "1":
                raise FrontendNotBuilt("SESSIONGRAPH_SKIP_FRONTEND is 1")
            build_assets(root)
        except FrontendNotBuilt as reason:
            self.app.display_warning(f"Building without GraphiQL: {reason}")
            return
        build_data["artifacts"].append(f"/{ASSETS}/*")


def build_assets(root: Path) -> None:
    """Put every bundle into the assets folder of the source tree at ``root``.

    Raises:
        FrontendNotBuilt: npm is missing or failed, or gave a file with another hash.
    """
    bundles = json.loads((root / "server/graphiql/bundles.json").read_bytes())
    assets = root / ASSETS
    if (assets / LICENSES).is_file() and all(
        _has_hash(assets / name, bundle["integrity"]) for name, bundle in bundles.items()
    ):
        return
    with tempfile.TemporaryDirectory(prefix="sessiongraph-graphiql-") as folder:
        modules = _install(root / "frontend-example/graphiql", Path(folder))
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


def _install(manifest: Path, folder: Path) -> Path:
    """Install what the lock file says into ``folder`` and return its ``node_modules``."""
    npm = shutil.which("npm")
    if npm is None:
        raise FrontendNotBuilt("npm is not on the path")
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(manifest / name, folder / name)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=NPM_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FrontendNotBuilt(f"npm did not run: {error}") from error
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise FrontendNotBuilt(f"npm failed with {done.returncode}: {said[0]}")
    return folder / "node_modules"


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
