"""What could be carried from a log is told without a look at what it has left behind."""

from __future__ import annotations

from pathlib import Path

from providers.sqlite import carried
from sessiongraph.event import Entry
from sessiongraph.ports import ConversationTotals
from tests.contracts.log_stage import write
from tests.plain_store import run
from tests.providers.sqlite.raw import connected
from tests.providers.sqlite.stores import sqlite_at
from tests.sessiongraph.references.corpora import checkpoint
from tests.strategies import event, header, prompt

_APART = 1 << carried.BLOCK_SHIFT
"""From one checkpoint to the next, in seqs."""

_GLANCE = 5
"""Steps of SQLite's machine: a checkpoint whose event is looked at takes more."""


def condensed(times: int) -> list[Entry]:
    """A log of which everything was condensed so many times, each time in another block."""
    log: list[Entry] = [prompt(0, "asked")]
    for number in range(times):
        first = log[-1].seq
        log += [event(seq, "x/between") for seq in range(first + 1, first + _APART)]
        seq = first + _APART
        log.append(checkpoint(seq, f"condensed {number}", first, first))
    return log


def test_past_checkpoints_are_not_looked_at(tmp_path: Path) -> None:
    steps: dict[int, int] = {}
    for times in (2, 12):
        path, log = tmp_path / f"{times}.db", condensed(times)

        async def fill(path: Path = path, log: list[Entry] = log) -> None:
            async with sqlite_at(path) as store:
                await write(store, header("a"), log)

        run(fill())
        taken = 0

        def count() -> int:
            nonlocal taken
            taken += 1
            return 0

        with connected(path) as connection:
            connection.set_progress_handler(count, 1)
            totals = carried.totals(connection, 1, log[-1].seq)
            connection.set_progress_handler(None, 1)
        said = f"condensed {times - 1}"
        assert totals == ConversationTotals(1, len(said), (log[-1].seq,))
        steps[times] = taken
    # For each further block, at most a glance at its sums.
    assert steps[12] - steps[2] < 10 * _GLANCE
