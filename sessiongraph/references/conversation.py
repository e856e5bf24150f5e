"""What a reference carries from a session: what people and assistants said, and nothing else.

Carried are the texts of messages by a person, the texts of assistant messages, and compaction
checkpoints, each where it stands on the surface now. Not carried are tools and their results,
reasoning, images, and every other injected message, a snapshot of yet another session among them,
so that snapshots never nest (references.md, "Prepare").

A surface is read by the seqs of its messages, newest first, so that results of tools, which are
most of it by size, are never touched. Seqs are not the order of the model: a message that replaced
others stands in the place of the first of them. But it never stands behind its own seq, so
everything that stands at or behind seq *s* has been seen once the walk has passed *s*. Whoever
needs only the newest end knows when to stop.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Final, Protocol

from sessiongraph.carried import MESSAGE_TYPES, Role, carried_in
from sessiongraph.event import EventSurface, PlacedEvent, Seq
from sessiongraph.filters import EventSelection
from sessiongraph.ports import WindowRequest

_MESSAGES: Final = EventSelection(types=MESSAGE_TYPES, surfaces=frozenset({EventSurface.CURRENT}))
_FIRST_PAGE: Final = 64
_PAGE: Final = 256
"""Messages read at a time: few at first, since the newest may be all that fits."""


@dataclass(frozen=True, slots=True)
class Said:
    """One message that is carried.

    position: its place on the surface, an order key.
    text: its text blocks joined by newlines, never empty.
    checkpoint: it stands for an earlier part of the conversation that was condensed.
    """

    position: int
    role: Role
    text: str
    checkpoint: bool = False


class MessageLog(Protocol):
    """The log of one session in one observation, as far as it is read here."""

    async def events(
        self, selection: EventSelection, window: WindowRequest
    ) -> list[PlacedEvent]: ...


def said_in(placed: PlacedEvent) -> Said | None:
    """What a reference carries from one event of the surface, None when that is nothing."""
    carried = carried_in(placed.event)
    if carried is None:
        return None
    assert placed.placement.position is not None
    return Said(placed.placement.position, carried.role, carried.text, carried.checkpoint)


async def messages_of(log: MessageLog) -> AsyncGenerator[list[PlacedEvent], None]:
    """The messages on a surface by people, producers and assistants; highest seq first, in pages.

    Raises:
        PersistenceFailed, CorruptSession: the log cannot be read.
    """
    before: Seq | None = None
    size = _FIRST_PAGE
    while True:
        page = await log.events(_MESSAGES, WindowRequest(size, before=before, newest=True))
        if page:
            before = page[0].seq
            yield page[::-1]
        if len(page) < size:
            return
        size = _PAGE
