"""What a full-text index must be able to do.

An index is derived and can be thrown away. It is told of changes in the order of the feed, shows
them at once, and makes them durable by a commit. It keeps the *watermark* that comes with a commit
atomically with it: after any crash it is exactly where its watermark says. One caller changes an
index, one call at a time; any number may observe it.

A document is one event with semantic text. What can change without the log being replaced (title,
placement, whether a session is live) is not in it.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import msgspec

from sessiongraph.event import Seq, SessionEvent
from sessiongraph.header import SessionHeader
from sessiongraph.ports import Position
from sessiongraph.search.question import Question


@dataclass(frozen=True, slots=True)
class Watermark:
    """How far an index has come.

    position: every commit up to here is in it.
    through: of the commit behind, the events up to this seq are in it too; -1 for none.
    mark: what tells the commit at ``position`` from one of another log.
    """

    position: Position
    through: Seq = -1
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Forget:
    """Every document of a session goes, of whichever epoch."""

    session_id: str


@dataclass(frozen=True, slots=True)
class Learn:
    """Events of one log that the index does not have yet; those without text are no documents."""

    header: SessionHeader
    epoch: int
    events: Sequence[SessionEvent]


IndexChange = Forget | Learn


class Hit(NamedTuple):
    """A document that answers, without its text."""

    session_id: str
    epoch: int
    seq: Seq


class Ranking(msgspec.Struct, frozen=True):
    """The best answers: by relevance, then newer time, then session id, then seq.

    Where the question is by time, all are equally relevant.

    complete: there are no others.
    """

    hits: Sequence[Hit]
    complete: bool


_CRC_BITS: Final = (1 << 32) - 1
_CHECK_BITS: Final = (1 << 28) - 1


@dataclass(frozen=True, slots=True)
class Held:
    """What an index holds of one log.

    documents: how many. checks: the sum of :func:`check_of` each of them.
    others: documents of the same session that are of other logs than this one.
    """

    documents: int
    checks: int
    others: int


def check_of(seq: Seq, text: str) -> int:
    """A number of 28 bits for a document, by which it is told from others without its text.

    The sum of some millions of them is exact as a float, which is how an index may add them up.
    """
    octets = text.encode("utf-8", "surrogatepass")
    return zlib.crc32(octets, seq & _CRC_BITS) & _CHECK_BITS


class IndexObservation(Protocol):
    """One state of the index; later changes change nothing in it.

    Two observations are equal when they are of the same state.
    """

    @property
    def documents(self) -> int:
        """How many there are, exactly."""
        ...

    async def held(self, logs: Sequence[tuple[str, int]]) -> list[Held]:
        """What there is of each of some logs, given as session id and epoch.

        Raises:
            IndexFailed: the index cannot be read.
        """
        ...

    async def rank(self, question: Question, least: int, *, distinct: bool) -> Ranking:
        """The first answers, at least ``least`` of them unless there are fewer.

        A longer ranking of the same question begins with the shorter one.

        distinct: only the best of each log.

        Raises:
            IndexFailed: the index cannot be read.
        """
        ...


class SearchIndex(Protocol):
    """A full-text index over the events of all logs."""

    @property
    def watermark(self) -> Watermark | None:
        """Of the last commit; None for an index that has none yet."""
        ...

    @property
    def documents(self) -> int:
        """How many there are, about: those that are gone may be counted for a while."""
        ...

    async def apply(self, changes: Sequence[IndexChange]) -> None:
        """Take changes, in order; who observes from now on sees them.

        Raises:
            IndexFailed: it could not; :meth:`recover` before the next change.
        """
        ...

    async def commit(self, watermark: Watermark) -> None:
        """Make everything taken durable, together with how far that is.

        Raises:
            IndexFailed: it could not; :meth:`recover` before the next change.
        """
        ...

    def observe(self) -> IndexObservation:
        """Everything that was taken until now.

        Raises:
            IndexFailed: there is no index that could be read.
        """
        ...

    async def damages(self) -> list[str]:
        """What is wrong with the files of the last commit, found by reading all of them.

        Raises:
            IndexFailed: they cannot be read at all.
        """
        ...

    async def recover(self) -> None:
        """After a failure: go back to the last commit, or to nothing when that is damaged.

        Raises:
            IndexFailed: not even an empty index can be made.
        """
        ...

    async def clear(self) -> None:
        """Throw everything away, the watermark too.

        Raises:
            IndexFailed: an empty index cannot be made.
        """
        ...

    async def close(self) -> None:
        """Release the files; what was not committed is dropped."""
        ...
