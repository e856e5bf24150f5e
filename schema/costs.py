"""What fields cost: weights, and how many items the lists hold.

A field costs 1, and so does each field of each item of a list. Where a list is a page, its
arguments say how many items it can hold; the lists that nobody pages are reckoned with a stated
length, which is more than what is usual and no promise. Fields that ask the store or the index
something cost more than what they show.

Lists are found by what the schema says: a field with ``first`` is a page of its connection, whose
``edges`` and ``nodes`` have so many items. Only what cannot be seen there is in the tables below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PAGE: Final = 100
"""Items of a page where neither ``first`` nor ``last`` is given and the schema has no default."""

READS: Final = 10
"""Weight of a field with a page: a question to the store."""

INTROSPECTION: Final = 5
"""Weight of a field that is about the schema: these are answered the slow way."""

WEIGHTS: Final = {
    "Query.searchSessions": 200,
    "Query.searchEvents": 200,
    "Query.prepareMessage": 200,
    "Query.referenceCandidates": 20,
    "Query.server": 5,
    "SessionRecord.documents": 50,
    "SessionRecord.lineage": 20,
    "SessionRecord.projections": 20,
    "SessionRecord.trace": 10,
    "SessionRecord.event": 10,
    "Mutation.forkSession": 100,
    "Mutation.postMessage": 200,
}
"""Fields whose price is not in what they show."""

LENGTHS: Final = {
    "SessionLineage.ancestors": 100,
    "ProjectionSnapshot.views": 20,
    "TodosView.todos": 50,
    "TodoWriteEvent.todos": 50,
    "TurnOutlineView.turns": 200,
    "UserMessageEvent.content": 10,
    "AssistantMessageEvent.content": 10,
    "ToolResultEvent.content": 10,
    "EventSearchHit.highlights": 20,
    "ReferenceContext.references": 3,
    "ImportReport.refused": 100,
    "ImportReport.redacted": 20,
}
"""What lists without a page are reckoned to hold (items)."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A field whose list holds an item for each that an argument names.

    argument: where the list of them stands, its members by dots.
    items: the field that has the items, where it is one of the value's own: ``Type.field``.
    """

    argument: str
    items: str | None = None


COUNTED: Final = {
    "Query.observeSessions": Counted("ids"),
    "SessionRecord.projections": Counted("keys", "ProjectionSnapshot.views"),
    "Subscription.projections": Counted("keys", "ProjectionSnapshot.views"),
    "Mutation.appendEvents": Counted("input.events", "AppendEventsPayload.events"),
}

WINDOWS: Final = {"SessionRecord.event": "EventWindow.events"}
"""Fields with ``before`` and ``after`` neighbours, and where the items are."""

CANDIDATES: Final = "Query.referenceCandidates"
"""The field with a ``limit``."""

DESCENDANTS: Final = "SessionLineage.descendants"
"""The field whose pages have a limit of their own."""
