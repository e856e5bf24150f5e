"""What a reader of recorders' files must be able to do, and what it hands to an import.

A recorder appends to its files and sometimes writes them anew; a reader tells which of both it met,
reads on where it stopped, and refuses what it cannot read faithfully rather than to read half.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import msgspec

from sessiongraph.event import Entry, Seq
from sessiongraph.header import SessionHeader, SourceKind
from sessiongraph.placed_entry import Prepared
from sessiongraph.redaction import Redaction


class RecordingRefused(Exception):
    """A recorder's file that cannot be read faithfully; never half-read.

    line: counted from 1, None when the file as a whole is meant.
    """

    def __init__(self, path: Path, line: int | None, reason: str) -> None:
        place = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{place}: {reason}")
        self.path = path
        self.line = line
        self.reason = reason


class RecordingRewritten(Exception):
    """The part of a file that was read before is no longer the same."""


class RecordingState(msgspec.Struct, frozen=True):
    """How far a recorder's file has been read.

    size, modified_ns: of the file when it was last looked at; equal ones mean it is unchanged.
    offset: bytes of the file that have been read for good, in the file as it lies on disk.
    line: lines read for good, the header's included.
    next_seq: the seq that the next event of the file must have.
    fingerprint: of the part already read, to tell growth from rewriting.
    memory: what else the reader must know to go on; only the reader that wrote it understands it.
    """

    path: str
    session_id: str
    size: int
    modified_ns: int
    offset: int
    line: int
    next_seq: Seq
    fingerprint: str
    memory: bytes = b""


NEVER_UNCHANGED: Final = -1
"""As a size: the file is to be read anew, whatever it looks like."""


@dataclass(frozen=True, slots=True)
class RecordedMedia:
    """An image or another thing that a file holds in full and a log only names.

    name: the SHA-256 of its content, in hexadecimal digits.
    """

    name: str
    content: bytes


class MediaStore(Protocol):
    """Keeps media by their content: the same content is kept once."""

    def keep(self, media: RecordedMedia) -> None:
        """Keep it, on disk when this returns.

        Raises:
            PersistenceFailed: the disk refused.
        """
        ...


class RecordedEntry(msgspec.Struct, gc=False):
    """An entry and the line of the file that it came from, counted from 1.

    media: what was taken out of the entry, to be kept before the entry can be seen.
    prepared: what the store has made of the entry already; None where nobody asked it.
    """

    entry: Entry
    line: int
    media: tuple[RecordedMedia, ...] = ()
    prepared: Prepared = None


@dataclass(frozen=True, slots=True)
class RecordedPart:
    """A further session inside of a file, between the lines of the first one.

    key: names it in the file, at every reading alike.
    lines: those that belong to it and were not read before, counted from 1.
    place: where the first of them begins; only the reader that found it understands it.
    """

    key: str
    lines: Sequence[int]
    place: tuple[int, int]


UNFINISHED_LINE: Final = "The last line was not finished when the file was read."
"""The note of a torn tail; it goes when the file has grown."""

BROKEN_TAIL: Final = "is broken and the log ends before it"
"""What the note of a tail says that was cut; it goes like the other."""


def is_about_the_tail(note: str) -> bool:
    """Whether a note speaks of the end that a file had when it was read."""
    return note == UNFINISHED_LINE or BROKEN_TAIL in note


class RecordedLog(Protocol):
    """One session as its file tells it, read once from front to back, in constant memory."""

    @property
    def header(self) -> SessionHeader:
        """The header; its notes and seed length are final once :meth:`entries` is exhausted.

        A reading that was resumed sees the tail only: its seed length is of the tail. Its notes are
        those of the whole file, which it remembers.
        """
        ...

    @property
    def state(self) -> RecordingState:
        """How far the file has been read, for the next time; final once exhausted."""
        ...

    @property
    def bytes_read(self) -> int:
        """Bytes of JSON read so far, decompressed; for progress."""
        ...

    @property
    def parts(self) -> Sequence[RecordedPart]:
        """Further sessions of which this reading saw something; final once exhausted."""
        ...

    def entries(self) -> Iterator[RecordedEntry]:
        """What the file holds, in order.

        Raises:
            RecordingRefused: what comes next cannot be read faithfully.
            RecordingRewritten: a resumed reading met something that changes the header.
        """
        ...


class RecordingReader(Protocol):
    """Reads the files of one recorder."""

    @property
    def kind(self) -> SourceKind: ...

    def recognises(self, path: Path, beginning: Sequence[bytes]) -> bool:
        """Whether a file is this recorder's, by its first lines (decompressed)."""
        ...

    def superseded(self, paths: Sequence[Path]) -> Mapping[Path, Path]:  # noqa: ARG002
        """Files that another one in ``paths`` takes the place of; none, where nothing is said."""
        return {}

    def open(
        self,
        path: Path,
        resume: RecordingState | None,
        part: RecordedPart | None = None,
        redaction: Redaction | None = None,
    ) -> RecordedLog:
        """Begin to read; with ``resume`` from where an earlier import stopped.

        part: read this further session of the file instead of the first one.
        redaction: what replaces the secrets in every line; None leaves them.

        Raises:
            RecordingRefused: the file cannot be read faithfully. Iterating raises it too.
            RecordingRewritten: the part that was read before has changed.
        """
        ...


class OpenRecording(Protocol):
    """How recordings are opened for an import: read where they are opened, or elsewhere."""

    def __call__(
        self,
        reader: RecordingReader,
        path: Path,
        resume: RecordingState | None,
        part: RecordedPart | None,
        redaction: Redaction | None,
    ) -> RecordedLog:
        """What ``reader.open`` answers for these arguments, or raises; alike in what it tells."""
        ...
