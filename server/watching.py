"""Follows recorders' folders: what changes in them is imported as it happens.

Files wait their turn, the one that changed last first, so that a session that is being recorded is
never behind a large archive that is read for the first time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import structlog

from providers.recordings.discovery import find_recordings
from providers.recordings.watch import Watch
from server.settings import Settings
from sessiongraph.followed_files import FollowedFiles
from sessiongraph.importing import Importer
from sessiongraph.recordings import RecordingReader

_log: Final = structlog.get_logger(__name__)

_LONGEST_PAUSE_S: Final = 15
_SHORTEST_PAUSE_S: Final = 0.05


class Watching:
    """The watched folders of one server."""

    def __init__(
        self,
        settings: Settings,
        importer: Importer,
        files: FollowedFiles,
        readers: Sequence[RecordingReader],
    ) -> None:
        self._importer = importer
        self._files = files
        self._readers = readers
        self._idle_close_s = settings.idle_close_s
        self._watch = Watch(settings.watch, settings.rescan_s)
        self._waiting: dict[Path, None] = {}
        self._news = asyncio.Event()
        self._refused: dict[Path, str] = {}

    @property
    def established(self) -> asyncio.Event:
        """Set once no change can be missed."""
        return self._watch.established

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow the folders while the block lasts."""
        work = (self._listen(), self._import(), self._close_idle())
        tasks = [asyncio.create_task(each) for each in work]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            self._files.close_all()

    async def _listen(self) -> None:
        async for changes in self._watch.changes():
            for path in changes.gone:
                self._waiting.pop(path, None)
                self._refused.pop(path, None)
                self._files.gone(path)
            for path in changes.changed:
                self._waiting.pop(path, None)
                self._waiting[path] = None
            self._news.set()

    async def _import(self) -> None:
        while True:
            self._news.clear()
            while self._waiting:
                path, _ = self._waiting.popitem()
                await self._take(path)
            await self._news.wait()

    async def _take(self, path: Path) -> None:
        found = await asyncio.to_thread(lambda: list(find_recordings([path], self._readers)))
        try:
            report = await self._importer.run(
                found, on_session=lambda _, session_id: self._grew(path, session_id)
            )
        except Exception:  # noqa: BLE001 - one file never stops the others
            _log.exception("a watched file could not be imported", path=str(path))
            return
        reason = "; ".join(refusal.reason for refusal in report.refused)
        if reason and self._refused.get(path) != reason:
            line = report.refused[0].line
            _log.warning("a watched file is refused", path=str(path), line=line, reason=reason)
        if reason:
            self._refused[path] = reason
        else:
            self._refused.pop(path, None)

    def _grew(self, path: Path, session_id: str) -> None:
        try:
            age_s = time.time() - path.stat().st_mtime
        except OSError:
            return
        if age_s < self._idle_close_s:
            self._files.grew(path, session_id)

    async def _close_idle(self) -> None:
        pause = max(_SHORTEST_PAUSE_S, min(_LONGEST_PAUSE_S, self._idle_close_s / 4))
        while True:
            await asyncio.sleep(pause)
            self._files.close_idle(self._idle_close_s)
