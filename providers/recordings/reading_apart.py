"""Reads recordings in processes of their own, so that reading and committing take a core each.

A recorder's file is opened here, which reads its beginning and says which session it is; the rest
of a file that is worth it is read by another process (:mod:`providers.recordings.reading_process`),
which opens the file again and hands its entries back. Always true:

* what is told is what reading it here would have told, refusals and their lines included;
* the other process is never further ahead than a pipe holds and what it is working on;
* one reading has one process for itself; where none is free, the file is read here;
* a process that was given up in the middle of a file, or ends by itself, is never asked again; a
  file whose process ended is refused, with how it ended;
* where a process cannot be started, its file and all later ones are read here.

Processes are kept for the next file, for a while, because starting one costs as much as reading
some megabytes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import structlog

from providers.processes import ComputingProcess, NotAMessage
from providers.recordings.reading_messages import (
    EntriesRead,
    ReadingRefused,
    ReadingRewritten,
    ReadRequest,
    Ready,
    WholeRead,
    receive,
    send,
)
from sessiongraph.header import SessionHeader
from sessiongraph.placed_entry import Prepare
from sessiongraph.recordings import (
    RecordedEntry,
    RecordedLog,
    RecordedPart,
    RecordingReader,
    RecordingRefused,
    RecordingRewritten,
    RecordingState,
)
from sessiongraph.redaction import Redaction

_log: Final = structlog.get_logger(__name__)

STARTED_FROM_BYTES: Final = 1024 * 1024
"""How much of a file must be unread, as it lies on disk, for a process to be started."""

USED_FROM_BYTES: Final = 64 * 1024
"""How much of it, for a process that is there already."""

KEPT_S: Final = 30
"""How long a process may have had nothing to do and is asked again: one that is about to end by
itself may no longer hear of it."""

_MODULE: Final = "providers.recordings.reading_process"


class ReadingApart:
    """Opens recordings; large ones are read by other processes, which end with the block.

    processes: the most there may be; with 0 every recording is read here.
    prepare: what they make of each entry for the store that it goes to; None for nothing.
    started_from, used_from: see the constants of this module.
    """

    def __init__(
        self,
        processes: int = 1,
        *,
        prepare: Prepare | None = None,
        started_from: int = STARTED_FROM_BYTES,
        used_from: int = USED_FROM_BYTES,
    ) -> None:
        self._most = processes
        self._prepare = prepare
        self._started_from = started_from
        self._used_from = used_from
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._busy: set[_Process] = set()
        self._closed = False

    def __enter__(self) -> ReadingApart:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        with self._lock:
            self._closed = True
            left = [*self._idle, *self._busy]
            self._idle.clear()
            self._busy.clear()
        for process in left:
            process.end()

    def __call__(
        self,
        reader: RecordingReader,
        path: Path,
        resume: RecordingState | None,
        part: RecordedPart | None,
        redaction: Redaction | None,
    ) -> RecordedLog:
        """Open a recording; see :meth:`sessiongraph.recordings.RecordingReader.open`.

        Raises:
            RecordingRefused: the file cannot be read faithfully. Iterating raises it too.
            RecordingRewritten: the part that was read before has changed.
        """
        self._leave_those_that_ended()
        log = reader.open(path, resume, part, redaction)
        unread = log.state.size - log.state.offset
        if unread < self._used_from:
            return log
        redact = redaction is not None
        request = ReadRequest(reader, path, resume, part, redact, log.header, self._prepare)
        return _LogReadApart(self, log, request, unread, redaction)

    def _leave_those_that_ended(self) -> None:
        """Have nothing left of the processes that have ended since they were asked."""
        with self._lock:
            ended = [process for process in self._idle if process.has_ended]
            self._idle = [process for process in self._idle if process not in ended]
        for process in ended:
            process.end()

    def take(self, unread: int) -> _Process | None:
        """A process for one reading; None where it had better be done here."""
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.can_be_asked:
                    self._busy.add(process)
                    return process
                process.end()
            if self._closed or unread < self._started_from or len(self._busy) >= self._most:
                return None
            try:
                process = _Process()
            except OSError as error:
                self.give_up(error.strerror or str(error))
                return None
            self._busy.add(process)
            return process

    def give_up(self, reason: str) -> None:
        """Read everything here from now on: no process can be had."""
        self._most = 0
        _log.warning("recordings are read in this process: no other can be started", reason=reason)

    def give_back(self, process: _Process, *, usable: bool) -> None:
        """Keep a process for the next reading, or end it."""
        with self._lock:
            ours = process in self._busy
            self._busy.discard(process)
            if usable and ours:
                process.idle_since = time.monotonic()
                self._idle.append(process)
                return
        process.end()


class _Process(ComputingProcess):
    """One process that reads.

    Raises:
        OSError: none can be started.
    """

    def __init__(self) -> None:
        super().__init__(_MODULE)
        self.idle_since = time.monotonic()
        self._is_ready = False

    @property
    def can_be_asked(self) -> bool:
        """Whether it has not ended and will not do so before it hears of the next reading."""
        return time.monotonic() - self.idle_since < KEPT_S and not self.has_ended

    def ask(self, request: ReadRequest) -> Iterator[EntriesRead | WholeRead]:
        """What it reads, to the end.

        Raises:
            RecordingRefused: see ``RecordedLog.entries``; the process itself goes on.
            RecordingRewritten: likewise.
            _NotStarted: the process has ended without having been there.
            _Ended: it has ended, or what it says is no answer.
        """
        if not self._is_ready:
            if not isinstance(self._receive(), Ready):
                raise _NotStarted
            self._is_ready = True
        with suppress(BrokenPipeError):
            send(self.requests, request)
        while (answer := self._receive()) is not None:
            if isinstance(answer, ReadingRefused):
                raise RecordingRefused(request.path, answer.line, answer.reason)
            if isinstance(answer, ReadingRewritten):
                raise RecordingRewritten(answer.reason)
            yield answer
            if isinstance(answer, WholeRead):
                return
        raise _Ended

    def _receive(self) -> Any:
        """Its next message; None where there is none, or none that could be understood."""
        with suppress(NotAMessage):
            return receive(self.answers)
        return None


class _NotStarted(Exception):
    """A process ended before it was there."""


class _Ended(Exception):
    """A process ended before it had answered."""


class _LogReadApart(RecordedLog):
    """One session of a file, begun here and read by another process."""

    def __init__(
        self,
        apart: ReadingApart,
        log: RecordedLog,
        request: ReadRequest,
        unread: int,
        redaction: Redaction | None,
    ) -> None:
        self._apart = apart
        self._log = log
        self._request = request
        self._unread = unread
        self._redaction = redaction
        self._octets: int | None = None
        self._whole: WholeRead | None = None

    @property
    def header(self) -> SessionHeader:
        return self._log.header if self._whole is None else self._whole.header

    @property
    def state(self) -> RecordingState:
        return self._log.state if self._whole is None else self._whole.state

    @property
    def bytes_read(self) -> int:
        return self._log.bytes_read if self._octets is None else self._octets

    @property
    def parts(self) -> Sequence[RecordedPart]:
        return self._log.parts if self._whole is None else self._whole.parts

    def entries(self) -> Iterator[RecordedEntry]:
        """What the file holds; to be called once.

        Raises:
            RecordingRefused: what comes next cannot be read faithfully, or the process that read
                it has ended.
            RecordingRewritten: a resumed reading met something that changes the header.
        """
        process = self._apart.take(self._unread)
        if process is None:
            yield from self._log.entries()
            return
        usable = False
        try:
            for answer in process.ask(self._request):
                self._octets = answer.octets
                if isinstance(answer, EntriesRead):
                    yield from answer.entries
                else:
                    self._finish(answer)
            usable = True
        except (RecordingRefused, RecordingRewritten):
            usable = True
            raise
        except _NotStarted:
            self._apart.give_up(process.how_it_ended())
            yield from self._log.entries()
        except _Ended:
            reason = f"the process that read it has ended ({process.how_it_ended()})"
            raise RecordingRefused(self._request.path, None, reason) from None
        finally:
            self._apart.give_back(process, usable=usable)

    def _finish(self, whole: WholeRead) -> None:
        self._whole = whole
        if self._redaction is not None:
            self._redaction.counts.update(whole.redacted)
