"""A process that does nothing but read recordings for another one, which asks by its input.

Reading a recorder's file is computing, and in the process that serves and commits it would take
turns with everything else. This one is started by :mod:`providers.recordings.reading_apart`, reads
one session after another, and ends when its input does, when nobody takes its answers, or when it
was not asked for a while.
"""

from __future__ import annotations

import fcntl
import gc
import os
import pickle
import termios
from array import array
from collections import Counter
from typing import IO, Final

from providers.processes import IDLE_S, answering, can_be_read
from providers.recordings.reading_messages import (
    Answer,
    EntriesRead,
    ReadingRefused,
    ReadingRewritten,
    ReadRequest,
    Ready,
    WholeRead,
    receive,
    send,
)
from sessiongraph.event import SessionEvent
from sessiongraph.placed_entry import Prepare
from sessiongraph.recordings import (
    RecordedEntry,
    RecordedLog,
    RecordingReader,
    RecordingRefused,
    RecordingRewritten,
)
from sessiongraph.redaction import Redaction

_ENTRIES_AT_ONCE: Final = 250
_BYTES_AT_ONCE: Final = 256 * 1024
"""Where a message ends: whichever is reached first. A run counts 16 bytes a member."""

_COLLECTED_EVERY: Final = 20_000
"""Objects between two looks for rubbish: reading leaves next to none."""

_NICE: Final = 5
"""How much this process lets others go first: somebody waits for each of their answers."""


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Read what is asked for until nobody asks any more.

    Nobody asks twice without having heard the end of the first answer, so that what is not read of
    the requests is in the pipe and not in a buffer.
    """
    send(answers, Ready())
    known: dict[bytes, RecordingReader] = {}
    while can_be_read(requests, IDLE_S):
        request = receive(requests)
        if request is None:
            return
        # What a reader has learnt of a folder serves for the next file as well.
        reader = known.setdefault(pickle.dumps(request.reader), request.reader)
        send(answers, _read(reader, request, answers))


def _read(reader: RecordingReader, request: ReadRequest, answers: IO[bytes]) -> Answer:
    redaction = Redaction() if request.redact else None
    try:
        log = reader.open(request.path, request.resume, request.part, redaction)
        mine, theirs = log.header, request.header
        if (mine.session_id, mine.created_at) != (theirs.session_id, theirs.created_at):
            return ReadingRefused(1, "the file was replaced while it was being read")
        before = Counter() if redaction is None else Counter(redaction.counts)
        _send_entries(log, answers, request.prepare)
    except RecordingRefused as refusal:
        return ReadingRefused(refusal.line, refusal.reason)
    except RecordingRewritten as rewritten:
        return ReadingRewritten(str(rewritten))
    redacted = {} if redaction is None else dict(redaction.counts - before)
    return WholeRead(log.header, log.state, log.bytes_read, tuple(log.parts), redacted)


def _send_entries(log: RecordedLog, answers: IO[bytes], prepare: Prepare | None) -> None:
    batch: list[RecordedEntry] = []
    size = 0
    preparing = prepare if _has_time(answers) else None
    for recorded in log.entries():
        batch.append(recorded)
        entry = recorded.entry
        if preparing is not None:
            recorded.prepared = preparing(entry)
        size += len(entry.payload) if isinstance(entry, SessionEvent) else 16 * len(entry.texts)
        for media in recorded.media:
            size += len(media.content)
        if size >= _BYTES_AT_ONCE or len(batch) >= _ENTRIES_AT_ONCE:
            send(answers, EntriesRead(log.bytes_read, batch))
            batch, size = [], 0
            preparing = prepare if _has_time(answers) else None
    if batch:
        send(answers, EntriesRead(log.bytes_read, batch))


def _has_time(answers: IO[bytes]) -> bool:
    """Whether the other process has not yet taken what it was sent.

    If it has, it waits for more, and had better prepare what comes itself: the slower of the two
    is what an import is as fast as. Where nobody can tell, it is done here.
    """
    waiting = array("i", (0,))
    try:
        fcntl.ioctl(answers, termios.FIONREAD, waiting)
    except OSError:
        return True
    return waiting[0] > 0


def main() -> None:
    """Serve the process that started this one."""
    gc.set_threshold(_COLLECTED_EVERY)
    os.nice(_NICE)
    with answering() as (requests, answers):
        serve(requests, answers)


if __name__ == "__main__":
    main()
