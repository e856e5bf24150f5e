"""Folders that are watched: which files in them changed, appeared or went.

The system tells of changes as they happen. Behind that runs a slow look at every file's size and
time, which finds what was missed (a network folder, an overflow, a folder that was not there yet).
Contents are never read here; idle files cost one ``stat`` each time.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog
from watchfiles import watch

from providers.recordings.discovery import ENDINGS

_log: Final = structlog.get_logger(__name__)
logging.getLogger("watchfiles").setLevel(logging.WARNING)  # it tells of every change

_GATHER_MS: Final = 100
_STEP_MS: Final = 50
_TIMEOUT_MS: Final = 500
_AGAIN_S: Final = 1

Mark = tuple[int, int]
"""Size and time of a file; where both are as they were, nothing happened to it."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened to watched files since the last time; newest last, by their times."""

    changed: tuple[Path, ...] = ()
    gone: tuple[Path, ...] = ()


class Watch:
    """Files and folders, watched.

    rescan_s: time between two looks at everything.
    established: set once the system tells of changes; none is missed from then on.
    """

    def __init__(self, paths: Sequence[Path], rescan_s: float) -> None:
        self._paths = tuple(path.absolute() for path in paths)
        self._rescan_s = rescan_s
        self._known: dict[Path, Mark] = {}
        self._halt = threading.Event()
        self._news: asyncio.Queue[frozenset[Path] | None] = asyncio.Queue()
        self.established = asyncio.Event()

    def __len__(self) -> int:
        return len(self._known)

    async def changes(self) -> AsyncIterator[Changes]:
        """Every change, the files that are there at the beginning first; without end."""
        loop = asyncio.get_running_loop()
        telling = asyncio.create_task(self._be_told())
        paths: frozenset[Path] | None = None
        until = loop.time()
        try:
            while True:
                if paths is None:
                    until = loop.time() + self._rescan_s
                    found = await asyncio.to_thread(self._look_at_all)
                else:
                    found = await asyncio.to_thread(self._look_at, paths)
                if found.changed or found.gone:
                    yield found
                paths = await self._next(until)
        finally:
            self._halt.set()
            telling.cancel()
            await asyncio.wait([telling])

    async def _next(self, until: float) -> frozenset[Path] | None:
        """The next paths that the system tells of; None when it is time to look at everything."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                return await self._news.get()
        return None

    async def _be_told(self) -> None:
        """Have the system tell of changes, again when that ends: folders come and go."""
        loop = asyncio.get_running_loop()

        def tell(paths: frozenset[Path] | None) -> None:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(self._hear, paths)

        told_missing = False
        while True:
            there = [path for path in self._paths if await asyncio.to_thread(path.exists)]
            if len(there) < len(self._paths) and not told_missing:
                told_missing = True
                missing = [str(path) for path in self._paths if path not in there]
                _log.warning("watched paths are not there yet", paths=missing)
            try:
                await asyncio.to_thread(self._listen, there, tell)
            except (OSError, RuntimeError) as error:
                _log.warning("folders cannot be watched; they are looked at", error=str(error))
            await asyncio.sleep(_AGAIN_S)

    def _hear(self, paths: frozenset[Path] | None) -> None:
        self._news.put_nowait(paths)
        if paths is None:
            self.established.set()

    def _listen(self, paths: list[Path], tell: Callable[[frozenset[Path] | None], None]) -> None:
        """Pass on what the system tells, in a thread, until another set of paths is there."""
        is_established = False
        if not paths:
            return
        for changes in watch(
            *paths,
            watch_filter=None,
            debounce=_GATHER_MS,
            step=_STEP_MS,
            rust_timeout=_TIMEOUT_MS,
            yield_on_timeout=True,
            stop_event=self._halt,
            raise_interrupt=False,
        ):
            if not is_established:
                is_established = True
                tell(None)
            if changes:
                tell(frozenset(Path(path) for _, path in changes))
            elif [path for path in self._paths if path.exists()] != paths:
                return

    def _look_at_all(self) -> Changes:
        found: dict[Path, Mark] = {}
        for path in self._paths:
            found.update(_files(path))
        gone = tuple(path for path in self._known if path not in found)
        return self._settle(found, gone)

    def _look_at(self, paths: frozenset[Path]) -> Changes:
        found: dict[Path, Mark] = {}
        gone: list[Path] = []
        for path in paths:
            there = dict(_files(path))
            found.update(there)
            if there or path.exists():
                continue
            if path in self._known:
                gone.append(path)
            else:  # perhaps a folder
                gone += [known for known in self._known if path in known.parents]
        return self._settle(found, tuple(gone))

    def _settle(self, found: dict[Path, Mark], gone: tuple[Path, ...]) -> Changes:
        for path in gone:
            self._known.pop(path, None)
        changed = [path for path, mark in found.items() if self._known.get(path) != mark]
        self._known.update((path, found[path]) for path in changed)
        changed.sort(key=lambda path: found[path][1])
        return Changes(tuple(changed), gone)


def _files(path: Path) -> Iterator[tuple[Path, Mark]]:
    """A file that may be a recording, or all of them below a folder, with their marks.

    Links to folders are not followed.
    """
    pending = [str(path)]
    first = True
    while pending:
        name = pending.pop()
        with suppress(OSError):
            if first and not os.path.isdir(name):  # noqa: PTH112 - half the cost in a walk
                status = os.stat(name)  # noqa: PTH116
                if name.endswith(ENDINGS):
                    yield Path(name), (status.st_size, status.st_mtime_ns)
                return
            first = False
            with os.scandir(name) as inside:
                for entry in inside:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    elif entry.name.endswith(ENDINGS):
                        status = entry.stat()
                        yield Path(entry.path), (status.st_size, status.st_mtime_ns)
