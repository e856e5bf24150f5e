"""A store with the sample sessions in it, made once by the program itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from server.samples import sample_sessions
from tests.server.processes import run


@pytest.fixture(scope="session")
def sample_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory that tests read and leave as it is."""
    data_dir = tmp_path_factory.mktemp("samples") / "data"
    with sample_sessions() as folder:
        done = run("import", "--data-dir", data_dir, "--quiet", folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return data_dir


@pytest.fixture(autouse=True)
def no_settings_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run as if nobody had set anything."""
    for name in list(os.environ):
        if name.upper().startswith("SESSIONGRAPH_"):
            monkeypatch.delenv(name)
