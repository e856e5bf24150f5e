"""Filters as a caller writes them, and the selection that a list of them comes down to."""

from __future__ import annotations

from collections.abc import Iterable

import strawberry

from schema.declaration import input_type, one_of
from schema.enums import Availability, EventSurface, SourceKind
from schema.scalars import EpochMillis
from sessiongraph.filters import (
    ALL_EVENTS,
    ALL_SESSIONS,
    EVERYTHING,
    EventSelection,
    Range,
    SessionSelection,
)


@input_type
class EpochRange:
    """A span of time; both ends are included, a missing or null end is open."""

    from_: EpochMillis | None = strawberry.field(name="from")
    to: EpochMillis | None

    def bounds(self, name: str) -> Range:
        """The span as a range of the filter ``name``.

        Raises:
            InvalidFilter: the range is reversed.
        """
        return Range.of(name, self.from_, self.to)


@input_type
class SeqRange:
    """A span of seqs; both ends are included, a missing or null end is open."""

    from_: int | None = strawberry.field(name="from")
    to: int | None

    def bounds(self, name: str) -> Range:
        """The span as a range of the filter ``name``.

        Raises:
            InvalidFilter: the range is reversed.
        """
        return Range.of(name, self.from_, self.to)


@one_of
class SessionFilter:
    """One predicate over sessions. A list of filters is ANDed (no filters: everything), the values
    inside one are ORed (no values: nothing), ranges include both ends.
    """

    id: list[strawberry.ID] | None
    cwd: list[str | None] | None = strawberry.field(
        description="null in the list matches sessions without a cwd."
    )
    created_at: EpochRange | None
    parent: list[strawberry.ID | None] | None = strawberry.field(
        description="null in the list matches sessions without a parent."
    )
    availability: list[Availability] | None
    source: list[SourceKind] | None
    origin: list[str | None] | None = strawberry.field(
        description=(
            "null in the list matches sessions without an origin: [null] leaves subagents out."
        )
    )
    title: str | None = strawberry.field(
        description="Literal part of the latest title, any case, any run of white space."
    )

    def narrow(self, selection: SessionSelection) -> SessionSelection:
        """A selection and this predicate.

        Raises:
            InvalidFilter: the range is reversed or the title is blank.
        """
        created_at = self.created_at
        return selection.narrowed(
            ids=self.id,
            cwds=self.cwd,
            created_at=EVERYTHING if created_at is None else created_at.bounds("createdAt"),
            parents=self.parent,
            availability=self.availability,
            sources=self.source,
            origins=self.origin,
            title=self.title,
        )


@one_of
class EventFilter:
    """One predicate over the events of a session. A list of filters is ANDed (no filters:
    everything), the values inside one are ORed (no values: nothing), ranges include both ends.
    """

    seq: SeqRange | None
    time: EpochRange | None
    type: list[str] | None
    surface: list[EventSurface] | None
    text: str | None = strawberry.field(
        description=(
            "Literal text: any case, any run of white space, never a pattern. Scans the semantic "
            "text; independent of any index."
        )
    )

    def narrow(self, selection: EventSelection) -> EventSelection:
        """A selection and this predicate.

        Raises:
            InvalidFilter: the range is reversed or the text is blank.
        """
        return selection.narrowed(
            seqs=EVERYTHING if self.seq is None else self.seq.bounds("seq"),
            times=EVERYTHING if self.time is None else self.time.bounds("time"),
            types=self.type,
            surfaces=self.surface,
            text=self.text,
        )


@one_of
class EventMetadataFilter:
    """What a search accepts: every event predicate but the text scan."""

    seq: SeqRange | None
    time: EpochRange | None
    type: list[str] | None
    surface: list[EventSurface] | None

    def narrow(self, selection: EventSelection) -> EventSelection:
        """A selection and this predicate.

        Raises:
            InvalidFilter: the range is reversed.
        """
        return selection.narrowed(
            seqs=EVERYTHING if self.seq is None else self.seq.bounds("seq"),
            times=EVERYTHING if self.time is None else self.time.bounds("time"),
            types=self.type,
            surfaces=self.surface,
        )


def session_selection(filters: Iterable[SessionFilter] | None) -> SessionSelection:
    """The sessions that pass every filter; all of them when there are no filters.

    Raises:
        InvalidFilter: a filter makes no sense.
    """
    selection = ALL_SESSIONS
    for each in filters or ():
        selection = each.narrow(selection)
    return selection


def event_selection(
    filters: Iterable[EventFilter | EventMetadataFilter] | None,
) -> EventSelection:
    """The events that pass every filter; all of them when there are no filters.

    Raises:
        InvalidFilter: a filter makes no sense.
    """
    selection = ALL_EVENTS
    for each in filters or ():
        selection = each.narrow(selection)
    return selection
