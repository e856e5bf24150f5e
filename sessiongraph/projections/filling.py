"""Giving every session a checkpoint, in the background, when a server starts.

What was imported by a command, written before a crash, or folded by units that have changed since
has rows that are missing or behind, and a list would show nothing or old values until somebody
opens the session. So the corpus is walked once, newest first, and whatever is behind is folded when
there is time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

from sessiongraph.filters import ALL_SESSIONS
from sessiongraph.ports import LogStore, SessionKey, SessionOrder
from sessiongraph.projections.ports import CheckpointRow, CheckpointStore, LogIdentity
from sessiongraph.projections.service import Projections
from sessiongraph.projections.unit import Projection

PAGE: Final = 50
"""Sessions looked at together."""

_PAUSE_S: Final = 0.05


async def fill_checkpoints(
    projections: Projections, store: LogStore, checkpoints: CheckpointStore
) -> int:
    """Have every session folded whose checkpoint is missing or behind; answers how many.

    Raises:
        PersistenceFailed: store or checkpoints cannot be read.
    """
    behind = 0
    after: SessionKey | None = None
    while True:
        async with store.observe() as reader:
            page = await reader.sessions(
                ALL_SESSIONS, SessionOrder.CREATED, limit=PAGE, after=after
            )
        if not page:
            return behind
        units = projections.registry.routes.units
        logs = [LogIdentity.of(stored) for stored in page]
        rows = await checkpoints.rows(logs, [unit.key for unit in units])
        for stored in page:
            session_id, end = stored.header.session_id, stored.last_seq
            if end >= 0 and _is_behind(units, rows.get(session_id, ()), end):
                behind += 1
                projections.look_at(session_id)
        after = page[-1].key()
        await asyncio.sleep(_PAUSE_S)
        await projections.fewer_waiting_than(PAGE)


def _is_behind(
    units: Sequence[Projection[Any]], rows: Iterable[CheckpointRow], last_seq: int
) -> bool:
    current = {(row.key, row.version) for row in rows if row.seq >= last_seq}
    return any((unit.key, unit.state_version) not in current for unit in units)
