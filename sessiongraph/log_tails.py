"""What is open at the end of a stored log, by reading its last turn alone."""

from __future__ import annotations

from typing import Final

from sessiongraph.event import PlacedEvent, Seq
from sessiongraph.filters import ALL_EVENTS
from sessiongraph.payloads import is_count
from sessiongraph.ports import LogReader, StoredSession, WindowRequest
from sessiongraph.repair import TailState

_TURN_BRACKETS: Final = ALL_EVENTS.narrowed(types=["turn/start", "turn/end"])

_LOOK_BACK: Final = 4
"""Brackets read at a time; the first is nearly always the one."""


async def turn_is_open(reader: LogReader, stored: StoredSession, boundary: Seq) -> bool:
    """Whether a turn has started and not ended by the boundary."""
    latest = await _latest_bracket(reader, stored, boundary)
    return latest is not None and latest.type == "turn/start"


async def tail_of(reader: LogReader, stored: StoredSession) -> TailState:
    """What is open at the end of a log."""
    tail = TailState()
    if stored.last_seq < 0:
        return tail
    latest = await _latest_bracket(reader, stored, stored.last_seq)
    is_open = latest is not None and latest.type == "turn/start"
    first = latest.seq if latest is not None and is_open else stored.last_seq
    async for page in reader.entries(stored, first):
        for entry in page:
            tail.advance(entry)
    return tail


async def _latest_bracket(
    reader: LogReader, stored: StoredSession, boundary: Seq
) -> PlacedEvent | None:
    """The latest event that opened or ended a turn; a start that names no turn opens none."""
    before = boundary + 1
    while found := await reader.events(
        stored, _TURN_BRACKETS, WindowRequest(_LOOK_BACK, before=before, newest=True)
    ):
        for placed in reversed(found):
            if placed.type == "turn/end" or is_count(placed.event.data.get("turn")):
                return placed
        before = found[0].seq
    return None
