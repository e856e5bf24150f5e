"""Entries with their transitions, turned into rows before the writer thread sees them.

Encoding and compressing happen in the thread of whoever appends; the one writer only executes
statements. A batch knows everything that its transaction has to do: rows to insert, older rows that
a replacement shadowed, cited blocks, time spans, citations of other sessions, and what the list of
sessions shows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from providers.sqlite import carried, codec
from providers.sqlite.many_rows import ManyRows
from providers.sqlite.numbering import LANE_SHIFT, LEVEL_SHIFT, NODE_SHIFT, SEQ_SHIFT, TYPE_SHIFT
from providers.sqlite.preparing import (
    Notes,
    PreparedEvent,
    PreparedRun,
    prepare_event,
    prepare_run,
)
from sessiongraph.event import CHUNK_TYPE, DeltaRun, Seq, SessionEvent
from sessiongraph.placed_entry import PlacedEntry

SPAN_SEQS: Final = (256, 65_536)
"""How many seqs a time span of each level covers; a multiple of that of the level before."""

_SHADOWED_AT_ONCE: Final = 50
"""Rows that one statement marks as replaced."""

_EVENTS: Final = ManyRows(
    "INSERT OR FAIL INTO events (id, lane, time, flags, members, place, replaced_by, op_start, "
    "op_end, sources, payload, stream) SELECT column1, column2, column3, column4, "
    + "".join(
        f"CASE WHEN column{number} <> -1 THEN column{number} END, " for number in range(5, 10)
    )
    + "CASE WHEN column10 <> '' THEN column10 END, column11, "
    "CASE WHEN column12 <> '' THEN column12 END FROM (VALUES",
    f"({','.join('?' * 12)})",
    ")",
)
_SHADOW: Final = "UPDATE OR FAIL events SET replaced_by = ?, lane = lane + 1 WHERE id IN ({})"
_CITERS: Final = ManyRows("INSERT OR IGNORE INTO citers (node, citer) VALUES", "(?,?)")
_SPANS: Final = ManyRows(
    "INSERT OR FAIL INTO spans (log, level, block, low, high) VALUES",
    "(?,?,?,?,?)",
    "ON CONFLICT DO UPDATE SET low = CASE WHEN excluded.low < low THEN excluded.low ELSE low END, "
    "high = CASE WHEN excluded.high > high THEN excluded.high ELSE high END",
)
_CITATIONS: Final = ManyRows(
    "INSERT OR FAIL INTO citations (log, seq, ordinal, target, label, captured_through_seq) VALUES",
    "(?,?,?,?,?,?)",
)


@dataclass(slots=True)
class Batch:
    """Everything one append writes, ready to execute.

    shadowed: (id of the replacer, id of the older row) for rows of earlier batches.
    title, prompt: (seq, value) of the latest of each in this batch; None when it has none.
    """

    log: int
    first_seq: Seq
    last_seq: Seq
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    shadowed: list[tuple[int, int]] = field(default_factory=list)
    citers: list[tuple[Any, ...]] = field(default_factory=list)
    spans: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    citations: list[tuple[Any, ...]] = field(default_factory=list)
    carried: list[tuple[int, int, int]] = field(default_factory=list)
    title: tuple[Seq, str] | None = None
    prompt: tuple[Seq, int] | None = None

    def write(self, connection: sqlite3.Connection) -> None:
        """Execute all but the update of the log's own row."""
        insert_events(connection, [self])
        write_derived(connection, [self])


def insert_events(connection: sqlite3.Connection, batches: Sequence[Batch]) -> None:
    """Write the rows of some batches, of one log or of many."""
    _EVENTS.execute(connection, [_bound(row) for batch in batches for row in batch.rows])


