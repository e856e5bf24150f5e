"""When the states of an open session are written down (projections.md, "Checkpoints").

At the end of a turn and when the session closes, always; in between, where something has changed,
every so many events or milliseconds. The log is on disk before the row that reflects it, because
only committed events are folded. Writing fails softly: a warning, and the next write, or the next
cold read, heals it. So a crash costs a longer tail and never a value.

Each session has at most one write on its way; what changes meanwhile goes with the next one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

import structlog

from sessiongraph.errors import SessionGraphError
from sessiongraph.event import Seq
from sessiongraph.projections.cells import SessionCells
from sessiongraph.projections.ports import CheckpointStore, LogIdentity

_log: Final = structlog.get_logger(__name__)

TURN_END: Final = "turn/end"
"""The event after which states are always written."""


@dataclass(frozen=True, slots=True)
class CheckpointLimits:
    """How long changes wait at most, named as in the configuration.

    checkpoint_events: events of one session. checkpoint_ms: milliseconds.
    """

    checkpoint_events: int = 200
    checkpoint_ms: int = 5000


class Checkpointing:
    """The checkpoints of one open session.

    log: the identity that rows are bound to.
    is_saved: whether rows of the present seq and states are written already.
    """

    def __init__(
        self,
        store: CheckpointStore,
        cells: SessionCells,
        log: LogIdentity,
        limits: CheckpointLimits,
        *,
        is_saved: bool,
    ) -> None:
        self._store = store
        self._cells = cells
        self._log = log
        self._limits = limits
        self._saved_seq: Seq = cells.seq if is_saved else -2
        self._saved_changes = cells.changes if is_saved else -1
        self._seen_changes = cells.changes
        self._counted_from: Seq = cells.seq
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._asked_again = False
        self._stopped = False

    @property
    def is_saved(self) -> bool:
        """Whether everything is written; the states of an empty log need not be."""
        cells = self._cells
        return (self._saved_seq, self._saved_changes) == (cells.seq, cells.changes)

    def folded(self, *, turn_ended: bool) -> None:
        """Take notice of a stretch that was folded."""
        if turn_ended:
            self.write_soon()
            return
        if self._cells.changes == self._seen_changes:
            return
        if self._cells.seq - self._counted_from >= self._limits.checkpoint_events:
            self.write_soon()
        elif self._timer is None and self._writing is None and not self._stopped:
            self._timer = asyncio.get_running_loop().call_later(
                self._limits.checkpoint_ms / 1000, self.write_soon
            )

    def write_soon(self) -> None:
        """Write what is not written, unless that is on its way already."""
        self._disarm()
        if self._stopped or self.is_saved or self._cells.seq < 0:
            return
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())
        else:
            self._asked_again = True

    async def settle(self) -> bool:
        """Write what is not written and wait for it; answers whether it could be."""
        self.write_soon()
        while self._writing is not None:
            await asyncio.wait([self._writing])
        return self.is_saved

    async def stop(self) -> None:
        """Write nothing more; what is on its way ends first."""
        self._stopped = True
        self._disarm()
        if self._writing is not None:
            await asyncio.wait([self._writing])

    def abandon(self) -> asyncio.Task[None] | None:
        """Write nothing more and break off what is on its way; answers what is ending then."""
        self._stopped = True
        self._disarm()
        if self._writing is not None:
            self._writing.cancel()
        return self._writing

    async def _write(self) -> None:
        try:
            while await self._write_once() and self._asked_again and not self.is_saved:
                self._asked_again = False
        finally:
            self._writing = None
            self._asked_again = False

    async def _write_once(self) -> bool:
        cells = self._cells
        rows = cells.rows()
        seq, changes = cells.seq, cells.changes
        self._counted_from, self._seen_changes = seq, changes
        try:
            await self._store.write(self._log, rows, tuple(cells.failures))
        except SessionGraphError as error:
            _log.warning(
                "a checkpoint could not be written; the log is replayed from an earlier one",
                session=cells.session_id,
                seq=seq,
                error=error.message,
            )
            self._seen_changes = -1  # the next event tries again
            return False
        self._saved_seq, self._saved_changes = seq, changes
        return True

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
