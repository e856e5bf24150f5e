"""The settings of references, named as in the configuration."""

from __future__ import annotations

from dataclasses import dataclass, fields

from sessiongraph.references.errors import InvalidReferenceConfig


@dataclass(frozen=True, slots=True)
class ReferenceLimits:
    """How much one message may carry, and how much is offered while one is typed.

    max_references: sessions that one message may reference.
    max_reference_bytes: UTF-8 bytes of the JSON object of one referenced session.
    candidate_limit: sessions offered at a time.

    Raises:
        InvalidReferenceConfig: a value is no positive integer.
    """

    max_references: int = 3
    max_reference_bytes: int = 65536
    candidate_limit: int = 50

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise InvalidReferenceConfig(f"{each.name} must be at least 1, not {value!r}")
