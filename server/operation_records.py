"""What is remembered of operations: how many there were, how they ended, how long they took.

Every operation leaves a count and a duration, whatever transport brought it, and nothing of what it
said: no document, no variables, no message of an error, which may quote either. What can tell two
operations apart is bounded: kinds and public codes. The name that a client gave its operation is
logged and never counted.

A line is logged for each operation at the level debug; at info only for those that failed, by our
fault or because something was not available, or were slow. Refusals that a client can act on are
its own business.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final

import structlog
from graphql import GraphQLError

from schema.errors import INTERNAL_CODE
from server.refusals import OperationFailed
from server.tracing import NO_SPANS, Spans
from sessiongraph.distribution import SECONDS, Distribution
from sessiongraph.errors import SessionGraphError, error_classes

KINDS: Final = ("query", "mutation", "subscription", "unreadable")
"""``unreadable``: what was refused before it was an operation of any kind."""

OK: Final = "OK"
CANCELLED: Final = "CANCELLED"
"""The client went away, or the server stopped, before there was an answer."""

OTHER: Final = "OTHER"
"""In place of a code that is none of ours."""

_CODES: Final = frozenset(
    {error.code for error in error_classes()} | {INTERNAL_CODE, OK, CANCELLED}
)
_FAULTS: Final = frozenset(
    {error.code for error in error_classes() if error.retriable} | {INTERNAL_CODE}
)
_LONGEST_NAME: Final = 64

_log: Final = structlog.get_logger(__name__)
_level: Final = logging.getLogger(__name__)


class OperationRecords:
    """The record of one server.

    slow_s: from which duration on an operation is logged at the level info.
    ended: operations by kind and code. durations: of queries and mutations, by kind (seconds).
    running: operations of each kind that have not ended; subscriptions run as long as they stream.
    """

    def __init__(self, slow_s: float = 1.0, spans: Spans = NO_SPANS) -> None:
        self.spans = spans
        self.ended: Counter[tuple[str, str]] = Counter()
        self.durations = {kind: Distribution(SECONDS) for kind in ("query", "mutation")}
        self.running = dict.fromkeys(KINDS, 0)
        self._slow_s = slow_s

    def operation(
        self, kind: str, name: str | None, prepared_s: float
    ) -> AbstractContextManager[Outcome]:
        """Record one operation, from its preparation until the block ends.

        prepared_s: how long its document took to be read.
        """
        return _Recorded(self, kind, name, prepared_s)

    def refused(self, refusal: Exception, seconds: float) -> None:
        """Record what never became an operation."""
        self.end("unreadable", None, _code_of_raised(refusal), seconds)

    def end(self, kind: str, name: str | None, code: str, seconds: float) -> None:
        """Record that an operation has ended; code: how, seconds: that it took in all."""
        self.ended[kind, code] += 1
        durations = self.durations.get(kind)
        if durations is not None:
            durations.add(seconds)
        slow = durations is not None and seconds >= self._slow_s
        level = logging.INFO if slow or code in _FAULTS else logging.DEBUG
        if _level.isEnabledFor(level):
            _log.log(
                level,
                "slow operation" if slow else "operation",
                kind=kind,
                operation=name[:_LONGEST_NAME] if name else None,
                status=code,
                ms=round(seconds * 1000, 2),
            )


class Outcome:
    """How an operation ended; code: None while nothing went wrong."""

    __slots__ = ("code",)

    def __init__(self) -> None:
        self.code: str | None = None


class _Recorded:
    """One operation, recorded when its block ends."""

    __slots__ = (
        "_begun",
        "_kind",
        "_name",
        "_outcome",
        "_prepared_s",
        "_records",
        "_span",
        "_spun",
    )

    def __init__(
        self, records: OperationRecords, kind: str, name: str | None, prepared_s: float
    ) -> None:
        self._records = records
        self._kind = kind
        self._name = name
        self._prepared_s = prepared_s
        self._outcome = Outcome()

    def __enter__(self) -> Outcome:
        self._begun = time.perf_counter()
        self._span = self._records.spans.operation(self._kind, self._name, self._prepared_s)
        self._spun = self._span.__enter__()
        self._records.running[self._kind] += 1
        return self._outcome

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        outcome = self._outcome
        if isinstance(error, Exception):
            outcome.code = _code_of_raised(error)
        elif error is not None and outcome.code is None:
            outcome.code = CANCELLED  # or a generator that is closed early
        code = self._spun.code = outcome.code or OK
        try:
            self._span.__exit__(kind, error, trace)
        finally:
            self._records.running[self._kind] -= 1
            taken = self._prepared_s + time.perf_counter() - self._begun
            self._records.end(self._kind, self._name, code, taken)


def code_of(errors: Sequence[GraphQLError]) -> str:
    """The code to count some errors under: that of the first one."""
    return _known((errors[0].extensions or {}).get("code"))


def _code_of_raised(error: Exception) -> str:
    if isinstance(error, OperationFailed):
        return code_of(error.errors)
    return _known(error.code) if isinstance(error, SessionGraphError) else INTERNAL_CODE


def _known(code: object) -> str:
    return code if isinstance(code, str) and code in _CODES else OTHER
