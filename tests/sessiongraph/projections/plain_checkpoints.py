"""The checkpoint store as anybody would write it who had no disk: the model of the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sessiongraph.errors import PersistenceFailed
from sessiongraph.projections.ports import CheckpointRow, LogIdentity


class PlainCheckpointStore:
    """Rows in a dictionary, bound to the log that wrote them last.

    writes, statements: how often it was written to, and asked for rows.
    sick: everything fails.
    """

    def __init__(self) -> None:
        self.writes = 0
        self.statements = 0
        self.sick = False
        self._rows: dict[str, tuple[LogIdentity, dict[str, CheckpointRow]]] = {}

    async def rows(
        self, logs: Collection[LogIdentity], keys: Collection[str]
    ) -> dict[str, list[CheckpointRow]]:
        self.statements += 1
        self._require_health()
        found: dict[str, list[CheckpointRow]] = {}
        for log in logs:
            known, rows = self._rows.get(log.session_id, (None, {}))
            wanted = [row for row in rows.values() if row.key in keys]
            if known == log and wanted:
                found[log.session_id] = wanted
        return found

    async def write(
        self, log: LogIdentity, rows: Sequence[CheckpointRow], gone: Collection[str] = ()
    ) -> None:
        self._require_health()
        self.writes += 1
        known, kept = self._rows.get(log.session_id, (None, {}))
        if known != log:
            kept = {}
        kept = {key: row for key, row in kept.items() if key not in gone}
        kept |= {row.key: row for row in rows}
        self._rows[log.session_id] = (log, kept)

    async def delete(self, session_id: str) -> None:
        self._require_health()
        self._rows.pop(session_id, None)

    def _require_health(self) -> None:
        if self.sick:
            raise PersistenceFailed("the disk is sick")
