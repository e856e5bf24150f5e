"""Citations between sessions: which session carries a snapshot of which other one.

A citation stands in a message of the citing session; the message says whom it cites and how much of
it was seen. It can be read from either end: in the order of the citing log, or for a cited session
in the order in which the citing logs came into the store, those that are in memory alone last.
Whether the cited session is still in the corpus plays no part (references.md, "Prepare").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sessiongraph.event import PlacedEvent, Seq
from sessiongraph.payloads import Shape, citations_of, shape_of


@dataclass(frozen=True, slots=True)
class SessionCitation:
    """One session cited by an event of another.

    ordinal: its place among the citations of the event.
    captured_through_seq: the last event of the target that was seen, None when its log was empty.
    log: the citing log's place among the stored ones, None while the event is in memory alone.
    """

    session_id: str
    seq: Seq
    ordinal: int
    target_id: str
    label: str
    captured_through_seq: Seq | None
    log: int | None = None


def cited_in(events: Iterable[PlacedEvent]) -> Iterator[SessionCitation]:
    """The citations in some events of one log, in order."""
    for placed in events:
        if placed.type != "user/message":
            continue
        data = placed.event.data
        if shape_of(placed.type, data) is Shape.USER_MESSAGE:
            for ordinal, citation in enumerate(citations_of(data)):
                yield SessionCitation(
                    placed.session_id,
                    placed.seq,
                    ordinal,
                    citation.target_id,
                    citation.label,
                    citation.captured_through_seq,
                )


CitingKey = tuple[Seq, int]
"""The place of a citation in its log: seq and ordinal."""

CitedKey = tuple[int, str, Seq, int]
"""The place of a citation among those of one target: log, id, seq, ordinal."""

BEHIND_EVERY_LOG = 1 << 62
"""Stands for the log of citations that are in memory alone."""


def citing_key(citation: SessionCitation) -> CitingKey:
    """The place of a citation in its log."""
    return citation.seq, citation.ordinal


def cited_key(citation: SessionCitation) -> CitedKey:
    """The place of a citation among those of its target."""
    if citation.log is None:
        return BEHIND_EVERY_LOG, citation.session_id, citation.seq, citation.ordinal
    return citation.log, "", citation.seq, citation.ordinal
