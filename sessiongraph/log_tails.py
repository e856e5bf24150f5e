"""What is open at the end of a stored log, by reading its last turn alone."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from sessiongraph.event import PlacedEvent, Seq
from sessiongraph.filters import ALL_EVENTS
from sessiongraph.ports import LogReader, StoredSession, WindowRequest
from sessiongraph.repair import TailState

_TURN_BRACKETS: Final = frozenset({"turn/start", "turn/end"})


async def turn_is_open(reader: LogReader, stored: StoredSession, boundary: Seq) -> bool:
    """Whether a turn has started and not ended by the boundary."""
    latest = await _latest(reader, stored, _TURN_BRACKETS, boundary)
    return latest is not None and latest.type == "turn/start"


async def tail_of(reader: LogReader, stored: StoredSession) -> TailState:
    """What is open at the end of a log."""
    tail = TailState()
    if stored.last_seq < 0:
        return tail
    latest = await _latest(reader, stored, _TURN_BRACKETS, stored.last_seq)
    is_open = latest is not None and latest.type == "turn/start"
    first = latest.seq if latest is not None and is_open else stored.last_seq
    async for page in reader.entries(stored, first):
        for entry in page:
            tail.advance(entry)
    return tail


async def _latest(
    reader: LogReader, stored: StoredSession, types: Collection[str], boundary: Seq
) -> PlacedEvent | None:
    window = WindowRequest(1, before=boundary + 1, newest=True)
    found = await reader.events(stored, ALL_EVENTS.narrowed(types=types), window)
    return found[0] if found else None