def _bound(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values of a row as they are bound.

    The module that talks to SQLite looks None and bytes up among its adapters, which takes longer
    than to write the row. So where there is nothing stands a value that becomes NULL.
    """
    (
        event_id, lane, time, flags, members, place, replaced_by, start, end, sources, payload,
        stream,
    ) = row  # fmt: skip
    return (
        event_id,
        lane,
        time,
        flags,
        -1 if members is None else members,
        -1 if place is None else place,
        -1 if replaced_by is None else replaced_by,
        -1 if start is None else start,
        -1 if end is None else end,
        "" if sources is None else bytearray(sources),
        bytearray(payload),
        "" if stream is None else bytearray(stream),
    )


def write_derived(connection: sqlite3.Connection, batches: Sequence[Batch]) -> None:
    """What follows from the events of some batches, without the events."""
    shadow(connection, [row for batch in batches for row in batch.shadowed])
    _CITATIONS.execute(connection, [row for batch in batches for row in batch.citations])
    carried.INSERT.execute(connection, [row for batch in batches for row in batch.carried])
    _CITERS.execute(connection, [row for batch in batches for row in batch.citers])
    _SPANS.execute(
        connection,
        [
            (batch.log, *where, low, high)
            for batch in batches
            for where, (low, high) in batch.spans.items()
        ],
    )


def shadow(connection: sqlite3.Connection, shadowed: Sequence[tuple[int, int]]) -> None:
    """Mark rows as replaced: (id of the replacer, id of the row)."""
    for replacer, pairs in groupby(shadowed, key=itemgetter(0)):
        rows = [row for _, row in pairs]
        for start in range(0, len(rows), _SHADOWED_AT_ONCE):
            some = rows[start : start + _SHADOWED_AT_ONCE]
            marks = ",".join("?" * len(some))
            connection.execute(_SHADOW.format(marks), (replacer, *some))


def prepare(log: int, placed: Sequence[PlacedEntry], types: Mapping[str, int]) -> Batch:
    """The batch of some consecutive entries of a log.

    types: the number of every type name that occurs.
    """
    base = log << SEQ_SHIFT
    batch = Batch(log, placed[0].entry.seq, placed[-1].entry.last_seq)
    removed_here: dict[Seq, Seq] = {}
    for each in placed:
        for seq in each.transition.removed:
            if seq >= batch.first_seq:
                removed_here[seq] = each.transition.seq
            else:
                batch.shadowed.append((base | each.transition.seq, base | seq))
    times: dict[int, list[int]] = {}

    def lane_of(type_name: str) -> int:
        return log << LANE_SHIFT | types[type_name] << TYPE_SHIFT

    for each in placed:
        entry = each.entry
        if isinstance(entry, DeltaRun):
            run: PreparedRun = each.prepared or prepare_run(entry)
            flags, payload, low, high = run
            batch.rows.append(
                (
                    base | entry.seq, lane_of(CHUNK_TYPE), entry.time, flags, len(entry.texts),
                    None, None, None, None, None, payload, None,
                )
            )  # fmt: skip
        else:
            event: PreparedEvent = each.prepared or prepare_event(entry)
            flags, sources, payload, stream, notes = event
            low = high = entry.time
            position, replacer, surface = each.transition.position, None, 0
            if position is not None:
                replacer = removed_here.get(entry.seq)
                position, surface = base | position, 1
                if replacer is not None:
                    replacer, surface = base | replacer, 2
            op = entry.surface_op
            start, end = (None, None) if op is None else (op.start, op.end)
            batch.rows.append(
                (
                    base | entry.seq, lane_of(entry.type) | surface, low, flags, None,
                    position, replacer, start, end, sources, payload, stream,
                )
            )  # fmt: skip
            if sources is not None:
                _note_sources(batch, entry)
            if notes is not None:
                _note(batch, entry, notes)
        block = times.get(entry.seq // SPAN_SEQS[0])
        if block is None:
            times[entry.seq // SPAN_SEQS[0]] = [low, high]
        else:
            block[0] = min(block[0], low)
            block[1] = max(block[1], high)
    for number, (low, high) in times.items():
        _widen(batch, number * SPAN_SEQS[0], low, high)
    return batch


def _widen(batch: Batch, seq: Seq, low: int, high: int) -> None:
    for level, seqs in enumerate(SPAN_SEQS):
        span = batch.spans.get((level, seq // seqs))
        if span is None:
            batch.spans[level, seq // seqs] = [low, high]
        else:
            if low < span[0]:
                span[0] = low
            if high > span[1]:
                span[1] = high


def _note_sources(batch: Batch, event: SessionEvent) -> None:
    """Collect the blocks that an event cites."""
    sources = event.source_event_seqs or ()
    prefix = batch.log << NODE_SHIFT
    if len(sources) == 1:
        batch.citers.append((prefix | sources[0], event.seq))
        return
    for first, last in codec.ascending_runs(sources):
        batch.citers.extend((prefix | node, event.seq) for node in covering_blocks(first, last))


def _note(batch: Batch, event: SessionEvent, notes: Notes) -> None:
    """Collect what is listed of an event: what it carries, its title, its prompt, its citations."""
    carries, title, is_prompt, cited = notes
    if carries is not None:
        batch.carried.append((batch.log << SEQ_SHIFT | event.seq, *carries))
    if title is not None:
        batch.title = (event.seq, title)
    if is_prompt:
        batch.prompt = (event.seq, event.time)
    for ordinal, citation in enumerate(cited):
        batch.citations.append((batch.log, event.seq, ordinal, *citation))


def covering_blocks(first: Seq, last: Seq) -> Iterator[int]:
    """The fewest dyadic blocks that cover exactly ``first`` through ``last``, each one number."""
    level = 0
    low, high = first, last + 1
    while low < high:
        if low & 1:
            yield level << LEVEL_SHIFT | low
            low += 1
        if high & 1:
            high -= 1
            yield level << LEVEL_SHIFT | high
        low >>= 1
        high >>= 1
        level += 1


def blocks_of(seq: Seq, last_seq: Seq) -> list[int]:
    """The block of every level that holds ``seq``, in a log that ends at ``last_seq``."""
    levels = max(1, last_seq.bit_length() + 1)
    return [level << LEVEL_SHIFT | seq >> level for level in range(levels)]
