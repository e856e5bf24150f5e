"""Predicates over sessions and over events: what a list of filters means.

Filters in a list are ANDed and the values inside one are ORed, so any list comes down to one
*selection*: for each field a set of admitted values or one range. A selection is what stores
answer, what cursors are bound to and what :func:`admits` decides for a single event. A list that
contradicts itself is a valid question with no answer, a selection that is ``impossible``.

A text is matched literally, never as a pattern: each word is escaped, a run of white space matches
any run of white space, and case is folded simply (query.md, "Filters").
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, Self, TypeVar

from sessiongraph import lossless
from sessiongraph.errors import InvalidFilter
from sessiongraph.event import EventSurface, PlacedEvent
from sessiongraph.header import SourceKind
from sessiongraph.text import semantic_text

T = TypeVar("T")


class Availability(StrEnum):
    """Where a session can be read from; a session can be both."""

    LIVE = "live"
    PERSISTED = "persisted"


@dataclass(frozen=True, slots=True)
class Range:
    """An interval of integers that includes both ends; None leaves an end open."""

    low: int | None = None
    high: int | None = None

    @classmethod
    def of(cls, name: str, low: int | None, high: int | None) -> Self:
        """A range as a caller gave it.

        Raises:
            InvalidFilter: the range is reversed.
        """
        if low is not None and high is not None and low > high:
            raise InvalidFilter(f"the range of the {name} filter is reversed: {low} to {high}")
        return cls(low, high)

    def intersect(self, other: Range) -> Range:
        """What lies in both; possibly empty."""
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        return Range(max(lows, default=None), min(highs, default=None))

    def holds(self, value: int) -> bool:
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    @property
    def is_empty(self) -> bool:
        return self.low is not None and self.high is not None and self.low > self.high

    @property
    def is_open(self) -> bool:
        return self.low is None and self.high is None


EVERYTHING: Final = Range()

_NONE_OF_THEM: Final[frozenset[Any]] = frozenset()


def _both(mine: frozenset[T] | None, values: Iterable[T]) -> frozenset[T]:
    return frozenset(values) if mine is None else mine & frozenset(values)


def literal_text(name: str, text: str) -> str:
    """A caller's text, trimmed.

    Raises:
        InvalidFilter: nothing but white space is left.
    """
    trimmed = " ".join(text.split())
    if not trimmed:
        raise InvalidFilter(f"the {name} filter needs a text that is not blank")
    return trimmed


@lru_cache(maxsize=256)
def text_pattern(text: str) -> re.Pattern[str]:
    """The pattern that finds ``text`` literally, in any case and with any white space."""
    words = (
        "".join(_KEPT_APART.get(letter) or re.escape(letter) for letter in word)
        for word in text.split()
    )
    return re.compile(r"\s+".join(words), re.IGNORECASE)


_KEPT_APART: Final = {
    "i": "(?-i:[iI])",
    "I": "(?-i:[iI])",
    "\N{LATIN SMALL LETTER DOTLESS I}": "(?-i:\N{LATIN SMALL LETTER DOTLESS I})",
    "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}": (
        "(?-i:\N{LATIN CAPITAL LETTER I WITH DOT ABOVE})"
    ),
}
"""Letters that ``re`` takes for one in any case and Unicode's simple folding keeps apart."""


def fold_title(title: str) -> str:
    """A title as it is compared: case folded, white space runs as one space."""
    return " ".join(title.split()).casefold()


def contains_title(title: str | None, part: str) -> bool:
    """Whether a title passes a title filter."""
    return title is not None and fold_title(part) in fold_title(title)


class _Selection:
    """What both selections share: a digest to bind cursors to."""

    __slots__ = ()

    def digest(self) -> str:
        """Equal for equal meaning, whatever the order of filters and of values inside them."""
        parts: dict[str, Any] = {}
        for name in fields(self):  # type: ignore[arg-type]
            value = getattr(self, name.name)
            if isinstance(value, Range):
                parts[name.name] = None if value.is_open else [value.low, value.high]
            elif value is not None:
                parts[name.name] = sorted(set(value), key=lambda item: (item is not None, item))
        text = lossless.encode({key: value for key, value in sorted(parts.items()) if value})
        empty = sorted(key for key, value in parts.items() if value == [])
        return hashlib.blake2b(text + repr(empty).encode(), digest_size=9).hexdigest()


