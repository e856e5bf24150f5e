"""Appends that are committed together are also executed together: one statement each for all.

Every append of a transaction is checked against the end of its log before anything is written, so
one that conflicts is answered for itself and the others go on. What is left are rows, and rows of
many logs go into a table as cheaply as rows of one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from providers.sqlite import commits
from providers.sqlite.appending import Batch, insert_events, write_derived
from providers.sqlite.codec import to_octets
from providers.sqlite.numbering import VISIBLE
from providers.sqlite.staging import take_end
from sessiongraph.errors import LogConflict
from sessiongraph.ports import Position


@dataclass(slots=True, eq=False)
class AppendJob:
    """One append that waits for the writer.

    known: number and epoch of the log that the batch was made for.
    """

    session_id: str
    known: tuple[int, int]
    batch: Batch


def append_all(
    connection: sqlite3.Connection, jobs: Sequence[AppendJob]
) -> list[Position | LogConflict]:
    """Execute appends in order; the position of each, or why it was refused."""
    ends = _ends(connection, {job.known[0] for job in jobs})
    answers: list[Position | LogConflict] = []
    accepted: list[AppendJob] = []
    for job in jobs:
        conflict = _check(connection, ends, job)
        answers.append(0 if conflict is None else conflict)
        if conflict is None:
            accepted.append(job)
    if not accepted:
        return answers
    batches = [job.batch for job in accepted]
    insert_events(connection, batches)
    write_derived(connection, batches)
    commits.advance_all(connection, batches)
    events = sum(batch.last_seq - batch.first_seq + 1 for batch in batches)
    commits.count(connection, events=events)
    positions = iter(
        commits.record_appends(
            connection,
            [(to_octets(job.session_id), job.known[1], job.batch) for job in accepted],
        )
    )
    return [next(positions) if answer == 0 else answer for answer in answers]


def _ends(connection: sqlite3.Connection, logs: Collection[int]) -> dict[int, list[Any]]:
    """Epoch, last seq and stager of every visible log of these."""
    marks = ",".join("?" * len(logs))
    rows = connection.execute(
        f"SELECT log, epoch, last_seq, staged_by FROM logs WHERE state = ? AND log IN ({marks})",
        (VISIBLE, *logs),
    )
    return {log: end for log, *end in rows}


def _check(
    connection: sqlite3.Connection, ends: dict[int, list[Any]], job: AppendJob
) -> LogConflict | None:
    log, epoch = job.known
    end = ends.get(log)
    if end is None or end[0] != epoch:
        return LogConflict(f"{job.session_id!r} was replaced or deleted meanwhile")
    if end[1] + 1 != job.batch.first_seq:
        return LogConflict(
            f"{job.session_id!r} is at seq {end[1] + 1}, not at {job.batch.first_seq}"
        )
    if end[2] is not None:
        take_end(connection, log)
        end[2] = None
    end[1] = job.batch.last_seq
    return None
