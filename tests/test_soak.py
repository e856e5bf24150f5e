"""A server under everything at once keeps nothing of it: see :mod:`tests.soak`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak import Soak, soaked

LONG_S = 600
SHORT_S = 5


def assert_nothing_grows(soak: Soak) -> None:
    figures = soak.figures()
    assert all(soak.done[work] > 0 for work in ("write", "ask", "follow", "stream", "bring")), (
        figures
    )
    assert soak.growth("descriptors") < 8, figures
    assert soak.growth("threads") < 2, figures
    assert soak.growth("tasks") < 15, figures


def assert_at_rest(soak: Soak) -> None:
    """Nothing is left of the clients when they have gone."""
    left = {
        name: value
        for name, value in soak.rest.items()
        if name.startswith(
            ("sessiongraph_connections", "sessiongraph_followers", "sessiongraph_running_op")
        )
    }
    assert set(left.values()) == {0}, left


def test_for_a_moment(tmp_path: Path) -> None:
    soak = soaked(SHORT_S, tmp_path)
    assert all(soak.done[work] > 0 for work in ("write", "ask", "follow", "stream", "bring"))
    assert_at_rest(soak)


@pytest.mark.long
@pytest.mark.timeout(LONG_S + 300)
def test_for_ten_minutes(tmp_path: Path) -> None:
    soak = soaked(LONG_S, tmp_path)
    assert_nothing_grows(soak)
    assert soak.growth("memory") < 16 * 1024 * 1024, soak.figures()
    assert_at_rest(soak)