@dataclass(frozen=True, slots=True)
class SessionSelection(_Selection):
    """Which sessions a list asks for; None admits every value.

    cwds, parents, origins: None inside a set admits sessions without one.
    titles: parts that the latest title must contain, each, in any case.
    within: places at or below which the working directory must lie, none of them below another.
    """

    ids: frozenset[str] | None = None
    cwds: frozenset[str | None] | None = None
    created_at: Range = EVERYTHING
    parents: frozenset[str | None] | None = None
    availability: frozenset[Availability] | None = None
    sources: frozenset[SourceKind] | None = None
    origins: frozenset[str | None] | None = None
    titles: tuple[str, ...] = ()
    within: frozenset[str] | None = None

    @property
    def impossible(self) -> bool:
        """Whether no row can match, whatever the corpus holds."""
        return self.created_at.is_empty or _NONE_OF_THEM in (
            self.ids,
            self.cwds,
            self.parents,
            self.availability,
            self.sources,
            self.origins,
            self.within,
        )

    def narrowed(
        self,
        *,
        ids: Sequence[str] | None = None,
        cwds: Sequence[str | None] | None = None,
        created_at: Range = EVERYTHING,
        parents: Sequence[str | None] | None = None,
        availability: Sequence[Availability] | None = None,
        sources: Sequence[SourceKind] | None = None,
        origins: Sequence[str | None] | None = None,
        title: str | None = None,
    ) -> SessionSelection:
        """This selection and one more filter.

        Raises:
            InvalidFilter: the title is blank.
        """
        titles = () if title is None else (literal_text("title", title),)
        return SessionSelection(
            self.ids if ids is None else _both(self.ids, ids),
            self.cwds if cwds is None else _both(self.cwds, cwds),
            self.created_at.intersect(created_at),
            self.parents if parents is None else _both(self.parents, parents),
            self.availability if availability is None else _both(self.availability, availability),
            self.sources if sources is None else _both(self.sources, sources),
            self.origins if origins is None else _both(self.origins, origins),
            self.titles + titles,
            self.within,
        )


@dataclass(frozen=True, slots=True)
class EventSelection(_Selection):
    """Which events of one session a list asks for; None admits every value.

    texts: literal texts that the semantic text must contain, each.
    """

    seqs: Range = EVERYTHING
    times: Range = EVERYTHING
    types: frozenset[str] | None = None
    surfaces: frozenset[EventSurface] | None = None
    texts: tuple[str, ...] = ()

    @property
    def impossible(self) -> bool:
        """Whether no row can match, whatever the corpus holds."""
        return (
            self.seqs.is_empty
            or self.times.is_empty
            or _NONE_OF_THEM in (self.types, self.surfaces)
        )

    def narrowed(
        self,
        *,
        seqs: Range = EVERYTHING,
        times: Range = EVERYTHING,
        types: Iterable[str] | None = None,
        surfaces: Iterable[EventSurface] | None = None,
        text: str | None = None,
    ) -> EventSelection:
        """This selection and one more filter.

        Raises:
            InvalidFilter: the text is blank.
        """
        texts = () if text is None else (literal_text("text", text),)
        return EventSelection(
            self.seqs.intersect(seqs),
            self.times.intersect(times),
            self.types if types is None else _both(self.types, types),
            self.surfaces if surfaces is None else _both(self.surfaces, surfaces),
            self.texts + texts,
        )

    def admits(self, placed: PlacedEvent) -> bool:
        """Whether one event passes every filter."""
        return (
            self.seqs.holds(placed.seq)
            and self.times.holds(placed.time)
            and (self.types is None or placed.type in self.types)
            and (self.surfaces is None or placed.surface in self.surfaces)
            and (not self.texts or self.admits_text(semantic_text(placed.event)))
        )

    def admits_text(self, text: str) -> bool:
        """Whether a semantic text passes the text filters."""
        return all(text_pattern(part).search(text) for part in self.texts)


ALL_SESSIONS: Final = SessionSelection()
ALL_EVENTS: Final = EventSelection()
