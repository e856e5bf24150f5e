"""Analyses texts in a process of its own, so that indexing and serving take a core each.

Always true:

* what comes of an event is what analysing it here would have given;
* little is analysed here, since to send it takes about as long; so is what comes while the process
  begins, so that nobody waits for that;
* one that ends by itself because nobody asked is not missed, and another is started when there is
  much again;
* one that cannot be started, ends otherwise, takes too long or does not answer as it should is
  ended, and for a while everything is analysed here; that is logged once, until one has answered.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import structlog

from providers.processes import ComputingProcess, NotAMessage, TimedPipe, can_be_read
from providers.tantivy.analysed import (
    NO_TEXT,
    Analysable,
    Analysed,
    all_analysed_of,
    analysed,
    receive,
    send,
)
from sessiongraph.event import SessionEvent
from sessiongraph.text import SEMANTIC_TYPES

_log: Final = structlog.get_logger(__name__)

USED_FROM_BYTES: Final = 8 * 1024
"""Payload of events that are analysed together from which another process is asked."""

ANSWERED_WITHIN_S: Final = 30
"""How long a process may take to begin, and at the least to answer."""

_SLOWEST_BYTES_S: Final = 64 * 1024
"""Payload of which a process has taken apart a second's worth, however busy the machine is."""

TRIED_AGAIN_S: Final = 60
"""For how long none is started once one could not be used: what was the matter may pass."""

_MODULE: Final = "providers.tantivy.analysing_process"


class AnalysingApart:
    """Analyses events, for one thread at a time.

    processes: 0 for none but this one.
    used_from: see the constant of this module.
    begins_within_s: how long a process that begins is waited for.
    """

    def __init__(
        self,
        processes: int = 1,
        *,
        used_from: int = USED_FROM_BYTES,
        begins_within_s: float = 0,
    ) -> None:
        self._is_allowed = processes > 0
        self._used_from = used_from
        self._begins_within_s = begins_within_s
        self._process: _Process | None = None
        self._tried_again_at: float | None = None  # None while nothing is known to be wrong

    @property
    def pid(self) -> int | None:
        """Of the other process, where there is one."""
        return None if self._process is None else self._process.pid

    def __call__(self, events: Sequence[SessionEvent]) -> list[Analysed]:
        """What the index keeps of the text of each event.

        Raises:
            CorruptSession: what is stored of an event cannot be read.
        """
        self._leave_one_that_ended()
        answer = self._analysed_apart(events) if self._is_allowed else None
        return [analysed(event) for event in events] if answer is None else answer

    def stop(self) -> None:
        """Analyse everything here from now on, what another process was asked for too.

        For any thread; the one that analyses still has to :meth:`end` it.
        """
        self._is_allowed = False
        process = self._process
        if process is not None:
            process.kill()

    def end(self) -> None:
        """Let the other process end now, whatever it does."""
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def _analysed_apart(self, events: Sequence[SessionEvent]) -> list[Analysed] | None:
        """The same by the other process; None where it is for this one."""
        with_text = [event for event in events if event.type in SEMANTIC_TYPES]
        if sum(len(event.payload) for event in with_text) < self._used_from:
            return None
        answer = self._ask([(each.seq, each.type, each.payload) for each in with_text])
        if answer is None:
            return None
        known = iter(answer)
        return [next(known) if event.type in SEMANTIC_TYPES else NO_TEXT for event in events]

    def _ask(self, events: Sequence[Analysable]) -> list[Analysed] | None:
        """What the other process answers; None where there is none yet, or none any more."""
        process = self._process or self._begun()
        if process is None:
            return None
        try:
            if not process.is_there(self._begins_within_s):
                return None
            answer = process.analysed(events)
        except _Ended:
            self._leave(process)
            return None
        except (OSError, NotAMessage) as error:
            self._fail(str(error))
            return None
        if self._tried_again_at is not None:
            self._tried_again_at = None
            _log.info("texts are analysed in another process again")
        return answer

    def _begun(self) -> _Process | None:
        """A process that was started now."""
        if self._tried_again_at is not None and time.monotonic() < self._tried_again_at:
            return None
        try:
            self._process = _Process()
        except OSError as error:
            self._fail(error.strerror or str(error))
        return self._process

    def _leave_one_that_ended(self) -> None:
        """Have nothing left of a process that has ended since it was asked."""
        process = self._process
        if process is not None and process.has_ended:
            self._leave(process)

    def _leave(self, process: _Process) -> None:
        if process.has_rested():
            self.end()
        else:
            self._fail(f"it ended with {process.how_it_ended()}")

    def _fail(self, reason: str) -> None:
        """Do without another process for a while."""
        self.end()
        is_known = self._tried_again_at is not None
        self._tried_again_at = time.monotonic() + TRIED_AGAIN_S
        if self._is_allowed and not is_known:
            told = "texts are analysed in this process for now: no other can be used"
            _log.warning(told, reason=reason, tried_again_s=TRIED_AGAIN_S)


class _Ended(Exception):
    """A process has closed its pipe instead of answering."""


class _Process(ComputingProcess):
    """One process that analyses.

    Raises:
        OSError: none can be started.
    """

    def __init__(self) -> None:
        super().__init__(_MODULE)
        self._asked, self._answered = TimedPipe(self.requests), TimedPipe(self.answers)
        self._begins_until = time.monotonic() + ANSWERED_WITHIN_S
        self._is_there = False

    def is_there(self, within_s: float) -> bool:
        """Whether it can be asked, now or soon.

        Raises:
            _Ended: it has ended.
            OSError, NotAMessage: it will never be asked.
        """
        if self._is_there:
            return True
        if not can_be_read(self.answers, within_s):
            if time.monotonic() >= self._begins_until:
                raise TimeoutError(f"it did not begin within {ANSWERED_WITHIN_S} s")
            return False
        self._receive(0, ANSWERED_WITHIN_S)
        self._is_there = True
        return True

    def analysed(self, events: Sequence[Analysable]) -> list[Analysed]:
        """What it answers.

        Raises:
            _Ended: it has ended.
            OSError, NotAMessage: it does not answer as it should, or not in time.
        """
        octets = sum(len(payload) for _, _, payload in events)
        within_s = ANSWERED_WITHIN_S + octets // _SLOWEST_BYTES_S
        self._asked.until = time.monotonic() + within_s
        try:
            send(self._asked, events)
        except BrokenPipeError:
            raise _Ended from None
        except TimeoutError:
            raise _late(within_s) from None
        return self._receive(len(events), within_s)

    def has_rested(self) -> bool:
        """Whether it ended, or is ending, because nobody asked it."""
        try:
            return self.is_there(0) and self.exit_code() == 0
        except (_Ended, OSError, NotAMessage):
            return False

    def _receive(self, count: int, within_s: float) -> list[Analysed]:
        self._answered.until = time.monotonic() + within_s
        try:
            content = receive(self._answered)
            if content is None:
                raise _Ended
            return all_analysed_of(content, count)
        except TimeoutError:
            raise _late(within_s) from None
        except NotAMessage as error:
            raise NotAMessage(f"what it answers is no answer: {error}") from error


def _late(within_s: float) -> TimeoutError:
    return TimeoutError(f"it did not answer within {within_s:g} s")
