"""Does a full-text index hold just what the log says, up to where it claims to be?

An index may be behind the log; that is no fault, and it is held to what the log was at its
watermark. What a log was is known where it has only grown since. Of a log that was replaced or
deleted since, nothing is expected, and whatever the index has of it is put down to it.

Each log is read once, page by page. In memory are one page, and a number for each session that has
changed since the watermark.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from sessiongraph.errors import CorruptSession
from sessiongraph.event import Seq
from sessiongraph.filters import ALL_SESSIONS
from sessiongraph.ports import (
    CommitFeed,
    LogReader,
    LogStore,
    Position,
    SessionKey,
    SessionOrder,
    StoredSession,
)
from sessiongraph.search.growth import ENDING, commits_between, is_of_log, pages_of
from sessiongraph.search.ports import Held, IndexObservation, SearchIndex, Watermark, check_of
from sessiongraph.text import semantic_text

_TOGETHER: Final = 200
"""Sessions that the index is asked about at a time."""

_FAR_BEHIND: Final = 100_000
"""Commits behind which an index is just being built: only its place is verified."""


@dataclass(frozen=True, slots=True)
class IndexFault:
    """Something of an index that is not as the log says.

    session_id: None where the index as a whole is meant.
    """

    session_id: str | None
    detail: str


OnProgress = Callable[[int], None]
"""Called with the sessions that were compared so far."""


async def index_faults(
    store: LogStore, feed: CommitFeed, index: SearchIndex, on_progress: OnProgress
) -> AsyncIterator[IndexFault]:
    """Everything that is wrong with an index.

    Raises:
        IndexFailed: the index cannot be read.
        PersistenceFailed: the store cannot be read.
    """
    damages = await index.damages()
    for damage in damages:
        yield IndexFault(None, f"the file {damage}")
    watermark, observation = index.watermark, index.observe()
    if damages or watermark is None:
        return
    async with store.observe() as reader:
        target = reader.position
        misplaced = await _misplaced(feed, watermark, target)
        if misplaced is not None:
            yield IndexFault(None, misplaced)
        elif target - watermark.position <= _FAR_BEHIND:
            ends = await _ends(feed, watermark, target)
            comparison = _Comparison(reader, observation, ends)
            async for fault in comparison.faults(on_progress):
                yield fault


async def _misplaced(feed: CommitFeed, watermark: Watermark, target: Position) -> str | None:
    if watermark.position > target:
        return f"it has reached commit {watermark.position}, the log ends with {target}"
    if not await is_of_log(watermark, feed, target):
        return f"the commit {watermark.position} that it has reached is one of another log"
    return None


async def _ends(feed: CommitFeed, watermark: Watermark, target: Position) -> dict[str, Seq | None]:
    """Where each log that has changed since ended then; None where that cannot be told."""
    ends: dict[str, Seq | None] = {}
    through = watermark.through
    async for commit in commits_between(feed, watermark.position, target):
        if commit.kind in ENDING:
            ends[commit.session_id] = None
        elif commit.last_seq >= commit.first_seq:
            ends.setdefault(commit.session_id, max(commit.first_seq - 1, through))
        through = -1
    return ends


class _Comparison:
    """One observation of an index against one of the store."""

    def __init__(
        self, reader: LogReader, index: IndexObservation, ends: Mapping[str, Seq | None]
    ) -> None:
        self._reader = reader
        self._index = index
        self._ends = ends

    async def faults(self, on_progress: OnProgress) -> AsyncIterator[IndexFault]:
        """What differs, session by session, and what is of none."""
        accounted = compared = 0
        after: SessionKey | None = None
        while page := await self._reader.sessions(
            ALL_SESSIONS, SessionOrder.CREATED, limit=_TOGETHER, after=after
        ):
            logs = [(stored.header.session_id, stored.epoch) for stored in page]
            for stored, held in zip(page, await self._index.held(logs), strict=True):
                accounted += held.documents + held.others
                detail = await self._difference(stored, held)
                if detail is not None:
                    yield IndexFault(stored.header.session_id, detail)
                compared += 1
                on_progress(compared)
            after = page[-1].key()
        stray = self._index.documents - accounted - await self._of_deleted()
        if stray:
            yield IndexFault(None, f"{stray} of its documents are of logs that are not there")

    async def _difference(self, stored: StoredSession, held: Held) -> str | None:
        end = self._ends.get(stored.header.session_id, stored.last_seq)
        if end is None:
            return None
        if held.others:
            return f"{held.others} documents are of an earlier state of the log"
        try:
            documents, checks = await self._expected(stored, end)
        except CorruptSession:
            return None  # the verification of the store tells what is wrong there
        if held.documents != documents:
            return f"{held.documents} documents are indexed, {documents} are in the log"
        if held.checks != checks:
            return "the documents that are indexed are not those of the log"
        return None

    async def _expected(self, stored: StoredSession, end: Seq) -> tuple[int, int]:
        """How many documents a log has up to a seq, and the sum of their checks."""
        documents = checks = 0
        async for events in pages_of(self._reader, stored, 0, end):
            for event in events:
                try:
                    text = semantic_text(event)
                except ValueError:
                    continue
                if text:
                    documents += 1
                    checks += check_of(event.seq, text)
        return documents, checks

    async def _of_deleted(self) -> int:
        """Documents of logs that were deleted since the watermark."""
        ended = [session_id for session_id, end in self._ends.items() if end is None]
        documents = 0
        for at in range(0, len(ended), _TOGETHER):
            part = ended[at : at + _TOGETHER]
            there = await self._reader.find(part)
            gone = [(session_id, 0) for session_id in part if session_id not in there]
            for held in await self._index.held(gone):
                documents += held.documents + held.others
        return documents
