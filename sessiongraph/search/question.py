"""What a search asks: a caller's text as places, and the events that may answer.

The text is data. It goes through :mod:`sessiongraph.search.analysis` like every event's text, and
there is no syntax that could mean something else. Its places are grouped into *terms*: what a
caller wrote without a gap belongs together (``src/a/b.py``, ``session_projcache``, a run of
Chinese) and is found where it stands together. A term of one place is also found as a part of a
word in camel case.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import msgspec

from sessiongraph import lossless
from sessiongraph.errors import InvalidQuery
from sessiongraph.event import MESSAGE_TYPES, EventSurface
from sessiongraph.filters import (
    EVERYTHING,
    EventSelection,
    Range,
    SessionSelection,
)
from sessiongraph.search.analysis import is_cjk, words_of
from sessiongraph.text import SEMANTIC_TYPES

_JOINTS: Final = re.compile(r"[_./\\@'’-]*")
"""What may stand between the places of one term: the joints of identifiers, paths and addresses."""


class MatchMode(StrEnum):
    """ALL: every term occurs; ANY: one of them does; PHRASE: all places stand together."""

    ALL = "all"
    ANY = "any"
    PHRASE = "phrase"


Term = tuple[str, ...]
"""Places that stand together, at least one."""


@dataclass(frozen=True, slots=True)
class SearchText:
    """A caller's text.

    terms: each once, in the order of their first occurrence; one of all places for PHRASE.
    places: all of them, in order.
    """

    mode: MatchMode
    terms: tuple[Term, ...]
    places: Term

    @classmethod
    def of(cls, query: str, mode: MatchMode, most_characters: int) -> SearchText:
        """A text as a caller wrote it.

        Raises:
            InvalidQuery: nothing in it could be found, it holds a NUL, or it is too long.
        """
        if "\0" in query:
            raise InvalidQuery("a query cannot hold a NUL")
        if len(query) > most_characters:
            raise InvalidQuery(
                f"a query has at most {most_characters} characters, not {len(query)}"
            )
        groups: list[list[str]] = []
        end, was_cjk = -1, False
        for word in words_of(query):
            # Several places of one token (a ligature, a fraction) have the same ends.
            between = query[end : word.start] if word.start >= end else ""
            cjk = is_cjk(word.place)
            if end >= 0 and cjk == was_cjk and _JOINTS.fullmatch(between):
                groups[-1].append(word.place)
            else:
                groups.append([word.place])
            end, was_cjk = word.end, cjk
        places = tuple(place for group in groups for place in group)
        if not places:
            raise InvalidQuery("a query needs a letter, a digit or a symbol that can be found")
        if mode is MatchMode.PHRASE:
            return cls(mode, (places,), places)
        return cls(mode, tuple(dict.fromkeys(map(tuple, groups))), places)

    def digest(self) -> str:
        """Equal for texts that find the same."""
        text = lossless.encode([self.mode.value, self.terms, self.places])
        return hashlib.blake2b(text, digest_size=9).hexdigest()


class IndexFilter(msgspec.Struct, frozen=True):
    """What an index itself narrows a search to; None and open ranges admit everything.

    without: sessions that are left out.
    within: places (:mod:`sessiongraph.directories`) at or below which the working directory lies,
        as deep as can be asked.

    Only what never changes of a log or an event is here. The rest (title, availability, source,
    placement) is looked up when a search runs.
    """

    ids: frozenset[str] | None = None
    cwds: frozenset[str | None] | None = None
    parents: frozenset[str | None] | None = None
    origins: frozenset[str | None] | None = None
    created_at: Range = EVERYTHING
    seqs: Range = EVERYTHING
    times: Range = EVERYTHING
    types: frozenset[str] | None = None
    without: frozenset[str] = frozenset()
    within: frozenset[str] | None = None

    @classmethod
    def of(cls, sessions: SessionSelection, events: EventSelection) -> IndexFilter:
        """As much of two selections as an index can tell."""
        return cls(
            sessions.ids,
            sessions.cwds,
            sessions.parents,
            sessions.origins,
            sessions.created_at,
            events.seqs,
            events.times,
            types_on(events),
            within=sessions.within,
        )


def types_on(events: EventSelection) -> frozenset[str] | None:
    """The types that a selection admits, by itself or by the surfaces that it asks for."""
    types = None if events.types is None else events.types & SEMANTIC_TYPES
    if events.surfaces is not None:
        admitted: frozenset[str] = frozenset()
        if EventSurface.LOG_ONLY in events.surfaces:
            admitted |= SEMANTIC_TYPES - MESSAGE_TYPES
        if events.surfaces - {EventSurface.LOG_ONLY}:
            admitted |= SEMANTIC_TYPES & MESSAGE_TYPES
        types = admitted if types is None else types & admitted
    return types


class Question(msgspec.Struct, frozen=True):
    """What an index is asked.

    by_time: answers are not weighed, the newest come first. The weight of a word depends on how
        many documents have it, so it would tell of documents that the asker cannot see.
    """

    text: SearchText
    admitted: IndexFilter
    by_time: bool = False
