"""Every way in which SessionGraph says no, as one exception class for each public code.

A failure that a caller can act on is a :class:`SessionGraphError`; its ``code`` is what a client
reads in ``extensions.code``, and ``retriable`` says whether the same request can succeed later
without being changed. Anything else that escapes is a fault of ours and is masked by the server.

Source of the codes: the query, log and reference specifications; ``docs/errors.md`` is generated
from the docstrings below and checked in CI.
"""

from __future__ import annotations

from typing import ClassVar


class SessionGraphError(Exception):
    """An expected failure with a public code."""

    code: ClassVar[str] = "INTERNAL_SERVER_ERROR"
    retriable: ClassVar[bool] = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Aborted(SessionGraphError):
    """The operation was cancelled or ran out of its time limit; its work has stopped."""

    code = "SESSION_QUERY_ABORTED"
    retriable = True


class CorruptSession(SessionGraphError):
    """What the store holds of this session cannot be decoded; other sessions are not affected."""

    code = "SESSION_QUERY_CORRUPT_SESSION"


class EventNotFound(SessionGraphError):
    """The log has no event with this seq."""

    code = "SESSION_QUERY_EVENT_NOT_FOUND"


class IndexFailed(SessionGraphError):
    """The full-text index is being built, is behind, or cannot be read; exact reads go on."""

    code = "SESSION_QUERY_INDEX_FAILED"
    retriable = True


class InvalidConfig(SessionGraphError):
    """A setting is unknown or has a value outside its range."""

    code = "SESSION_QUERY_INVALID_CONFIG"


class InvalidCursor(SessionGraphError):
    """The cursor was not issued by this server, or not for this field."""

    code = "SESSION_QUERY_INVALID_CURSOR"


class InvalidFilter(SessionGraphError):
    """A filter is reversed, not finite, blank, or names something that does not exist."""

    code = "SESSION_QUERY_INVALID_FILTER"


class InvalidLimit(SessionGraphError):
    """A page size is outside 1 to ``page_max``, or both ends are asked for at once."""

    code = "SESSION_QUERY_INVALID_LIMIT"


class InvalidLineage(SessionGraphError):
    """The ancestry of a session runs in a circle."""

    code = "SESSION_QUERY_INVALID_LINEAGE"


class InvalidQuery(SessionGraphError):
    """A search text has nothing in it that could be found, holds a NUL, or is too long."""

    code = "SESSION_QUERY_INVALID_QUERY"


class InvalidSurface(SessionGraphError):
    """A stored log breaks a rule of the surface."""

    code = "SESSION_QUERY_INVALID_SURFACE"


class InvalidWindow(SessionGraphError):
    """The neighbours of an event window are outside 0 to ``read_window_max``."""

    code = "SESSION_QUERY_INVALID_WINDOW"


class PersistenceFailed(SessionGraphError):
    """The disk or the database refused; nothing acknowledged is lost, trying again can help."""

    code = "SESSION_QUERY_PERSISTENCE_FAILED"
    retriable = True


class SearchDisabled(SessionGraphError):
    """Full-text search is turned off in the configuration of this server."""

    code = "SESSION_QUERY_SEARCH_DISABLED"


class SessionNotFound(SessionGraphError):
    """No session has this id, neither live nor stored."""

    code = "SESSION_QUERY_SESSION_NOT_FOUND"


class StaleCursor(SessionGraphError):
    """The cursor is ours but belongs to other filters, to a log that was replaced since, or to a
    search whose observation has ended: by time, by a deletion, or to make room for others.
    """

    code = "SESSION_QUERY_STALE_CURSOR"


class SourceConflict(SessionGraphError):
    """Two observations of one session id disagree about its identity."""

    code = "SESSION_QUERY_SOURCE_CONFLICT"


class LogConflict(SessionGraphError):
    """The log is not where the writer thinks: wrong expected seq, or the id is taken."""

    code = "SESSION_LOG_CONFLICT"


class InvalidEvent(SessionGraphError):
    """An event breaks a rule of the log and was not appended."""

    code = "SESSION_LOG_INVALID_EVENT"


class NotLive(SessionGraphError):
    """The session is stored and not open: resume it before appending to it."""

    code = "SESSION_LOG_NOT_LIVE"


class LogReadOnly(SessionGraphError):
    """The session belongs to a recorder's file: fork it, or resume it to detach it."""

    code = "SESSION_LOG_READ_ONLY"


class OpenTurn(SessionGraphError):
    """A fork's boundary lies inside a turn that has not ended there."""

    code = "SESSION_LOG_OPEN_TURN"


class LogReplaced(SessionGraphError):
    """The log that was followed was read anew: follow it again from its beginning."""

    code = "SESSION_LOG_REPLACED"
    retriable = True


class BadUserInput(SessionGraphError):
    """An argument has the right type and a value that makes no sense."""

    code = "BAD_USER_INPUT"


class Unauthenticated(SessionGraphError):
    """The request carries no token of this server, or one that was revoked."""

    code = "UNAUTHENTICATED"


class Forbidden(SessionGraphError):
    """The token's scope does not allow this operation, or its directories do not."""

    code = "FORBIDDEN"


class CostLimitExceeded(SessionGraphError):
    """The operation could cost more than one operation may: ask for less, or in pages."""

    code = "COST_LIMIT_EXCEEDED"


class TooManyRequests(SessionGraphError):
    """As much is running as may run at once; try again when some of it has ended."""

    code = "TOO_MANY_REQUESTS"
    retriable = True


def error_classes() -> tuple[type[SessionGraphError], ...]:
    """Every public error class, ordered by code."""
    return tuple(sorted(SessionGraphError.__subclasses__(), key=lambda error: error.code))


def first_of(failures: BaseExceptionGroup[SessionGraphError]) -> SessionGraphError:
    """The first failure of a group, however deep the groups lie in each other."""
    first = failures.exceptions[0]
    return first_of(first) if isinstance(first, BaseExceptionGroup) else first
