"""What a reading of a dsh file found worth saying: a sentence for each kind of thing, with counts.

Notes go into the session's header and stay there, so they are few however long the file is, name
no line that later growth would make wrong, and are the same for the same file.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

_MOST_NAMES: Final = 40
_OTHERS: Final = "others"


class DshNotes:
    """The notes of one reading, collected row by row."""

    def __init__(self) -> None:
        self._said: dict[str, None] = {}
        self._losses: Counter[str] = Counter()
        self._opaque: Counter[str] = Counter()
        self._renamed: Counter[str] = Counter()
        self._unknown_keys: Counter[str] = Counter()
        self._read_as_append = 0

    def say(self, sentence: str) -> None:
        """One sentence, however often it is said."""
        self._said.setdefault(sentence)

    def loss(self, phrase: str) -> None:
        """A payload holds something that is not lossless JSON."""
        self._losses[phrase] += 1

    def opaque_type(self, event_type: str) -> None:
        _count(self._opaque, event_type)

    def renamed_type(self, before: str, after: str) -> None:
        _count(self._renamed, f"{before} as {after}")

    def unknown_key(self, key: str) -> None:
        _count(self._unknown_keys, key)

    def read_as_append(self) -> None:
        self._read_as_append += 1

    def sentences(self) -> tuple[str, ...]:
        """Every note, in a fixed order."""
        notes = list(self._said)
        if self._renamed:
            notes.append(f"Older event types are read under newer names: {_list(self._renamed)}.")
        if self._opaque:
            notes.append(f"Types unknown to dsh are kept as opaque events: {_list(self._opaque)}.")
        if self._unknown_keys:
            notes.append(f"Row keys unknown to dsh are left out: {_list(self._unknown_keys)}.")
        if self._read_as_append:
            events = "message event" if self._read_as_append == 1 else "message events"
            notes.append(f"{self._read_as_append} {events} without surfaceOp are read as appended.")
        for phrase, count in sorted(self._losses.items()):
            payloads = "payload holds" if count == 1 else "payloads hold"
            notes.append(f"{count} {payloads} {phrase}, kept as written.")
        return tuple(notes)


def _count(counter: Counter[str], name: str) -> None:
    if name not in counter and len(counter) >= _MOST_NAMES:
        name = _OTHERS
    counter[name] += 1


def _list(counter: Counter[str]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in sorted(counter.items()))
