"""Sample sessions: six weeks of a small order service, as an agent's recorder logged it.

They are what a newcomer meets first: in the demo, in the tour of the README, in the example
queries. Laid out as dsh lays out its own folder, in its generations 0, 3 and 4, so that they are
imported by the same code as everybody's files.

The story: *harbor* takes orders and captures payments. Its money moves from floats to integers (a
long session, condensed three times, and a fork of it that crashed), the connection pool runs dry
(in Chinese), subagents audit the checkout, a flaky test turns out to be a double charge (two
repairs tried in forks, one of them refined in a fork of the fork), a reviewer cites one of them,
and a release cites two.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path


@contextmanager
def sample_sessions() -> Iterator[Path]:
    """The folder of the sample sessions, on disk for as long as the context lasts."""
    with as_file(files(__name__) / "sessions") as folder:
        yield folder
