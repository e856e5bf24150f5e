"""How much is measured: the sizes of every corpus and the number of runs, for each way to run.

The shapes are the same at every scale, and so are the limits; a smaller scale has fewer runs and
shorter logs, so its figures scatter more and its ratios are of a smaller distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes and numbers of runs.

    rounds: runs of a short question. long_rounds: of what takes seconds.
    few_events, many_events: of the short and the long session.
    few_sessions, many_sessions: of the small and the large corpus. events_each: of their sessions.
    lineage: sessions of a deep and of a wide family. nodes: removed by the larger replacement.
    import_bytes: of each imported file. long_import_bytes: of the one whose memory is watched.
    live: sessions held live together. appended: events appended by each run.
    load_s: seconds that a server is under load in one run. documents: of the corpus that is
        searched.
    watched: files in which nothing happens, which are imported first. watched_s: for how long they
        are watched; 0: that is left out.
    left_out: areas that are measured only when they are named.
    """

    name: str
    rounds: int
    long_rounds: int
    few_events: int
    many_events: int
    few_sessions: int
    many_sessions: int
    events_each: int
    lineage: int
    nodes: int
    import_bytes: int
    long_import_bytes: int
    live: int
    appended: int
    load_s: float
    documents: int
    watched: int
    watched_s: int
    left_out: frozenset[str] = frozenset()


QUICK: Final = Scale(
    name="quick",
    rounds=9,
    long_rounds=2,
    few_events=1_000,
    many_events=20_000,
    few_sessions=1_000,
    many_sessions=5_000,
    events_each=2,
    lineage=10_000,
    nodes=10_000,
    import_bytes=4_000_000,
    long_import_bytes=80_000_000,
    live=100,
    appended=2_000,
    load_s=0.3,
    documents=5_000,
    watched=0,
    watched_s=0,
    left_out=frozenset({"reference"}),
)

MODERATE: Final = Scale(
    name="moderate",
    rounds=40,
    long_rounds=5,
    few_events=1_000,
    many_events=1_000_000,
    few_sessions=1_000,
    many_sessions=100_000,
    events_each=2,
    lineage=10_000,
    nodes=10_000,
    import_bytes=24_000_000,
    long_import_bytes=200_000_000,
    live=4_000,
    appended=20_000,
    load_s=1.5,
    documents=200_000,
    watched=10_000,
    watched_s=65,
)

FULL: Final = Scale(
    name="full",
    rounds=200,
    long_rounds=9,
    few_events=1_000,
    many_events=1_000_000,
    few_sessions=1_000,
    many_sessions=100_000,
    events_each=10,
    lineage=10_000,
    nodes=10_000,
    import_bytes=100_000_000,
    long_import_bytes=2_000_000_000,
    live=10_000,
    appended=100_000,
    load_s=5.0,
    documents=1_000_000,
    watched=50_000,
    watched_s=65,
)
