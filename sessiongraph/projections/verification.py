"""Do the checkpoints say what a fold from scratch says?

A row is never trusted further than it can be checked when it is read, but a state that is
well-formed and wrong would be shown, and folded on. So each row is compared with its unit's state
at that very event, folded from the beginning of the log. Each log is read once for all of its rows,
page by page; in memory are one page and one state of each unit.

Rows of another version of a unit, or of a unit that is not installed, are left alone: nobody uses
them. The event that last changed a view is held to its bounds alone, because it may differ with how
a stream was cut into rows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sessiongraph import lossless
from sessiongraph.errors import CorruptSession
from sessiongraph.filters import ALL_SESSIONS
from sessiongraph.ports import LogReader, LogStore, SessionKey, SessionOrder, StoredSession
from sessiongraph.projections.cells import SessionCells
from sessiongraph.projections.filling import PAGE
from sessiongraph.projections.ladder import fold_page, part_through
from sessiongraph.projections.ports import CheckpointRow, CheckpointStore, LogIdentity
from sessiongraph.projections.routes import Routes


@dataclass(frozen=True, slots=True)
class CheckpointFault:
    """A row that is not as it must be."""

    log: LogIdentity
    key: str
    detail: str


OnProgress = Callable[[int], None]
"""Called with the sessions that were compared so far."""


async def checkpoint_faults(
    store: LogStore, checkpoints: CheckpointStore, routes: Routes, on_progress: OnProgress
) -> AsyncIterator[CheckpointFault]:
    """Every wrong row of every session; beside whoever writes them.

    Raises:
        PersistenceFailed: store or checkpoints cannot be read.
    """
    keys = [unit.key for unit in routes.units]
    compared = 0
    after: SessionKey | None = None
    while True:
        async with store.observe() as reader:
            page = await reader.sessions(
                ALL_SESSIONS, SessionOrder.CREATED, limit=PAGE, after=after
            )
        if not page:
            return
        logs = {each.header.session_id: LogIdentity.of(each) for each in page}
        rows = await checkpoints.rows(list(logs.values()), keys)
        # Looked at after the rows were read: a log only grows, so it is as long as its rows say.
        async with store.observe() as reader:
            found = await reader.find(list(rows))
            for session_id, stored in found.items():
                if stored.epoch == logs[session_id].epoch:
                    comparison = _Comparison(reader, stored, routes, rows[session_id])
                    for key, detail in await comparison.faults():
                        yield CheckpointFault(logs[session_id], key, detail)
        after = page[-1].key()
        compared += len(page)
        on_progress(compared)


class _Comparison:
    """The rows of one log against a fold of it."""

    def __init__(
        self,
        reader: LogReader,
        stored: StoredSession,
        routes: Routes,
        rows: Sequence[CheckpointRow],
    ) -> None:
        versions = {unit.key: unit.state_version for unit in routes.units}
        self._reader = reader
        self._stored = stored
        self._rows = [row for row in rows if row.version == versions.get(row.key)]
        kept = {row.key for row in self._rows}
        units = tuple(unit for unit in routes.units if unit.key in kept)
        self._cells = SessionCells(stored.header.session_id, Routes(units))

    async def faults(self) -> list[tuple[str, str]]:
        """Key and what is wrong; nothing of a log that cannot be folded, which others tell."""
        found = [
            (row.key, f"it says that it reflects event {row.seq}, the log ends before")
            for row in self._rows
            if row.seq > self._stored.last_seq
        ]
        rows = [row for row in self._rows if row.seq <= self._stored.last_seq]
        try:
            for seq in sorted({row.seq for row in rows}):
                await self._fold_through(seq)
                expected = {row.key: row for row in self._cells.rows()}
                found += [
                    (row.key, f"it is not the state at event {seq}")
                    for row in rows
                    if row.seq == seq and not _is_as(row, expected.get(row.key))
                ]
        except CorruptSession:
            return []
        return found

    async def _fold_through(self, seq: int) -> None:
        first = self._cells.seq + 1
        if first <= seq:
            async for page in self._reader.entries(self._stored, first, seq):
                await fold_page(self._cells, part_through(page, seq))
        if self._cells.seq < seq:
            raise CorruptSession(f"the log ends before event {seq}")


def _is_as(row: CheckpointRow, expected: CheckpointRow | None) -> bool:
    if expected is None or not -1 <= row.changed_seq <= row.seq:
        return False
    return row.state == expected.state or _values(row) == _values(expected)


def _values(row: CheckpointRow) -> Any:
    """The state, each value beside its type, however its members are ordered; None for no JSON."""
    try:
        return _typed(lossless.decode(row.state))
    except ValueError:
        return None


def _typed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _typed(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_typed(member) for member in value]
    return type(value), value
