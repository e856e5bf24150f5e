"""What the other files of a Claude Code project say about a session.

Two facts about a session stand in files beside its own: the summary that later became its title,
and, in older versions, that its first records were copied from the session that it resumed. Both
are found in the first lines of the files in the same folder; these are looked at once and again
only when a file has changed its size or time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from providers.recordings.claude_records import envelope, text_in
from providers.recordings.lines import BEGINNING, Lines
from providers.recordings.records import parsed
from providers.recordings.zstd_frames import DamagedFrame

_LINES: Final = 256
_LONGEST_LINE: Final = 4 * 1024 * 1024
_UUID_CHARACTERS: Final = 36


@dataclass(frozen=True, slots=True)
class Beginning:
    """The begin of one file.

    first: uuid of its first record of a conversation, None where there is none yet.
    summaries: titles that it gives, by the uuid of a session's last record.
    """

    mark: tuple[int, int]
    session_id: str | None
    first: str | None
    summaries: dict[str, str]


class ClaudeFolder:
    """One folder of session files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[Path, Beginning] = {}
        self._titles: dict[str, tuple[Path, str]] = {}
        self._looked_at: int | None = None

    def look(self) -> None:
        """Look at what is new in the folder; free while no file came or went."""
        known: dict[Path, Beginning] = {}
        with suppress(OSError):
            changed = self._folder.stat().st_mtime_ns
            if changed == self._looked_at:
                return
            self._looked_at = changed
            for path in sorted(self._folder.glob("*.jsonl")):
                with suppress(OSError):
                    status = path.stat()
                    mark = (status.st_size, status.st_mtime_ns)
                    seen = self._known.get(path)
                    if seen is None or (seen.mark != mark and seen.first is None):
                        seen = _beginning(path, mark)
                    known[path] = seen
        self._known = known
        self._titles = {
            leaf: (path, summary)
            for path, beginning in known.items()
            for leaf, summary in beginning.summaries.items()
        }

    def title_of(self, uuid: str, asking: Path) -> str | None:
        """The summary that another file than ``asking`` gives to the session of a record."""
        found = self._titles.get(uuid)
        if found is None:
            return None
        path, summary = found
        return None if path == asking else summary

    def resumed_from(self, path: Path) -> tuple[str, str] | None:
        """The session that a file's first records were copied from, and the last such record.

        Of several files that begin alike, the one that was written to last first is the oldest.
        """
        mine = self._known.get(path)
        if mine is None or mine.first is None or len(mine.first) < _UUID_CHARACTERS:
            return None
        older = [
            (beginning.mark[1], other)
            for other, beginning in self._known.items()
            if beginning.first == mine.first
            and beginning.session_id not in (None, mine.session_id)
            and (beginning.mark[1], other) < (mine.mark[1], path)
        ]
        if not older:
            return None
        _, parent = max(older)
        session_id = self._known[parent].session_id
        last = _last_common(path, parent)
        return None if session_id is None or last is None else (session_id, last)


def _beginning(path: Path, mark: tuple[int, int]) -> Beginning:
    summaries: dict[str, str] = {}
    session_id = first = None
    for line in islice(_lines(path), _LINES):
        record = envelope(line)
        if record is None:
            continue
        if record.type == "summary":
            summary, leaf = text_in((parsed(line) or {}).get("summary")), text_in(record.leaf_uuid)
            if summary is not None and leaf is not None:
                summaries[leaf] = summary
        session_id = session_id or text_in(record.session_id)
        first = text_in(record.uuid)
        if first is not None:
            break
    return Beginning(mark, session_id, first, summaries)


def _last_common(path: Path, parent: Path) -> str | None:
    last = None
    for mine, theirs in zip(_uuids(path), _uuids(parent), strict=False):
        if mine != theirs:
            break
        last = mine
    return last


def _uuids(path: Path) -> Iterator[str]:
    for line in _lines(path):
        record = envelope(line)
        uuid = text_in(record.uuid) if record is not None else None
        if uuid is not None:
            yield uuid


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file, suppress(DamagedFrame):
        for line in Lines(file, _LONGEST_LINE).after(BEGINNING):
            if line is not None:
                yield line
