"""Every way in which a reference is refused, as one exception class for each public code.

A message is accepted with all of its references or not at all (references.md, "Prepare"), so each
of these is raised before anything has been written.
"""

from __future__ import annotations

from sessiongraph.errors import SessionGraphError


class InvalidReference(SessionGraphError):
    """What looks like a reference to a session is not spelled as references are."""

    code = "SESSION_REFERENCE_INVALID_REFERENCE"


class SelfReference(SessionGraphError):
    """A session cannot be referenced from itself."""

    code = "SESSION_REFERENCE_SELF_REFERENCE"


class TooManyReferences(SessionGraphError):
    """The message references more sessions than ``max_references``."""

    code = "SESSION_REFERENCE_TOO_MANY"


class ReferenceReadFailed(SessionGraphError):
    """A referenced session does not exist or cannot be read."""

    code = "SESSION_REFERENCE_READ_FAILED"


class ReferenceCancelled(SessionGraphError):
    """The message was withdrawn, or ran out of time, while its references were read."""

    code = "SESSION_REFERENCE_CANCELLED"
    retriable = True


class ReferenceBudgetExceeded(SessionGraphError):
    """Not even the fixed fields of a snapshot fit into ``max_reference_bytes``."""

    code = "SESSION_REFERENCE_BUDGET_EXCEEDED"


class InvalidReferenceConfig(SessionGraphError):
    """A setting of references has a value outside its range."""

    code = "SESSION_REFERENCE_INVALID_CONFIG"
