"""Servers to attack: one as it is by default, one without authentication."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.processes import RunningServer, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """As anybody starts it."""
    with serving(tmp_path_factory.mktemp("hostile")) as running:
        yield running


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """With nothing between a page and the data but the checks of hosts and origins."""
    with serving(tmp_path_factory.mktemp("open"), "--auth", "off") as running:
        yield running
