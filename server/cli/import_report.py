"""How an import shows itself: a progress bar while it runs, refusals and a table at the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from providers.recordings.discovery import find_recordings
from server.cli.output import stderr_console, stdout_console, visible
from server.wiring import READERS, Services
from sessiongraph.import_report import ImportReport

_MEGABYTE = 1_000_000


class ImportView:
    """One import and what is shown of it; ``report`` and ``seconds`` are final after a run."""

    def __init__(self, *, show: bool) -> None:
        self.report = ImportReport()
        self.seconds = 0.0
        self._console = stderr_console()
        self._show = show and self._console.is_terminal

    async def run(
        self, services: Services, paths: Sequence[Path], *, dry_run: bool, restore_deleted: bool
    ) -> None:
        """Find the recordings below ``paths`` and import them."""
        recordings = await asyncio.to_thread(lambda: list(find_recordings(paths, READERS)))
        with self._shown(len(recordings)) as on_progress:
            self.report = await services.importer.run(
                recordings,
                dry_run=dry_run,
                restore_deleted=restore_deleted,
                on_progress=on_progress,
            )
            on_progress(self.report)

    def follow(self, paths: Sequence[Path], reports: Iterable[ImportReport]) -> None:
        """Show an import of ``paths`` that somebody else does, as far as it has come."""
        files = sum(1 for _ in find_recordings(paths, READERS)) if self._show else None
        with self._shown(files) as on_progress:
            for report in reports:
                self.report = report
                on_progress(report)

    @contextmanager
    def _shown(self, files: int | None) -> Iterator[Callable[[ImportReport], None]]:
        began = time.monotonic()
        with self._progress() as progress:
            task = progress.add_task("importing", total=files, events=0, speed=0.0)

            def on_progress(report: ImportReport) -> None:
                speed = report.bytes / _MEGABYTE / max(time.monotonic() - began, 1e-6)
                progress.update(task, completed=report.files, events=report.events, speed=speed)

            yield on_progress
        self.seconds = time.monotonic() - began

    def _progress(self) -> Progress:
        return Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            MofNCompleteColumn(),
            TextColumn("files"),
            TextColumn("{task.fields[events]:,} events"),
            TextColumn("{task.fields[speed]:.1f} MB/s"),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._show,
        )


def print_refusals(report: ImportReport) -> None:
    """One line for each, to stderr."""
    console = stderr_console()
    for refusal in report.refused:
        place = refusal.path if refusal.line is None else f"{refusal.path}:{refusal.line}"
        console.print(f"refused {visible(place)}: {visible(refusal.reason)}", style="red")


def print_summary(report: ImportReport, seconds: float, *, dry_run: bool) -> None:
    """The table at the end, to stdout."""
    table = Table(title="would import" if dry_run else None, title_justify="left", box=None)
    rows = (
        ("files", f"{report.files:,}"),
        ("imported", f"{report.imported:,}"),
        ("resumed", f"{report.resumed:,}"),
        ("unchanged", f"{report.unchanged:,}"),
        ("refused", f"{len(report.refused):,}"),
        ("events", f"{report.events:,}"),
        ("read", f"{report.bytes / _MEGABYTE:,.1f} MB"),
        ("time", f"{seconds:,.1f} s"),
        *(((("redacted", f"{report.redacted.total():,}"),)) if report.redacted else ()),
    )
    for name, _ in rows:
        table.add_column(name, justify="right")
    table.add_row(*(value for _, value in rows))
    stdout_console().print(table)
    kinds = ", ".join(f"{kind} ({count:,})" for kind, count in sorted(report.redacted.items()))
    if kinds:
        stdout_console().print(f"redacted: {kinds}")


def report_as_json(report: ImportReport, *, dry_run: bool) -> dict[str, Any]:
    """The report with the names that the API gives it."""
    return {
        "dryRun": dry_run,
        "files": report.files,
        "imported": report.imported,
        "resumed": report.resumed,
        "unchanged": report.unchanged,
        "refused": [
            {"path": refusal.path, "line": refusal.line, "reason": refusal.reason}
            for refusal in report.refused
        ],
        "events": report.events,
        "bytes": report.bytes,
        "redacted": dict(sorted(report.redacted.items())),
    }
