"""A backup: one file that is the store, and beside it a folder of media where there are any.

``FILE`` is the log store of one moment. Media are named by their content and never change, so
``FILE.media`` is made afterwards: it has everything that the store of that moment refers to, and
perhaps something newer. ``FILE`` appears last, under its name at once and whole, so whoever sees it
has a complete backup; before that everything lies under names that end in ``.unfinished``, which a
failure removes.

Nothing that is there already is ever written over.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from providers.sqlite.backup import copy_store
from server.data_directory import DataDirectory
from server.failures import OperatorError
from server.private_folders import make_private_folder

_WITHOUT_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""What file systems answer that know no second name of a file."""


class BackupFailed(OperatorError):
    """No backup was made; the message says why."""


@dataclass(frozen=True, slots=True)
class Backup:
    """What was made.

    octets: of the file and the media together.
    media_files: in the folder beside it; 0 when there is none.
    """

    file: Path
    octets: int
    sessions: int
    events: int
    media_files: int


def media_beside(file: Path) -> Path:
    """The folder of the media that belong to a backup."""
    return file.with_name(f"{file.name}.media")


def back_up(
    directory: DataDirectory, file: Path, on_progress: Callable[[int, int], None] | None = None
) -> Backup:
    """Make a backup, whether or not a server holds the directory.

    on_progress: told of the pages that were copied, and how many there are.

    Raises:
        BackupFailed: something has that name already, or it cannot be written.
        InvalidConfig: there is no store.
        PersistenceFailed: the store cannot be read, or the copy is not sound.
    """
    for place in (file, media_beside(file)):
        if place.exists() or place.is_symlink():
            raise BackupFailed(f"{place} exists already: nothing was written")
    mark = secrets.token_hex(8)
    copy = file.with_name(f"{file.name}.{mark}.unfinished")
    media = media_beside(file).with_name(f"{media_beside(file).name}.{mark}.unfinished")
    try:
        copy.touch(mode=0o600, exist_ok=False)
        copied = copy_store(directory.log_path, copy, on_progress)
        _sync(copy)
        media_files, octets = _copy_media(directory.media_path, media)
        octets += copy.stat().st_size
        if media_files:
            media.rename(media_beside(file))
        try:
            _name(copy, file)
        except OSError:
            if media_files:
                shutil.rmtree(media_beside(file))
            raise
        _sync(file.parent)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BackupFailed(f"{file} cannot be written: {reason}") from error
    finally:
        copy.unlink(missing_ok=True)
        copy.with_name(f"{copy.name}-journal").unlink(missing_ok=True)
        shutil.rmtree(media, ignore_errors=True)
    return Backup(file, octets, copied.sessions, copied.events, media_files)


def _name(whole: Path, file: Path) -> None:
    """Give a file its name, unless something has it already."""
    try:
        os.link(whole, file)  # unlike a rename, it takes nobody's place
    except OSError as error:
        if error.errno not in _WITHOUT_LINKS or file.exists():
            raise
        whole.rename(file)


def _copy_media(source: Path, target: Path) -> tuple[int, int]:
    """Copy what is whole; answers how many files, and how many octets they have."""
    files = octets = 0
    for path in sorted(source.glob("??/*")):
        if "." in path.name:
            continue  # being written at this moment, so nothing refers to it yet
        place = target / path.parent.name / path.name
        make_private_folder(place.parent)
        place.touch(mode=0o600, exist_ok=False)
        shutil.copyfile(path, place)
        _sync(place)
        files += 1
        octets += place.stat().st_size
    for folder in {target / path.parent.name for path in target.glob("??/*")} if files else ():
        _sync(folder)
    if files:
        _sync(target)
    return files, octets


def _sync(path: Path) -> None:
    """Have a file, or the names in a folder, on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
