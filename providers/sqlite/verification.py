"""Is everything in the store as a fold from scratch says it must be?

Each log is read once from front to back, as it is stored and with nothing trusted: seqs without a
gap, payloads that decode, the rules of the surface; and beside them everything that is derived,
row by row, against what the same transitions say: placement, lanes, cited blocks, time spans,
citations, the latest title and prompt, the totals. Memory does not grow with a log, only with its
surface.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from providers.sqlite import carried, covers, directories, headers
from providers.sqlite.appending import SPAN_SEQS, covering_blocks, prepare
from providers.sqlite.codec import (
    ROW_COLUMNS,
    STREAM_APART,
    EventRow,
    ascending_runs,
    event_of,
    run_of,
    to_octets,
)
from providers.sqlite.numbering import LOW_32, NODE_SHIFT, SEQ_SHIFT, VISIBLE
from providers.sqlite.types import TypeNames
from sessiongraph.errors import SessionGraphError
from sessiongraph.event import Entry, Seq, SessionEvent
from sessiongraph.filters import fold_title
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.ports import StoredSession
from sessiongraph.surface import Surface, SurfaceRuleBroken, Transition

_NODES_AT_MOST: Final = 500
_OF_AN_INDEX: Final = re.compile("missing from index|wrong # of entries in index")


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is not as it must be.

    session_id: None where the store as a whole is meant.
    what: ``log`` for canonical content, else the derived thing, which a repair can rebuild.
    """

    session_id: str | None
    what: str
    detail: str

    @property
    def repairable(self) -> bool:
        return self.what not in ("log", "file")


Progress = Callable[[int, int], None]
"""Called with the logs verified so far and the events in them."""


def verify(
    connection: sqlite3.Connection, types: TypeNames, on_progress: Progress | None = None
) -> Iterator[Fault]:
    """Every fault of the store, found in one read transaction."""
    try:
        answers = [answer for (answer,) in connection.execute("PRAGMA integrity_check")]
    except sqlite3.DatabaseError as error:
        answers = [str(error)]
    for answer in answers:
        if answer != "ok":
            # An index can be made again from its table; anything else cannot.
            what = "index" if _OF_AN_INDEX.search(answer) else "file"
            yield Fault(None, what, answer)
    if any(answer != "ok" and not _OF_AN_INDEX.search(answer) for answer in answers):
        return
    sessions = events = 0
    rows = connection.execute(
        f"SELECT {headers.COLUMNS} FROM logs WHERE state = ? ORDER BY log", (VISIBLE,)
    )
    for row in rows:
        session = headers.session_of(row)
        if headers.UNREADABLE in session.header.source.notes:
            yield Fault(session.header.session_id, "log", "its header does not decode")
        yield from _LogVerification(connection, types, session).faults()
        sessions += 1
        events += session.last_seq + 1
        if on_progress is not None:
            on_progress(sessions, events)
    for detail in covers.faults(connection):
        yield Fault(None, "covers", detail)
    for detail in directories.faults(connection):
        yield Fault(None, "directories", detail)
    totals = connection.execute("SELECT sessions, events FROM totals").fetchone()
    if totals != (sessions, events):
        yield Fault(None, "totals", f"{totals} are kept, {(sessions, events)} are there")


