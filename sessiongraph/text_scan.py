"""Finding a part of a text in the events of one session: the only reading that scans.

Candidates are read in bounded pages, and matched off the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sessiongraph.allowance import Allowance
from sessiongraph.corpus import LogicalSession
from sessiongraph.errors import CorruptSession, CostLimitExceeded
from sessiongraph.event import PlacedEvent
from sessiongraph.filters import EventSelection
from sessiongraph.ports import WindowRequest
from sessiongraph.text import SEMANTIC_TYPES, semantic_text
from sessiongraph.trace import EventDocument

_SCAN_PAGES: Final = (64, 256, 512)
"""Events read at a time by a text scan: little at first, since a match may be near."""


async def scan_documents(
    session: LogicalSession,
    selection: EventSelection,
    window: WindowRequest,
    allowance: Allowance,
) -> list[EventDocument]:
    """Semantic documents that pass every filter, by reading page after page of candidates.

    allowance: from which what is found is taken, and what is looked through for as long as that
        takes; a page that is too large for it is read in smaller ones.

    Raises:
        CostLimitExceeded, TooManyRequests: it is more than may be taken.
        CorruptSession: a payload cannot be read.
    """
    candidates = selection.narrowed(types=SEMANTIC_TYPES)
    if candidates.impossible:
        return []
    found: list[EventDocument] = []
    after, before, turn, most = window.after, window.before, 0, _SCAN_PAGES[-1]
    while len(found) < window.limit:
        size = min(most, _SCAN_PAGES[min(turn, len(_SCAN_PAGES) - 1)])
        reading = WindowRequest(size, after=after, before=before, newest=window.newest)
        lent = _Lent(allowance)
        try:
            page = await session.log.events(candidates, replace(reading, take=lent.take))
            matching = await asyncio.to_thread(_documents, page, candidates)
        except CostLimitExceeded:
            lent.give_back()
            if size == 1:
                raise
            most = max(1, size // 8)
            continue
        turn += 1
        lent.give_back()
        for document in matching:
            allowance.take(len(document.placed.event.payload))
        found = matching + found if window.newest else found + matching
        if len(page) < size:
            break
        if window.newest:
            before = page[0].seq
        else:
            after = page[-1].seq
    return found[-window.limit :] if window.newest else found[: window.limit]


class _Lent:
    """What was taken for a page that is looked through, and not all kept."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._taken = 0

    def take(self, count: int) -> None:
        self._taken += count
        self._allowance.take(count)

    def give_back(self) -> None:
        self._allowance.let_go(self._taken)


def _documents(page: Sequence[PlacedEvent], selection: EventSelection) -> list[EventDocument]:
    found = []
    for placed in page:
        try:
            text = semantic_text(placed.event)
        except ValueError as error:
            raise CorruptSession(
                f"event {placed.seq} of {placed.session_id!r} has a payload that cannot be read"
            ) from error
        if text and selection.admits_text(text):
            found.append(EventDocument(placed, text))
    return found
