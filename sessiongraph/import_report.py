"""What imports did: for the one that runs, and as numbers for all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ImportRefusal:
    """Why a file, or the part of it that is new, was not taken; line counts from 1."""

    path: str
    line: int | None
    reason: str


@dataclass(slots=True)
class ImportReport:
    """What an import did so far.

    files: looked at. imported, resumed, unchanged: sessions. bytes: of JSON, decompressed.
    redacted: secrets that were replaced, by their kinds.
    """

    files: int = 0
    imported: int = 0
    resumed: int = 0
    unchanged: int = 0
    refused: list[ImportRefusal] = field(default_factory=list)
    events: int = 0
    bytes: int = 0
    redacted: Counter[str] = field(default_factory=Counter)
    done: bool = False


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """What imports did so far, as numbers; see :class:`ImportReport`."""

    files: int = 0
    imported: int = 0
    resumed: int = 0
    unchanged: int = 0
    refused: int = 0
    events: int = 0
    bytes: int = 0

    def plus(self, report: ImportReport) -> ImportCounts:
        """These and what one import did."""
        return ImportCounts(
            self.files + report.files,
            self.imported + report.imported,
            self.resumed + report.resumed,
            self.unchanged + report.unchanged,
            self.refused + len(report.refused),
            self.events + report.events,
            self.bytes + report.bytes,
        )


Progress = Callable[[ImportReport], None]
OnSession = Callable[[Path, str], None]
"""Told of each session that was imported or has grown, and from which file."""
