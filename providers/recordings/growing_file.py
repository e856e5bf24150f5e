"""A recorder's file between two readings: opened for one of them, and known again at the next.

Nothing stays open between readings, and nothing is taken on trust: what was read before must still
be there, or the file was rewritten.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from providers.recordings.fingerprint import fingerprint, mark_of
from sessiongraph.recordings import RecordingRefused, RecordingRewritten, RecordingState


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, os.stat_result]]:
    """A regular file, open for reading; every failure of the system is a refusal."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise RecordingRefused(path, None, "not a regular file")
        with path.open("rb") as file:
            yield file, os.fstat(file.fileno())
    except OSError as error:
        reason = error.strerror or str(error)
        raise RecordingRefused(path, None, f"the file cannot be read: {reason}") from error


@contextmanager
def opened_to_go_on(
    path: Path, resume: RecordingState | None
) -> Iterator[tuple[BinaryIO, os.stat_result, RecordingState | None]]:
    """A file, open for reading while the block lasts, and where to go on; None: at its beginning.

    Raises:
        RecordingRewritten: the part that was read before has changed.
    """
    if resume is not None and resume.line == 0:
        resume = None
    with _opened(path) as (file, status):
        if resume is not None:
            _require_grown(path, file, status.st_size, resume)
        yield file, status, resume


def _require_grown(path: Path, file: BinaryIO, size: int, state: RecordingState) -> None:
    """Check that the part of the file that was read before is still the same.

    Raises:
        RecordingRewritten: it is not.
    """
    if size < state.offset:
        raise RecordingRewritten(f"{path}: shorter than when it was read")
    if fingerprint(file, mark_of(state)) != state.fingerprint:
        raise RecordingRewritten(f"{path}: the part that was read before has changed")
