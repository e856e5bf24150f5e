"""Importing files into a store, and everything that can then be asked of it.

The expected side of a comparison is :class:`tests.plain_store.PlainLogStore`, fed with the entries
themselves and not with files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from providers.recordings.discovery import find_recordings
from providers.recordings.dsh import DshReader
from sessiongraph.event import Entry, SessionEvent, events_of
from sessiongraph.header import SessionHeader
from sessiongraph.import_report import ImportReport
from sessiongraph.importing import Importer
from sessiongraph.ports import LogStore
from sessiongraph.text import semantic_text
from tests.contracts.log_stage import (
    EVERYTHING,
    all_entries,
    ids_in_order,
    one,
    publish,
    told_event,
    told_placed,
    told_session,
)
from tests.plain_store import PlainLogStore
from tests.providers.recordings.dsh_writing import Json, row
from tests.strategies import user_message

IMPORTED_AT = 1_790_000_000_000
"""When every import of these tests happens."""


async def take(store: LogStore, *paths: Path, **options: Any) -> ImportReport:
    """Import files and folders as the program does."""
    importer = Importer(store, lambda: IMPORTED_AT)
    return await importer.run(find_recordings(paths, [DshReader()]), **options)


def counted(report: ImportReport) -> tuple[int, int, int, int]:
    """imported, resumed, unchanged, refused; they add up."""
    counts = (report.imported, report.resumed, report.unchanged, len(report.refused))
    assert sum(counts) == report.files
    assert report.done
    return counts


IMPORTED, RESUMED, UNCHANGED, REFUSED = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)
"""What is counted for a single file."""


def reasons(report: ImportReport) -> list[tuple[str, int | None, str]]:
    """What was refused: the file's name, the line, the reason."""
    return [(Path(each.path).name, each.line, each.reason) for each in report.refused]


def touch(path: Path, nanoseconds: int) -> None:
    """Another time of modification and nothing else."""
    os.utime(path, ns=(nanoseconds, nanoseconds))


# Rows of files


def said(seq: int, text: str = "hello", **members: Any) -> Json:
    """A prompt, appended unless ``surfaceOp`` says otherwise."""
    return row(seq, "user/message", user_message(text), **{"surfaceOp": "append", **members})


def replacing(seq: int, first: int, last: int, sources: Sequence[Any], **members: Any) -> Json:
    """A compaction: a prompt in the place of the nodes from first through last."""
    op = {"op": "replace", "start": first, "end": last}
    return said(seq, f"summary {seq}", surfaceOp=op, sourceEventSeqs=list(sources), **members)


def prompts(count: int, first: int = 0) -> list[Json]:
    return [said(seq, f"question {seq}") for seq in range(first, first + count)]


# Answers of stores


async def told_log(store: LogStore, session_id: str) -> dict[str, Any]:
    """Everything about one session but its header's source, event by event."""
    async with store.observe() as reader:
        session = await one(reader, session_id)
        entries = await all_entries(reader, session)
        events = [event for entry in entries for event in events_of(entry)]
        seqs = range(session.last_seq + 1)
        at = await reader.at(session, seqs)
        return {
            "session": told_session(session)[1:],
            "events": [told_event(event) for event in events],
            "texts": [semantic_text(event) for event in events],
            "placed": [told_placed(at[seq]) for seq in seqs],
            "surface": [told_placed(e) for e in await reader.surface(session, EVERYTHING)],
            "nodes": await reader.surface_nodes(session),
            "replaced": [await reader.replaced_by(session, seq) for seq in seqs],
            "chains": [await reader.replacement_chain(session, seq) for seq in seqs],
            "citers": [await reader.citers(session, seq) for seq in seqs],
        }


async def told_store(store: LogStore) -> dict[str, Any]:
    """Everything about every session, headers and totals included."""
    async with store.observe() as reader:
        ids = await ids_in_order(reader)
        counts = await reader.counts()
        headers = {each: found.header for each, found in (await reader.find(ids)).items()}
    logs = {session_id: await told_log(store, session_id) for session_id in ids}
    return {"ids": ids, "counts": counts, "headers": headers, "logs": logs}


async def told_plainly(new: SessionHeader, log: Sequence[Entry]) -> dict[str, Any]:
    """Everything about a log by the plain model."""
    plain = PlainLogStore()
    await publish(plain, new, log)
    return await told_log(plain, new.session_id)


def single_events(log: Iterable[Entry]) -> list[SessionEvent]:
    """A log without runs."""
    return [event for entry in log for event in events_of(entry)]
