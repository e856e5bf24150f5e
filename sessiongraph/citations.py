"""Citations between sessions: which session carries a snapshot of which other one.

A citation stands in a message of the citing session; the message says whom it cites and how much of
it was seen. It can be read from either end: in the order of the citing log, or for a cited session
in the order in which the citing logs came into the store. Only committed messages count, so that
nobody goes by a citation that a crash can take back (log.md, "The two places"). Whether the cited
session is still in the corpus plays no part (references.md, "Prepare").
"""

from __future__ import annotations

from dataclasses import dataclass

from sessiongraph.event import Seq


@dataclass(frozen=True, slots=True)
class SessionCitation:
    """One session cited by an event of another.

    ordinal: its place among the citations of the event.
    captured_through_seq: the last event of the target that was seen, None when its log was empty.
    log: the citing log's place among the stored ones.
    """

    session_id: str
    seq: Seq
    ordinal: int
    target_id: str
    label: str
    captured_through_seq: Seq | None
    log: int


CitingKey = tuple[Seq, int]
"""The place of a citation in its log: seq and ordinal."""

CitedKey = tuple[int, Seq, int]
"""The place of a citation among those of one target: log, seq, ordinal."""


def citing_key(citation: SessionCitation) -> CitingKey:
    """The place of a citation in its log."""
    return citation.seq, citation.ordinal


def cited_key(citation: SessionCitation) -> CitedKey:
    """The place of a citation among those of its target."""
    return citation.log, citation.seq, citation.ordinal
