"""Changes of the session list, as they happen: what a front end follows to keep its list true.

Some changes are commits (a first transaction, a title, an import, a deletion), some are of the
live set alone (created, resumed, closed). Both come together here, in one order, and are kept for a
while in a bounded backlog, so that a client that was away for a moment can go on where it was.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sessiongraph.cursor import CursorCodec
from sessiongraph.errors import StaleCursor
from sessiongraph.ports import Commit, CommitKind
from sessiongraph.writing import Lifecycle

BACKLOG: Final = 10_000
"""Changes kept for those who come back."""

_BRAND: Final = "corpus"


class ChangeKind(StrEnum):
    """UPDATED: title or activity; REPLACED: the stored log was read anew."""

    CREATED = "created"
    RESUMED = "resumed"
    PERSISTED = "persisted"
    CLOSED = "closed"
    DELETED = "deleted"
    IMPORTED = "imported"
    UPDATED = "updated"
    REPLACED = "replaced"


_OF_COMMITS: Final = {
    CommitKind.CREATED: ChangeKind.PERSISTED,
    CommitKind.IMPORTED: ChangeKind.IMPORTED,
    CommitKind.REPLACED: ChangeKind.REPLACED,
    CommitKind.DETACHED: ChangeKind.UPDATED,
    CommitKind.DELETED: ChangeKind.DELETED,
}


@dataclass(frozen=True, slots=True)
class CorpusChange:
    """One change of the list of sessions.

    removed_cwd: the working directory of what is gone with a deletion or a replacement.
    """

    number: int
    kind: ChangeKind
    session_id: str
    removed_cwd: str | None = None


class CorpusChanges(Lifecycle):
    """The changes of one server since it started.

    backlog: changes kept for those who come back.
    """

    def __init__(self, cursors: CursorCodec, backlog: int = BACKLOG) -> None:
        self._cursors = cursors
        # Numbers mean nothing to another run of the server, so cursors name the run.
        self._run = secrets.token_hex(8)
        self._next = 0
        self._backlog: deque[CorpusChange] = deque(maxlen=backlog)
        self._latest_break: dict[str, int] = {}
        self._news = asyncio.Event()
        self._stopped = False
        # A session can be created before its first commit, or be told of by that commit first.
        self._told_before_commit: set[str] = set()
        self._told_by_commit: set[str] = set()

    def created(self, session_id: str) -> None:
        if session_id in self._told_by_commit:
            self._told_by_commit.remove(session_id)
        else:
            self._told_before_commit.add(session_id)
            self._add(ChangeKind.CREATED, session_id)

    def resumed(self, session_id: str) -> None:
        self._add(ChangeKind.RESUMED, session_id)

    def closed(self, session_id: str) -> None:
        self._add(ChangeKind.CLOSED, session_id)

    def deleted(self, session_id: str, cwd: str | None) -> None:
        self._told_before_commit.discard(session_id)
        self._add(ChangeKind.DELETED, session_id, cwd)

    def commit(self, commit: Commit) -> None:
        """Take one commit of the feed into account."""
        if commit.kind is CommitKind.CREATED:
            if commit.session_id in self._told_before_commit:
                self._told_before_commit.remove(commit.session_id)
            else:
                self._told_by_commit.add(commit.session_id)
                self._add(ChangeKind.CREATED, commit.session_id)
        kind = _OF_COMMITS.get(commit.kind)
        if kind is None and commit.relisted:
            kind = ChangeKind.UPDATED
        if kind is not None:
            self._add(kind, commit.session_id, commit.removed_cwd)

    def stop(self) -> None:
        """End every follower cleanly."""
        self._stopped = True
        self._wake()

    def is_of_this_life(self, change: CorpusChange) -> bool:
        """Whether the session was neither deleted nor read anew after a change.

        Before that there may have been another one under its id.
        """
        return self._latest_break.get(change.session_id, -1) <= change.number

    def cursor(self, change: CorpusChange, scope: str = "") -> str:
        """The cursor of a change, for those who see the same."""
        return self._cursors.within(scope).issue(_BRAND, self._run, [change.number])

    async def follow(self, after: str | None, scope: str = "") -> AsyncIterator[CorpusChange]:
        """Every change from now on, or after a cursor of the recent past.

        scope: of those whose cursor it is.

        Raises:
            InvalidCursor: this server did not issue it.
            StaleCursor: it is of an earlier run, or too far back; so is one who is too slow.
        """
        number = self._next
        if after is not None:
            (last,) = self._cursors.within(scope).read(_BRAND, self._run, after)
            number = last + 1
        while True:
            news = self._news
            if number < self._next:
                first = self._backlog[0].number
                if number < first:
                    raise StaleCursor("too much has changed since: read the list again")
                change = self._backlog[number - first]
                yield change
                number += 1
            elif self._stopped:
                return
            else:
                await news.wait()

    def _add(self, kind: ChangeKind, session_id: str, removed_cwd: str | None = None) -> None:
        if len(self._backlog) == self._backlog.maxlen and self._backlog:
            oldest = self._backlog[0]
            if self._latest_break.get(oldest.session_id) == oldest.number:
                del self._latest_break[oldest.session_id]
        self._backlog.append(CorpusChange(self._next, kind, session_id, removed_cwd))
        if kind in (ChangeKind.DELETED, ChangeKind.REPLACED):
            self._latest_break[session_id] = self._next
        self._next += 1
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()
