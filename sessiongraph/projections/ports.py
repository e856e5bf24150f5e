"""What a provider of checkpoints must be able to do.

A checkpoint row is a shortcut: the state of one unit after one event of one log. It may be stale,
it is never wrong, and never of another log: rows are bound to their log's identity and answered
under no other (projections.md, "Reading a cold session"). Every provider passes the suite in
``tests/contracts/checkpoint_store.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from sessiongraph.event import Seq
from sessiongraph.header import EpochMillis
from sessiongraph.ports import StoredSession


@dataclass(frozen=True, slots=True)
class LogIdentity:
    """One log as what is derived from it remembers it."""

    session_id: str
    created_at: EpochMillis
    cwd: str | None
    epoch: int

    @classmethod
    def of(cls, stored: StoredSession) -> LogIdentity:
        """The identity of a stored log."""
        header = stored.header
        return cls(header.session_id, header.created_at, header.cwd, stored.epoch)


class CheckpointRow(msgspec.Struct, frozen=True, gc=False):
    """The state of one unit; a Struct, since lists are made of thousands.

    seq: the last event that the state reflects, -1 for none.
    changed_seq: the event that last changed the view, -1 before the first.
    state: JSON in UTF-8.
    """

    key: str
    version: int
    seq: Seq
    changed_seq: Seq
    state: bytes


class CheckpointStore(Protocol):
    """Rows by session and key, bound to one log each."""

    async def rows(
        self, logs: Collection[LogIdentity], keys: Collection[str]
    ) -> dict[str, list[CheckpointRow]]:
        """The rows of these logs under these keys, by session id, in no order.

        Rows that were written for another log of the same id are not among them. One statement,
        however many logs.

        Raises:
            PersistenceFailed: the rows cannot be read.
        """
        ...

    async def write(
        self, log: LogIdentity, rows: Sequence[CheckpointRow], gone: Collection[str] = ()
    ) -> None:
        """Put rows in the place of those with their keys, and remove those under ``gone``; at once.

        Rows of other keys stay, unless they are of another log of the same id. A provider that can
        see that the log is no longer there, or is shorter than the rows say, leaves everything as
        it is.

        Raises:
            PersistenceFailed: nothing was written.
        """
        ...

    async def delete(self, session_id: str) -> None:
        """Remove every row of a session, of whatever log; none is no error.

        Raises:
            PersistenceFailed: the rows are still there.
        """
        ...
