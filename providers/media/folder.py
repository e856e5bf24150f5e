"""A folder of media: ``ab/abcdef…``, each file named by the SHA-256 of its content.

A file appears whole or not at all, and is never written twice. Nothing refers to a file but its
name in the logs.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from sessiongraph.errors import PersistenceFailed
from sessiongraph.recordings import MediaStore, RecordedMedia


class MediaFolder(MediaStore):
    """The media below one folder, which is made when the first is kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, media: RecordedMedia) -> None:
        """Keep it, on disk when this returns.

        Raises:
            PersistenceFailed: the disk refused.
        """
        place = self._folder / media.name[:2] / media.name
        try:
            if place.exists():
                return
            self._folder.mkdir(mode=0o700, exist_ok=True)
            place.parent.mkdir(mode=0o700, exist_ok=True)
            self._write(place, media.content)
        except OSError as error:
            reason = error.strerror or str(error)
            raise PersistenceFailed(f"{place} cannot be written: {reason}") from error

    def _write(self, place: Path, content: bytes) -> None:
        unfinished = place.with_name(f"{place.name}.{secrets.token_hex(8)}")
        try:
            with unfinished.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(place)
        finally:
            unfinished.unlink(missing_ok=True)
