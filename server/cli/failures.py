"""What a command says when it fails: one line, for failures that a person can do something about.

Anything else is a fault of the program and keeps its traceback.
"""

from __future__ import annotations

from server.failures import OperatorError
from sessiongraph.errors import SessionGraphError


class CommandFailed(OperatorError):
    """A command could not do what it was asked."""


def failure_line(error: Exception) -> str | None:
    """The line for an expected failure, None for a fault of the program."""
    if isinstance(error, OperatorError):
        return str(error)
    if isinstance(error, SessionGraphError):
        return f"{error.message} ({error.code})"
    if isinstance(error, OSError) and error.strerror is not None:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return None
