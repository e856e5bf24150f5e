"""What every commit leaves behind: its place in the feed, the totals, and what lists show.

A position is the number of a row in the feed. Rows are written inside the transaction that they
speak of, so positions are assigned in the order of commits and a feed has no holes that fill later.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from providers.sqlite.appending import Batch
from providers.sqlite.codec import from_octets, to_octets
from providers.sqlite.headers import shown_text
from providers.sqlite.many_rows import ManyRows
from sessiongraph.event import Seq
from sessiongraph.filters import fold_title
from sessiongraph.ports import Commit, CommitKind, Position
from sessiongraph.recordings import RecordingState

_APPENDS: Final = ManyRows(
    "INSERT OR FAIL INTO commits (kind, id, epoch, first_seq, last_seq, relisted) VALUES",
    "(?,?,?,?,?,?)",
)
_ENDS: Final = ManyRows(
    "UPDATE OR FAIL logs SET last_seq = column2 FROM (VALUES", "(?,?)", ") WHERE log = column1"
)
_PROMPTS: Final = ManyRows(
    "UPDATE OR FAIL logs SET prompted_at = column2, prompted_seq = column3 FROM (VALUES",
    "(?,?,?)",
    ") WHERE log = column1",
)
_RECORD: Final = (
    "INSERT INTO commits (kind, id, epoch, first_seq, last_seq, relisted, removed_cwd) "
    "VALUES (?,?,?,?,?,?,?)"
)


def record(
    connection: sqlite3.Connection,
    kind: CommitKind,
    session_id: bytes,
    epoch: int | None,
    first_seq: Seq,
    last_seq: Seq,
    *,
    relisted: bool = False,
    removed_cwd: bytes | None = None,
) -> Position:
    """A new position; without an epoch it begins one, named by the position itself."""
    cursor = connection.execute(
        _RECORD,
        (
            kind.value,
            session_id,
            _last_position(connection) + 1 if epoch is None else epoch,
            first_seq,
            last_seq,
            relisted,
            removed_cwd,
        ),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _last_position(connection: sqlite3.Connection) -> Position:
    (last,) = connection.execute(
        "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'commits'), 0)"
    ).fetchone()
    return int(last)


def count(connection: sqlite3.Connection, *, sessions: int = 0, events: int = 0) -> None:
    """Change the totals."""
    connection.execute(
        "UPDATE totals SET sessions = sessions + ?, events = events + ?", (sessions, events)
    )


def advance(
    connection: sqlite3.Connection,
    log: int,
    last_seq: Seq,
    title: tuple[Seq, str] | None,
    prompt: tuple[Seq, int] | None,
) -> None:
    """Move the end of a log, and keep what lists show of it: latest title and latest prompt."""
    names = ["last_seq = ?"]
    values: list[Any] = [last_seq]
    if title is not None:
        names.append("title = ?, title_folded = ?, title_seq = ?")
        values += [to_octets(title[1]), to_octets(fold_title(title[1])), title[0]]
    if prompt is not None:
        names.append("prompted_at = ?, prompted_seq = ?")
        values += [prompt[1], prompt[0]]
    connection.execute(f"UPDATE logs SET {', '.join(names)} WHERE log = ?", [*values, log])


def advance_all(connection: sqlite3.Connection, batches: Sequence[Batch]) -> None:
    """Move the ends of many logs, in order; of what lists show, the latest of each log stays."""
    _ENDS.execute(connection, list({batch.log: batch.last_seq for batch in batches}.items()))
    prompts = {batch.log: batch.prompt for batch in batches if batch.prompt}
    _PROMPTS.execute(connection, [(log, time, seq) for log, (seq, time) in prompts.items()])
    titles = {batch.log: batch.title for batch in batches if batch.title}
    if titles:
        connection.executemany(
            "UPDATE logs SET title = ?, title_folded = ?, title_seq = ? WHERE log = ?",
            [
                (to_octets(title), to_octets(fold_title(title)), seq, log)
                for log, (seq, title) in titles.items()
            ],
        )


def record_appends(
    connection: sqlite3.Connection, appends: Sequence[tuple[bytes, int, Batch]]
) -> list[Position]:
    """The positions of many appends, each as session id, epoch and batch."""
    first = _last_position(connection) + 1
    kind = CommitKind.APPENDED.value
    _APPENDS.execute(
        connection,
        [
            (
                kind,
                octets,
                epoch,
                batch.first_seq,
                batch.last_seq,
                batch.title is not None or batch.prompt is not None,
            )
            for octets, epoch, batch in appends
        ],
    )
    return list(range(first, first + len(appends)))


def remember_recording(connection: sqlite3.Connection, recording: RecordingState) -> None:
    """Keep how far a recorder's file has been read."""
    connection.execute(
        "INSERT OR REPLACE INTO recordings "
        "(path, id, size, modified_ns, offset, line, next_seq, fingerprint, memory) "
        "VALUES (?,?,?,?,?,?,?,?,?)",
        (
            to_octets(recording.path),
            to_octets(recording.session_id),
            recording.size,
            recording.modified_ns,
            recording.offset,
            recording.line,
            recording.next_seq,
            recording.fingerprint,
            recording.memory,
        ),
    )


def commits_after(connection: sqlite3.Connection, after: Position, limit: int) -> list[Commit]:
    """The next commits of the feed."""
    rows = connection.execute(
        "SELECT position, kind, id, epoch, first_seq, last_seq, relisted, removed_cwd FROM commits "
        "WHERE position > ? ORDER BY position LIMIT ?",
        (after, limit),
    )
    return [
        Commit(
            position,
            CommitKind(kind),
            from_octets(octets),
            epoch,
            first,
            last,
            bool(relisted),
            shown_text(removed_cwd),
        )
        for position, kind, octets, epoch, first, last, relisted, removed_cwd in rows
    ]
