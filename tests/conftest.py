"""What every test is held to: it leaves nothing behind, and it is the same on every run.

``SESSIONGRAPH_TEST_PROFILE`` chooses how hard random tests try: ``ci`` (the default, the same
examples every time) or ``long`` (many more, new ones every time, and the tests marked ``long``).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

PROFILE = os.environ.get("SESSIONGRAPH_TEST_PROFILE", "ci")

settings.register_profile(
    "both",
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "ci", settings.get_profile("both"), derandomize=True, database=None, max_examples=40
)
settings.register_profile("long", settings.get_profile("both"), max_examples=1000, print_blob=True)
settings.load_profile(PROFILE)

_OPEN_FILES = Path("/proc/self/fd")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the tests marked ``long`` unless they were asked for."""
    if PROFILE == "long":
        return
    skip = pytest.mark.skip(reason="long: set SESSIONGRAPH_TEST_PROFILE=long")
    for item in items:
        if item.get_closest_marker("long") is not None:
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """Fail a test that leaves a thread or an open file behind."""
    files, threads = _open_files(), set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - threads:
        thread.join(timeout=1)
    left_threads = [each.name for each in set(threading.enumerate()) - threads]
    # Threads that are none of Python's (those of watched folders) close theirs a moment later.
    until = time.monotonic() + 1
    while (left_files := _opened_since(files)) and time.monotonic() < until:
        time.sleep(0.005)
    assert (left_threads, left_files) == ([], []), "threads and files left open by this test"


def _opened_since(files: dict[str, str]) -> list[str]:
    return sorted(target for number, target in _open_files().items() if files.get(number) != target)


def _open_files() -> dict[str, str]:
    """Descriptors of this process and what they are; nothing where the system does not say."""
    found: dict[str, str] = {}
    if not _OPEN_FILES.is_dir():
        return found
    for link in _OPEN_FILES.iterdir():
        try:
            target = str(link.readlink())
        except OSError:
            continue  # the descriptor of this very listing, closed by now
        if "/.hypothesis/" not in target:
            found[link.name] = target
    return found
