"""Telling a file that grew from a file that was written anew.

Recorders append. A file whose read part is still the same has grown, and reading goes on where it
stopped; any other change means that it must be read from the start. To compare whole files would
cost as much as reading them, so the fingerprint is a digest of the first 64 KiB and of the last
64 KiB of the part that was read, and of how long that part is. A change in the middle of a larger
file that keeps its length is not seen.

Of a zstd file the part that was read may end inside of a frame (lines.py). Then the decoded bytes
of that frame up to there belong to the fingerprint, which also remembers how many they are.
"""

from __future__ import annotations

import hashlib
from typing import BinaryIO, Final

from providers.recordings.lines import Mark
from providers.recordings.zstd_frames import DamagedFrame, Frames
from sessiongraph.recordings import RecordingState

_EDGE_BYTES: Final = 64 * 1024


def fingerprint(file: BinaryIO, mark: Mark) -> str:
    """The fingerprint of the part of an open file before ``mark``."""
    digest = hashlib.sha256()
    file.seek(0)
    digest.update(file.read(min(_EDGE_BYTES, mark.offset)))
    file.seek(max(0, mark.offset - _EDGE_BYTES))
    digest.update(file.read(min(_EDGE_BYTES, mark.offset)))
    digest.update(str(mark.offset).encode())
    if not mark.skip:
        return digest.hexdigest()
    missing = mark.skip
    try:
        for _, piece in Frames(file).pieces(mark.offset):
            digest.update(piece[:missing])
            missing -= len(piece)
            if missing <= 0:
                break
    except DamagedFrame:
        digest.update(b"damaged")
    return f"{digest.hexdigest()}+{mark.skip}"


def mark_of(state: RecordingState) -> Mark:
    """Where the reading stopped that left ``state`` behind."""
    _, _, skip = state.fingerprint.partition("+")
    return Mark(state.offset, int(skip) if skip else 0)
