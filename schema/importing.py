"""Imports of recorders' files, begun by a mutation and followed by a subscription."""

from __future__ import annotations

from typing import cast

import strawberry

from schema.declaration import input_type, object_type, resolved
from schema.scalars import SafeInt
from sessiongraph.import_jobs import ImportStatus
from sessiongraph.import_report import ImportRefusal as Refusal
from sessiongraph.redaction import Replaced


@input_type
class ImportInput:
    """What to import: files and folders on the server's own disk, by absolute paths."""

    paths: list[str]
    dry_run: bool | None = strawberry.field(
        default=False, description="Read and check everything, store nothing."
    )
    restore_deleted: bool | None = strawberry.field(
        default=False, description="Take sessions again that were deleted here."
    )


@object_type
class ImportRefusal:
    """Why a file, or what it gained, was not taken."""

    path: str
    line: int | None = strawberry.field(description="Counted from 1; null for the whole file.")
    reason: str


@object_type
class RedactionCount:
    """How many secrets of one kind were replaced."""

    kind: str
    count: int


def _files(status: strawberry.Parent[ImportStatus]) -> int:
    return status.report.files


def _imported(status: strawberry.Parent[ImportStatus]) -> int:
    return status.report.imported


def _resumed(status: strawberry.Parent[ImportStatus]) -> int:
    return status.report.resumed


def _unchanged(status: strawberry.Parent[ImportStatus]) -> int:
    return status.report.unchanged


def _refused(status: strawberry.Parent[ImportStatus]) -> list[ImportRefusal]:
    refused: list[Refusal] = status.report.refused
    return cast("list[ImportRefusal]", refused)


def _events(status: strawberry.Parent[ImportStatus]) -> SafeInt:
    return SafeInt(status.report.events)


def _bytes(status: strawberry.Parent[ImportStatus]) -> SafeInt:
    return SafeInt(status.report.bytes)


def _redacted(status: strawberry.Parent[ImportStatus]) -> list[RedactionCount]:
    counts = [Replaced(kind, count) for kind, count in sorted(status.report.redacted.items())]
    return cast("list[RedactionCount]", counts)


def _done(status: strawberry.Parent[ImportStatus]) -> bool:
    return status.report.done


@object_type
class ImportReport:
    """How far an import is. Files are those looked at; a file can hold several sessions."""

    id: strawberry.ID
    files: int = resolved(_files)
    imported: int = resolved(_imported, "Sessions that are new, or were read anew.")
    resumed: int = resolved(_resumed, "Sessions that have grown.")
    unchanged: int = resolved(_unchanged, "Sessions of which nothing is new.")
    refused: list[ImportRefusal] = resolved(_refused)
    events: SafeInt = resolved(_events)
    bytes: SafeInt = resolved(_bytes, "Of JSON, decompressed.")
    redacted: list[RedactionCount] = resolved(_redacted, "Empty unless `redact` is on.")
    done: bool = resolved(_done)