class _LogVerification:
    """One log against a fold from scratch."""

    def __init__(
        self, connection: sqlite3.Connection, types: TypeNames, session: StoredSession
    ) -> None:
        self._connection = connection
        self._types = types
        self._session = session
        self._base = session.log << SEQ_SHIFT
        self._surface = Surface(self._data_of)
        self._next_seq: Seq = 0
        self._removed = 0
        self._shadowed = 0
        self._citers = 0
        self._citations = 0
        self._carried = 0
        self._sums: dict[int, list[int]] = {}
        self._title: tuple[Seq, str] | None = None
        self._prompt: tuple[Seq, int] | None = None

    def faults(self) -> Iterator[Fault]:
        """What is wrong with the log; a fault of the log itself ends the look at it."""
        rows = self._connection.execute(
            f"SELECT {ROW_COLUMNS} FROM events WHERE id BETWEEN ? AND ? ORDER BY id",
            (self._base, self._base + self._session.last_seq),
        )
        for row in rows:
            try:
                entry = self._entry(row)
                transition = self._surface.advance(entry)
            except (SessionGraphError, SurfaceRuleBroken, ValueError) as error:
                yield self._fault("log", f"event {row[0] & LOW_32}: {error}")
                return
            yield from self._row_faults(row, entry, transition)
            self._next_seq = entry.last_seq + 1
        if self._next_seq != self._session.last_seq + 1:
            yield self._fault(
                "log", f"it ends at {self._next_seq - 1}, not at {self._session.last_seq}"
            )
            return
        yield from self._count_faults()

    def _entry(self, row: EventRow) -> Entry:
        if row[4] is not None:
            run = run_of(row)
            if len(run.texts) != row[4]:
                raise ValueError(f"it has {len(run.texts)} members, not {row[4]}")
            return run
        (stream,) = self._connection.execute(
            "SELECT stream FROM events WHERE id = ?", (row[0],)
        ).fetchone()
        if (stream is not None) is not bool(row[3] & STREAM_APART):
            raise ValueError("its stream is not where the row says")
        event = event_of(row, self._types.name_in(self._connection, row[1]), stream)
        if not isinstance(event.data, dict):
            raise ValueError("its payload is not an object")
        return event

    def _row_faults(self, row: EventRow, entry: Entry, transition: Transition) -> Iterator[Fault]:
        """The derived parts of one row, against what would be written for it today."""
        batch = prepare(self._session.log, [PlacedEntry(entry, transition)], self._types.numbers())
        lane, place = batch.rows[0][1], batch.rows[0][5]
        shadowed = row[6] is not None
        self._shadowed += shadowed
        if row[1] != lane + shadowed or row[5] != place or (shadowed and place is None):
            yield self._fault("placement", f"event {entry.seq} is not where the fold puts it")
        for seq in transition.removed:
            self._removed += 1
            if self._column("replaced_by", seq) != self._base | entry.seq:
                yield self._fault(
                    "placement", f"event {seq} does not say that {entry.seq} replaced it"
                )
        if isinstance(entry, SessionEvent) and entry.source_event_seqs:
            yield from self._link_faults(entry)
        for (level, block), (low, high) in batch.spans.items():
            span = self._connection.execute(
                "SELECT low, high FROM spans WHERE log = ? AND level = ? AND block = ?",
                (self._session.log, level, block),
            ).fetchone()
            if span is None or span[0] > low or span[1] < high:
                first = block * SPAN_SEQS[level]
                yield self._fault("spans", f"the span from {first} on leaves {entry.seq} out")
        for citation in batch.citations:
            self._citations += 1
            kept = self._connection.execute(
                "SELECT log, seq, ordinal, target, label, captured_through_seq FROM citations "
                "WHERE log = ? AND seq = ? AND ordinal = ?",
                citation[:3],
            ).fetchone()
            if kept != citation:
                yield self._fault("citations", f"a citation of event {entry.seq} is not kept")
        for kept_id, octets, checkpoint in batch.carried:
            self._carried += 1
            if not shadowed:
                total = self._sums.setdefault(entry.seq >> carried.BLOCK_SHIFT, [0, 0, 0])
                for place, more in enumerate((1, octets, checkpoint)):
                    total[place] += more
            if self._carried_row(kept_id) != (octets, checkpoint):
                yield self._fault("carried", f"what event {entry.seq} carries is not kept")
        self._title = batch.title or self._title
        self._prompt = batch.prompt or self._prompt

    def _carried_row(self, event_id: int) -> Any:
        return self._connection.execute(
            "SELECT octets, checkpoint FROM carried WHERE id = ?", (event_id,)
        ).fetchone()

    def _sum_faults(self, staged: bool) -> Iterator[Fault]:
        """What can be carried, added up; the last sum may count what is being staged."""
        block = self._session.last_seq + 1 >> carried.BLOCK_SHIFT
        rows = self._connection.execute(
            "SELECT block, messages, octets, checkpoints FROM carried_sums "
            "WHERE log = ? AND messages <> 0",
            (self._session.log,),
        )
        kept = {row[0]: list(row[1:]) for row in rows if not (staged and row[0] >= block)}
        expected = {
            number: total
            for number, total in self._sums.items()
            if not (staged and number >= block)
        }
        if kept != expected:
            yield self._fault("carried", "the sums of what can be carried are wrong")

    def _link_faults(self, event: SessionEvent) -> Iterator[Fault]:
        prefix = self._session.log << NODE_SHIFT
        nodes = sorted(
            {
                prefix | node
                for first, last in ascending_runs(event.source_event_seqs or ())
                for node in covering_blocks(first, last)
            }
        )
        self._citers += len(nodes)
        found = 0
        for start in range(0, len(nodes), _NODES_AT_MOST):
            part = nodes[start : start + _NODES_AT_MOST]
            marks = ",".join("?" * len(part))
            (count,) = self._connection.execute(
                f"SELECT count(*) FROM citers WHERE citer = ? AND node IN ({marks})",
                (event.seq, *part),
            ).fetchone()
            found += count
        if found != len(nodes):
            yield self._fault("links", f"the events that {event.seq} cites do not all lead to it")

    def _count_faults(self) -> Iterator[Fault]:
        """Rows that nothing accounts for, and what lists show."""
        log = self._session.log
        if self._shadowed != self._removed:
            yield self._fault(
                "placement", f"{self._shadowed} nodes are shadowed, {self._removed} were replaced"
            )
        staged, beyond = self._connection.execute(
            "SELECT staged_by, EXISTS (SELECT 1 FROM events WHERE id > ? AND id <= ?) "
            "FROM logs WHERE log = ?",
            (self._base + self._session.last_seq, self._base | LOW_32, log),
        ).fetchone()
        if staged is None and beyond:
            yield self._fault("log", f"there are events behind its end at {self._session.last_seq}")
        yield from self._sum_faults(staged is not None)
        counts: tuple[tuple[str, str, int, tuple[Any, ...]], ...] = (
            (
                "links",
                "SELECT count(*) FROM citers WHERE node BETWEEN ? AND ? AND citer <= ?",
                self._citers,
                (log << NODE_SHIFT, (log + 1 << NODE_SHIFT) - 1, self._session.last_seq),
            ),
            (
                "citations",
                "SELECT count(*) FROM citations WHERE log = ? AND seq <= ?",
                self._citations,
                (log, self._session.last_seq),
            ),
            (
                "carried",
                "SELECT count(*) FROM carried WHERE id BETWEEN ? AND ?",
                self._carried,
                (self._base, self._base + self._session.last_seq),
            ),
        )
        for what, sql, expected, values in counts:
            (found,) = self._connection.execute(sql, values).fetchone()
            if found != expected:
                yield self._fault(what, f"{found} rows are kept, {expected} are accounted for")
        kept = self._connection.execute(
            "SELECT title, title_folded, title_seq, prompted_at, prompted_seq FROM logs "
            "WHERE log = ?",
            (log,),
        ).fetchone()
        title: tuple[Any, ...] = (None, None, -1)
        if self._title is not None:
            seq, text = self._title
            title = (to_octets(text), to_octets(fold_title(text)), seq)
        if kept[:3] != title:
            yield self._fault("title", f"{self._session.title!r} is shown, not the latest title")
        prompt = (None, -1) if self._prompt is None else (self._prompt[1], self._prompt[0])
        if kept[3:] != prompt:
            yield self._fault("prompt", "the time of the latest prompt is not the one shown")

    def _data_of(self, seq: Seq) -> dict[str, Any]:
        row = self._connection.execute(
            f"SELECT {ROW_COLUMNS} FROM events WHERE id = ?", (self._base | seq,)
        ).fetchone()
        return event_of(row, "").data

    def _column(self, name: str, seq: Seq) -> Any:
        row = self._connection.execute(
            f"SELECT {name} FROM events WHERE id = ?", (self._base | seq,)
        ).fetchone()
        return None if row is None else row[0]

    def _fault(self, what: str, detail: str) -> Fault:
        return Fault(self._session.header.session_id, what, detail)
