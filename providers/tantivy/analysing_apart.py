"""Analyses texts in a process of its own, so that indexing and serving take a core each.

Always true: what comes of an event is what analysing it here would have given. Little is analysed
here, since to send it takes about as long; so is what comes while the process begins, so that
nobody waits for that, and everything once a process could not be started or ended unasked.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import structlog

from providers.processes import KEPT_S, can_be_read, end, started
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
        self._is_there = False
        self._process: subprocess.Popen[bytes] | None = None
        self._asked_at = 0.0

    @property
    def pid(self) -> int | None:
        """Of the other process, where there is one."""
        return None if self._process is None else self._process.pid

    def __call__(self, events: Sequence[SessionEvent]) -> list[Analysed]:
        """What the index keeps of the text of each event.

        Raises:
            CorruptSession: what is stored of an event cannot be read.
        """
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
            end(process)

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
        if time.monotonic() - self._asked_at >= KEPT_S:
            self.end()
        process = self._process or self._begun()
        if process is None:
            return None
        assert process.stdin is not None
        assert process.stdout is not None
        answer = None
        with suppress(BrokenPipeError):
            if not self._is_there:
                if not can_be_read(process.stdout, self._begins_within_s):
                    return None
                self._is_there = receive(process.stdout) is not None
            send(process.stdin, events)
            answer = receive(process.stdout)
        self._asked_at = time.monotonic()
        if answer is None:
            self.end()
            self._give_up(f"it ended with {process.returncode}")
            return None
        return all_analysed_of(answer)

    def _begun(self) -> subprocess.Popen[bytes] | None:
        """A process that was started now."""
        self._is_there, self._asked_at = False, time.monotonic()
        try:
            self._process = started(_MODULE)
        except OSError as error:
            self._give_up(error.strerror or str(error))
        return self._process

    def _give_up(self, reason: str) -> None:
        if self._is_allowed:
            self._is_allowed = False
            told = "texts are analysed in this process: no other can be used"
            _log.warning(told, reason=reason)
