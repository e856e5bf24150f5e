"""Imports over the API: begun at once, and followed for as long as somebody wants to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from resolvers.context import RequestContext
from sessiongraph.errors import Forbidden
from sessiongraph.import_jobs import ImportStatus


def begin_import(
    context: RequestContext, paths: Sequence[str], *, dry_run: bool, restore_deleted: bool
) -> ImportStatus:
    """Begin to read recorders' files on the server's own disk.

    Raises:
        Forbidden: the caller is confined to some directories.
        BadUserInput: there is no path, or one that is not absolute.
        PersistenceFailed: this program only reads.
    """
    _require_everything(context)
    return context.imports.begin(
        [Path(path) for path in paths], dry_run=dry_run, restore_deleted=restore_deleted
    )


def follow_import(context: RequestContext, job_id: str) -> AsyncIterator[ImportStatus]:
    """How far an import is, until it is done.

    Raises:
        Forbidden: the caller is confined to some directories.
        BadUserInput: there is none with this id.
        PersistenceFailed: this program only reads.
    """
    _require_everything(context)
    return context.imports.follow(job_id)


def _require_everything(context: RequestContext) -> None:
    """Files hold sessions of any directory, and reports name them."""
    if context.seen.is_confined:
        raise Forbidden("this token is confined to some directories, and imports are not")
